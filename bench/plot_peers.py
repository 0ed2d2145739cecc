#!/usr/bin/env python3
"""Draws what peer.py measured: a panel for each test, a cluster of bars for each model.

    bench/peer.py ... --csv peers.csv
    bench/plot_peers.py --out peers --threads 2 peers.csv

Bars are tokens per second as ratios to the first program of the file. Writes OUT.svg and OUT.png.
Needs gnuplot (deploy/packages.sh plots).
"""
import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from lab.errors import LabError  # noqa: E402
from lab.gnuplot import colour, data, draw, grid, quoted, require_gnuplot  # noqa: E402

PANEL = (900, 260)  # pixels


def figures_of(path, n_threads):
    """{test: {model: {program: tokens/s}}}, and the programs in their order."""
    tests, programs = {}, []
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if int(row["threads"]) != n_threads:
                continue
            if row["program"] not in programs:
                programs.append(row["program"])
            of_model = tests.setdefault(row["test"], {}).setdefault(row["model"], {})
            of_model[row["program"]] = float(row["tokens_per_s"])
    if not programs:
        raise LabError(f"{path}: no row with {n_threads} threads")
    return tests, programs


def panel_of(test, models, programs):
    """gnuplot's commands for one test."""
    lines = [f"set title {quoted(test)}", "set style data histograms",
             "set style histogram clustered gap 1", "set boxwidth 0.9", "set yrange [0:*]",
             "set ylabel 'Baton = 1'", "set xtics rotate by -20 noenhanced",
             "set key outside right top"]
    points = [(f'"{name}"', *(of.get(program) and of[program] / of[programs[0]]
                              for program in programs)) for name, of in models.items()]
    source = data(lines, points)
    bars = [f"{source} using {i + 2}:xtic(1) title {quoted(program)} lc rgb '{colour(i)}'"
            for i, program in enumerate(programs)]
    return [*lines, "plot " + ", ".join(bars)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="what peer.py --csv wrote")
    parser.add_argument("--out", default="peers", help="path without its ending")
    parser.add_argument("--threads", type=int, default=2, help="the rows to draw")
    options = parser.parse_args()
    require_gnuplot()
    tests, programs = figures_of(options.file, options.threads)
    panels = [panel_of(test, models, programs) for test, models in tests.items()]
    out = Path(options.out)
    draw(out.parent, out.name, grid(panels, 1, PANEL))
    print(f"{out}.svg\n{out}.png")


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        raise SystemExit(f"plot_peers.py: {error}") from None
