"""`baton-bench handoff`: consistent figures of a real link, a network estimated and emulated."""
import json
import math
import subprocess
import sys

BENCH = sys.argv[1]
TINY = ["--model", "shape:tiny", "--prompt", "16,64,200", "--chunk-kib", "16,512", "--runs", "3"]
# The tiny shape's layers and width.
L, C, BLOCK = 2, 80, 16


def run(*options):
    return subprocess.run([BENCH, "handoff", *options], capture_output=True, text=True)


def answer_of(*options):
    done = run(*TINY, *options, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_times(times):
    assert times["chunks"] > 0 and 0 < times["crc_s"] < times["transfer_s"]
    assert math.isclose(times["gb_per_s"], times["bytes"] / times["transfer_s"] / 1e9, rel_tol=1e-6)


def check_lengths(kv, n_bytes):
    # Heads are padded to whole vectors.
    assert 2 * L * C * n_bytes <= kv["bytes_per_token"] < 4 * L * C * n_bytes
    assert [line["prompt_tokens"] for line in kv["lengths"]] == [16, 64, 200]
    for line in kv["lengths"]:
        check_times(line)
        n_blocks = (line["prompt_tokens"] + BLOCK - 1) // BLOCK
        assert line["bytes"] == n_blocks * BLOCK * kv["bytes_per_token"] and line["prefill_s"] > 0
        assert line["chunks"] == L
        assert line["shared_exposed_s"] > 0 and line["shared_transfer_s"] > 0


answer = answer_of()
assert answer["network"] is None
assert (answer["model"], answer["dtype"], answer["threads"]) == ("tiny", "f32", 1)
assert [kv["kv_dtype"] for kv in answer["kv"]] == ["f16", "f32"]
for kv, n_bytes in zip(answer["kv"], (2, 4)):
    check_lengths(kv, n_bytes)
    assert [line["chunk_bytes"] for line in kv["chunk_sizes"]] == [16 << 10, 512 << 10]
    for line in kv["chunk_sizes"]:
        check_times(line)
    small = kv["chunk_sizes"][0]["chunks"]
    blocks_each = max(1, (16 << 10) // int(kv["bytes_per_token"] * BLOCK / L))
    assert small == L * math.ceil(13 / blocks_each), small
    assert list(kv["break_even"]) == ["here"]

# A network so slow that nothing pays, however slow the machine is: 125 bytes per second.
answer = answer_of("--bandwidth", "0.000001", "--emulate", "false", "--kv-dtype", "f16")
assert answer["kv"][0]["break_even"]["network"]["whole_tokens"] is None

# A slow network, by estimate and, where the kernel lets us, by measurement.
answer = answer_of("--bandwidth", "0.02", "--kv-dtype", "f16")
[kv] = answer["kv"]
for line in kv["lengths"]:
    at_least = line["bytes"] / (0.02e9 / 8)
    assert at_least * (1 - 1e-9) <= line["network_transfer_s"]  # a link may measure no set-up time
    assert 0 < line["network_exposed_s"] <= line["network_transfer_s"]
    if answer["network"].get("emulation_skipped"):
        assert line["emulated_transfer_s"] is None
if answer["network"].get("emulation_skipped"):
    print("emulation skipped:", answer["network"]["emulation_skipped"])
else:
    longest = kv["lengths"][-1]
    ratio = longest["emulated_transfer_s"] / longest["network_transfer_s"]
    assert ratio > 0.2, ratio  # the bucket lets a quarter of a megabyte through at once

# Latency alone; not emulated when that is not wanted.
answer = answer_of("--latency", "40", "--emulate", "false", "--kv-dtype", "f32")
[kv] = answer["kv"]
assert answer["network"] == {"bytes_per_s": None, "latency_s": 0.04}
for line in kv["lengths"]:
    assert line["network_transfer_s"] > 0.04 and line["emulated_transfer_s"] is None

table = run(*TINY, "--bandwidth", "10", "--latency", "0.1", "--emulate", "false").stdout
for text in ("KV f16", "KV f32", "exposed ms", "shared ms", "break-even, here",
             "break-even, network", "chunks, of 200 tokens"):
    assert text in table, table

for options, text in ((["--prompt", "64,16"], "ascend"), (["--prompt", "0"], "--prompt"),
                      (["--prompt", "5000"], "positions"), (["--kv-dtype", "f64"], "kv-dtype"),
                      (["--chunk-kib", "16384"], "--chunk-kib"),
                      (["--bandwidth", "-1"], "bandwidth"), (["--latency", "soon"], "latency"),
                      (["--runs", "1"], "runs"), (["--speed", "1"], "speed")):
    refused = run("--model", "shape:tiny", *options)
    assert refused.returncode in (1, 2) and text in refused.stderr, (options, refused.stderr)
    assert not refused.stdout
