#!/usr/bin/env python3
"""Draws goodput over the P:D ratio: the highest rate that meets the SLO by `baton-plan simulate`.

    tools/plan/plot_ratio.py --calibration tools/plan/costs/distilgpt2-bf16.json \\
        --workers 64 --out docs/pictures/ratio

One line per workload (--workloads PROMPT/OUTPUT,...), one point per layout of --workers in all.
Rates are found by halving. Writes OUT.csv, OUT.svg and OUT.png. Needs gnuplot (deploy/packages.sh
plots) for the pictures.
"""
import argparse
import csv
import json
import shutil
import subprocess
from pathlib import Path

PLAN = Path(__file__).resolve().parents[2] / "build/release/bin/baton-plan"
COLOURS = ["#1b6ca8", "#c1440e", "#2d7d46", "#7b3f99"]
SIZE = "900,420"  # pixels
PRECISION = 1.02  # of a rate


def good_share(options, layout, workload, rate):
    prompt, output = workload
    out = subprocess.run([options.plan, "simulate", "--calibration", options.calibration,
                          "--layouts", layout, "--rate", f"{rate:.6g}",
                          "--requests", str(options.requests), "--prompt-tokens", prompt,
                          "--output-tokens", output, "--slo", options.slo, "--json", "-",
                          *options.more], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(out)["runs"][0]["figures"]["goodput"]["share"]


def goodput(options, layout, workload):
    """The highest rate of which options.share are good; 0 when even a trickle is not."""
    def holds(rate):
        return good_share(options, layout, workload, rate) >= options.share

    low, high = 0.01, 1.0
    if not holds(low):
        return 0
    while holds(high):
        low, high = high, 2 * high
    while high / low > PRECISION:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def prefill_counts(workers):
    """Fine near the ends, coarse between."""
    counts = {round(workers * share / 16) for share in range(1, 16)}
    counts |= {1, 2, workers - 2, workers - 1}
    return sorted(n for n in counts if 0 < n < workers)


def draw(terminal, ending, options, names):
    commands = [f"set terminal {terminal}", f"set output '{options.out}.{ending}'",
                "set datafile separator ','", "set grid lc rgb '#dddddd'", "set border 3",
                "set tics nomirror out", "set key top right reverse Left",
                f"set xlabel 'prefill workers (of {options.workers}; the rest decode)'",
                f"set title '{options.share:.0%} of requests meet {options.slo}' noenhanced",
                "set ylabel 'requests/s'", "set yrange [0:*]",
                "set key title 'prompt/output tokens'"]
    lines = [f"'{options.out}.csv' using 1:{i + 2} with linespoints pt 7 ps 0.4 lw 2 "
             f"lc rgb '{COLOURS[i % 4]}' title '{name}' noenhanced"
             for i, name in enumerate(names)]
    subprocess.run(["gnuplot"], input="\n".join([*commands, "plot " + ", ".join(lines), ""]),
                   text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibration", required=True)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--workloads", default="64/256,256/64,512/16")
    parser.add_argument("--slo", default="ttft=500ms,tpot=25ms")
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--requests", type=int, default=2000, help="of every simulation")
    parser.add_argument("--out", default="ratio", help="path without its ending")
    parser.add_argument("--plan", default=PLAN)
    parser.add_argument("more", nargs="*", help="after --: options of baton-plan simulate")
    options = parser.parse_args()
    names = options.workloads.split(",")
    workloads = [name.split("/") for name in names]
    with open(options.out + ".csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["prefill", *names])
        for n in prefill_counts(options.workers):
            layout = f"{n}P{options.workers - n}D"
            table.writerow([n, *(f"{goodput(options, layout, workload):.4g}"
                                 for workload in workloads)])
            file.flush()
    if not shutil.which("gnuplot"):
        raise SystemExit("gnuplot is not installed: deploy/packages.sh plots")
    draw(f"svg size {SIZE} background '#ffffff'", "svg", options, names)
    draw(f"pngcairo size {SIZE}", "png", options, names)


if __name__ == "__main__":
    main()
