"""How much KV cache a worker takes: --kv-tokens or --kv-bytes, and --prefix-cache-tokens."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import BIN, ROOT, Fleet, wait_for
from programs import MODEL, refusal, run

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


def test_what_no_worker_can_hold_is_refused_with_its_figures():
    """Naive requests need positions of the prefill worker, whose cache is smaller, for an output,
    and only their admission knows it."""
    body = {"prompt": [1] * 100, "max_new_tokens": 100, "kv_cache": False}
    with Fleet(prefill_args=["--kv-tokens", "160"]) as fleet:
        status, answer, _ = fleet.request("POST", "/generate", body)
        error = answer["error"]
        assert (status, error["code"], error["n_prompt_tokens"], error["n_ctx"]) == (
            400, "context_length_exceeded", 100, 161)
        assert "100 + 100 > 161, which the workers' KV caches hold" in error["message"]
        fleet.wait_all_free()


# The embedded model's blocks of f32 grow by steps of at most this.
STEP_BYTES = 32 << 20
LONG = dict(max_new_tokens=480, ignore_eos=True, temperature=0)


def backed(fleet):
    return {worker["role"]: worker["kv_backed_bytes"] for worker in fleet.fleet()}


def run_many(fleet, n):
    """The texts of n streams at once, which hold most of a decode worker's cache."""
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda i: fleet.generate(prompt=[3 + i] * 20, **LONG)
                             ["generated_text"], range(n)))


def test_memory_comes_with_use_and_goes_when_nobody_uses_it():
    args = ["--kv-dtype", "f32", "--kv-tokens", 65536]
    with Fleet(worker_args=args) as fleet:
        idle = backed(fleet)
        for worker in fleet.fleet():
            assert worker["kv_cap_bytes"] == 4096 * BLOCK_BYTES["f32"]
            assert worker["kv_used_bytes"] <= worker["kv_backed_bytes"] <= STEP_BYTES
        texts = run_many(fleet, 32)
        wait_for(lambda: backed(fleet)["decode"] > idle["decode"], "the worker to tell of more")
        fleet.wait_all_free()
    with Fleet(worker_args=[*args, "--kv-idle-s", 0.1]) as fleet:
        assert run_many(fleet, 32) == texts  # memory that comes and goes changes no bit
        wait_for(lambda: backed(fleet) == idle, "the memory to be given back")
        assert all(worker["kv_blocks_cached"] == 0 for worker in fleet.fleet())
        assert run_many(fleet, 32) == texts
        fleet.wait_all_free()


def test_a_draft_models_cache_grows_as_well():
    args = ["--draft-model", ROOT / "models/tale", "--kv-tokens", 65536, "--kv-dtype", "f32"]
    with Fleet(gateway_args=["--speculation", "draft_model"], decode_args=args) as fleet:
        decode = next(worker for worker in fleet.fleet() if worker["role"] == "decode")
        assert decode["kv_cap_bytes"] == 2 * 4096 * BLOCK_BYTES["f32"]
        run_many(fleet, 32)
        assert "no_blocks_for_drafts" not in fleet.workers["decode-0"].text()
        fleet.wait_all_free()


def test_addresses_that_are_not_there_are_a_clear_error():
    said = run("bash", "-c", 'ulimit -v 2097152; exec "$@"', "-", BIN / "baton-decode", "--model",
               MODEL, "--pack-dir", "", "--kv-bytes", 4 << 30, "--threads", 1)
    assert said.returncode == 1, said
    assert ("KV cache: no memory for" in said.stdout + said.stderr
            or "MiB of memory are left" in said.stdout + said.stderr), said
