"""Tables and figures as Markdown shows them."""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def figure(value):
    """Three digits, without exponents."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ms(seconds):
    return "-" if seconds is None else figure(1e3 * seconds)


def share(part, whole):
    return "-" if part is None or not whole else f"{part / whole:.2f}"
