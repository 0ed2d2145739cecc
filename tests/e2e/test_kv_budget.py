"""How much KV cache a worker takes: --kv-tokens or --kv-bytes, and --prefix-cache-tokens."""
import subprocess

import pytest
from fleet import BIN, MODEL, ROOT, Fleet

BLOCK_BYTES = {"f32": 128 << 10, "f16": 64 << 10}  # of 16 tokens of the embedded model, all layers

REFUSED = {
    "both": (["--kv-tokens", "4096", "--kv-bytes", "100000000"], "kv-bytes: not beside kv-tokens"),
    "less than a context": (["--kv-tokens", "496"], "kv-tokens: must be at least the model's context, 512, not 496"),
    "bytes for less than a context": (["--kv-bytes", "1"], "kv-bytes: must hold at least the model's context: 4194304 bytes"),
    "more than there is": (["--kv-tokens", "268435456"], "kv-tokens: 268435456 tokens take 2097152 MiB, but only"),
    "more than can be counted": (["--kv-bytes", "1000000000000000"], "kv-bytes must be an integer from 0 to 1099511627776"),
    "less than a block": (["--prefix-cache-tokens", "15"], "prefix-cache-tokens: must be 0 or at least a block of 16"),
}


@pytest.mark.parametrize("role", ("prefill", "decode"))
@pytest.mark.parametrize("case", REFUSED)
def test_a_senseless_capacity_is_refused_by_name(role, case):
    args, message = REFUSED[case]
    done = subprocess.run([BIN / f"baton-{role}", "--model", MODEL, "--pack-dir", "", "--dtype", "f32", *args],
                          capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode != 0 and message in done.stderr, done.stderr


@pytest.mark.parametrize("dtype", BLOCK_BYTES)
def test_bytes_become_whole_blocks(dtype):
    budget = 40 * BLOCK_BYTES[dtype]
    with Fleet(worker_args=["--kv-dtype", dtype, "--kv-bytes", str(budget + 100)]) as fleet:
        assert {w["kv_blocks_total"] for w in fleet.fleet()} == {40}
        assert fleet.generate(prompt="Once upon a time", max_new_tokens=5)["output_tokens"] == 5
        fleet.wait_all_free()
