#!/usr/bin/env python3
"""Texts per second that a server embeds: Baton's through its gateway, and llama.cpp's beside it.

    bench/embed.py --bin build/release/bin --threads 2
    bench/embed.py --bin build/release/bin --peer llama.cpp/build/bin/llama-server

The model has the shape of nomic-embed-text v1.5 with random weights, in a GGUF file of F16 and in
one of Q8_0 (--types); --keep DIR keeps the files. 512 texts of 128 tokens (--texts, --tokens) come
in requests of 32 (--at-once) by 4 clients (--clients). Servers run one after the other on the same
cores, and each is warm before it is timed. Figures are medians of the rounds. Baton's vectors are
compared with those of the same texts alone: they must be equal. With a peer the least cosine
between its vectors and Baton's is told. The time of processors, which other programs on the machine
change little, is that of the process that computes.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from fleet import Fleet, free_port

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/reference"))
import gguf  # noqa: E402

LAYERS, WIDTH, HEADS, INNER, VOCABULARY, CONTEXT = 12, 768, 12, 3072, 30522, 2048
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def keys():
    of = "nomic-bert"
    words = [f"\u2581w{i}" for i in range(VOCABULARY - len(MARKS))]
    return {
        "general.architecture": of, "general.name": "nomic-shape", f"{of}.context_length": CONTEXT,
        f"{of}.embedding_length": WIDTH, f"{of}.block_count": LAYERS,
        f"{of}.feed_forward_length": INNER, f"{of}.attention.head_count": HEADS,
        f"{of}.attention.layer_norm_epsilon": 1e-12, f"{of}.attention.causal": False,
        f"{of}.pooling_type": 1, f"{of}.rope.freq_base": 1000.0,
        "tokenizer.ggml.model": "bert", "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.token_type_count": 2, "tokenizer.ggml.tokens": MARKS + words,
        "tokenizer.ggml.token_type": [3] * len(MARKS) + [1] * len(words),
        "tokenizer.ggml.unknown_token_id": 1, "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 3, "tokenizer.ggml.seperator_token_id": 3,
        "tokenizer.ggml.padding_token_id": 0, "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.mask_token_id": 4}


def write_model(path, kind):
    """A file of the shape; the same seed gives the same file."""
    draw = np.random.default_rng(1)

    def matrix(*shape):
        return (draw.standard_normal(shape) / np.sqrt(shape[-1])).astype("f4")

    def norm(name):
        return {f"{name}.weight": np.ones(WIDTH, "f4"), f"{name}.bias": np.zeros(WIDTH, "f4")}
    tensors = {"token_embd.weight": matrix(VOCABULARY, WIDTH),
               "token_types.weight": matrix(2, WIDTH), **norm("token_embd_norm")}
    for i in range(LAYERS):
        at = f"blk.{i}"
        tensors |= {f"{at}.attn_qkv.weight": matrix(3 * WIDTH, WIDTH),
                    f"{at}.attn_output.weight": matrix(WIDTH, WIDTH),
                    f"{at}.ffn_up.weight": matrix(INNER, WIDTH),
                    f"{at}.ffn_gate.weight": matrix(INNER, WIDTH),
                    f"{at}.ffn_down.weight": matrix(WIDTH, INNER),
                    **norm(f"{at}.attn_output_norm"), **norm(f"{at}.layer_output_norm")}
    types = {name: kind for name, values in tensors.items()
             if values.ndim > 1 and name != "token_types.weight"}
    gguf.write(path, keys(), tensors, types)


def texts_of(options):
    """Their words are single tokens; [CLS] and [SEP] are the rest."""
    draw = np.random.default_rng(2)
    ids = draw.integers(0, VOCABULARY - len(MARKS), (options.texts, options.tokens - 2))
    return [" ".join(f"w{i}" for i in row) for row in ids]


def post(url, body):
    request = urllib.request.Request(f"{url}/v1/embeddings", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def embed(url, texts, options):
    """(texts per second, vectors)"""
    parts = [texts[i:i + options.at_once] for i in range(0, len(texts), options.at_once)]
    begin = time.monotonic()
    with ThreadPoolExecutor(options.clients) as pool:
        answers = list(pool.map(lambda part: post(url, {"input": part}), parts))
    seconds = time.monotonic() - begin
    assert answers[0]["usage"]["prompt_tokens"] == len(parts[0]) * options.tokens
    return len(texts) / seconds, np.array([entry["embedding"] for answer in answers
                                           for entry in answer["data"]])


def cpu_s_of(pid):
    """Seconds of processors that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(url, pid, texts, options):
    """(texts per second, vectors, seconds of processors for a text)"""
    embed(url, texts[:options.at_once], options)
    before = cpu_s_of(pid)
    rounds = [embed(url, texts, options) for _ in range(options.rounds)]
    cpu_s = (cpu_s_of(pid) - before) / options.rounds / len(texts)
    return statistics.median(rate for rate, _ in rounds), rounds[0][1], cpu_s


def of_baton(model, texts, options):
    with tempfile.TemporaryDirectory() as folder, Fleet(
            options.bin, model, folder, "--max-wait-s", 0, "--timeout-s",
            0) as fleet:
        fleet.start_worker("prefill", "--threads", options.threads, *options.worker.split())
        fleet.wait_ready(1)
        worker = fleet.processes[-1].pid
        rate, vectors, cpu_s = measure(fleet.url, worker, texts, options)
        for i in (0, len(texts) - 1):
            alone = embed(fleet.url, texts[i:i + 1], options)[1][0]
            assert (alone == vectors[i]).all(), "a vector has other bits alone"
        return rate, vectors, cpu_s


def of_peer(model, texts, options):
    port = free_port()
    words = [options.peer, "-m", model, "--port", port, "--embedding", "-t", options.threads, "-tb",
             options.threads, "-c", options.at_once * options.tokens, "-np", options.at_once, "-b",
             options.at_once * options.tokens, "-ub", options.at_once * options.tokens]
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
        return measure(f"http://127.0.0.1:{port}", server.pid, texts, options)
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="Baton's programs")
    parser.add_argument("--peer", help="llama-server")
    parser.add_argument("--types", default="F16,Q8_0")
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128, help="of a text")
    parser.add_argument("--at-once", type=int, default=32, help="texts of a request")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", default="", help="further options of the prefill worker")
    parser.add_argument("--keep", help="a directory that keeps the models")
    options = parser.parse_args()
    texts = texts_of(options)
    print("| type | Baton, texts/s | CPU ms a text | llama.cpp | CPU ms | ratio | least cosine |")
    print("|---" * 7 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.types.split(","):
            model = Path(options.keep or folder) / f"nomic-shape-{kind}.gguf"
            if not model.exists():
                write_model(model, kind)
            rate, vectors, cpu_s = of_baton(model, texts, options)
            told = "- | - | - | -"
            if options.peer:
                theirs, others, their_s = of_peer(model, texts, options)
                told = (f"{theirs:.1f} | {1000 * their_s:.1f} | {rate / theirs:.2f} | "
                        f"{(vectors * others).sum(1).min():.6f}")
            print(f"| {kind} | {rate:.1f} | {1000 * cpu_s:.1f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
