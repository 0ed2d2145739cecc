#!/usr/bin/env python3
"""Holds `baton-bench simulate` against fleets that really run: the same requests, measured and predicted.

    bench/validate_simulator.py --model models/tale --context 512 --dir /tmp/validation

starts each fleet with deploy/local, calibrates on one prefill and one decode worker (pinned to a core each, then
lending each other both cores), loads every fleet with `baton-bench serve`, simulates just that load with just those
costs, and prints one table row per load: predicted / measured, and whether all ratios are within 15 % at the median
and 25 % at p99. Costs stay in --dir: fleets can be held against them one by one (--fleets). Run it on an idle machine.
"""
import argparse
import contextlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# name: layout, cores as the simulator calls them, options of deploy/local
FLEETS = {
    "1P1D pinned": ("1P1D", "pinned", ["--prefill-cores", "0", "--decode-cores", "1"]),
    "1P1D elastic": ("1P1D", "elastic", []),
    "2P1D elastic": ("2P1D", "elastic", ["--prefill", "2"]),
    "1P2D elastic": ("1P2D", "elastic", ["--decode", "2"]),
}
TIMES = ["ttft", "itl", "e2el"]
BOUNDS = {"p50": 0.15, "p99": 0.25}


def run(*argv):
    """Its stdout; its stderr goes to ours when it fails."""
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def fleet(args, options):
    state = args.dir / "run"
    local = [ROOT / "deploy/local"]
    where = ["--state", state]
    run(*local, "up", "--detach", *where, "--bin", args.bin, "--model", args.model, "--dtype", args.dtype,
        "--port", args.port, *options)
    try:
        yield f"http://127.0.0.1:{args.port}"
    finally:
        run(*local, "down", *where)


def calibrate(args, url, cores):
    """The costs of this kind of fleet, added to what is there already."""
    costs = args.dir / "costs.json"
    known = ["--calibration", costs] if costs.exists() else []
    run(args.bin / "baton-bench", "simulate", "--calibrate", "--url", url, "--model", args.model, "--dtype", args.dtype,
        "--context-tokens", args.context, "--max-batch", max(args.concurrency), "--cores", cores, "--worker-cores", 1 if cores == "pinned" else 2, *known,
        "--out", costs)


def loads(args):
    """What every fleet gets; a rate is a share of what the simulator says it can take."""
    for prompt in args.prompts:
        for concurrency in args.concurrency:
            yield prompt, "concurrency", concurrency
        for share in args.shares:
            yield prompt, "rate", share


def simulate(args, name, load, requests):
    layout, cores, _ = FLEETS[name]
    out = run(args.bin / "baton-bench", "simulate", "--calibration", args.dir / "costs.json", "--layouts", layout,
              "--cores", cores, "--context-tokens", args.context, "--seed", args.seed, "--requests", requests,
              "--json", "-", *load)
    return json.loads(out)["runs"][0]["figures"]


def measure(args, url, load, requests):
    out = run(args.bin / "baton-bench", "serve", "--url", url, "--seed", args.seed, "--requests", requests,
              "--warmup", 8, "--quiet", "--extra", '{"cache_prompt":false}', "--json", "-", *load)
    return json.loads(out)["runs"][0]["figures"]


def options_of(args, name, prompt, kind, value):
    lengths = ["--prompt-tokens", prompt, "--output-tokens", args.output]
    if kind == "rate":
        full = simulate(args, name, [*lengths, "--concurrency", 16], 200)
        value = f"{value * full['requests_per_s']:.3g}"
    return [*lengths, f"--{kind}", value], f"{kind} {value}"


def compare(predicted, measured):
    """Cells of the table, and for each quantile whether all of its ratios are within the bound."""
    cells, within = [], {}
    for quantile, bound in BOUNDS.items():
        ratios = []
        for time in TIMES:
            p, m = (f["times"][time][quantile + "_s"] * 1e3 for f in (predicted, measured))
            ratios.append(p / m)
            cells.append(f"{p:.3g} / {m:.3g} = {p / m:.2f}")
        within[quantile] = [abs(r - 1) <= bound for r in ratios]
    return cells, within


def hold(args, name):
    _, cores, options = FLEETS[name]
    rows = []
    with fleet(args, options) as url:
        if name.startswith("1P1D") and not args.keep_costs:
            calibrate(args, url, cores)
        for prompt, kind, value in loads(args):
            load, title = options_of(args, name, prompt, kind, value)
            measured = measure(args, url, load, args.requests)
            cells, within = compare(simulate(args, name, load, args.requests), measured)
            print("| " + " | ".join([name, str(prompt), title, *cells]) + " |", flush=True)
            again = compare(measure(args, url, load, args.requests), measured)[1] if args.again else None
            rows.append((within, again))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument("--model", default=ROOT / "models/tale", help="a model directory")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--context", default=512, help="the model's, in tokens")
    parser.add_argument("--dir", type=Path, required=True, help="where costs and the fleet's state are kept")
    parser.add_argument("--port", default=8123)
    parser.add_argument("--fleets", default=",".join(FLEETS), help="some of: " + ", ".join(FLEETS))
    parser.add_argument("--prompts", type=lambda s: s.split(","), default=["64", "256"])
    parser.add_argument("--output", default=32, help="tokens of an answer")
    parser.add_argument("--concurrency", type=lambda s: [int(n) for n in s.split(",")], default=[1, 4, 16])
    parser.add_argument("--shares", type=lambda s: [float(n) for n in s.split(",")], default=[0.5],
                        help="rates, as shares of what 16 clients get")
    parser.add_argument("--requests", default=120, help="of each load")
    parser.add_argument("--seed", default=7)
    parser.add_argument("--again", action="store_true", help="measure twice: how well the machine predicts itself")
    parser.add_argument("--keep-costs", action="store_true", help="do not calibrate again")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    print("| fleet | prompt | load | " + " | ".join(f"{t.upper()} {q}" for q in BOUNDS for t in TIMES) + " |")
    print("|---" * 9 + "|")
    rows = [row for name in args.fleets.split(",") for row in hold(args, name)]
    for which, what in enumerate(["predicted / measured", "measured again / measured"][:1 + args.again]):
        for quantile, bound in BOUNDS.items():
            flags = [flag for row in rows for flag in row[which][quantile]]
            print(f"{what}, {quantile}: {sum(flags)} of {len(flags)} within {bound:.0%}")


if __name__ == "__main__":
    main()
