#!/usr/bin/env python3
"""Output held to a JSON Schema beside free output, in Baton and in llama.cpp, in turn.

    bench/constrained.py --llama-server llama.cpp/build/bin/llama-server --shape smollm2-135m

Both serve one GGUF file of random weights, one thread each, and answer POST /completion: the same
prompt, greedy, as many tokens. A figure is the milliseconds of a token after the first, the median
over all rounds; in each round every program answers free and held, one after the other.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from fleet import ROOT, Fleet, free_port

PERSON = {"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 16},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "role": {"enum": ["reader", "writer", "editor"]}}, "required": ["name", "age", "role"]}
SCHEMA = {"type": "array", "items": PERSON, "minItems": 40}
KINDS = {"free": {"ignore_eos": True}, "held to a schema": {"json_schema": SCHEMA}}


def ask(url, options, kind):
    """The milliseconds of a token."""
    body = {"prompt": "The people of the house:", "n_predict": options.tokens, "temperature": 0,
            "seed": 1, "cache_prompt": False, "timings_per_token": True, **KINDS[kind]}
    request = urllib.request.Request(f"{url}/completion", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        timings = json.load(answer)["timings"]
    if timings["predicted_n"] != options.tokens:
        raise SystemExit(f"{url} wrote {timings['predicted_n']} tokens, not {options.tokens}")
    return timings["predicted_ms"] / timings["predicted_n"]


def is_ready(url):
    with urllib.request.urlopen(f"{url}/health", timeout=60) as answer:
        return answer.status == 200


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-server", required=True, help="the program, as you built it")
    parser.add_argument("--programs", default=ROOT / "build/release/bin", help="Baton's")
    parser.add_argument("--shape", default="smollm2-135m", help="of baton-bench make-model")
    parser.add_argument("--type", default="Q8_0", help="of ggml's")
    parser.add_argument("--tokens", type=int, default=128, help="of an answer")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def main():
    options = read_options()
    with tempfile.TemporaryDirectory() as directory:
        model = Path(directory) / "model.gguf"
        command = [Path(options.programs) / "baton-bench", "make-model", "--shape", options.shape,
                   "--gguf", options.type, "--out", model]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with Fleet(options.programs, model, directory) as fleet:
            fleet.start_worker("prefill", "--threads", 1)
            fleet.start_worker("decode", "--threads", 1)
            port = free_port()
            with open(Path(directory) / "llama.log", "w") as log:
                words = [options.llama_server, "-m", model, "--port", port, "-t", 1, "-np", 1,
                         "-c", 2048]
                server = subprocess.Popen(list(map(str, words)), stdout=log, stderr=log)
            fleet.processes.append(server)
            fleet.logs.append(Path(directory) / "llama.log")
            urls = {"Baton": fleet.url, "llama.cpp": f"http://127.0.0.1:{port}"}
            fleet.wait_ready(2)
            fleet.wait(lambda: is_ready(urls["llama.cpp"]))
            compare(options, urls)


def compare(options, urls):
    figures = {(name, kind): [] for name in urls for kind in KINDS}
    for i in range(options.rounds + 1):  # the first warms up
        for name, kind in sorted(figures, reverse=i % 2 == 1):
            figures[name, kind].append(ask(urls[name], options, kind))
    print(f"{options.shape}, {options.type}, {options.tokens} tokens, "
          f"medians of {options.rounds} rounds\n")
    print("| ms a token | " + " | ".join(KINDS) + " | held / free |\n|---|---|---|---|")
    for name in urls:
        free, held = (statistics.median(figures[name, kind][1:]) for kind in KINDS)
        print(f"| {name} | {free:.2f} | {held:.2f} | {held / free:.2f} |")


if __name__ == "__main__":
    main()
