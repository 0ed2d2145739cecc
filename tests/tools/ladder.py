"""`baton-lab ladder` measures every rung on real processes, beside its estimate."""
import math
import re

from lab_run import DIR, check_pictures, check_refused, rows_of, run_well, tables_of

from lab.ladder_report import COLUMNS, warning_of

TINY = ("--prompts", "8,40", "--new", "6", "--streams", "2", "--runs", "1")
RUNGS = ["naive", "KV cache", "disaggregated", "batched, 2 streams", "overlapped",
         "overlapped, 2 streams"]
BESIDE = re.compile(r"([\d.]+) / ([\d.]+) = \*\*([\d.]+)\*\*")


def check_row(row):
    is_batch, is_fleet = "streams" in row["rung"], RUNGS.index(row["rung"]) > 1
    assert row["streams"] == ("2" if is_batch else "1")
    for name in ("ttft_s", "token_s", "tokens_per_s"):
        assert float(row[name]) > 0 and float(row[f"best_{name}"]) > 0, (name, row)
    assert bool(row["cold_ttft_s"]) == bool(row["second_s"]) == (not is_batch)
    assert row["ttft_bound"] in ("compute", "memory")
    assert row["token_bound"] in ("compute", "memory")
    bounds = {"compute", "memory", "network"} if is_fleet else {"compute", "memory"}
    assert row["second_bound"] in ({""} if is_batch else bounds)


def check_estimates(rows):
    """The naive loop reruns the prompt for every token; an overlapped hand-off exposes less."""
    best = {(row["prompt_tokens"], row["rung"]): row for row in rows}
    for prompt in "8", "40":
        naive, cached, split, overlapped = (best[prompt, RUNGS[i]] for i in (0, 1, 2, 4))
        assert (float(split["best_second_s"]) > float(overlapped["best_second_s"])
                > float(cached["best_second_s"]))
        assert len({row["best_ttft_s"] for row in (naive, cached, split, overlapped)}) == 1


def check_table(table):
    head, lines = table[0], table[1:]
    assert [line[:2] for line in lines] == [[n, rung] for n in ("8", "40") for rung in RUNGS]
    for line in lines:
        for cell in (cell for cell, name in zip(line, head) if name.endswith("/ at best")
                     and cell != "-"):
            measured, best, ratio = map(float, BESIDE.fullmatch(cell).groups())
            assert math.isclose(measured / best, ratio, rel_tol=0.05, abs_tol=0.01), cell
        assert "first token: " in line[head.index("at best bound by")]
        assert line[-1] == "-" or " x " in line[-1] and line[1] != "naive"


out = DIR / "ladder"
done = run_well("ladder", "--out", out, *TINY)
progress = [line.split("]")[0] for line in done.stderr.splitlines() if line.startswith("[")]
assert progress == [f"[{i}/10" for i in range(1, 11)], done.stderr
rows = rows_of(out / "ladder.csv")
assert list(rows[0]) == list(COLUMNS) and [row["rung"] for row in rows] == 2 * RUNGS
for row in rows:
    check_row(row)
check_estimates(rows)
[table] = tables_of(out / "ladder.md")
check_table(table)
check_pictures(out, "ladder")
text = (out / "ladder.md").read_text()
for fact in ("baton-lab ladder", "commit ", "GB/s", "](ladder.svg)"):
    assert fact in text, fact

# Figures that beat the best are told.
ROW = dict.fromkeys(COLUMNS) | {"prompt_tokens": 8, "rung": "naive", "ttft_s": 0.1, "token_s": 0.01,
                                "best_ttft_s": 0.1, "best_token_s": 0.01, "tokens_per_s": 100,
                                "best_tokens_per_s": 105}
assert not warning_of([ROW]) and not warning_of([ROW | {"second_s": 1}])
busy = warning_of([ROW, ROW | {"ttft_s": 0.05}, ROW | {"tokens_per_s": 300}])
assert busy.startswith("The machine was busy: 2 figures") and "TTFT 2.00 x the best" in busy
assert ("The machine was busy" in text) == ("The machine was busy" in done.stderr)

(out / "cells/p40.json").unlink()
again = run_well("ladder", "--out", out, *TINY)
assert again.stderr.startswith("[1/5] prompt 40"), "only what is missing"
check_refused(("ladder", "--out", out, *TINY[:-1], "2"), 1, "--out", "runs is 1 there and 2 now")
check_refused(("sweep", "--out", out, "--layouts", "1P1D"), 1, "--out", "not of a sweep")
for bad, status, named in ((["--prompts", "x"], 2, "--prompts"), (["--new", "2"], 2, "--new"),
                           (["--new", "512"], 1, "--new"), (["--streams", "1"], 2, "--streams"),
                           (["--runs", "0"], 2, "--runs"), (["--model", "/"], 1, "--model /"),
                           (["--bin", "/"], 1, "--bin /: no baton-gateway"),
                           (["--rates", "3"], 2, "--rates")):
    check_refused(("ladder", "--out", DIR / "bad", "--runs", "1", "--prompts", "8", *bad), status,
                  named)
