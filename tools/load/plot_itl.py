#!/usr/bin/env python3
"""Draws the gaps between tokens over time and the arrivals of intruders: one panel per server.

    baton-load --url http://127.0.0.1:8000 --streams 4 --output-tokens 900 --itl-csv baton.csv
    baton-load --url http://127.0.0.1:8080 --api openai-completions ... --itl-csv llama.csv
    tools/load/plot_itl.py --out itl Baton=baton.csv llama.cpp=llama.csv

All panels have one scale. Writes OUT.svg and OUT.png. Needs gnuplot (deploy/packages.sh plots).
"""
import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.errors import LabError  # noqa: E402
from lab.gnuplot import colour, draw, quoted, require_gnuplot  # noqa: E402

PANEL = (1000, 260)  # pixels


class Panel:
    """One file's contents: each (time, gap) of the readers, and when the others arrived."""

    def __init__(self, name, path):
        self.name, self.gaps, self.arrivals = name, [], []
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                self.take(row)
        if not self.gaps:
            raise SystemExit(f"{path}: holds no gaps")

    def take(self, row):
        time_s = float(row["time_s"])
        if row["group"] == "intruders":
            if row["event"] == "start":
                self.arrivals.append(time_s)
        elif row["gap_s"] and time_s >= 0:
            self.gaps.append((time_s, 1e3 * float(row["gap_s"])))


def panel_of(text):
    name, equals, path = text.partition("=")
    return Panel(name, path) if equals else Panel(Path(text).stem, text)


def script_of(panels, log):
    """gnuplot's commands after terminal and output were set."""
    end_s = max(time_s for panel in panels for time_s, _ in panel.gaps)
    top_ms = 1.15 * max(gap for panel in panels for _, gap in panel.gaps)
    lines = [f"set multiplot layout {len(panels)},1", "set grid ytics lc rgb '#dddddd'",
             "set border 3", "set tics nomirror out", "unset key",
             "set ylabel 'gap between tokens, ms'", f"set xrange [0:{end_s}]",
             f"set logscale y; set yrange [0.05:{top_ms}]" if log else f"set yrange [0:{top_ms}]"]
    for i, panel in enumerate(panels):
        lines += ["unset arrow", f"set title {quoted(panel.name)} noenhanced"]
        lines += [f"set arrow from {at},graph 0 to {at},graph 1 nohead lc rgb '#f0b429' lw 1 back"
                  for at in panel.arrivals]
        if i == len(panels) - 1:
            lines.append("set xlabel 'seconds (a yellow line: a long prompt arrives)'")
        lines.append(f"plot '-' with points pt 7 ps 0.25 lc rgb '{colour(i)}'")
        lines += [f"{time_s} {gap}" for time_s, gap in panel.gaps] + ["e"]
    return "\n".join([*lines, "unset multiplot", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="[NAME=]FILE", help="what --itl-csv wrote")
    parser.add_argument("--out", default="itl", help="path without its ending")
    parser.add_argument("--log", action="store_true", help="logarithmic gaps")
    options = parser.parse_args()
    require_gnuplot()
    panels, out = [panel_of(text) for text in options.files], Path(options.out)
    draw(out.parent, out.name, (script_of(panels, options.log), (PANEL[0], PANEL[1] * len(panels))))
    print(f"{out}.svg\n{out}.png")


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        raise SystemExit(f"plot_itl.py: {error}") from None
