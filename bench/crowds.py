#!/usr/bin/env python3
"""The cost to the gateway of streams that wait for their turn, and of those that read.

    bench/crowds.py --streams 10000

It starts a fleet of its own, whose decode worker has room for four streams; others wait. The gaps
between the tokens of those four are measured with nobody waiting and with the crowd, in turn, once
the crowd has come; and the gateway's memory and its part of a core then.
"""
import argparse
import csv
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from fleet import ROOT, Fleet

RUNNING, OUTPUT_TOKENS, SETTLES_S = 4, 480, 5
ANY = "1000000000"


def memory_mib(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def cpu_s(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share_of_a_core(process, seconds):
    before, begun_s = cpu_s(process), time.monotonic()
    time.sleep(seconds)
    return (cpu_s(process) - before) / (time.monotonic() - begun_s)


def gaps_ms(fleet, n, seconds):
    """(p50, p99) of the gaps between tokens with n streams open, and the gateway's memory and part
    of a core then."""
    with tempfile.TemporaryDirectory() as folder:
        load = subprocess.Popen(
            [fleet.bin / "baton-load", "--url", fleet.url, "--concurrency", str(n), "--duration",
             str(SETTLES_S + seconds), "--drain-s", "0", "--prompt-tokens", "8", "--output-tokens",
             str(OUTPUT_TOKENS), "--itl-csv", f"{folder}/gaps"], stdout=subprocess.DEVNULL)
        time.sleep(SETTLES_S)
        share, memory = share_of_a_core(fleet.gateway, seconds * 0.8), memory_mib(fleet.gateway)
        if load.wait():
            raise SystemExit("baton-load failed")
        with open(f"{folder}/gaps") as file:
            found = sorted(1e3 * float(row["gap_s"]) for row in csv.DictReader(file)
                           if row["gap_s"] and float(row["time_s"]) > SETTLES_S)
    return found[len(found) // 2], found[int(len(found) * 0.99)], memory, share


def start_fleet(options, directory):
    n = options.streams + 64
    fleet = Fleet(options.bin, ROOT / "models/tale", directory, "--log-level", "error",
                  "--max-connections", n, "--max-queued", n, "--max-queued-tokens", ANY,
                  "--max-wait-s", 0, "--timeout-s", 0)
    fleet.start_worker("prefill", "--threads", 1)
    fleet.start_worker("decode", "--threads", 1, "--kv-tokens", RUNNING * 512)
    return fleet


def measure_streams(options):
    with tempfile.TemporaryDirectory() as directory, start_fleet(options, directory) as fleet:
        fleet.wait_ready(2)
        print("| streams that wait | gap p50, ms | p99 | gateway, MiB | of a core |")
        print("|---|---|---|---|---|")
        for n in [0, options.streams] * options.rounds:
            p50, p99, memory, share = gaps_ms(fleet, n + RUNNING, options.seconds)
            print(f"| {n} | {p50:.2f} | {p99:.2f} | {memory:.1f} | {100 * share:.1f} % |",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
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
