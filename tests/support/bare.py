"""tests/run --bare WORK: proves that nothing installed by hand is missing from the scripts.

In a bare Debian 12 (debootstrap, minbase) it takes the Dockerfile's own steps, serves a request
from the resulting file system as the compose file would (read-only, no privileges), then does what
the README tells a new user and runs the tests. tests/run calls it with mount and pid namespaces of
its own: whatever is mounted or left running goes with it.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import dockerfile
from debian_root import AUTHORITIES, CannotMake, make_base, output_of

REPO = pathlib.Path(__file__).resolve().parents[2]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
STARTED = time.monotonic()


def say(text):
    print(f"\n== {text} ({time.monotonic() - STARTED:.0f} s)", flush=True)


def fail(text):
    sys.exit(f"tests/run --bare: {text}")


def run(command, log):
    """Output goes to the log, whose end is shown when the command fails."""
    with open(log, "w") as out:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT)
    if done.returncode:
        print("".join(open(log, errors="replace").readlines()[-60:]))
        fail(f"{command[-1]!r} exits with {done.returncode}")


# The files of the repository.


def tracked_files():
    names = output_of("git", "-C", str(REPO), "ls-files", "-z").split("\0")
    return [name for name in names if name and (REPO / name).exists()]


def copy_tracked(target, names):
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPO / name, target / name, follow_symlinks=False)


@contextlib.contextmanager
def mounted(root, archives):
    """The mounts of a container engine; archives keeps packages from three downloads."""
    mounts = [(["-t", "proc", "proc"], "proc"), (["-t", "sysfs", "-o", "ro", "sysfs"], "sys"),
              (["--rbind", "/dev"], "dev"), (["--bind", str(archives)], "var/cache/apt/archives")]
    for arguments, target in mounts:
        subprocess.run(["mount", *arguments, str(root / target)], check=True)
    try:
        yield
    finally:
        for _, target in reversed(mounts):
            subprocess.run(["umount", "--recursive", "--lazy", str(root / target)], check=True)


def in_root(root, workdir, env, *command):
    network = {name: os.environ[name] for name in PROXIES if name in os.environ}
    if AUTHORITIES in os.environ:
        network[AUTHORITIES] = "/etc/host-authorities.pem"
    assignments = [f"{name}={value}" for name, value in {"PATH": PATH, **network, **env}.items()]
    return ["chroot", str(root), "env", "-i", "-C", workdir, *assignments, *command]


# The image.


def copy(source, target):
    """COPY: a directory's contents into the target, a file to the target."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def build_stage(stage, work):
    root, workdir = work / stage.name, pathlib.PurePosixPath("/")
    subprocess.run(["cp", "-a", str(work / "base"), str(root)], check=True)
    with mounted(root, work / "archives"):
        for step, *arguments in stage.steps:
            say(f"{stage.name}: {step} {' '.join(filter(None, arguments))}")
            if step == "WORKDIR":
                workdir /= arguments[0]
                (root / str(workdir).lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif step == "COPY":
                origin, source, target = arguments
                origin = work / (origin or "context")
                copy(origin / source.lstrip("/"), root / str(workdir / target).lstrip("/"))
            else:
                run(in_root(root, str(workdir), stage.env, "/bin/sh", "-c", arguments[0]),
                    work / "step.log")


def build_image(work):
    stages = dockerfile.parse((REPO / "deploy/Dockerfile").read_text())
    ignored = dockerfile.ignore_patterns((REPO / ".dockerignore").read_text())
    copy_tracked(work / "context",
                 [name for name in tracked_files() if not dockerfile.is_ignored(name, ignored)])
    for stage in stages:
        if stage.base != "debian:12-slim":
            fail(f"the Dockerfile's stage {stage.name} starts from {stage.base}")
        build_stage(stage, work)
    return stages[-1]


# One request through three processes of the image, in a network of their own.


def confine(root):
    """Read-only but for /tmp and the core lease's directory, as the compose file has it."""
    subprocess.run(["mount", "--bind", str(root), str(root)], check=True)
    for arguments, target in ((["-t", "proc", "proc"], "proc"), (["--rbind", "/dev"], "dev"),
                              (["-t", "tmpfs", "tmpfs"], "tmp"),
                              (["-t", "tmpfs", "-o", "mode=1777", "tmpfs"], "run/baton")):
        subprocess.run(["mount", *arguments, str(root / target)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(root)], check=True)


def environment(stage):
    """The image's own, less what two workers in one container would share."""
    return {**stage.env, "BATON_DECODE_INBOX": "tcp://0.0.0.0:7103",
            "BATON_DECODE_ADVERTISE": "tcp://*:7103",
            "BATON_DECODE_BULK": "tcp://0.0.0.0:7104",
            "BATON_DECODE_BULK_ADVERTISE": "tcp://*:7104",
            "BATON_PREFILL_ALIVE_FILE": "/tmp/prefill-alive",
            "BATON_DECODE_ALIVE_FILE": "/tmp/decode-alive"}


def serve(work):
    stage = dockerfile.parse((REPO / "deploy/Dockerfile").read_text())[-1]
    root = work / stage.name
    say("serving from the image: read-only, as its user, without privileges")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    (root / "etc/hosts").write_text("127.0.0.1 localhost gateway\n")
    confine(root)

    ids = [f"--reuid={stage.user}", f"--regid={stage.user}", "--clear-groups"]
    confined = ["setpriv", *ids, "--no-new-privs", "--bounding-set=-all"]
    container = in_root(root, "/tmp", environment(stage), *confined)
    logs = {role: work / f"{role}.log" for role in ("gateway", "prefill", "decode")}
    processes = {role: subprocess.Popen([*container, f"baton-{role}"], stdin=subprocess.DEVNULL,
                                        stdout=log.open("w"), stderr=subprocess.STDOUT)
                 for role, log in logs.items()}
    try:
        wait_until_ready(processes)
        for role in processes:
            subprocess.run([*container, "baton-healthcheck", role], check=True)
        generate()
        if any("ev=no_core_lease" in log.read_text() for log in logs.values()):
            raise RuntimeError("the workers do not share their cores")
        for role, process in processes.items():
            process.terminate()
            if process.wait(30):
                raise RuntimeError(f"baton-{role} exits with {process.returncode} on SIGTERM")
    except Exception:
        for role, process in processes.items():
            process.kill()
            print(f"--- {role}\n{logs[role].read_text(errors='replace')[-3000:]}")
        raise


def ask(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=30)
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def wait_until_ready(processes):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for role, process in processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"baton-{role} ended with {process.returncode}")
        with contextlib.suppress(OSError):
            if ask("GET", "/ready")[0] == 200:
                return
        time.sleep(0.1)
    raise RuntimeError("not ready after 60 s")


def generate():
    prompt = "Once upon a time"
    status, body = ask("POST", "/generate",
                       json.dumps({"prompt": prompt, "max_new_tokens": 16, "temperature": 0}))
    if status != 200 or not json.loads(body)["text"].startswith(prompt):
        raise RuntimeError(f"/generate answers {status}: {body}")
    print(json.loads(body)["text"])


# A new user's steps.


def readme_commands():
    """What the README's section Start has a new user type, less getting the sources and the tests
    (they run afterwards, on their own), and with an end."""
    readme = (REPO / "README.md").read_text()
    start = re.search(r"^## Start\n(.*?)^## ", readme, re.M | re.S)
    blocks = re.findall(r"^```sh\n(.*?)^```", start[1] if start else "", re.M | re.S)
    lines = "".join(blocks).splitlines(True)
    commands = [line for line in lines if not re.match(r"git clone |cd |tests/run", line)]
    if "tests/run\n" not in lines or not any(line.startswith("curl ") for line in commands):
        fail("README.md's section Start does not show deploy/local up, curl and tests/run")
    return "".join(commands) + "deploy/local down\n"


def follow_readme(work):
    root, env = work / "user", {"HOME": "/root", "LANG": "C.UTF-8"}
    if "BATON_FUZZ_SECONDS" in os.environ:
        env["BATON_FUZZ_SECONDS"] = os.environ["BATON_FUZZ_SECONDS"]
    subprocess.run(["cp", "-a", str(work / "base"), str(root)], check=True)
    copy_tracked(root / "root/baton", tracked_files())
    with mounted(root, work / "archives"):
        commands = readme_commands()
        say("the README's commands")
        print(commands, flush=True)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", 8000)) == 0:
                fail("port 8000, which the README's commands use, is taken")
        log = work / "readme.log"
        run(in_root(root, "/root/baton", env, "/bin/sh", "-ec", commands), log)
        if "event: summary" not in log.read_text():
            fail(f"the README's commands streamed no answer:\n{log.read_text()[-3000:]}")
        print("".join(log.read_text().splitlines(True)[-6:]))
        say("tests/run")
        if subprocess.run(in_root(root, "/root/baton", env, "tests/run"),
                          stdin=subprocess.DEVNULL).returncode:
            fail("tests/run failed")


def main():
    work = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["serve"]:
        return serve(work)
    (work / "archives").mkdir()
    say("a bare Debian 12")
    try:
        make_base(work / "base", work / "step.log")
    except CannotMake as reason:
        fail(reason)
    build_image(work)
    subprocess.run(["unshare", "--net", "--mount", sys.executable, __file__, str(work), "serve"],
                   check=True)
    follow_readme(work)
    say("bare: everything passed")


if __name__ == "__main__":
    main()
