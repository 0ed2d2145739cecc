#!/usr/bin/env python3
"""The memory that a fleet takes: idle, with 16 streams, and after it has been idle for a while.

    build/release/bin/baton-bench make-model --shape llama-3.2-1b --gguf Q4_K_M --out /tmp/1b.gguf
    bench/memory.py models/tale /tmp/1b.gguf

Starts a gateway and a worker of each role for every model, and prints a line of Markdown. Memory is
the proportional set size (PSS) of all processes in MB: pages that several of them map count once.
It is read while nothing runs, as a maximum while the streams run, and when the workers have given
back what was unused for --kv-idle-s. Weights are the pages of files in it, the model's or the
packed copy's. KV is what the workers report as backed. With --llama-server PATH llama.cpp's server
answers the same requests from a GGUF file, with a context for all streams.
"""
import argparse
import concurrent.futures
import json
import re
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from fleet import ROOT, Fleet, free_port

LETTERS = 1000  # a token of letters in every file of make-model


def pss(processes):
    """(all, of files) in MB."""
    sums = {"Pss": 0, "Pss_File": 0}
    for process in processes:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        for key in sums:
            sums[key] += int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M)[1])
    return [round(kib * 1024 / 1e6) for kib in sums.values()]


def generate(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=3600) as answer:
        answer.read()


def run_streams(url, body_of, options):
    with concurrent.futures.ThreadPoolExecutor(options.streams) as pool:
        list(pool.map(lambda i: generate(url, body_of(i)), range(options.streams)))


def peak(processes, run):
    """The largest memory while run() runs."""
    most, over = [0, 0], threading.Event()

    def watch():
        while not over.wait(0.05):
            most[:] = max(most, pss(processes))
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run()
    finally:
        over.set()
        watcher.join()
    return max(most, pss(processes))


def backed(fleet):
    return sum(worker["kv_backed_bytes"] for worker in fleet.workers()) / 1e6


def prompt(i, options):
    return [3 + (i * 7919 + at * 104729) % 200 for at in range(options.prompt)]


def measure_baton(options, model, directory):
    with Fleet(options.bin, model, directory) as fleet:
        fleet.start_worker("prefill", "--kv-idle-s", options.kv_idle_s)
        fleet.start_worker("decode", "--kv-idle-s", options.kv_idle_s)
        fleet.wait_ready(2)
        kv = [backed(fleet)]
        figures = [pss(fleet.processes)]

        def body_of(i):
            return {"prompt": prompt(i, options), "max_new_tokens": options.new,
                    "ignore_eos": True, "temperature": 0}

        def run():
            run_streams(fleet.url + "/generate", body_of, options)
            kv.append(backed(fleet))
        figures.append(peak(fleet.processes, run))
        fleet.wait(lambda: backed(fleet) <= kv[0])
        kv.append(backed(fleet))
        figures.append(pss(fleet.processes))
    return figures, kv


def measure_llama(options, model):
    port = free_port()
    n_context = options.streams * (options.prompt + options.new)
    command = [options.llama_server, "-m", model, "--port", port, "-np", options.streams, "-c",
               max(n_context, 16384)]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            while True:
                try:
                    urllib.request.urlopen(url + "/health", timeout=5).close()
                    break
                except (OSError, urllib.error.HTTPError):
                    time.sleep(0.1)
            idle = pss([server])

            def body_of(i):
                # Its JSON cannot hold the bytes that random weights draw, so it draws one token.
                return {"prompt": prompt(i, options), "n_predict": options.new, "ignore_eos": True,
                        "logit_bias": [[LETTERS, 100]]}
            most = peak([server], lambda: run_streams(url + "/completion", body_of, options))
            return [idle, most, pss([server])]
        finally:
            server.terminate()


def print_row(name, figures, kv):
    cells = [f"{total} ({files})" for total, files in figures]
    print(f"| {name} | " + " | ".join(cells) + f" | {kv} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+", help="directories or GGUF files")
    parser.add_argument("--bin", default=ROOT / "build/release/bin")
    parser.add_argument("--llama-server", help="its program; for GGUF files")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--prompt", type=int, default=64, help="tokens")
    parser.add_argument("--new", type=int, default=64, help="tokens")
    parser.add_argument("--kv-idle-s", type=float, default=5)
    options = parser.parse_args()
    print("| model | idle (weights) | streams (weights) | after --kv-idle-s | KV backed |")
    print("|---|---|---|---|---|")
    for model in options.models:
        with tempfile.TemporaryDirectory() as directory:
            figures, kv = measure_baton(options, model, directory)
        print_row(Path(model).name, figures, " / ".join(f"{mb:.0f}" for mb in kv))
        if options.llama_server and model.endswith(".gguf"):
            print_row("llama-server", measure_llama(options, model), "")


if __name__ == "__main__":
    main()
