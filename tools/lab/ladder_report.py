"""The ladder's table, CSV and picture."""
import shlex
import statistics
from pathlib import Path

from lab.files import write
from lab.gnuplot import clusters, draw, grid
from lab.markdown import figure, ms, table
from lab.rungs import RUNGS
from lab.table import to_csv

PANEL = (640, 330)  # pixels
TOLERANCE = 0.1
COLUMNS = ("prompt_tokens", "rung", "streams", "cold_ttft_s", "ttft_s", "best_ttft_s", "ttft_bound",
           "second_s", "best_second_s", "second_bound", "token_s", "best_token_s", "token_bound",
           "tokens_per_s", "best_tokens_per_s")
FIGURES = (("ttft_s", "Time to first token, warm", 1e3), ("second_s", "First to second token", 1e3),
           ("token_s", "Time per token", 1e3), ("tokens_per_s", "Tokens a second", 1))
AIMS = {"token_s": "ms per token", "tokens_per_s": "tokens/s", "second_s": "second token",
        "ttft_s": "TTFT"}


HEAD = ["prompt", "rung", "TTFT cold, ms", "TTFT warm / at best", "second token / at best",
        "ms per token / at best", "tokens/s / at best", "at best bound by", "buys"]
EXPLANATION = """\
The first two rungs are one process on all cores (`baton-bench generate`), the others a fleet of one
prefill and one decode worker, through HTTP. "At best" is the roofline's answer on this machine; the
ratio of times is what is left to gain, that of tokens/s what is reached. A rung buys something over
the rung it builds on: KV cache over naive, disaggregated over KV cache, batched and overlapped over
disaggregated, both over batched; below 1 it costs.
"""


def row_of(n_prompt, rung, measured, best, n_streams):
    row = {"prompt_tokens": n_prompt, "rung": rung.name.format(streams=n_streams),
           "streams": n_streams if "{streams}" in rung.name else 1, **measured,
           "best_tokens_per_s": best["tokens_per_s"]}
    for name in ("ttft", "second", "token"):
        cost = best[name] or {"seconds": None, "bound": None}
        row |= {f"best_{name}_s": cost["seconds"], f"{name}_bound": cost["bound"]}
    return {column: row[column] for column in COLUMNS}


def beside(measured, best, told):
    """Measured / at best = ratio."""
    if measured is None or best is None:
        return "-" if measured is None else told(measured)
    return f"{told(measured)} / {told(best)} = **{measured / best:.2f}**"


def impossible(rows):
    """The figures that beat what the machine can do at best: others computed while that was probed,
    or it was clocked lower. Both are noise of a tenth on a quiet machine."""
    told = []
    for row in rows:
        for name, _, _ in FIGURES:
            measured, best = row[name], row[f"best_{name}"]
            if measured and best:
                share = measured / best if name == "tokens_per_s" else best / measured
                if share > 1 + TOLERANCE:
                    told.append(f"{row['rung']} at {row['prompt_tokens']}: {AIMS[name]} "
                                f"{share:.2f} x the best")
    return told


def warning_of(rows):
    """A sentence; "" when all figures are possible."""
    told = impossible(rows)
    if not told:
        return ""
    return (f"The machine was busy: {len(told)} figures are better than the machine's best, so the "
            f"probe of the best ran slower than the rungs ({'; '.join(told[:3])}"
            f"{'; ...' if told[3:] else ''}). Run again with --fresh when nothing else computes.")


def buys(rung, cells):
    """The rung's main figure compared with the rung that it improves on; above 1 is a gain."""
    if not rung.over:
        return "-"
    before, now = cells[rung.over][rung.aim], cells[rung.key][rung.aim]
    if not before or not now:  # two tokens read at once
        return "-"
    gain = now / before if rung.aim == "tokens_per_s" else before / now
    return f"{AIMS[rung.aim]} x {gain:.2f}"


def bounds(row):
    """The bounds of the first token, of the second where it differs, and of all others."""
    words = [("first token", row["ttft_bound"]), ("second", row["second_bound"]),
             ("others", row["token_bound"])]
    return ", ".join(f"{name}: {bound}" for name, bound in words
                     if bound and not (name == "second" and bound == row["token_bound"]))


def line_of(row, gain):
    return [row["prompt_tokens"], row["rung"], ms(row["cold_ttft_s"]),
            beside(row["ttft_s"], row["best_ttft_s"], ms),
            beside(row["second_s"], row["best_second_s"], ms),
            beside(row["token_s"], row["best_token_s"], ms),
            beside(row["tokens_per_s"], row["best_tokens_per_s"], figure), bounds(row), gain]


def picture(rows, out):
    panels = []
    for name, title, factor in FIGURES:
        values = {(row["prompt_tokens"], row["rung"]): factor * row[name] for row in rows
                  if row[name]}
        marks = {(row["prompt_tokens"], row["rung"]): factor * row[f"best_{name}"] for row in rows
                 if row[name] and row[f"best_{name}"]}
        prompts, rungs = (list(dict.fromkeys(row[key] for row in rows))
                          for key in ("prompt_tokens", "rung"))
        panels.append(clusters(title, "ms" if factor > 1 else "tokens/s", prompts, rungs, values,
                               marks))
    draw(out, "ladder",
         grid(panels, 2, PANEL, "What each idea buys, by tokens of the prompt (black: at best)"))


def text_of(rows, gains, about, cells):
    host, settings = about["machine"], about["settings"]
    commits = sorted({cell["commit"] for cell in cells})
    network = statistics.median(cell["network_bytes_per_s"] for cell in cells)
    return "\n\n".join([
        "# Ladder", f"    {shlex.join(about['command'])}",
        f"- Machine: {host['cpu']}, {host['cores']} cores, {host['memory_gib']} GiB, Linux "
        f"{host['kernel']}; its loopback carries {1e-9 * network:.2f} GB/s. "
        "All processes and the load share it.\n"
        f"- Baton {host['baton']}, commit {', '.join(commits)}; Python {host['python']}.\n"
        f"- Model: {Path(settings['model']).name}, {settings['dtype']}. "
        f"Answers of {settings['new']} tokens.",
        "![What each idea buys](ladder.svg)",
        table(HEAD, [line_of(row, gain) for row, gain in zip(rows, gains)]),
        *filter(None, [warning_of(rows)]), EXPLANATION])


def write_all(out, about, cells):
    """cells: {prompt: what the store keeps}. The paths, and the warning of a busy machine or ""."""
    n_streams = about["settings"]["streams"]
    rows = [row_of(n, rung, cell["rungs"][rung.key], cell["best"][rung.key], n_streams)
            for n, cell in cells.items() for rung in RUNGS]
    gains = [buys(rung, cells[n]["rungs"]) for n in cells for rung in RUNGS]
    write(out / "ladder.csv", to_csv(COLUMNS, rows))
    picture(rows, out)
    write(out / "ladder.md", text_of(rows, gains, about, list(cells.values())))
    return [out / "ladder.md", out / "ladder.csv", out / "ladder.svg"], warning_of(rows)
