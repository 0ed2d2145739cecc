#!/usr/bin/env python3
"""Where a request's time goes: medians of every stage, from the timelines of a running fleet.

    deploy/local up --detach
    bench/stages.py --prompt 16,64,256 --new 64 --runs 15

One request at a time; greedy, the same token ids every run, the first run of a length not counted.
"""
import argparse
import json
import statistics
import urllib.request


def generate(url, **body):
    request = urllib.request.Request(url + "/generate", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def measure(options, n_prompt, kv_cache):
    """{figure: median in milliseconds} over the runs of one prompt length."""
    figures = {}
    prompt = [5 + 7 * i % options.vocabulary for i in range(n_prompt)]
    for run in range(options.runs + 1):
        answer = generate(options.url, prompt=prompt, max_new_tokens=options.new, temperature=0,
                          ignore_eos=True, kv_cache=kv_cache, timeline=True)
        if not run:
            continue
        row = {stage["name"]: stage["duration_s"] for stage in answer["timeline"]["stages"]}
        row |= {"TTFT": answer["ttft_s"], "per token": answer["tpot_s"], "in all": answer["e2el_s"]}
        for name, seconds in row.items():
            figures.setdefault(name, []).append(1e3 * seconds)
    return {name: statistics.median(values) for name, values in figures.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--prompt", default="16,64,256", help="prompt lengths in tokens")
    parser.add_argument("--new", type=int, default=64, help="tokens to generate")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--vocabulary", type=int, default=2000, help="token ids stay below this")
    options = parser.parse_args()
    lengths = [int(n) for n in options.prompt.split(",")]
    columns = [(n, True, measure(options, n, True)) for n in lengths]
    columns += [(n, False, measure(options, n, False)) for n in lengths]
    print("| ms, median | "
          + " | ".join(f"{n}{'' if cached else ', naive'}" for n, cached, _ in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name in columns[0][2]:
        cells = (f"{figures[name]:.3g}" if name in figures else "-" for _, _, figures in columns)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
