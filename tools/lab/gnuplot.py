"""Pictures by gnuplot, as SVG and PNG: grids of panels with curves, stacks or clustered bars."""
import shutil
import subprocess

from lab.errors import LabError

COLOURS = ["#1b6ca8", "#c1440e", "#2d7d46", "#7b3f99", "#b8860b", "#4a4a4a", "#d1699a", "#5fa8a0"]
STYLE = ["set border 3", "set tics nomirror out", "set grid ytics lc rgb '#e0e0e0'",
         "set key noenhanced", "set title noenhanced", "set style fill solid 0.9 noborder"]


def require_gnuplot():
    if not shutil.which("gnuplot"):
        raise LabError("needs gnuplot, which is not installed: deploy/packages.sh plots")


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def colour(i):
    return COLOURS[i % len(COLOURS)]


def run(terminal, path, script):
    commands = f"set terminal {terminal}\nset output {quoted(path)}\n{script}\n"
    done = subprocess.run(["gnuplot"], input=commands, text=True, capture_output=True)
    if done.returncode:
        raise LabError(f"gnuplot: {done.stderr.strip()[-1000:]}")


def draw(out, name, picture):
    """OUT/NAME.svg and OUT/NAME.png of a picture: its script and (width, height)."""
    script, (width, height) = picture
    run(f"svg size {width},{height} background '#ffffff' font 'sans-serif,11'", out / f"{name}.svg",
        script)
    run(f"pngcairo size {width},{height} font 'sans-serif,9'", out / f"{name}.png", script)


def data(lines, points):
    """Writes the points (tuples; None is a gap), and returns their name in the plot command."""
    name = f"$data{len(lines)}"
    rows = [" ".join("NaN" if value is None else f"{value:.6g}" if isinstance(value, float)
                     else str(value) for value in point) for point in points]
    lines.append("\n".join([f"{name} << EOD", *rows, "EOD"]))
    return name


def grid(panels, columns, panel_size, title=None, head=()):
    """A picture: panels are lists of commands, each of which draws one cell of the grid."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    words = f"set multiplot layout {rows},{columns}" + (f" title {quoted(title)} noenhanced"
                                                        if title else "")
    lines = [*STYLE, *head, words]
    for panel in panels:
        lines += panel
    width, height = panel_size
    return "\n".join([*lines, "unset multiplot"]), (width * columns,
                                                    height * rows + (30 if title else 0))


def log_axis(values):
    """A logarithmic y axis that all of the values fit into, with tics at 1, 2, 5, 10, ..."""
    values = [value for value in values if value] or [1]
    low, high = min(values) / 1.5, max(values) * 1.5
    tics = [f"{digit}e{power}" for power in range(-9, 10) for digit in (1, 2, 5)
            if low <= digit * 10.0**power <= high]
    return (f"set logscale y; set yrange [{low:.3g}:{high:.3g}]; set format y '%g'; "
            f"set ytics ({', '.join(tics)})")


def curves(title, x_label, y_label, series, log=None):
    """One panel of series [(name, or None where another one tells it; colour, dashed, [(x, y)])].
    log: its log_axis, if any."""
    lines = [f"set title {quoted(title)}", f"set xlabel {quoted(x_label)}",
             f"set ylabel {quoted(y_label)}", "set key outside top center horizontal samplen 2",
             "set offsets graph 0.04, graph 0.04, 0, 0", log or "unset logscale; set yrange [0:*]"]
    plots = []
    for name, rgb, dashed, points in series:
        source = data(lines, points)
        line, point = (2, 6) if dashed else (1, 7)
        title = f"title {quoted(name)}" if name else "notitle"
        plots.append(f"{source} using 1:2 with linespoints dt {line} lw 1.6 pt {point} ps 0.5 "
                     f"lc rgb '{rgb}' {title}")
    return [*lines, "plot " + ", ".join(plots)]


def named(names, step):
    """Tics at 0, step, 2 step, ..."""
    return ", ".join(f"{quoted(name)} {i * step}" for i, name in enumerate(names))


def filled(source, columns, k, name):
    return f"{source} using {columns} with boxxyerror lc rgb '{colour(k)}' title {quoted(name)}"


def stacked(title, rows, parts, limit=None):
    """One panel of horizontal bars. rows, top to bottom: [(name, [value of each part])]; parts:
    names; limit: where a dashed line stands."""
    lines = [f"set title {quoted(title)}", "unset xlabel", "unset ylabel", "unset arrow",
             "set key outside bottom center horizontal samplen 1 maxrows 2",
             "set grid noytics xtics lc rgb '#e0e0e0'",
             "set ytics (" + named([name for name, _ in rows], -1) + ") noenhanced",
             f"set yrange [{0.6 - len(rows)}:0.6]", "set xrange [0:*]"]
    if limit:
        lines.append(
            f"set arrow from {limit}, graph 0 to {limit}, graph 1 nohead dt 2 lc rgb '#888888'")
        lines.append(
            f"set xrange [0:{1.08 * max(limit, *(sum(values) for _, values in rows)):.4g}]")
    plots = []
    for k, part in enumerate(parts):
        boxes = []
        for i, (_, values) in enumerate(rows):
            start = sum(values[:k])
            boxes.append((start + values[k] / 2, -i, start, start + values[k], -i - 0.36,
                          -i + 0.36))
        plots.append(filled(data(lines, boxes), "1:2:3:4:5:6", k, part))
    return [*lines, "plot " + ", ".join(plots)]


def clusters(title, y_label, groups, bars, values, marks):
    """One panel of vertical bars on a logarithmic scale, with a black mark over each that has one.
    All are above 0. groups, bars: names; values, marks: {(group, bar): number}, some missing."""
    shown = [*values.values(), *marks.values()]
    low, high = min(shown) / 2, max(shown) * 1.5
    lines = [f"set title {quoted(title)}", f"set ylabel {quoted(y_label)}", "unset xlabel",
             "set logscale y", f"set yrange [{low:.4g}:{high:.4g}]", "set grid noxtics ytics",
             f"set xrange [-0.6:{len(groups) - 0.4}]",
             "set key outside bottom center horizontal samplen 1 maxrows 2", "set format y '%g'",
             "set xtics (" + named(groups, 1) + ") scale 0 noenhanced"]
    step = 0.84 / len(bars)
    at = {(group, bar): i + (k - (len(bars) - 1) / 2) * step
          for i, group in enumerate(groups) for k, bar in enumerate(bars)}
    plots = []
    for k, bar in enumerate(bars):
        boxes = [(at[group, bar], at[group, bar] - 0.45 * step, at[group, bar] + 0.45 * step, low,
                  values[group, bar]) for group in groups if (group, bar) in values]
        if boxes:
            plots.append(filled(data(lines, boxes), "1:5:2:3:4:5", k, bar))
    ticks = [(at[place], value, 0.45 * step) for place, value in marks.items()]
    if ticks:
        source = data(lines, ticks)
        plots.append(
            f"{source} using 1:2:3 with xerrorbars pt 0 lw 2 lc rgb '#000000' title 'at best'")
    return [*lines, "plot " + ", ".join(plots)]
