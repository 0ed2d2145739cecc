"""Rows of the sweep's CSV in the order of cells: medians; the layouts, prompts and loads."""
import statistics


def load_of(row):
    return row["rate"] if row["arrivals"] == "open" else row["concurrency"]


def load_name(row):
    return (f"{row['rate']:g} requests/s" if row["arrivals"] == "open"
            else f"{row['concurrency']} at once")


def median(values):
    """The median of numbers; other values are the same in all, or missing."""
    known = [value for value in values if value is not None]
    if not known or isinstance(known[0], str):
        return known[0] if known else None
    return statistics.median(known)


def medians(rows):
    """One row per layout, prompt and load."""
    groups = {}
    for row in rows:
        groups.setdefault((row["layout"], row["prompt_tokens"], load_of(row)), []).append(row)
    return [{column: median([row[column] for row in group]) for column in group[0]}
            for group in groups.values()]


def in_order(values):
    return list(dict.fromkeys(values))


def layouts_in(rows):
    return in_order(row["layout"] for row in rows)


def prompts_in(rows):
    return in_order(row["prompt_tokens"] for row in rows)


def told_load(rows, prompt):
    """The highest load that every layout answered in full, else the lowest. At a higher load the
    queue hides all other stages."""
    rows = [row for row in rows if row["prompt_tokens"] == prompt]
    loads = sorted({load_of(row) for row in rows})
    full = [load for load in loads
            if all(row["done"] == row["sent"] for row in rows if load_of(row) == load)]
    return full[-1] if full else loads[0]
