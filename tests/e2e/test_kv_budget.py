"""How much KV cache a worker takes: --kv-tokens or --kv-bytes, and --prefix-cache-tokens."""

import pytest
from fleet import Fleet
from programs import refusal

BLOCK_BYTES = {"f32": 128 << 10, "f16": 64 << 10}  # of 16 tokens of the embedded model, all layers

REFUSED = {
    "both": (["--kv-tokens", "4096", "--kv-bytes", "100000000"], "kv-bytes: not beside kv-tokens"),
    "bytes for less than a block":
    (["--kv-bytes", "1"], "kv-bytes: must hold at least a block of 16 tokens: 131072 bytes, not 1"),
    "more than there is": (["--kv-tokens", "268435456"],
                           "kv-tokens: 268435456 tokens take 2097152 MiB, but only"),
    "more than can be counted": (["--kv-bytes", "1000000000000000"],
                                 "kv-bytes must be an integer from 0 to 1099511627776"),
    "less than a block": (["--prefix-cache-tokens", "15"],
                          "prefix-cache-tokens: must be 0 or at least a block of 16"),
}


@pytest.mark.parametrize("role", ("prefill", "decode"))
@pytest.mark.parametrize("case", REFUSED)
def test_a_senseless_capacity_is_refused_by_name(role, case):
    args, message = REFUSED[case]
    assert message in refusal(f"baton-{role}", "--dtype", "f32", *args)


@pytest.mark.parametrize("dtype", BLOCK_BYTES)
def test_bytes_become_whole_blocks(dtype):
    budget = 40 * BLOCK_BYTES[dtype]
    with Fleet(worker_args=["--kv-dtype", dtype, "--kv-bytes", str(budget + 100)]) as fleet:
        assert {w["kv_blocks_total"] for w in fleet.fleet()} == {40}
        assert fleet.generate(prompt="Once upon a time", max_new_tokens=5)["output_tokens"] == 5
        fleet.wait_all_free()


def test_a_cache_smaller_than_the_context_bounds_what_is_served():
    """Ten blocks of 16 tokens in each worker: 160 positions, and the last token takes none."""
    with Fleet(worker_args=["--kv-tokens", "160"]) as fleet:
        assert {w["kv_tokens"] for w in fleet.fleet()} == {160}
        assert "kv_cache_below_context" in fleet.workers["decode-0"].text()
        assert fleet.request("GET", "/v1/models")[1]["data"][0]["context_length"] == 161
        assert fleet.generate(prompt=[1] * 100, max_new_tokens=61,
                              ignore_eos=True)["output_tokens"] == 61
        for body, param in (({"prompt": [1] * 100, "max_new_tokens": 62}, "max_new_tokens"),
                            ({"prompt": [1] * 161, "max_new_tokens": 1}, "prompt"),
                            ({"prompt": "a " * 400}, "prompt")):
            status, answer, _ = fleet.request("POST", "/generate", body)
            assert status == 400 and answer["error"]["code"] == "context_length_exceeded", answer
            assert (answer["error"]["param"] == param
                    and "KV caches hold" in answer["error"]["message"]), answer
        fleet.wait_all_free()
