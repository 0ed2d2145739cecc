#!/usr/bin/env python3
"""Compares `baton-plan simulate` with real fleets: the same requests, predicted and measured.

    tools/plan/validate_simulator.py --model models/tale --context 512 --dir /tmp/validation

starts each fleet with deploy/local, calibrates on one prefill and one decode worker (pinned to a
core each, then lending each other both cores), loads every fleet with `baton-load`, and simulates
just that load with just those costs. It does so in several rounds, because neighbours disturb a
machine for minutes: a table's figures are medians of the rounds' predictions and measurements. The
last lines say how many ratios are within 15 % at the median and 25 % at p99, and how many of single
measured rounds are, against the median of the other rounds: the best prediction of the machine
itself. Costs and figures stay in --dir and are not measured again, so a directory is for one model
and one --requests. Run it on an idle machine.
"""
import argparse
import contextlib
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def fleet(args, options):
    state = args.dir / "run"
    local = [ROOT / "deploy/local"]
    where = ["--state", state]
    run(*local, "up", "--detach", *where, "--bin", args.bin, "--model", args.model,
        "--dtype", args.dtype, "--port", args.port, *options)
    try:
        yield f"http://127.0.0.1:{args.port}"
    finally:
        run(*local, "down", *where)


def costs_of(args, number, cores):
    return args.dir / f"round-{number}" / f"costs-{cores}.json"


def calibrate(args, url, number, cores):
    """The costs of this kind of fleet. Workers that lend cores have one or all of them."""
    known = ["--calibration", costs_of(args, number, "pinned")] if cores == "elastic" else []
    run(args.bin / "baton-plan", "calibrate", "--url", url, "--model", args.model, "--dtype",
        args.dtype, "--context-tokens", args.context, "--max-batch", max(args.concurrency),
        "--cores", cores, "--worker-cores", 1 if cores == "pinned" else 2, *known,
        "--out", costs_of(args, number, cores))


def simulate(args, number, name, load, requests):
    layout, cores, _ = FLEETS[name]
    out = run(args.bin / "baton-plan", "simulate", "--calibration", costs_of(args, number, cores),
              "--layouts", layout, "--cores", cores, "--context-tokens", args.context,
              "--seed", args.seed, "--requests", requests, "--json", "-", *load)
    return json.loads(out)["runs"][0]["figures"]


def measure(args, url, load):
    out = run(args.bin / "baton-load", "--url", url, "--seed", args.seed,
              "--requests", args.requests, "--warmup", 8,
              "--quiet", "--extra", '{"cache_prompt":false}', "--json", "-", *load)
    return json.loads(out)["runs"][0]["figures"]


def rate_of(args, name, lengths, share):
    """A share of what 16 clients get by the first round's costs."""
    path = args.dir / "rates.json"
    rates = json.loads(path.read_text()) if path.exists() else {}
    key = " ".join(map(str, [name, *lengths, share]))
    if key not in rates:
        full = simulate(args, 0, name, [*lengths, "--concurrency", 16], 200)
        rates[key] = f"{share * full['requests_per_s']:.3g}"
        path.write_text(json.dumps(rates, indent=1))
    return rates[key]


def loads_of(args, name):
    """The loads of every fleet: options, title."""
    for prompt in args.prompts:
        lengths = ["--prompt-tokens", prompt, "--output-tokens", args.output]
        for clients in args.concurrency:
            yield [*lengths, "--concurrency", clients], f"{clients} client{'s' * (clients > 1)}"
        for share in args.shares:
            rate = rate_of(args, name, lengths, share)
            yield [*lengths, "--rate", rate], f"{rate} requests/s"


def file_of(args, number, name, *words):
    words = [name, *(word.lstrip("-") for word in map(str, words))]
    return args.dir / f"round-{number}" / ("-".join(words).replace(" ", "-") + ".json")


def measure_round(args, number, name):
    """Measures what is missing of this round and fleet."""
    _, cores, options = FLEETS[name]
    (args.dir / f"round-{number}").mkdir(exist_ok=True)
    done = file_of(args, number, name, "done")
    if done.exists():
        return
    with fleet(args, options) as url:
        if name.startswith("1P1D"):
            calibrate(args, url, number, cores)
        for load, _ in loads_of(args, name):
            file_of(args, number, name, *load).write_text(json.dumps(measure(args, url, load)))
    done.touch()


def median_of(rounds, time, quantile):
    return statistics.median(f["times"][time][quantile + "_s"] * 1e3 for f in rounds)


def compare(predicted, measured):
    """The table's cells, and per quantile if its ratios are within bounds: lists of rounds."""
    cells, within = [], {}
    for quantile, bound in BOUNDS.items():
        within[quantile] = []
        for time in TIMES:
            p, m = (median_of(rounds, time, quantile) for rounds in (predicted, measured))
            fits = abs(p / m - 1) <= bound
            ratio = f"{p / m:.2f}" if fits else f"**{p / m:.2f}**"
            cells.append(f"{p:.4g} / {m:.4g} = {ratio}")
            within[quantile].append(fits)
    return cells, within


def hold(args, name):
    """Rows of the table, and for each row what is within the bounds: of the prediction, and of
    every round beside the others."""
    numbers = range(args.rounds)
    for load, title in loads_of(args, name):
        predicted = [simulate(args, number, name, load, args.requests) for number in numbers]
        measured = [json.loads(file_of(args, number, name, *load).read_text())
                    for number in numbers]
        cells, within = compare(predicted, measured)
        print("| " + " | ".join([name, str(load[1]), title, *cells]) + " |", flush=True)
        yield within, [compare([measured[i]], measured[:i] + measured[i + 1:])[1] for i in numbers
                       if args.rounds > 1]


def tell(what, flags):
    for quantile, bound in BOUNDS.items():
        each = [flag for row in flags for flag in row[quantile]]
        print(f"{what}, {quantile}: {sum(each)} of {len(each)} within {bound:.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin")
    parser.add_argument("--model", default=ROOT / "models/tale", help="a model directory")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--context", default=512, help="the model's, in tokens")
    parser.add_argument("--dir", type=Path, required=True,
                        help="where costs, figures and the fleet's state are kept")
    parser.add_argument("--port", default=8123)
    parser.add_argument("--fleets", default=",".join(FLEETS), help="some of: " + ", ".join(FLEETS))
    parser.add_argument("--prompts", type=lambda s: s.split(","), default=["64", "256"])
    parser.add_argument("--output", default=64, help="tokens of an answer")
    parser.add_argument("--concurrency", type=lambda s: [int(n) for n in s.split(",")],
                        default=[1, 4, 16])
    parser.add_argument("--shares", type=lambda s: [float(n) for n in s.split(",") if n],
                        default=[0.5], help="rates, as shares of what 16 clients get")
    parser.add_argument("--requests", type=int, default=120, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", default=7)
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    names = args.fleets.split(",")
    for number in range(args.rounds):
        for name in names:
            measure_round(args, number, name)
            print(f"round {number + 1}: {name} measured", file=sys.stderr)
    print("| fleet | prompt | load | "
          + " | ".join(f"{t.upper()} {q}" for q in BOUNDS for t in TIMES) + " |")
    print("|---" * 9 + "|")
    rows = [row for name in names for row in hold(args, name)]
    tell("predicted / measured", [within for within, _ in rows])
    if args.rounds > 1:
        tell("one round / the other rounds, measured", [one for _, each in rows for one in each])


if __name__ == "__main__":
    main()
