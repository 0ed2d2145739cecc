#!/usr/bin/env python3
"""Compares the cost of changes to the server: trees built beside each other, in short turns.

    bench/compare.py --rounds 45 --concurrency 16 BEFORE BEFORE AFTER

Each TREE is a working copy built by `cmake --build --preset release`. All fleets run at once (one
prefill and one decode worker each) and are idle but for the one whose turn it is, so that what the
machine's neighbours do strikes all alike. A tree that is named twice shows how far to believe the
others. What else differs between two fleets is made the same: each has a session of its own, since
Linux shares processors among sessions first; all map one packed file, whose pages in the page cache
are larger or smaller by luck; each has its own table of cores.

A line is a figure's median for each tree, then the ratio to the first tree within a round: its
median and quartiles. cpu_us is processor time for each token, as the kernel counts it.
"""
import argparse
import glob
import json
import os
import random
import statistics
import subprocess
import tempfile


class Fleet:
    def __init__(self, tree, index, root, options):
        self.tree, self.port = os.path.abspath(tree), options.port + index
        self.state = f"{root}/fleet-{index}"
        leases = f"{root}/leases-{index}"
        os.mkdir(leases, 0o700)
        self.local("up", "--detach", "--port", str(self.port), "--pack-dir", f"{root}/pack",
                   "--bin", f"{self.tree}/build/release/bin", *options.up.split(),
                   env=dict(os.environ, BATON_PREFILL_LEASE_DIR=leases,
                            BATON_DECODE_LEASE_DIR=leases))

    def local(self, command, *words, **how):
        subprocess.run([f"{self.tree}/deploy/local", command, "--state", self.state, *words],
                       check=True, stdout=subprocess.DEVNULL, start_new_session=True, **how)

    def cpu_ns(self):
        """{process: nanoseconds on a processor, of all its threads}"""
        spent = {}
        for path in glob.glob(f"{self.state}/*.pid"):
            with open(path) as file:
                pid = file.read().split()[0]
            name = os.path.basename(path).split(".")[0]
            for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                with open(task) as file:
                    spent[name] = spent.get(name, 0) + int(file.read().split()[0])
        return spent


def burst(fleet, options, n):
    """The load generator's figures, and each process's processor time for a token."""
    before = fleet.cpu_ns()
    # The same client for all, so that only servers differ.
    client = f"{os.path.abspath(options.trees[0])}/build/release/bin/baton-load"
    out = subprocess.run(
        [client, "--url", f"http://127.0.0.1:{fleet.port}", "--requests", str(n), "--concurrency",
         str(options.concurrency), "--prompt-tokens", str(options.prompt), "--output-tokens",
         str(options.new), "--quiet", "true", "--json", "-"],
        check=True, capture_output=True, text=True).stdout
    figures = json.loads(out)["runs"][0]["figures"]
    row = {"tokens_per_s": figures["output_tokens_per_s"]}
    for name in ("ttft", "itl"):
        for part in ("p50", "p99"):
            row[f"{name}_{part}_ms"] = 1e3 * figures["times"][name][part + "_s"]
    for name, ns in fleet.cpu_ns().items():
        row["cpu_us " + name] = (ns - before.get(name, 0)) / 1e3 / figures["tokens"]["output"]
    return row


def measure(fleets, options):
    """{figure: [values of each fleet, by round]}"""
    values = {}
    for fleet in fleets:
        burst(fleet, options, 2 * options.requests)
    for _ in range(options.rounds):
        for fleet in random.sample(fleets, len(fleets)):
            for name, value in burst(fleet, options, options.requests).items():
                columns = values.setdefault(name, [[] for _ in fleets])
                columns[fleets.index(fleet)].append(value)
    return values


def show(values):
    for name, columns in values.items():
        if not all(columns):  # a process that not every tree has
            continue
        line = f"{name:18}" + "".join(f"{statistics.median(column):10.3f}" for column in columns)
        for column in columns[1:]:
            low, middle, high = statistics.quantiles(
                [own / first for first, own in zip(columns[0], column) if first], n=4)
            line += f"   {middle:.3f} [{low:.3f} {high:.3f}]"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="+", metavar="TREE")
    parser.add_argument("--rounds", type=int, default=45)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--requests", type=int, default=0, help="of a burst; 0: about a second")
    parser.add_argument("--prompt", type=int, default=128, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=64, help="tokens to generate")
    parser.add_argument("--port", type=int, default=8041, help="of the first fleet")
    parser.add_argument("--up", default="", help="more words for deploy/local up")
    options = parser.parse_args()
    options.requests = options.requests or (12 if options.concurrency == 1 else 112)
    fleets = []
    with tempfile.TemporaryDirectory(prefix="baton-compare-") as root:
        try:
            for index, tree in enumerate(options.trees):
                fleets.append(Fleet(tree, index, root, options))
            show(measure(fleets, options))
        finally:
            for fleet in fleets:
                fleet.local("down")


if __name__ == "__main__":
    main()
