"""A container engine for the tests: the machine's own, or one made for them that leaves nothing
behind.

A made one is Debian's dockerd, unpacked and not installed, so that no service starts. It runs in
namespaces of its own (mounts, processes, network), and whatever it mounts, starts or listens on
ends with them. It reaches the package mirror through slirp4netns, without touching the machine's
own network. It has no registry: images are built here.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import debian_root  # noqa: E402

UNPACKED = ["docker.io", "containerd", "tini"]
BASE = "debian:12-slim"
MADE = "BATON_MADE_ENGINE"  # the environment variable with the directory of a made engine
PATIENCE_S = 120
SKIPPED = 77  # exit code
NO_ENGINE = "no container engine answers `docker info`"


class NoEngine(Exception):
    """Why there is none and none can be made."""


def answers(**env):
    with contextlib.suppress(OSError):
        return subprocess.run(["docker", "info"], env={**os.environ, **env},
                              capture_output=True).returncode == 0
    return False


def until(condition, what):
    for _ in range(PATIENCE_S * 20):
        if condition():
            return
        time.sleep(0.05)
    raise NoEngine(f"waited {PATIENCE_S} s for {what}")


def tail(log, n_bytes=3000):
    """The end of a daemon's log, for people."""
    return f"---- {log}\n{log.read_text(errors='replace')[-n_bytes:]}"


def unpack(root, packages):
    """Debian's packages, below root; what PATH is with them."""
    archives = root / "archives"
    archives.mkdir(parents=True)
    done = subprocess.run(["apt-get", "-qq", "download", *packages], cwd=archives,
                          capture_output=True, text=True)
    if done.returncode:
        raise NoEngine(f"apt-get download {' '.join(packages)}: {done.stderr.strip()}")
    for archive in archives.iterdir():
        subprocess.run(["dpkg", "-x", archive, root], check=True)
    shutil.rmtree(archives)
    return f"{root}/usr/bin:{root}/usr/sbin:{os.environ['PATH']}"


def resolver(work):
    """Names are asked of slirp4netns, which asks whom the machine asks, on its loopback too."""
    (work / "resolv.conf").write_text("nameserver 10.0.2.3\n")
    target = os.path.realpath("/etc/resolv.conf")
    subprocess.run(["mount", "--bind", work / "resolv.conf", target], check=True)


@contextlib.contextmanager
def daemon(work, cgroup):
    """dockerd in the namespaces that we are in; the environment of its clients."""
    sock = f"unix://{work}/sock"
    env = {**os.environ, "PATH": unpack(work / "engine", UNPACKED), "DOCKER_HOST": sock,
           MADE: str(work)}
    command = ["dockerd", "--data-root", work / "data", "--exec-root", work / "exec",
               "--pidfile", work / "pid", "--host", sock, "--storage-driver", "overlay2",
               "--bip", "172.29.0.1/16", "--cgroup-parent", cgroup,
               "--default-address-pool", "base=172.30.0.0/16,size=24"]
    with open(work / "dockerd.log", "w") as log:
        dockerd = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log)
        try:
            until(lambda: dockerd.poll() is not None or answers(**env), "dockerd")
            if dockerd.poll() is not None:
                raise NoEngine("dockerd has ended")
            yield env
        except NoEngine:
            print(tail(work / "dockerd.log"))
            raise
        finally:
            dockerd.terminate()
            dockerd.wait()


def import_base(work, env):
    """No registry is asked for the image that the Dockerfile starts from."""
    base = work / "base"
    try:
        debian_root.make_base(base, work / "debootstrap.log")
    except (debian_root.CannotMake, OSError, subprocess.CalledProcessError) as reason:
        raise NoEngine(f"{BASE}: {reason}") from None
    tar = subprocess.Popen(["tar", "-C", base, "-c", "."], stdout=subprocess.PIPE)
    subprocess.run(["docker", "import", "-", BASE], env=env, stdin=tar.stdout,
                   stdout=subprocess.DEVNULL, check=True)
    if tar.wait():
        raise NoEngine(f"tar of {base} exits with {tar.returncode}")
    shutil.rmtree(base)


def inside(work, cgroup, command):
    """In the new namespaces: runs the command beside an engine."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    until(lambda: os.path.exists("/sys/class/net/tap0")
          or "tap0" in Path("/proc/net/dev").read_text(), "slirp4netns")
    resolver(work)
    with daemon(work, cgroup) as env:
        import_base(work, env)
        code = subprocess.run(command, env=env).returncode
        if code:
            print(tail(work / "dockerd.log"))
        return code


def remove_cgroups(name):
    """Removes the groups of ended containers: the engine leaves its own in every hierarchy."""
    for top in Path("/sys/fs/cgroup").glob(f"**/{name}"):
        for directory in sorted((d for d in top.rglob("*") if d.is_dir()),
                                key=lambda d: -len(d.parts)):
            with contextlib.suppress(OSError):
                directory.rmdir()
        with contextlib.suppress(OSError):
            top.rmdir()


def run_beside_made(command):
    if os.geteuid():
        raise NoEngine(f"{NO_ENGINE}, and only root can make one")
    if not os.path.exists("/dev/net/tun"):
        raise NoEngine(f"{NO_ENGINE}, and to make one /dev/net/tun is missing")
    for needed in ("slirp4netns", "runc", "iptables", "debootstrap"):
        if not shutil.which(needed):
            raise NoEngine(f"{NO_ENGINE}, and to make one {needed} is missing")
    work = Path(tempfile.mkdtemp(prefix="baton-engine.", dir="/var/tmp"))
    cgroup = work.name
    child = subprocess.Popen(["unshare",
                              "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                              sys.executable, "-B", __file__, work, cgroup, *command])
    slirp = None
    try:
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        until(lambda: child.poll() is not None or children.read_text(), "the new namespaces")
        first = children.read_text().split()[0]
        slirp = subprocess.Popen(["slirp4netns", "--configure", "--mtu=65520", first, "tap0"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return child.wait()
    finally:
        for process in filter(None, (child, slirp)):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait()
        remove_cgroups(cgroup)
        shutil.rmtree(work, ignore_errors=True)


def run_beside(command):
    """Runs the command where `docker` finds an engine; its exit code. Raises NoEngine."""
    return subprocess.run(command).returncode if answers() else run_beside_made(command)


if __name__ == "__main__":
    try:
        sys.exit(inside(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
    except NoEngine as reason:
        print(f"containers: skipped: {reason}")
        sys.exit(SKIPPED)
