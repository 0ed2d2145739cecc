#!/usr/bin/env python3
"""Baton's engine beside llama.cpp's on the same cores, in turn, with your own build of llama.cpp.

    bench/peer.py --llama-bench PATH/llama-bench --gguf distilgpt2-bf16.gguf --dtype bf16 --threads 2

The GGUF file must hold a model of the same shape (weights do not matter), in a type that matches --dtype:
f32 beside F32, bf16 beside BF16, q8 beside Q8_0. Every figure is tokens per second, the median over all
rounds; within a round each test runs in both programs, one right after the other, and who is first changes
from round to round. With --llama-batched-bench, steps of several sequences are compared as well.
"""
import argparse
import json
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def output(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


class Baton:
    def __init__(self, options):
        self.command = [options.baton_bench, "engine", "--model", options.model, "--dtype", options.dtype,
                        "--kernels", options.kernels, "--threads", options.threads, "--json"]

    def line(self, phase, *options):
        """The one line of that phase; names the kernels that gave it."""
        lines = json.loads(output([*self.command, *options]))
        [line] = [line for line in lines if line["phase"] == phase]
        self.kernels = line["kernels"]
        return line["tokens_per_s"]

    def prefill(self, n_prompt):
        return self.line("prefill", "--prompt", n_prompt, "--new", 1, "--batch", 1)

    def decode(self, n_past, n_new, n_seqs):
        return self.line("decode", "--prompt", n_past, "--new", n_new, "--batch", n_seqs)


class Llama:
    def __init__(self, options):
        self.options = options

    def bench(self, *options):
        [test] = json.loads(output([self.options.llama_bench, "-m", self.options.gguf, "-t", self.options.threads,
                                    "-r", 5, "-o", "json", *options]))
        self.name = f"{test['model_type']}, {test['model_size'] / 1e6:.0f} MB, build {test['build_commit']}"
        return statistics.median(test["samples_ts"])

    def prefill(self, n_prompt):
        return self.bench("-p", n_prompt, "-n", 0)

    def decode(self, n_past, n_new, n_seqs):
        if n_seqs == 1:
            return self.bench("-p", 0, "-n", n_new, "-d", n_past)
        lines = output([self.options.llama_batched_bench, "-m", self.options.gguf, "-t", self.options.threads,
                        "-tb", self.options.threads, "-c", n_seqs * (n_past + n_new), "-npp", n_past, "-ntg", n_new,
                        "-npl", n_seqs, "--output-format", "jsonl"]).splitlines()
        [test] = [json.loads(line) for line in lines if line.startswith("{")]
        return test["speed_tg"]


def tests_of(options):
    """[(name, what to call on either side)]"""
    def prefill(n):
        return f"prefill {n}", lambda side: side.prefill(n)

    def decode(n_past, n_seqs):
        return (f"decode {options.new} after {n_past}" + (f", {n_seqs} sequences" if n_seqs > 1 else ""),
                lambda side: side.decode(n_past, options.new, n_seqs))

    tests = [prefill(n) for n in options.prompt] + [decode(n, 1) for n in options.past]
    if options.llama_batched_bench:
        tests += [decode(options.past[0], n) for n in options.batch]
    return tests


def numbers(text):
    return [int(number) for number in text.split(",")]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-bench", required=True, help="llama.cpp's llama-bench")
    parser.add_argument("--llama-batched-bench", help="llama.cpp's llama-batched-bench")
    parser.add_argument("--gguf", required=True, help="the model as llama.cpp loads it")
    parser.add_argument("--baton-bench", default=ROOT / "build/release/bin/baton-bench")
    parser.add_argument("--model", default="shape:distilgpt2", help="the same as Baton loads it")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--kernels", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt", type=numbers, default="16,64,256,512", help="prompts to prefill")
    parser.add_argument("--past", type=numbers, default="16,512", help="contexts to decode after")
    parser.add_argument("--new", type=int, default=64, help="tokens to decode")
    parser.add_argument("--batch", type=numbers, default="4,16", help="sequences decoded together")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main():
    options = read_options()
    baton, llama = Baton(options), Llama(options)
    tests = tests_of(options)
    figures = {name: ([], []) for name, _ in tests}
    for i in range(options.rounds):
        for name, run in tests:
            for side in (0, 1) if i % 2 == 0 else (1, 0):
                figures[name][side].append(run((baton, llama)[side]))
    print(f"Baton: {options.model}, {options.dtype}, {baton.kernels} kernels; llama.cpp: {llama.name}; "
          f"{options.threads} thread(s), medians of {options.rounds} rounds\n")
    print("| tokens/s | Baton | llama.cpp | ratio |\n|---|---|---|---|")
    for name, (ours, theirs) in figures.items():
        a, b = statistics.median(ours), statistics.median(theirs)
        print(f"| {name} | {a:.0f} | {b:.0f} | {a / b:.2f} |")


if __name__ == "__main__":
    main()
