"""Attacks of strangers on a fleet, and their cost: `attacks.py [NAME...]` prints figures in full
size.

tests/attack/test_strangers.py runs the same in a small size and asserts.
"""
import argparse
import contextlib
import os
import resource
import tempfile
import time
from pathlib import Path

import certificates
import wire
from fleet import SUSPICION, Clients, Fleet, PeerFleet, wait_for
from load import allow_files


class Watch:
    """A process, looked at from outside."""

    def __init__(self, process):
        self.pid = process.pid
        self.cpu0, self.begin = self.cpu_s(), time.monotonic()

    def cpu_s(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            times = stat.read().rsplit(")", 1)[1].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def rss_mb(self):
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize() / 1e6

    def cores(self):
        """Busy since the last look."""
        now, cpu = time.monotonic(), self.cpu_s()
        busy = (cpu - self.cpu0) / (now - self.begin)
        self.cpu0, self.begin = cpu, now
        return busy


class Probe(Clients):
    """Asks /health for as long as the block runs; how long the slowest answer took, and how
    many were reset."""

    def __init__(self, fleet, resets_fail=True):
        super().__init__(1, self.ask)
        self.fleet, self.slowest_s, self.n_reset, self.resets_fail = fleet, 0, 0, resets_fail

    def ask(self, _):
        begin = time.monotonic()
        try:
            assert self.fleet.request("GET", "/health")[0] == 200
        except ConnectionError:
            self.n_reset += 1
            assert not self.resets_fail
        self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
        self.over.wait(0.02)


class Peak(Clients):
    """The most files and memory that a watched process held while the block ran."""

    def __init__(self, watch):
        super().__init__(1, self.look)
        self.watch, self.files, self.rss_mb = watch, 0, 0

    def look(self, _):
        self.files = max(self.files, self.watch.files())
        self.rss_mb = max(self.rss_mb, self.watch.rss_mb())
        self.over.wait(0.005)


def settled(condition):
    """Waits as long as a test would; how long it took, in words."""
    begin = time.monotonic()
    try:
        wait_for(condition, "the end")
    except AssertionError:
        return "not in"
    return f"in {time.monotonic() - begin:.1f} s"


def flood_hellos(url, n, token="guess", inbox_url=None, pipes=1):
    """n Hellos over `pipes` connections, as many as the peer takes. Returns the connections."""
    target = inbox_url or wire.refusing_url()
    n_each = -(-n // pipes)
    held = []
    for p in range(pipes):
        held.append(wire.connect(url))
        try:
            for i in range(n_each):
                link = p * n_each + i + 1
                held[-1].sendall(wire.hello(token, target, f"stranger-{link}", link))
        except ConnectionError:
            pass
    return held


def refused(fleet, *reasons):
    metrics = fleet.metrics()
    return sum(metrics[f'baton_hellos_refused_total{{reason="{reason}"}}'] for reason in reasons)


def run_hellos(n, token, pipes=1):
    with Fleet(token="secret", gateway_args=SUSPICION) as fleet:
        watch = Watch(fleet.gateway)
        base = watch.files()
        with Probe(fleet) as probe, Peak(watch) as peak:
            for pipe in flood_hellos(fleet.inbox, n, token=token, pipes=pipes):
                pipe.close()
            answered = settled(lambda: refused(fleet, "token", "other_terms", "dropped") >= pipes)
            closed = settled(lambda: watch.files() <= base + 4)
        log = fleet.gateway.text()
        print(f"hellos n={n} pipes={pipes} token={token}: slowest /health {probe.slowest_s:.2f} s, "
              f"refused {answered}, files {base} -> {peak.files}, closed {closed}, "
              f"lost {log.count('worker_lost')}, log lines {len(log.splitlines())}, "
              f"cpu {watch.cores():.2f} cores", flush=True)


def listening(process):
    """The urls of a process's inboxes; a decode worker has two."""
    inodes = set()
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            target = os.readlink(f"/proc/{process.pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    ports = []
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                ports.append(int(words[1].split(":")[1], 16))
    return [f"tcp://127.0.0.1:{port}" for port in sorted(ports)]


def flood_begins(url, n):
    """n KvBegins, each of a link of its own, to a reply_url where nobody listens."""
    target = wire.refusing_url()
    n_sent = 0
    pipe = wire.connect(url)
    for i in range(n):
        try:
            pipe.sendall(wire.kv_begin(target, link=i + 1, request_id=i + 1))
            n_sent += 1
        except ConnectionError:
            pipe.close()
            pipe = wire.connect(url)
    pipe.close()
    return n_sent


def run_begins(n):
    with Fleet(worker_args=SUSPICION) as fleet:
        watch = Watch(fleet.workers["decode-0"])
        base = watch.files()
        with Peak(watch) as peak:
            for url in listening(fleet.workers["decode-0"]):
                flood_begins(url, n)
            watch.cores()
            closed = settled(lambda: watch.files() <= base + 2)
        print(f"begins n={n}: files {base} -> {peak.files}, closed {closed}, "
              f"{watch.cores():.2f} cores meanwhile", flush=True)


def announce(url, n, n_bytes, missing=1, source=None):
    """n pipes that announce a message each and send all of it but the last bytes."""
    held = []
    body = bytes(n_bytes - missing)
    for _ in range(n):
        try:
            pipe = wire.connect(url, source=source)
            pipe.sendall(n_bytes.to_bytes(8, "big") + body)
            held.append(pipe)
        except (OSError, AssertionError):
            pass
    return held


def run_announce(n, n_bytes):
    with Fleet(gateway_args=SUSPICION, worker_args=SUSPICION) as fleet:
        watch = Watch(fleet.gateway)
        base, files = watch.rss_mb(), watch.files()
        with Probe(fleet) as probe, Peak(watch) as peak:
            held = announce(fleet.inbox, n, n_bytes)
            ended = settled(lambda: not any(wire.is_open(pipe) for pipe in held))
        print(f"announce {n} x {n_bytes}: RSS {base:.0f} -> {peak.rss_mb:.0f} -> "
              f"{watch.rss_mb():.0f} MB, all ended {ended}, files {files} -> {peak.files} -> "
              f"{watch.files()}, slowest /health {probe.slowest_s:.2f} s", flush=True)


def begin_hello(url):
    """A connection with the first bytes of a ClientHello: NNG's TLS waits for the rest for ever."""
    sock = wire.connect_only(url)
    with contextlib.suppress(OSError):  # ended already
        sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(14))
    return sock


def run_handshakes(n):
    allow_files(n + 200)
    with tempfile.TemporaryDirectory() as folder, \
            PeerFleet(certificates.identity(Path(folder), "fleet")) as fleet:
        resource.prlimit(fleet.gateway.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        watch = Watch(fleet.gateway)
        files = watch.files()
        with Probe(fleet, resets_fail=False) as probe, Peak(watch) as peak:
            held = [begin_hello(fleet.inbox) for _ in range(n)]
            few = settled(lambda: sum(map(wire.is_open, held)) <= 32)
            begin = time.monotonic()
            fleet.start_worker("decode", "decode-1")
            fleet.wait_ready(3)
            joined_s = time.monotonic() - begin
            ended = settled(lambda: not any(map(wire.is_open, held)))
        print(f"handshakes n={n}: files {files} -> {peak.files} -> {watch.files()}, 32 left {few}, "
              f"a worker joined in {joined_s:.1f} s, all ended {ended} later, "
              f"slowest /health {probe.slowest_s:.2f} s, {probe.n_reset} reset", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*",
                        default=["hellos", "begins", "announce", "handshakes"])
    parser.add_argument("--hellos", type=int, nargs="*", default=[300, 1000, 3000])
    parser.add_argument("--begins", type=int, default=500)
    parser.add_argument("--pipes", type=int, default=100)
    parser.add_argument("--handshakes", type=int, default=1000)
    args = parser.parse_args()
    for attack in args.attacks:
        if attack == "hellos":
            for n in args.hellos:
                run_hellos(n, "guess")
            run_hellos(300, "guess", pipes=300)
            run_hellos(300, "secret")
        elif attack == "begins":
            run_begins(args.begins)
        elif attack == "announce":
            for n_bytes in (8 << 20) - 64, 4 << 20:
                run_announce(args.pipes, n_bytes)
        elif attack == "handshakes":
            run_handshakes(args.handshakes)


if __name__ == "__main__":
    main()
