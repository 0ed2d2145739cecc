#!/usr/bin/env python3
"""Baton's engine beside llama.cpp's on the same cores, in turn, with your own builds of llama.cpp.

    bench/peer.py --peer llama.cpp=llama.cpp/build/bin --model shape:smollm2-135m --dtype q8 \\
        --gguf smollm2-135m-Q8_0.gguf --threads 1,2

A peer is a directory with llama-bench and, for steps of several sequences, llama-batched-bench.
Several may be named; a fork without `llama-bench -d` decodes after a prompt of its own (-gp). Its
further options follow a colon: --peer "ik=ik_llama.cpp/build/bin:-rtr 1".

The GGUF file must hold a model of the same shape (weights do not matter), in a type that matches
--dtype: f32 beside F32, bf16 beside BF16, q8 beside Q8_0. Without --gguf such a file of the shape
is made, and deleted afterwards. With --type Q4_K_M and the like all programs run the one file that
is made, Baton in --dtype native.

With --depth the prompt lies behind so many positions, and decoding begins there. A peer computes
these positions, untimed; without `llama-bench -d` its prefill is not measured.

Every figure is tokens per second: least .. median .. greatest over all rounds. Within a round each
program runs all tests once, one program right after the other, and who is first changes from round
to round; a ratio is of one round. Beside them stand the bandwidth and the peak of products that
Baton measures between its own runs. A figure has a star if other processes took more than a tenth
of the processors while its program ran. --csv FILE also appends the medians to a file, which
bench/plot_peers.py draws.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = {"f32": "F32", "bf16": "BF16", "q8": "Q8_0"}  # the peers', beside Baton's
MOST_OF_OTHERS = 0.1  # of the processors, while a program is measured


def output(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def prefill_test(n_prompt, depth=0):
    return f"prefill {n_prompt}" + (f" after {depth}" if depth else "")


def decode_test(n_past, n_seqs):
    return f"decode after {n_past}" + (f", {n_seqs} sequences" if n_seqs > 1 else "")


class Baton:
    name = "Baton"

    def __init__(self, options):
        self.options = options
        self.limits = {}  # {test: [(bytes/s, flops/s) of each round]}

    def run(self, n_threads):
        """{test: tokens/s}"""
        options = self.options
        if options.depth:
            return self.run_deep(n_threads)
        lengths = sorted({*options.prompt, *options.past})
        lines = self.bench(n_threads, "--prompt", ",".join(map(str, lengths)),
                           "--batch", ",".join(map(str, sorted({1, *options.batch}))))
        return dict(self.figure(prefill_test(line["prompt"]) if line["phase"] == "prefill"
                                else decode_test(line["prompt"], line["batch"]), line)
                    for line in lines)

    def figure(self, test, line):
        self.limits.setdefault(test, []).append((line["bytes_per_s"], line["flops_per_s"]))
        return test, line["tokens_per_s"]

    def bench(self, n_threads, *tests):
        options = self.options
        lines = json.loads(output([options.baton_bench, "engine", "--model", options.model,
                                   "--dtype", options.dtype, "--kernels", options.kernels,
                                   "--kv-dtype", options.kv_dtype or "auto", "--threads", n_threads,
                                   "--new", options.new, "--json", *tests]))
        self.kernels = lines[0]["kernels"]
        return lines

    def run_deep(self, n_threads):
        """Decoding begins behind the shortest prompt that there is, of one token."""
        figures = {}
        for depth in self.options.depth:
            lengths = ",".join(map(str, sorted({1, *self.options.prompt})))
            for line in self.bench(n_threads, "--depth", depth, "--batch", 1, "--prompt", lengths):
                if line["phase"] == "prefill" and line["prompt"] in self.options.prompt:
                    figures.update([self.figure(prefill_test(line["prompt"], depth), line)])
                elif line["phase"] == "decode" and line["prompt"] == 1:
                    figures.update([self.figure(decode_test(depth, 1), line)])
        return figures


class Llama:
    def __init__(self, options, peer):
        self.options = options
        self.name, _, at = peer.partition("=")
        at, _, more = at.partition(":")
        self.folder, self.more = Path(at), more.split()
        help_text = subprocess.run([self.folder / "llama-bench", "--help"], capture_output=True,
                                   text=True)
        self.has_depth = "n-depth" in help_text.stdout + help_text.stderr

    def bench(self, n_threads, *tests):
        kv = ["-fa", "1", "-ctk", "q8_0", "-ctv", "q8_0"] if self.options.kv_dtype == "q8" else []
        text = output([self.folder / "llama-bench", "-m", self.options.gguf, "-t", n_threads,
                       "-r", self.options.repetitions, "-o", "json", *kv, *self.more, *tests])
        return json.loads(text[text.index("["):])

    def run_deep(self, n_threads):
        """A fork without -d says the speed behind a prompt as that of the steps alone."""
        figures = {}
        for depth in self.options.depth:
            if not self.has_depth:
                figures[decode_test(depth, 1)] = self.decode(n_threads, depth)
                continue
            prompts = ",".join(map(str, self.options.prompt))
            for test in self.bench(n_threads, "-p", prompts, "-n", self.options.new, "-d", depth):
                name = (prefill_test(test["n_prompt"], depth) if test["n_prompt"]
                        else decode_test(depth, 1))
                figures[name] = statistics.median(test["samples_ts"])
        return figures

    def decode(self, n_threads, n_past):
        n_new = self.options.new
        tests = (["-p", 0, "-n", n_new, "-d", n_past] if self.has_depth
                 else ["-p", 0, "-n", 0, "-gp", f"{n_past},{n_new}"])
        [test] = self.bench(n_threads, *tests)
        return statistics.median(test["samples_ts"])

    def decode_together(self, n_threads, n_past, n_seqs):
        n_new = self.options.new
        lines = output([self.folder / "llama-batched-bench", "-m", self.options.gguf,
                        "-t", n_threads, "-tb", n_threads, "-c", n_seqs * (n_past + n_new),
                        "-npp", n_past, "-ntg", n_new, "-npl", n_seqs,
                        "--output-format", "jsonl"]).splitlines()
        tests = [json.loads(line) for line in lines if line.startswith("{")]
        if not tests:
            raise SystemExit(
                f"{self.name}: llama-batched-bench measured nothing with {n_seqs} sequences; "
                "try greater --past or --new")
        return tests[0]["speed_tg"]

    def run(self, n_threads):
        options = self.options
        if options.depth:
            return self.run_deep(n_threads)
        figures = {}
        for test in self.bench(n_threads, "-p", ",".join(map(str, options.prompt)), "-n", 0):
            figures[prefill_test(test["n_prompt"])] = statistics.median(test["samples_ts"])
        for n_past in options.past:
            figures[decode_test(n_past, 1)] = self.decode(n_threads, n_past)
        if self.has_depth and (self.folder / "llama-batched-bench").exists():
            for n_seqs in options.batch:
                figures[decode_test(options.past[0], n_seqs)] = self.decode_together(
                    n_threads, options.past[0], n_seqs)
        return figures


def numbers(text):
    return [int(number) for number in text.split(",") if number]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, action="append",
                        metavar="NAME=DIRECTORY[:OPTIONS]",
                        help="a build of llama.cpp; may be given several times")
    parser.add_argument("--gguf", help="the model as the peers load it [made of --model's shape]")
    parser.add_argument("--type", help="of ggml's, of a file made for all: Q4_0, Q4_K_M, ...")
    parser.add_argument("--directory", help="where a file is made [the system's temporary one]")
    parser.add_argument("--baton-bench", default=ROOT / "build/release/bin/baton-bench")
    parser.add_argument("--model", default="shape:distilgpt2", help="the same as Baton loads it")
    parser.add_argument("--dtype", help="of Baton's weights [f32; with --type native]")
    parser.add_argument("--kernels", default="auto")
    parser.add_argument("--threads", type=numbers, default="1",
                        help="of each program, one table each")
    parser.add_argument("--prompt", type=numbers, default="16,64,256,512", help="prompt lengths")
    parser.add_argument("--past", type=numbers, default="16,512", help="contexts to decode after")
    parser.add_argument("--depth", type=numbers, default="",
                        help="positions before the prompt, and before decoding, "
                        "in place of --past and --batch")
    parser.add_argument("--kv-dtype", choices=("f16", "q8"),
                        help="of K and V [each program's own choice]")
    parser.add_argument("--new", type=int, default=64, help="tokens to decode")
    parser.add_argument("--batch", type=numbers, default="4,16", help="sequences decoded together")
    parser.add_argument("--repetitions", type=int, default=5,
                        help="that a peer takes the median of in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="append the medians to it")
    options = parser.parse_args()
    options.dtype = options.dtype or ("native" if options.type else "f32")
    options.type = options.type or TYPES.get(options.dtype)
    if not options.gguf and not (options.type and options.model.startswith("shape:")):
        parser.error("--gguf must name a file, unless --model is shape:NAME and --type or --dtype "
                     "says its type")
    return options


def make_file(options, directory):
    """Writes the GGUF file that was not given."""
    shape = options.model.removeprefix("shape:")
    options.gguf = Path(directory) / f"{shape}-{options.type}.gguf"
    output([options.baton_bench, "make-model", "--shape", shape, "--gguf", options.type,
            "--out", options.gguf])
    if options.dtype not in TYPES:
        options.model = options.gguf


def busy_seconds():
    """Of all processors, by any process and by other guests of the host."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Of this process and of the programs that it ran."""
    return sum(os.times()[:4])


def run_watched(side, n_threads):
    """{test: tokens/s}, and the share of the processors that other processes took meanwhile."""
    start, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    figures = side.run(n_threads)
    seconds = (time.monotonic() - start) * os.cpu_count()
    return figures, (busy_seconds() - busy - own_seconds() + own) / seconds


def spread(numbers, n_digits, mark=""):
    numbers = [number for number in numbers if number]
    if not numbers:
        return "-"
    return " .. ".join(f"{number:.{n_digits}f}" for number in
                       (min(numbers), statistics.median(numbers), max(numbers))) + mark


def limits_of(baton, test):
    bandwidths, peaks = zip(*baton.limits[test])
    return (f"{statistics.median(bandwidths) / 1e9:.1f} GB/s, "
            f"{statistics.median(peaks) / 1e9:.0f} GFLOP/s")


def compare(options, sides, n_threads):
    rounds, others = [[] for _ in sides], [[] for _ in sides]
    sides[0].limits.clear()
    for i in range(options.rounds):
        for side in range(len(sides)) if i % 2 == 0 else reversed(range(len(sides))):
            figures, share = run_watched(sides[side], n_threads)
            rounds[side].append(figures)
            others[side].append(share)
    marks = [" *" if max(shares) > MOST_OF_OTHERS else "" for shares in others]
    cache = f"K and V in {options.kv_dtype}, " if options.kv_dtype else ""
    print(f"{options.model}, {options.dtype}, {sides[0].kernels} kernels, {n_threads} thread(s), "
          f"{cache}{options.rounds} rounds; other processes took at most "
          f"{max(map(max, others)):.0%} of the processors\n")
    print("| tokens/s | " + " | ".join(side.name for side in sides)
          + " | Baton's ratio | limits beside it |")
    print("|---" * (len(sides) + 3) + "|")
    for test in rounds[0][0]:
        of_sides = [[figures.get(test) for figures in of_side] for of_side in rounds]
        ratios = [[ours / n for ours, n in zip(of_sides[0], theirs) if n]
                  for theirs in of_sides[1:]]
        if any(ratios):
            cells = [spread(of_side, 1, mark) for of_side, mark in zip(of_sides, marks)]
            print(f"| {test} | " + " | ".join(cells) + " | "
                  + ", ".join(spread(ratio, 2) for ratio in ratios)
                  + f" | {limits_of(sides[0], test)} |")
    print(flush=True)
    if options.csv:
        medians = [{test: statistics.median(figures[test] for figures in of_side)
                    for test in of_side[0]} for of_side in rounds]
        append(options, n_threads, [side.name for side in sides], medians)


def append(options, n_threads, names, medians):
    is_new = not options.csv.exists()
    with options.csv.open("a", newline="") as file:
        rows = csv.writer(file)
        if is_new:
            rows.writerow(["model", "dtype", "threads", "test", "program", "tokens_per_s"])
        for name, figures in zip(names, medians):
            rows.writerows([Path(options.gguf).stem, options.dtype, n_threads, test, name,
                            f"{figure:.2f}"] for test, figure in figures.items())


def main():
    options = read_options()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        if not options.gguf:
            make_file(options, directory)
        sides = [Baton(options), *(Llama(options, peer) for peer in options.peer)]
        for n_threads in options.threads:
            compare(options, sides, n_threads)


if __name__ == "__main__":
    main()
