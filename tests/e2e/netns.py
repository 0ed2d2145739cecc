"""A fleet with a network namespace per process, and a router whose paths can be cut."""
import contextlib
import ctypes
import os
import subprocess

import pytest
from fleet import Fleet, free_port

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def ip(*words, check=True):
    return subprocess.run(["ip", *map(str, words)], check=check, capture_output=True, text=True)


@contextlib.contextmanager
def inside(namespace):
    """This thread, and what it starts, is in the namespace."""
    with open("/proc/thread-self/ns/net") as before, open(f"/run/netns/{namespace}") as other:
        if libc.setns(other.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            assert libc.setns(before.fileno(), CLONE_NEWNET) == 0


class Net:
    """A router 10.77.i.1 and hosts: host i is 10.77.i.2 in its own namespace. Needs root."""

    def __init__(self, hosts):
        self.prefix = f"baton-{os.getpid()}-"
        self.addresses = {host: f"10.77.{i}.2" for i, host in enumerate(hosts)}
        self.made = []

    def name(self, host):
        return self.prefix + host

    def at(self, host, *words):
        return ip("-n", self.name(host), *words)

    def __enter__(self):
        try:
            for host in ["router", *self.addresses]:
                made = ip("netns", "add", self.name(host), check=False)
                if made.returncode:
                    pytest.skip(f"no network namespaces: {made.stderr.strip()}")
                self.made.append(host)
                self.at(host, "link", "set", "lo", "up")
            for i, (host, address) in enumerate(self.addresses.items()):
                self.at("router", "link", "add", f"h{i}", "type", "veth",
                        "peer", "name", "eth0", "netns", self.name(host))
                self.at("router", "address", "add", f"10.77.{i}.1/24", "dev", f"h{i}")
                self.at("router", "link", "set", f"h{i}", "up")
                self.at(host, "address", "add", f"{address}/24", "dev", "eth0")
                self.at(host, "link", "set", "eth0", "up")
                self.at(host, "route", "add", "default", "via", f"10.77.{i}.1")
            with inside(self.name("router")), open("/proc/sys/net/ipv4/ip_forward", "w") as forward:
                forward.write("1")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in self.made:
            ip("netns", "delete", self.name(host), check=False)

    def _rule(self, verb, one, other):
        self.at("router", "rule", verb, "blackhole", "from", self.addresses[one], "to",
                self.addresses[other])

    def cut(self, one, other, both=True):
        """Packets from one to the other are lost without a notice."""
        self._rule("add", one, other)
        if both:
            self._rule("add", other, one)

    def mend(self, one, other, both=True):
        self._rule("delete", one, other)
        if both:
            self._rule("delete", other, one)


class SpreadFleet(Fleet):
    """A fleet on a Net. Its gateway, and the test's requests, are in the namespace "gateway"."""

    def __init__(self, prefill=1, decode=1, **more):
        super().__init__(prefill, decode, **more)
        self.net = Net(["gateway", *[f"prefill-{i}" for i in range(prefill)],
                        *[f"decode-{i}" for i in range(decode)]])
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.net)
            stack.enter_context(inside(self.net.name("gateway")))
            super().__enter__()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        with self.stack:
            return super().__exit__(*error)

    def start_gateway(self):
        self.inbox, self.port = f"tcp://{self.net.addresses['gateway']}:{free_port()}", None
        super().start_gateway()

    def start_worker(self, role, name, args=(), **more):
        here = f"tcp://{self.net.addresses[name]}:0"
        bulk = ["--bulk", here] if role == "decode" else []
        with inside(self.net.name(name)):
            return super().start_worker(role, name, args=["--inbox", here, *bulk, *args], **more)
