"""`baton-plan simulate` as users see it: its output, its refusals, and that runs repeat."""
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

plan = sys.argv[1]
costs = Path(sys.argv[2])


def said_by(command, *argv, status=0):
    done = subprocess.run([plan, command, *map(str, argv)], capture_output=True, text=True)
    allowed = (1, 2) if status == 1 else (status,)  # 2: the table of options refuses it
    assert done.returncode in allowed, (command, argv, done.returncode, done.stdout, done.stderr)
    return done.stdout if not status else done.stderr


def simulate(*argv, status=0):
    return said_by("simulate", *argv, status=status)


def run(*argv):
    return simulate("--calibration", costs, *argv)


def figures(*argv):
    return [r["figures"] for r in json.loads(run("--json", "-", *argv))["runs"]]


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)

    # A table, JSON and CSV of the same runs.
    text = run("--layouts", "1P1D,2P1D", "--concurrency", "1,4", "--requests", 50,
               "--slo", "ttft=1s", "--json", folder / "j", "--csv", folder / "c")
    runs = json.loads((folder / "j").read_text())["runs"]
    rows = list(csv.DictReader((folder / "c").open()))
    assert [(r["layout"], r["concurrency"]) for r in runs] == [
        (layout, n) for layout in ("1P1D", "2P1D") for n in (1, 4)]
    assert text.count("\n") == 2 + 4, text
    for one, row in zip(runs, rows):
        assert one["figures"]["requests"]["done"] == 50 == int(row["done"])
        assert abs(one["figures"]["times"]["ttft"]["p99_s"] - float(row["ttft_p99_s"])) < 1e-6
        assert one["figures"]["goodput"]["good"] == int(row["good"])
        assert one["figures"]["tokens"]["output"] == 50 * 64

    # Same seed, same everything; another seed, other arrivals.
    load = ["--layouts", "3P2D", "--rate", 20, "--requests", 300,
            "--prompt-tokens", "uniform:16-400"]
    assert figures(*load, "--seed", 3) == figures(*load, "--seed", 3) != figures(*load, "--seed", 4)

    # A trace is taken with its arrivals and lengths.
    trace = folder / "trace.jsonl"
    trace.write_text("".join(json.dumps({"timestamp": 100 * i, "input_length": 32,
                                         "output_length": 5 + i}) + "\n" for i in range(10)))
    (got,) = figures("--trace", trace, "--layouts", "2P2D")
    assert got["requests"]["done"] == 10 and got["tokens"]["output"] == sum(range(5, 15)), got

    # More than the queue takes is refused, and no request is lost.
    (got,) = figures("--rate", 1000, "--requests", 500, "--max-queued", 5, "--kv-tokens", 1024)
    assert (got["requests"]["failed"]
            and got["requests"]["done"] + got["requests"]["failed"] == 500), got
    assert got["failures"][0]["kind"].startswith("HTTP 429"), got

    # A thousand workers of each role.
    (got,) = figures("--layouts", "1000P1000D", "--rate", 4000, "--requests", 20000)
    assert got["requests"]["done"] == 20000, got

    # Errors are named, with their range.
    for argv, words in [
        (["--layouts", "1P"], ["--layouts", "16384"]),
        (["--cores", "all"], ["--cores", "own, pinned or elastic"]),
        (["--cores", "elastic", "--host-cores", 64], ["--host-cores", "costs for"]),
        (["--cores", "pinned", "--layouts", "60P60D"], ["--layouts", "at most 64"]),
        (["--chunk", 8], ["chunk", "from 16 to 65536"]),
        (["--rate", 5, "--concurrency", 2], ["--concurrency and --rate"]),
        (["--concurrency", "0"], ["--concurrency", "1 to"]),
        (["--prompt-tokens", "many"], ["--prompt-tokens", "zipf"]),
        (["--slo", "ttft=0"], ["--slo"]),
        (["--prefill-policy", "prefix-aware"], ["--prefill-policy", "round-robin or least-loaded"]),
        (["--trace", folder / "none"], ["none"]),
        (["--json", folder / "no/such"], ["--json"]),
        (["--seed", 0], ["seed", "1 to"]),
    ]:
        said = simulate("--calibration", costs, *argv, status=1)
        assert all(word in said for word in words), (argv, said)
    assert "--calibration" in simulate("--layouts", "1P1D", status=1)
    assert "--url or --model" in said_by("calibrate", status=1)
    (folder / "bad").write_text("{}")
    assert "bad: baton_calibration: must be" in simulate("--calibration", folder / "bad", status=1)

    # Costs measured in this process are costs that can be simulated with.
    said_by("calibrate", "--model", "shape:tiny", "--context-tokens", 256, "--chunk", 32,
            "--out", folder / "tiny")
    (got,) = [r["figures"]
              for r in json.loads(simulate("--calibration", folder / "tiny", "--layouts", "4P2D",
                                           "--chunk", 32, "--requests", 50, "--json", "-"))["runs"]]
    assert got["requests"]["done"] == 50 and got["times"]["ttft"]["p50_s"] > 0, got
