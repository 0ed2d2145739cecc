"""The sweep's CSV: one row per cell (layout, prompt, load, repeat); unknown figures are empty.

layout, n_prefill, n_decode          2P1D, 2, 1; no prefill worker: decode workers run the prompts
prompt_tokens, output_tokens         of every request
arrivals, rate, concurrency          open: Poisson at rate per second; closed: concurrency at once
repeat                               0, 1, ...: the same cell again, with other random numbers
window_s, sent, done, failed, canceled, cut, refused_429
output_tokens_per_s, prompt_tokens_per_s, requests_per_s
slo, good, good_share, good_per_s    requests that kept every bound of slo
{TIME}_{mean,p50,p90,p99}_s          as the client saw them: ttft, itl, tpot, e2el, and first_gap
                                     (first token to second)
stage_{STAGE}_mean_s                 the server's stages, means over all requests; their sum less
server_overlap_mean_s                the time that two of them count is
server_e2el_mean_s                   the server's end-to-end latency
stage_{STAGE}_p50_s                  of the requests that went through it
{gateway,prefill,decode}_cpu_s       CPU time of that role's processes; client_cpu_s: of the load's
cpu_wall_s                           the time of that: cpu_s / cpu_wall_s is cores in use
"""
import csv
import io

TIMES = ("ttft", "itl", "first_gap", "tpot", "e2el")
POINTS = ("mean", "p50", "p90", "p99")
TO_FIRST_TOKEN = ("parse", "tokenize", "queue", "prefill_queue", "prefill_compute", "first_token")
STAGES = (*TO_FIRST_TOKEN, "kv_transfer", "decode_queue", "decode", "sample", "decode_wait",
          "migration", "detokenize", "format", "flush")
STAGE_POINTS = ("mean", "p50")
ROLES = ("gateway", "prefill", "decode")
COUNTS = ("sent", "done", "failed", "canceled", "cut", "refused_429")
RATES = ("output_tokens_per_s", "prompt_tokens_per_s", "requests_per_s")

CELL = ("layout", "n_prefill", "n_decode", "prompt_tokens", "output_tokens", "arrivals", "rate",
        "concurrency", "repeat")
COLUMNS = (*CELL, "window_s", *COUNTS, *RATES, "slo", "good", "good_share", "good_per_s",
           *(f"{time}_{point}_s" for time in TIMES for point in POINTS),
           *(f"stage_{stage}_{point}_s" for stage in STAGES for point in STAGE_POINTS),
           "server_overlap_mean_s", "server_e2el_mean_s",
           *(f"{role}_cpu_s" for role in (*ROLES, "client")), "cpu_wall_s")


def row_of(cell, result):
    """{column: value} of a finished cell; None is an empty field."""
    run = result["load"]["runs"][0]
    figures, goodput = run["figures"], run["figures"]["goodput"] or {}
    row = {**cell.columns(), "window_s": figures["window_s"],
           "slo": result["load"]["settings"]["slo"], "good": goodput.get("good"),
           "good_share": goodput.get("share"), "good_per_s": goodput.get("requests_per_s"),
           "client_cpu_s": run["client"]["cpu_s"], "cpu_wall_s": result["cpu"]["wall_s"]}
    row |= {name: figures["requests"][name] for name in COUNTS}
    row |= {name: figures[name] for name in RATES}
    row |= {f"{time}_{point}_s": figures["times"][time][f"{point}_s"] for time in TIMES
            for point in POINTS}
    row |= {f"stage_{stage}_mean_s": stage_mean_s(figures["stages"], stage) for stage in STAGES}
    row |= {f"stage_{stage}_p50_s": figures["stages"].get(stage, {}).get("p50_s")
            for stage in STAGES}
    row |= {f"server_{time}_mean_s": figures["times"][f"server_{time}"]["mean_s"]
            for time in ("overlap", "e2el")}
    row |= {f"{role}_cpu_s": result["cpu"]["by_role"].get(role) for role in ROLES}
    return {column: row[column] for column in COLUMNS}


def stage_mean_s(stages, stage):
    """A request that did not go through the stage spent no time in it. All go through the first, so
    a server without it tells no stages."""
    if STAGES[0] not in stages:
        return None
    told = stages.get(stage, {"n": 0, "mean_s": 0})
    return told["mean_s"] * told["n"] / stages[STAGES[0]]["n"] if told["n"] else 0


def to_csv(columns, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: short(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def short(value):
    return f"{value:.6g}" if isinstance(value, float) else value
