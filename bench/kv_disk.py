#!/usr/bin/env python3
"""Conversations that return: the first token with blocks read from disk, beside computing them.

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
import statistics
import tempfile
import urllib.request
from pathlib import Path

from fleet import ROOT, Fleet


def start_fleet(options, directory):
    fleet = Fleet(ROOT / "build/release/bin", options.model, directory)
    fleet.start_worker("prefill", "--kv-tokens", options.tokens + 16, "--kv-disk",
                       f"{directory}/kv", "--kv-disk-bytes", options.bytes)
    fleet.start_worker("decode", "--kv-tokens", options.tokens + 64, "--prefix-cache", "off")
    return fleet


def ask(fleet, tokens):
    """(seconds to the first token, text, tokens from disk), once all before is written."""
    fleet.wait(lambda: all(worker["kv_blocks_free"] == worker["kv_blocks_total"]
                           for worker in fleet.workers()))
    body = json.dumps({"prompt": tokens, "max_new_tokens": 2, "temperature": 0,
                       "ignore_eos": True}).encode()
    request = urllib.request.Request(fleet.url + "/generate", body,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=3600) as answer:
        answer = json.load(answer)
    return answer["ttft_s"], answer["generated_text"], answer["disk_tokens"]


def drop_pages(directory):
    for path in (Path(directory) / "kv").iterdir():
        with open(path, "rb") as file:
            os.fsync(file)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(fleet, options):
    draw, kept, rounds = random.Random(1), [], []
    for i in range(options.rounds + 2):
        kept.append([draw.randrange(300, 20000) for _ in range(options.tokens)])
        computed_s, text, _ = ask(fleet, kept[i])
        kept[i] = (kept[i], text)
        if i < 2:
            continue
        read = [ask(fleet, kept[i - 1][0])]
        ask(fleet, kept[i][0])
        ask(fleet, kept[i - 2][0])
        drop_pages(fleet.directory)
        read.append(ask(fleet, kept[i - 1][0]))
        if any(text != kept[i - 1][1] for _, text, _ in read):
            raise SystemExit("the tokens differ")
        rounds.append((computed_s, read[0][0], read[1][0], read[0][0] / computed_s,
                       read[1][0] / computed_s, min(n for _, _, n in read)))
    return [statistics.median(column) for column in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=8000, help="of a conversation")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=4 << 30, help="--kv-disk-bytes")
    parser.add_argument("--dir", help="on the disk to be measured; a temporary one is made in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="baton-kv-", dir=options.dir) as directory, \
            start_fleet(options, directory) as fleet:
        fleet.wait_ready(2)
        computed, cached, cold, cached_ratio, cold_ratio, n = measure(fleet, options)
    print("| blocks of the prompt | tokens read | time to first token | ratio |\n|---|---|---|---|")
    print(f"| computed | 0 | {computed:.3f} s | 1 |")
    print(f"| read, from the page cache | {n:.0f} | {cached:.3f} s | {cached_ratio:.3f} |")
    print(f"| read, from the disk | {n:.0f} | {cold:.3f} s | {cold_ratio:.3f} |")


if __name__ == "__main__":
    main()
