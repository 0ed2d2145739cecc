"""The sweep's pictures, from its rows: a panel per prompt length, a colour per layout."""
from lab.gnuplot import colour, curves, draw, grid, log_axis, stacked
from lab.summary import layouts_in, load_name, load_of, medians, prompts_in, told_load
from lab.table import ROLES, TO_FIRST_TOKEN

PANEL = (480, 300)  # pixels


def draw_all(rows, out, n_cores):
    """Names of the pictures that could be drawn, in the report's order."""
    rows = medians(rows)
    names = [percentiles(rows, out, "ttft", "Time to first token"),
             percentiles(rows, out, "itl", "Gap between tokens"),
             goodput(rows, out), waterfall(rows, out), utilisation(rows, out, n_cores)]
    return [name for name in names if name]


def x_label(rows):
    return "requests a second" if rows[0]["arrivals"] == "open" else "requests at once"


def points(rows, layout, prompt, column, factor=1.0):
    return [(load_of(row), factor * row[column] if row[column] is not None else None)
            for row in rows if row["layout"] == layout and row["prompt_tokens"] == prompt]


def percentiles(rows, out, time, title):
    panels = []
    axis = log_axis([1e3 * row[f"{time}_{point}_s"] for row in rows for point in ("p50", "p99")
                     if row[f"{time}_{point}_s"] is not None])
    for prompt in prompts_in(rows):
        series = []
        for k, layout in enumerate(layouts_in(rows)):
            for column, dashed in ((f"{time}_p50_s", False), (f"{time}_p99_s", True)):
                name = None if dashed else layout
                series.append((name, colour(k), dashed, points(rows, layout, prompt, column, 1e3)))
        panels.append(curves(f"prompt {prompt}", x_label(rows), "ms", series, axis))
    draw(out, time, grid(panels, 2, PANEL, f"{title}: p50 (solid), p99 (dashed)"))
    return time


def goodput(rows, out):
    if rows[0]["good_per_s"] is None:
        return None
    panels = []
    for prompt in prompts_in(rows):
        series = [(layout, colour(k), False, points(rows, layout, prompt, "good_per_s"))
                  for k, layout in enumerate(layouts_in(rows))]
        if rows[0]["arrivals"] == "open":
            series.append(("offered", "#999999", True, offered(rows, prompt)))
        panels.append(curves(f"prompt {prompt}", x_label(rows), "good requests a second", series))
    draw(out, "goodput", grid(panels, 2, PANEL, f"Requests a second within {rows[0]['slo']}"))
    return "goodput"


def offered(rows, prompt):
    """[(rate asked for, rate that came)]: arrivals are random; a window ends with its answers."""
    came = {}
    for row in rows:
        if row["prompt_tokens"] == prompt:
            came[row["rate"]] = max(came.get(row["rate"], 0), row["sent"] / row["window_s"])
    return sorted(came.items())


def waterfall(rows, out):
    """Mean stages up to the first token, one after the other."""
    panels = []
    for prompt in prompts_in(rows):
        told = [row for row in rows if row["prompt_tokens"] == prompt
                and load_of(row) == told_load(rows, prompt)]
        bars = [(row["layout"], [1e3 * row[f"stage_{stage}_mean_s"] for stage in TO_FIRST_TOKEN])
                for row in told if row["stage_first_token_mean_s"] is not None]
        if bars:
            panels.append(stacked(f"prompt {prompt}, {load_name(told[0])}, ms", bars,
                                  TO_FIRST_TOKEN))
    if not panels:
        return None
    draw(out, "stages",
         grid(panels, 2, PANEL, "Where the time to first token goes: means of the stages"))
    return "stages"


def utilisation(rows, out, n_cores):
    panels, who_uses = [], (*ROLES, "client")
    for prompt in prompts_in(rows):
        told = [row for row in rows if row["prompt_tokens"] == prompt
                and load_of(row) == told_load(rows, prompt)]
        bars = [
            (row["layout"], [(row[f"{who}_cpu_s"] or 0) / row["cpu_wall_s"] for who in who_uses])
            for row in told if row["decode_cpu_s"] is not None]
        if bars:
            panels.append(stacked(f"prompt {prompt}, {load_name(told[0])}, cores in use", bars,
                                  who_uses, n_cores))
    if not panels:
        return None
    draw(out, "utilisation", grid(panels, 2, PANEL, "Who uses the processors"))
    return "utilisation"
