"""`baton-lab sweep`: real fleets, CSV, report, pictures; finished cells stay; bad options."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from lab_run import (DIR, LAB, check_pictures, check_refused, descendants, rows_of, run, run_well,
                     tables_of)

from lab.fleet import LocalFleet
from lab.layouts import Layout
from lab.table import COLUMNS, ROLES, STAGES, TIMES

TINY = ("--prompts", "8,40", "--new", "8", "--seconds", "0.4", "--warmup", "2")
PICTURES = ("ttft", "itl", "goodput", "stages", "utilisation")


def sweep(out, *options):
    return run_well("sweep", "--out", out, *options)


def check_row(row):
    number = {name: float(row[name]) for name in COLUMNS if row[name]
              and name not in ("layout", "arrivals", "slo")}
    assert (number["sent"] == number["done"] + number["failed"] + number["canceled"]
            + number["cut"] > 0), row
    assert number["failed"] == 0
    assert number["good"] <= number["sent"] and 0 <= number["good_share"] <= 1
    for time_ in TIMES:
        assert (0 <= number[f"{time_}_p50_s"] <= number[f"{time_}_p90_s"]
                <= number[f"{time_}_p99_s"]), (time_, row)
    assert 0 < number["ttft_p50_s"] <= number["e2el_p50_s"]
    sum_s = (sum(number[f"stage_{stage}_mean_s"] for stage in STAGES)
             - number["server_overlap_mean_s"])
    assert abs(sum_s - number["server_e2el_mean_s"]) <= 0.02 * sum_s, row
    roles = [role for role in ROLES if f"{role}_cpu_s" in number]
    assert roles == [role for role in ROLES if role != "prefill" or row["n_prefill"] != "0"], row
    assert 0 < sum(number[f"{role}_cpu_s"] for role in roles) and number["cpu_wall_s"] >= 0.4


def check_stages():
    """The stages are the programs' own, each once."""
    header = (Path(__file__).parents[2] / "common/obs/stage.h").read_text()
    assert list(STAGES) == re.findall(r"^    X\((\w+), ", header, re.M)


def check_a_sweep():
    """Two layouts, one of them aggregated."""
    out = DIR / "closed"
    done = sweep(out, *TINY, "--layouts", "1P1D,0P1D", "--concurrency", "2")
    assert [line.split("]")[0]
            for line in done.stderr.splitlines()] == [f"[{i}/4" for i in (1, 2, 3, 4)], done.stderr
    assert all(line.endswith(" left") for line in done.stderr.splitlines())
    rows = rows_of(out / "sweep.csv")
    assert list(rows[0]) == list(COLUMNS)
    assert [[row[name] for name in ("layout", "prompt_tokens", "concurrency", "rate", "arrivals")]
            for row in rows] == [[layout, prompt, "2", "", "closed"] for layout in ("1P1D", "0P1D")
                                 for prompt in ("8", "40")]
    for row in rows:
        check_row(row)
    check_pictures(out, *PICTURES)
    tables = tables_of(out / "report.md")
    assert len(tables) == 6 and all(len(table) == 3 for table in tables)
    assert [line[0] for line in tables[0]] == ["layout", "1P1D", "0P1D"]
    text = (out / "report.md").read_text()
    drawn = [f"{name}.svg" for name in PICTURES]
    for fact in ("baton-lab sweep", "fingerprint ", "commit ", "cores", "Linux ",
                 *(f"]({name})" for name in drawn)):
        assert fact in text, fact
    assert set(done.stdout.split()) == {str(out / name)
                                        for name in ("report.md", "sweep.csv", *drawn)}
    return out


def check_resume(out):
    cells = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    lost = sorted(cells)[0]
    (out / "cells" / lost).unlink()
    again = sweep(out, *TINY, "--layouts", "1P1D,0P1D", "--concurrency", "2")
    assert again.stderr.startswith("[1/1] ") and again.stderr.count("\n") == 1, again.stderr
    now = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert set(now) == set(cells) and {name for name in now if now[name] != cells[name]} == {lost}
    table = (out / "sweep.csv").read_text()
    assert not sweep(out, *TINY, "--layouts", "1P1D,0P1D", "--concurrency", "2").stderr
    assert (out / "sweep.csv").read_text() == table
    check_refused(("sweep", "--out", out, *TINY[:-1], "3", "--layouts", "1P1D",
                   "--concurrency", "2"), 1, "--out", "warmup is 2 there and 3 now", "--fresh")
    foreign = DIR / "foreign"
    (foreign / "cells").mkdir(parents=True)
    (foreign / "cells" / "mine.json").write_text("{}")
    check_refused(("sweep", "--out", foreign, *TINY, "--layouts", "1P1D", "--concurrency", "2",
                   "--fresh"), 1, "holds cells, but not of a sweep")
    assert (foreign / "cells" / "mine.json").read_text() == "{}"
    (out / "cells" / lost).write_text("{")
    check_refused(("sweep", "--out", out, *TINY, "--layouts", "1P1D,0P1D", "--concurrency", "2"), 1,
                  lost)


def check_repeats():
    out = DIR / "open"
    sweep(out, "--prompts", "16", "--new", "4", "--seconds", "0.4", "--layouts", "1P2D",
          "--rates", "20,40", "--repeats", "2", "--slo", "ttft=60s")
    rows = rows_of(out / "sweep.csv")
    assert [(row["rate"], row["repeat"]) for row in rows] == [("20", "0"), ("40", "0"), ("20", "1"),
                                                              ("40", "1")]
    assert all(row["good"] == row["sent"] for row in rows)
    [times, _, _] = tables_of(out / "report.md")
    assert [line[:2] for line in times[1:]] == [["1P2D", "20 requests/s"],
                                                ["1P2D", "40 requests/s"]]


def check_shares_of_the_capacity():
    """Rates of the same shares of what the first layout answers, measured once, in every layout."""
    out = DIR / "shares"
    words = ("--prompts", "8,40", "--new", "4", "--seconds", "0.4", "--layouts", "1P1D,1P2D",
             "--loads", "0.5,0.1")
    done = sweep(out, *words)
    assert [line.split("]")[0] for line in done.stderr.splitlines()] == [
        "[1/2", "[2/2", *(f"[{i}/8" for i in range(1, 9))]
    rows = rows_of(out / "sweep.csv")
    text = (out / "report.md").read_text()
    for prompt in "8", "40":
        told = float(re.search(rf"- 1P1D answers (\S+) requests/s of {prompt} tokens "
                               r"\(16 at once\); the rates are 0.1, 0.5 ", text).group(1))
        rates = [float(row["rate"]) for row in rows if row["prompt_tokens"] == prompt]
        assert rates[:2] == rates[2:] and all(row["arrivals"] == "open" for row in rows)
        assert all(abs(rate / (share * told) - 1) < 0.02
                   for rate, share in zip(rates, (0.1, 0.5))), (rates, told)
    assert not sweep(out, *words).stderr
    assert [row["rate"] for row in rows_of(out / "sweep.csv")] == [row["rate"] for row in rows]


def check_a_share_of_a_core():
    """Where we may: elsewhere that is said."""
    out = DIR / "share"
    done = run("sweep", "--out", out, "--layouts", "1P1D", "--prompts", "100", "--new", "4",
               "--seconds", "1", "--concurrency", "4", "--worker-cpu", "0.3")
    if done.returncode:
        assert "--worker-cpu" in done.stderr and "cgroups" in done.stderr, done.stderr
        return
    [row] = rows_of(out / "sweep.csv")
    for role in "prefill", "decode":
        assert float(row[f"{role}_cpu_s"]) < 0.6 * float(row["cpu_wall_s"]), row
    assert "gets 0.3 cores" in (out / "report.md").read_text()


def local_fleet(layout):
    settings = SimpleNamespace(model=Path(__file__).resolve().parents[2] / "models/tale",
                               dtype="f32", bin=LAB.parent, prefill_cores=None, decode_cores=None,
                               worker_cpu=None)
    return LocalFleet(layout, settings, DIR / "log")


def check_a_running_fleet():
    with local_fleet(Layout(2, 1)) as fleet:
        out = DIR / "url"
        sweep(out, *TINY, "--url", fleet.url, "--concurrency", "2")
        assert {row["layout"] for row in rows_of(out / "sweep.csv")} == {"2P1D"}
        assert all(row["prefill_cpu_s"] and not row["gateway_cpu_s"]
                   for row in rows_of(out / "sweep.csv"))
        check_refused(("sweep", "--url", fleet.url, "--prompts", "600", "--out", DIR / "long"), 1,
                      "context_length_exceeded")


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None


def check_an_interrupt():
    """Leaves no process behind, and says how to go on."""
    running = subprocess.Popen([LAB, "sweep", "--out", DIR / "cut", "--seconds", "60",
                                "--layouts", "1P1D", "--prompts", "16", "--rates", "5"],
                               stderr=subprocess.PIPE, text=True)
    until_s = time.monotonic() + 300
    awaited = {"baton-gateway", "baton-prefill", "baton-decode", "baton-load"}
    while not awaited <= {name_of(pid) for pid in descendants(running.pid)}:
        assert running.poll() is None and time.monotonic() < until_s
        time.sleep(0.05)
    started = descendants(running.pid)
    running.send_signal(signal.SIGINT)
    _, words = running.communicate(timeout=300)
    assert running.returncode == 130 and "interrupted" in words and "Traceback" not in words, words
    assert not [pid for pid in started if os.path.exists(f"/proc/{pid}")]
    assert not list((DIR / "cut" / "cells").glob("*"))


def check_where_it_lies():
    """Beside an installed program; where the environment says; and what is missing is named."""
    installed = DIR / "usr"
    (installed / "bin").mkdir(parents=True)
    shutil.copy(LAB, installed / "bin")
    shutil.copytree(Path(__file__).resolve().parents[2] / "tools/lab",
                    installed / "share/baton/lab")
    (installed / "share/baton/lab/cells.py").write_text("raise SystemExit('the installed one')\n")
    lab = installed / "bin" / LAB.name
    assert "the installed one" in run("sweep", "--help", lab=lab).stderr
    chosen = {**os.environ, "BATON_LAB": str(Path(__file__).resolve().parents[2] / "tools/lab")}
    assert "usage: baton-lab sweep" in run_well("sweep", "--help", lab=lab, env=chosen).stdout
    check_refused(("sweep",), 1, "BATON_LAB=/nowhere", env={**os.environ, "BATON_LAB": "/nowhere"})
    check_refused(("sweep",), 1, "python3", "deploy/packages.sh",
                  env={**os.environ, "PATH": "/nowhere"})
    (DIR / "python").mkdir()
    (DIR / "python/python3").symlink_to(sys.executable)
    check_refused(("sweep",), 1, "gnuplot", "deploy/packages.sh",
                  env={**os.environ, "PATH": str(DIR / "python")})


BAD = [
    *((["--layouts", layouts], 2, "--layouts")
      for layouts in ("2P", "1P0D", "1P1D,", "1P1D,1P1D", "65P1D")),
    (["--prompts", "0"], 2, "--prompts"), (["--prompts", "16;64"], 2, "--prompts"),
    (["--new", "1"], 2, "--new"),
    (["--new", "600"], 1, "--new"), (["--rates", "0"], 2, "--rates"),
    (["--rates", "-1"], 2, "--rates"),
    (["--loads", "0"], 2, "--loads"), (["--loads", "1", "--rates", "2"], 2, "--rates"),
    (["--rates", "1", "--concurrency", "2"], 2, "--concurrency"),
    (["--concurrency", "1.5"], 2, "--concurrency"),
    (["--seconds", "nan"], 2, "--seconds"), (["--slo", "ttft"], 2, "--slo"),
    (["--repeats", "0"], 2, "--repeats"),
    (["--model", "/no/such"], 2, "--model"), (["--model", "/"], 1, "--model /"),
    (["--dtype", "f64"], 2, "--dtype"),
    (["--url", "127.0.0.1:80"], 2, "--url"),
    (["--url", "http://127.0.0.1:1"], 1, "http://127.0.0.1:1"),
    (["--url", "http://127.0.0.1:1", "--layouts", "1P1D"], 2, "--layouts"),
    (["--bin", "/"], 1, "--bin /: no baton-gateway"),
    (["--prefill-cores", "9999"], 1, "cores"), (["--layout", "1P1D"], 2, "--layout"),
    (["surplus"], 2, "surplus"), (["--worker-cpu", "0"], 2, "--worker-cpu"),
    (["--url", "http://127.0.0.1:1", "--worker-cpu", "1"], 2, "--worker-cpu"),
]

check_stages()
folder = check_a_sweep()
check_resume(folder)
check_repeats()
check_shares_of_the_capacity()
check_a_share_of_a_core()
check_a_running_fleet()
check_an_interrupt()
check_where_it_lies()
check_refused(("sweep", "--out", "/dev/null/x"), 1, "/dev/null/x")
for bad, status, named in BAD:
    check_refused(("sweep", "--out", DIR / "bad", *bad), status, named)
