"""The sweep's report in Markdown: what was measured on what, the tables, the pictures."""
import shlex
from pathlib import Path

from lab.markdown import figure, ms, share, table
from lab.summary import load_name, load_of, medians, prompts_in, told_load
from lab.table import ROLES, STAGES

CAPTIONS = {"ttft": "Time to first token", "itl": "Gap between tokens", "goodput": "Goodput",
            "stages": "Where the time to first token goes",
            "utilisation": "Who uses the processors"}


def facts_of(about, commits, fingerprints):
    machine, settings = about["machine"], about["settings"]
    limit = settings["worker_cpu"]
    where = settings["url"] or settings["compose"] or Path(settings["model"]).name
    return "\n".join([
        f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}. All processes and the load share them.",
        f"- Baton {machine['baton']}, commit {', '.join(commits)}; Python {machine['python']}.",
        f"- Model: {where}, {settings['dtype']}, fingerprint {', '.join(fingerprints)}.",
        f"- Answers of {settings['new']} tokens; requests start for {settings['seconds']:g} s in "
        f"each cell, after {settings['warmup']} that are not counted; seed {settings['seed']}; "
        f"good: {settings['slo']}.",
        f"- Cores: prefill {settings['prefill_cores'] or 'auto'}, decode "
        f"{settings['decode_cores'] or 'auto'}; each worker gets "
        f"{'what it can use' if not limit else f'{limit:g} cores'}."])


def times_table(rows):
    return table(["layout", "load", "TTFT ms p50", "p90", "p99", "ITL ms p50", "p90", "p99",
                  "TPOT ms p50", "output tok/s", "good/s", "good share", "done / sent"],
                 [times_line(row) for row in rows])


def times_line(row):
    times = [ms(row[f"{time}_{point}_s"]) for time in ("ttft", "itl")
             for point in ("p50", "p90", "p99")]
    return [row["layout"], load_name(row), *times, ms(row["tpot_p50_s"]),
            figure(row["output_tokens_per_s"]), *goodput_of(row),
            f"{row['done']:g} / {row['sent']:g}"]


def goodput_of(row):
    if row["good_per_s"] is None:
        return ["-", "-"]
    return [f"{row['good_per_s']:.3g}", f"{row['good_share']:.2f}"]


def stages_table(rows):
    """Without the stages that no request went through."""
    stages = [stage for stage in STAGES if any(row[f"stage_{stage}_mean_s"] for row in rows)]
    return table(["layout", *stages, "counted twice", "sum", "e2el",
                  "first to second token, p50"], [
        stages_line(row, [row[f"stage_{stage}_mean_s"] for stage in stages]) for row in rows])


def stages_line(row, means):
    overlap_s = row["server_overlap_mean_s"]
    is_told = means and None not in (*means, overlap_s)
    sum_s = sum(means) - overlap_s if is_told else None
    return [row["layout"], *map(ms, means), ms(overlap_s), ms(sum_s), ms(row["server_e2el_mean_s"]),
            ms(row["first_gap_p50_s"])]


def utilisation_table(rows):
    return table(["layout", *ROLES, "client"],
                 [[row["layout"], *(share(row[f"{role}_cpu_s"], row["cpu_wall_s"])
                                    for role in (*ROLES, "client"))] for row in rows])


def section_of(rows, prompt):
    mine = [row for row in rows if row["prompt_tokens"] == prompt]
    told = [row for row in mine if load_of(row) == told_load(rows, prompt)]
    load = load_name(told[0])
    return [f"## Prompts of {prompt} tokens", times_table(mine),
            f"Mean milliseconds of a request's stages at {load}:", stages_table(told),
            f"Cores in use at {load}:", utilisation_table(told)]


def text_of(rows, about, facts, names, capacity=()):
    """facts: (commits, fingerprints) of the cells; capacity: what the rates are shares of."""
    n_repeats = 1 + max(row["repeat"] for row in rows)
    rows = medians(rows)
    parts = ["# Sweep", f"    {shlex.join(about['command'])}",
             "\n".join([facts_of(about, *facts), *capacity])]
    if n_repeats > 1:
        parts.append(f"Every figure is the median of {n_repeats} repeats.")
    parts += [f"![{CAPTIONS[name]}]({name}.svg)" for name in names]
    for prompt in prompts_in(rows):
        parts += section_of(rows, prompt)
    parts.append("Every cell is a row of [sweep.csv](sweep.csv).")
    return "\n\n".join(parts) + "\n"
