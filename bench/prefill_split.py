#!/usr/bin/env python3
"""Long prompts on two prefill workers together, beside one: the time to the first token.

    build/release/bin/baton-bench make-model --shape smollm2-135m --gguf Q8_0 --out /tmp/model.gguf
    bench/prefill_split.py --model /tmp/model.gguf --tokens 4096 --rounds 3

Each prefill worker has one thread on a core of its own: core 0 alone, cores 0 and 1 together. Both
fleets stand beside each other, and rounds ask the one and the other in turn. The tokens are
compared: they must be equal. Figures are medians over rounds, the ratio is the median of the
rounds' ratios.
"""
import argparse
import json
import random
import statistics
import tempfile
import urllib.request
from pathlib import Path

from fleet import ROOT, Fleet


def start_fleet(options, directory, n_workers):
    directory.mkdir()
    fleet = Fleet(options.bin, options.model, directory, "--prefill-split", n_workers,
                  "--prefill-split-min-tokens", 256)
    room = options.tokens + 64
    for core in range(n_workers):
        fleet.start_worker("prefill", "--id", f"prefill-{core}", "--threads", 1, "--cores", core,
                           "--kv-tokens", room, "--chunk", options.chunk)
    fleet.start_worker("decode", "--threads", 1, "--kv-tokens", room)
    return fleet


def ask(fleet, tokens):
    body = json.dumps({"prompt": tokens, "max_new_tokens": 2, "temperature": 0, "ignore_eos": True,
                       "cache_prompt": False}).encode()
    request = urllib.request.Request(fleet.url + "/generate", body,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=3600) as answer:
        return json.load(answer)


def measure(alone, together, options):
    draw, rounds = random.Random(1), []
    for i in range(options.rounds + 1):
        n = options.tokens if i else 512
        tokens = [draw.randrange(300, 20000) for _ in range(n)]
        one, two = ask(alone, tokens), ask(together, tokens)
        if one["generated_text"] != two["generated_text"]:
            raise SystemExit("the tokens differ")
        if two["served_by"].get("prefill_parts") != 2:
            raise SystemExit("the prompt was not divided")
        if i:  # the first round maps pools and touches pages
            rounds.append((one["ttft_s"], two["ttft_s"], one["ttft_s"] / two["ttft_s"]))
    return [statistics.median(column) for column in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=4096, help="of a prompt")
    parser.add_argument("--chunk", type=int, default=128, help="of the workers, and of a stripe")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="where the programs are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        with start_fleet(options, Path(directory) / "alone", 1) as alone, \
                start_fleet(options, Path(directory) / "together", 2) as together:
            alone.wait_ready(2)
            together.wait_ready(3)
            one_s, two_s, ratio = measure(alone, together, options)
    print(f"tokens {options.tokens}  alone_s {one_s:.3f}  together_s {two_s:.3f}  "
          f"ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
