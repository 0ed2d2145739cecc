#!/usr/bin/env python3
"""What a crowd of streams that wait for their turn costs the gateway, and those that read.

    bench/crowds.py --streams 10000

It starts a fleet of its own, whose decode worker has room for four streams; others wait. The gaps between the tokens
of those four are measured with nobody waiting and with the crowd, in turn, once the crowd has come; and the gateway's
memory and its part of a core then.
"""
import argparse
import contextlib
import csv
import os
import resource
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNNING, OUTPUT_TOKENS, SETTLES_S = 4, 480, 5
ANY = "1000000000"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    """A gateway for n clients, and the processes that belong to it, until the context is left."""

    def __init__(self, options, n):
        self.bin, self.port, inbox = Path(options.bin), free_port(), free_port()
        self.gateway_url, self.log = f"tcp://127.0.0.1:{inbox}", tempfile.TemporaryFile()
        self.processes = []
        self.gateway = self.start("baton-gateway", "--port", self.port, "--inbox", self.gateway_url, "--log-level", "error",
                                  "--max-connections", n + 64, "--max-queued", n + 64, "--max-queued-tokens", ANY,
                                  "--max-wait-s", 0, "--timeout-s", 0)

    def start(self, program, *words):
        command = [self.bin / program, "--model", ROOT / "models/tale", *words]
        self.processes.append(subprocess.Popen([str(word) for word in command], stdout=self.log, stderr=self.log))
        return self.processes[-1]

    def start_workers(self):
        for role, more in (("prefill", []), ("decode", ["--bulk", "tcp://127.0.0.1:0", "--kv-tokens", RUNNING * 512])):
            self.start(f"baton-{role}", "--gateway", self.gateway_url, "--inbox", "tcp://127.0.0.1:0", "--threads", 1, *more)

    def wait(self, what, is_so):
        for _ in range(1200):
            if any(process.poll() is not None for process in self.processes):
                break
            with contextlib.suppress(OSError):
                if is_so(self.metrics()):
                    return
            time.sleep(0.1)
        self.log.seek(0)
        raise SystemExit(f"waited for {what}: {self.log.read()[-2000:].decode()}")

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def memory_mib(self):
        status = Path(f"/proc/{self.gateway.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def cpu_s(self):
        fields = Path(f"/proc/{self.gateway.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def share_of_a_core(self, seconds):
        before, begun_s = self.cpu_s(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu_s() - before) / (time.monotonic() - begun_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()
        self.log.close()


def gaps_ms(fleet, n, seconds):
    """(p50, p99) of the gaps between tokens with n streams open, and the gateway's memory and part of a core then."""
    with tempfile.TemporaryDirectory() as folder:
        load = subprocess.Popen([fleet.bin / "baton-load", "--url", f"http://127.0.0.1:{fleet.port}", "--concurrency", str(n),
                                 "--duration", str(SETTLES_S + seconds), "--drain-s", "0", "--prompt-tokens", "8",
                                 "--output-tokens", str(OUTPUT_TOKENS), "--itl-csv", f"{folder}/gaps"],
                                stdout=subprocess.DEVNULL, stderr=fleet.log)
        time.sleep(SETTLES_S)
        share, memory = fleet.share_of_a_core(seconds * 0.8), fleet.memory_mib()
        if load.wait():
            raise SystemExit("baton-load failed")
        with open(f"{folder}/gaps") as file:
            found = sorted(1e3 * float(row["gap_s"]) for row in csv.DictReader(file)
                           if row["gap_s"] and float(row["time_s"]) > SETTLES_S)
    return found[len(found) // 2], found[int(len(found) * 0.99)], memory, share


def measure_streams(options):
    with Fleet(options, options.streams) as fleet:
        fleet.start_workers()
        fleet.wait("the workers", lambda metrics: metrics['baton_workers{role="prefill",state="ready"}'] ==
                   metrics['baton_workers{role="decode",state="ready"}'] == 1)
        print("| streams that wait | gap p50, ms | p99 | gateway, MiB | of a core |\n|---|---|---|---|---|")
        for n in [0, options.streams] * options.rounds:
            p50, p99, memory, share = gaps_ms(fleet, n + RUNNING, options.seconds)
            print(f"| {n} | {p50:.2f} | {p99:.2f} | {memory:.1f} | {100 * share:.1f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="where the programs are")
    parser.add_argument("--streams", type=int, default=10000, help="that wait")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    measure_streams(options)


if __name__ == "__main__":
    main()
