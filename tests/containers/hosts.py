"""Hosts for a swarm: engines in namespaces of their own on a bridge, which may lose their power.

A host is a dockerd with mounts, processes and a network of its own. Its power is its first process:
when that is killed, the kernel ends whatever runs there. Its disk is a directory. Hosts exist only
beside a made engine, whose programs they run and whose namespaces hold the bridge.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from engine import MADE, tail
from fleet import wait_for

HERE = Path(__file__).resolve().parent
BRIDGE, NET = "hosts0", "10.99.0"


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


class Host:
    def __init__(self, number, room):
        self.name, self.address, self.number = f"node-{number}", f"{NET}.{number}", number
        self.disk = room / self.name
        self.disk.mkdir()
        self.sock = f"unix://{self.disk}/sock"
        self.cgroup = f"{room.parent.name}/{self.name}"  # removed with those of the engine
        self.power, self.on_since_s = None, 0.0

    def docker(self, *words, check=True, **options):
        """The words of `docker WORDS` on this host."""
        done = subprocess.run(["docker", "--host", self.sock, *map(str, words)],
                              capture_output=True, text=True, **options)
        failed = check and done.returncode
        assert not failed, f"{self.name}: docker {words}: {done.stderr}{done.stdout}"
        return done.stdout.strip()

    def answers(self):
        return subprocess.run(["docker", "--host", self.sock, "info"],
                              capture_output=True).returncode == 0

    def switch_on(self):
        """Starts it; its engine answers later."""
        self.on_since_s = time.monotonic()
        with open(self.disk / "log", "a") as log:
            self.power = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--pid",
                                           "--fork", "--kill-child", "--mount-proc", HERE / "host",
                                           self.name, f"{self.address}/24", self.disk, self.cgroup],
                                          stdin=subprocess.PIPE, stdout=log, stderr=log)
        first = self.first_process()
        ip("link", "add", f"host{self.number}", "type", "veth", "peer", "name", "eth0", "netns",
           first)
        ip("link", "set", f"host{self.number}", "master", BRIDGE, "up")
        self.power.stdin.write(b"plugged in\n")
        self.power.stdin.flush()

    def first_process(self):
        children = Path(f"/proc/{self.power.pid}/task/{self.power.pid}/children")
        while not children.read_text():
            assert self.power.poll() is None, (self.disk / "log").read_text()
        return int(children.read_text().split()[0])

    def switch_off(self, how=signal.SIGKILL):
        """Ends the host as a power failure does: nobody there can say goodbye."""
        if not self.power:
            return
        with contextlib.suppress(ProcessLookupError, AssertionError):
            os.kill(self.first_process(), how)
        self.power.wait()
        self.power.stdin.close()
        self.power = None

    def shut_down(self):
        self.switch_off(signal.SIGTERM)


@contextlib.contextmanager
def network():
    """The bridge between the hosts; this process has an address on it too."""
    ip("link", "add", BRIDGE, "type", "bridge")
    try:
        ip("address", "add", f"{NET}.254/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        # Frames between hosts are no business of the filter of the engine beside us.
        Path("/proc/sys/net/bridge/bridge-nf-call-iptables").write_text("0")
        yield
    finally:
        ip("link", "delete", BRIDGE)


def show_logs(made):
    """The output of the engines that were switched on."""
    for log in (host.disk / "log" for host in made if (host.disk / "log").exists()):
        print(tail(log))


@contextlib.contextmanager
def hosts(n, image):
    """n hosts whose engines answer and have the image of the engine beside us."""
    room = Path(tempfile.mkdtemp(prefix="hosts.", dir=os.environ[MADE]))
    archive = room / "image.tar"
    subprocess.run(["docker", "save", "-o", archive, image], check=True)
    made = [Host(i + 1, room) for i in range(n)]
    with network(), contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, room, ignore_errors=True)
        stack.push(lambda kind, *_: show_logs(made) if kind else None)
        for host in made:
            stack.callback(host.switch_off)
        made[0].switch_on()
        wait_for(made[0].answers, "the first host")
        made[0].docker("load", "-i", archive)
        made[0].shut_down()
        archive.unlink()
        for host in made[1:]:  # a copy of the disk is faster than to load the image again
            subprocess.run(["cp", "-a", made[0].disk / "data", host.disk], check=True)
        for host in made:
            host.switch_on()
        wait_for(lambda: all(host.answers() for host in made), "the hosts")
        yield made
