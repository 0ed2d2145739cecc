"""`baton-bench engine` prints exactly the documented fields, and they agree with each other."""
import json
import math
import subprocess
import sys

BENCH = sys.argv[1]
KEYS = ["phase", "model", "dtype", "kernels", "threads", "kv_token_bytes", "chunk", "prompt",
        "batch", "seconds", "tokens_per_s", "flops", "bytes", "flops_per_s", "bytes_per_s", "bound",
        "estimate_s", "fraction"]
TINY = ["--model", "shape:tiny", "--prompt", "1,20", "--new", "3", "--batch", "1,5"]
# The tiny shape's layers, width and vocabulary.
L, C, V = 2, 80, 2560
WEIGHT_BYTES = {"f32": 4, "bf16": 2, "q8": 1}


def run(*options):
    return subprocess.run([BENCH, "engine", *options], capture_output=True, text=True)


def lines_of(*options):
    done = run(*TINY, *options, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_line(line):
    assert list(line) == KEYS, line
    kv_bytes = L * 2 * C * (4 if line["dtype"] == "f32" else 2)
    assert kv_bytes <= line["kv_token_bytes"] < 2 * kv_bytes, line  # with padding
    assert line["seconds"] > 0 and line["bytes"] > 0 and line["estimate_s"] > 0
    assert line["bound"] in ("compute", "memory")
    assert line["flops_per_s"] > 0 and line["bytes_per_s"] > 0
    n_tokens = line["batch"] * (line["prompt"] if line["phase"] == "prefill" else 1)
    assert math.isclose(line["tokens_per_s"], n_tokens / line["seconds"], rel_tol=1e-6)
    assert math.isclose(line["fraction"], line["estimate_s"] / line["seconds"], rel_tol=1e-6)


def weights():
    """The weights of all matrices, the head included."""
    return L * 12 * C * C + V * C


def expected_flops(line, depth=0):
    """Counted matrix by matrix: 2 FLOPs a weight and row, 4 C a row and position it looks at."""
    n, head = line["prompt"], 2 * V * C
    if line["phase"] == "decode":
        past = depth + n + 1  # the mean of three steps
        return line["batch"] * (L * (24 * C * C + 4 * C * (past + 1)) + head)
    whole = n * 24 * C * C + 4 * C * sum(range(depth + 1, depth + n + 1))
    last = n * 6 * C * C + 18 * C * C + 4 * C * (depth + n)  # of one row after its keys and values
    return (L - 1) * whole + last + head


for dtype in WEIGHT_BYTES:
    lines = lines_of("--dtype", dtype)
    assert [(line["phase"], line["prompt"], line["batch"]) for line in lines] == [
        ("prefill", 1, 1), ("decode", 1, 1), ("decode", 1, 5),
        ("prefill", 20, 1), ("decode", 20, 1), ("decode", 20, 5)]
    for line in lines:
        check_line(line)
        assert line["flops"] == expected_flops(line), line
        assert (line["model"], line["dtype"], line["threads"]) == ("tiny", dtype, 1)
        assert line["bytes"] > weights() * WEIGHT_BYTES[dtype], line

for line in lines_of("--depth", "100"):
    check_line(line)
    assert line["flops"] == expected_flops(line, 100), line

for line in lines_of("--kernels", "portable", "--dtype", "f32", "--threads", "2"):
    check_line(line)
    assert (line["kernels"], line["threads"]) == ("portable", 2)

# Steps behind a state follow each other.
hybrid = run("--model", "shape:tiny-qwen3_5_text", "--prompt", "1,20", "--new", "3", "--batch",
             "1,5", "--json")
assert hybrid.returncode == 0, hybrid.stderr
assert [line["batch"] for line in json.loads(hybrid.stdout)] == [1, 1, 5] * 2
deep = run("--model", "shape:tiny-qwen3_5_text", "--prompt", "20", "--depth", "10")
assert deep.returncode in (1, 2) and "--depth: must be 0" in deep.stderr, deep.stderr

table = run(*TINY)
assert table.returncode == 0
assert table.stdout.count("prefill") == 2 and table.stdout.count("decode") == 4

for options, reason in ((["--prompt", "16,,3"], "--prompt"), (["--batch", "0"], "--batch"),
                        (["--prompt", "16x"], "from 1 to"), (["--model", "shape:huge"], "gpt2-xl"),
                        (["--prompt", "255"], "256"), (["--depth", "240"], "--depth 240"),
                        (["--dtype", "f64"], "f64"), (["--kernels", "none"], "none")):
    refused = run(*TINY, *options)
    assert refused.returncode in (1, 2) and reason in refused.stderr, (options, refused.stderr)
