"""Tables and figures as Markdown shows them."""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def ms(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.3g}"


def share(part, whole):
    return "-" if part is None or not whole else f"{part / whole:.2f}"


def per_s(rate):
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"
