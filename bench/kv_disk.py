#!/usr/bin/env python3
"""Conversations that return: their first token with blocks read from disk, beside computing them, in one run.

    build/release/bin/baton-bench make-model --shape smollm2-135m --gguf Q8_0 --out /tmp/model.gguf
    bench/kv_disk.py --model /tmp/model.gguf --tokens 8000 --rounds 5

Starts a gateway and a worker of each role. The prefill worker's memory holds one conversation, so
that each one that comes pushes the last one out. A round asks for a new conversation (all of it is
computed) and then for the one before (it is read). Reading is timed twice: out of the kernel's page
cache, and after the file's pages were dropped from it. The first tokens are compared: they must be
equal. Figures are medians over rounds, ratios are medians of the rounds' ratios.
"""
import argparse
import json
import os
import random
import re
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

BIN = Path(__file__).resolve().parents[1] / "build/release/bin"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    """A gateway and two workers, which end with the block."""

    def __init__(self, options, directory):
        self.processes, self.directory = [], Path(directory)
        inbox = f"tcp://127.0.0.1:{free_port()}"
        self.start(options, "gateway", ["--port", 0, "--inbox", inbox])
        self.url = "http://127.0.0.1:" + self.wait(lambda: re.search(r"ev=listening .*?port=(\d+)", self.log("gateway")))[1]
        self.start(options, "prefill", ["--gateway", inbox, "--kv-tokens", options.tokens + 16,
                                        "--kv-disk", f"{directory}/kv", "--kv-disk-bytes", options.bytes])
        self.start(options, "decode", ["--gateway", inbox, "--kv-tokens", options.tokens + 64, "--prefix-cache", "off"])
        self.wait(lambda: sum(w["state"] == "ready" for w in self.get("/workers")["workers"]) == 2)

    def start(self, options, role, args):
        log = open(self.directory / f"{role}.log", "w")
        self.processes.append(subprocess.Popen([BIN / f"baton-{role}", "--model", options.model, *map(str, args)],
                                               stdout=log, stderr=log))

    def log(self, role):
        return (self.directory / f"{role}.log").read_text()

    def wait(self, condition):
        while True:
            for process in self.processes:
                if process.poll() is not None:
                    raise SystemExit("\n".join(log.read_text() for log in self.directory.glob("*.log")))
            found = condition()
            if found:
                return found
            time.sleep(0.02)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def ask(self, tokens):
        """(seconds to the first token, the text, tokens from disk), once everything before is written."""
        self.wait(lambda: all(w["kv_blocks_free"] == w["kv_blocks_total"] for w in self.get("/workers")["workers"]))
        body = json.dumps({"prompt": tokens, "max_new_tokens": 2, "temperature": 0, "ignore_eos": True}).encode()
        request = urllib.request.Request(self.url + "/generate", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=3600) as answer:
            answer = json.load(answer)
        return answer["ttft_s"], answer["generated_text"], answer["disk_tokens"]

    def drop_pages(self):
        for path in (self.directory / "kv").iterdir():
            with open(path, "rb") as file:
                os.fsync(file)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()


def measure(fleet, options):
    draw, kept, rounds = random.Random(1), [], []
    for i in range(options.rounds + 2):
        kept.append([draw.randrange(300, 20000) for _ in range(options.tokens)])
        computed_s, text, _ = fleet.ask(kept[i])
        kept[i] = (kept[i], text)
        if i < 2:
            continue
        read = [fleet.ask(kept[i - 1][0])]
        fleet.ask(kept[i][0])
        fleet.ask(kept[i - 2][0])
        fleet.drop_pages()
        read.append(fleet.ask(kept[i - 1][0]))
        if any(text != kept[i - 1][1] for _, text, _ in read):
            raise SystemExit("the tokens differ")
        rounds.append((computed_s, read[0][0], read[1][0], read[0][0] / computed_s, read[1][0] / computed_s,
                       min(n for _, _, n in read)))
    return [statistics.median(column) for column in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=8000, help="of a conversation")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=4 << 30, help="--kv-disk-bytes")
    parser.add_argument("--dir", help="on the disk to be measured; a temporary one is made in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="baton-kv-", dir=options.dir) as directory, Fleet(options, directory) as fleet:
        computed, cached, cold, cached_ratio, cold_ratio, n = measure(fleet, options)
    print("| blocks of the prompt | tokens read | time to first token | ratio |\n|---|---|---|---|")
    print(f"| computed | 0 | {computed:.3f} s | 1 |")
    print(f"| read, from the page cache | {n:.0f} | {cached:.3f} s | {cached_ratio:.3f} |")
    print(f"| read, from the disk | {n:.0f} | {cold:.3f} s | {cold_ratio:.3f} |")


if __name__ == "__main__":
    main()
