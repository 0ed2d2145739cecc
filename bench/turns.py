#!/usr/bin/env python3
"""Time to the first token of each turn of a conversation, and of the same prompt read anew.

    bench/turns.py --models shape:qwen3.5-0.8b,shape:qwen3-0.6b
    bench/turns.py --models shape:qwen3.5-0.8b --peer llama.cpp/build/bin/llama-server

A conversation of 20 turns (--turns) adds a message of about 500 tokens (--tokens) and an answer of
16 (--new) in each, over the chat API. Each prompt is asked a second time behind another system
prompt, which no cache has: that is reading it anew. The models are GGUF files of the type Q8_0
(--type) with random weights, so that answers are noise; --keep DIR keeps them. Servers run one
after the other with the same threads; a fleet has a prefill and a decode worker. Figures are those
of one conversation: the table tells the median of five turns around each.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from fleet import ROOT, Fleet, free_port

LETTERS = list("etaoinshrdlu")


def message(draw, n_tokens):
    """Letters with spaces between: about a token each."""
    return " ".join(draw.choice(LETTERS, n_tokens))


def name_of(url):
    with urllib.request.urlopen(f"{url}/v1/models", timeout=60) as answer:
        return json.load(answer)["data"][0]["id"]


def ask(url, messages, options):
    """(seconds to the first token, tokens of the prompt, of these cached, the answer)"""
    body = {"model": name_of(url), "messages": messages, "max_tokens": options.new, "seed": 1,
            "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    begin, first, text, usage = time.monotonic(), None, "", {}
    with urllib.request.urlopen(request, timeout=3600) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            usage = event.get("usage") or usage
            for choice in event.get("choices", []):
                delta = choice.get("delta") or {}
                piece = (delta.get("content") or "") + (delta.get("reasoning_content") or "")
                if piece and first is None:
                    first = time.monotonic() - begin
                text += delta.get("content") or ""
    details = usage.get("prompt_tokens_details") or {}
    return (first or time.monotonic() - begin, usage["prompt_tokens"],
            details.get("cached_tokens", 0), text)


def converse(url, options):
    """A row for each turn: tokens of the prompt, cached ones, seconds, seconds read anew."""
    draw = np.random.default_rng(3)
    messages, rows = [{"role": "system", "content": message(draw, 50)}], []
    for turn in range(options.turns):
        messages.append({"role": "user", "content": message(draw, options.tokens)})
        seconds, n_prompt, n_cached, text = ask(url, messages, options)
        other = [{"role": "system", "content": f"{turn} {message(draw, 50)}"}, *messages[1:]]
        rows.append((n_prompt, n_cached, seconds, ask(url, other, options)[0]))
        messages.append({"role": "assistant", "content": text or "e"})
    return rows


def of_baton(model, options):
    with tempfile.TemporaryDirectory() as folder, Fleet(options.bin, model, folder) as fleet:
        for role in "prefill", "decode":
            fleet.start_worker(role, "--threads", options.threads, "--kv-bytes", options.kv_bytes)
        fleet.wait_ready(2)
        return converse(fleet.url, options)


def of_peer(model, options):
    port = free_port()
    words = [options.peer, "-m", model, "--port", port, "-t", options.threads, "-np", 1,
             "-c", 2 * options.turns * (options.tokens + options.new) + 2048]
    server = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                if server.poll() is not None:
                    raise SystemExit(f"{options.peer} ended with {server.returncode}") from None
                time.sleep(0.1)
        return converse(f"http://127.0.0.1:{port}", options)
    finally:
        server.terminate()
        server.wait()


def tell(name, rows):
    for last in range(5, len(rows) + 1, 5):
        some = rows[last - 5:last]
        ratio = statistics.median(row[2] / row[3] for row in some)
        middle = [statistics.median(row[i] for row in some) for i in range(4)]
        print(f"| {name} | {last - 4} to {last} | {middle[0]:.0f} | {middle[1]:.0f} | "
              f"{middle[2]:.2f} | {middle[3]:.2f} | {ratio:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="Baton's programs")
    parser.add_argument("--models", default="shape:qwen3.5-0.8b,shape:qwen3-0.6b")
    parser.add_argument("--peer", help="llama-server")
    parser.add_argument("--type", default="Q8_0", help="of the files")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=500, help="of a message")
    parser.add_argument("--new", type=int, default=16, help="tokens of an answer")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--kv-bytes", type=int, default=2 << 30, help="of each worker")
    parser.add_argument("--keep", help="a directory that keeps the models")
    options = parser.parse_args()
    print("| server, model | turns | prompt | cached | first token, s | read anew, s | ratio |")
    print("|---" * 7 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for shape in options.models.split(","):
            name = shape.removeprefix("shape:")
            model = Path(options.keep or folder) / f"{name}-{options.type}.gguf"
            if not model.exists():
                subprocess.run([Path(options.bin) / "baton-bench", "make-model", "--shape", name,
                                "--gguf", options.type, "--out", model], check=True)
            tell(f"Baton, {name}", of_baton(model, options))
            if options.peer:
                tell(f"llama.cpp, {name}", of_peer(model, options))


if __name__ == "__main__":
    main()
