"""Every family through the engine, against foreign numbers and against the float64 reference.

The fixtures' expected.json come from another implementation, so they judge the reference too.
Random models of each family then go where the fixtures do not: other shapes, options and storages.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import engine  # noqa: E402
import model  # noqa: E402
import random_model  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/models"
TALE = ROOT / "models/tale"
# The error of a logit in f32, whose standard deviation is 3; a CPU's best kernels spend some of it.
TOLERANCE = 2e-3
TOLERANCE_EXACT = 2e-4  # of those whose products are in f32 throughout
# In standard deviations of the logits, with K and V in f16, whose elements have a relative error of
# 5e-4. Models whose scores are large (phi3-longrope, phi4-mini) spend 3e-2 of it, the others 1e-2.
TOLERANCE_F16_KV = 5e-2
# Root of the mean square, in the same measure, with weights of about five bits: 0.2 at most.
TOLERANCE_Q4 = 0.3
# So many random models of each family; BATON_SEEDS asks for more, BATON_FIRST_SEED for others.
SEEDS = range(int(os.environ.get("BATON_FIRST_SEED", 0)),
              int(os.environ.get("BATON_FIRST_SEED", 0)) + int(os.environ.get("BATON_SEEDS", 2)))


def cases(name):
    return json.loads((FIXTURES / name / "expected.json").read_text())["cases"]


def logprobs(rows, ids):
    """The log-probability of each id but the first, from rows [T][V]."""
    rows = np.asarray(rows[: len(ids) - 1], np.float64)
    rows = rows - rows.max(-1, keepdims=True)
    rows = rows - np.log(np.exp(rows).sum(-1, keepdims=True))
    return rows[np.arange(len(ids) - 1), ids[1:]]


def hold(case, rows):
    """rows [T][V] follow the case's prompt and greedy tokens."""
    n = len(case["prompt"])
    if "logits" in case:
        assert np.abs(rows[n - 1] - case["logits"]).max() <= TOLERANCE
    for row, token, gap in zip(rows[n - 1:], case["greedy"], case["gaps"]):
        if gap > 2 * TOLERANCE:
            assert row.argmax() == token
    if n > 1:
        assert np.abs(logprobs(rows, case["prompt"])
                      - case["prompt_logprobs"][1:]).max() <= 2 * TOLERANCE


def run(directory, ids, *options):
    """The engine's rows [T][V], the same in every mode."""
    return engine.all_ways(directory, ids, vocabulary(directory), *options)


def names():
    return sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())


def vocabulary(directory):
    return model.checkpoint.read_config(directory)["vocab_size"]


@pytest.mark.parametrize("name", names())
def test_the_reference_gives_the_fixtures_numbers(name):
    judge = model.Model(FIXTURES / name)
    for case in cases(name):
        hold(case, judge.logits(case["prompt"] + case["greedy"][:-1]))


@pytest.mark.parametrize("name", names())
def test_the_engine_gives_the_fixtures_numbers_in_every_mode(name):
    for case in cases(name):
        hold(case, run(FIXTURES / name, case["prompt"] + case["greedy"][:-1]))


@pytest.mark.parametrize("name", names())
def test_keys_and_values_in_f16_stay_within_their_bound(name):
    judge = model.Model(FIXTURES / name)
    for case in cases(name):
        ids = case["prompt"] + case["greedy"][:-1]
        wanted = judge.logits(ids)
        found = run(FIXTURES / name, ids, "--kv-dtype", "f16")
        assert (np.abs(found - wanted)[: judge.n_sure(1e-2)].max(initial=0)
                <= TOLERANCE_F16_KV * wanted.std())


@pytest.mark.parametrize("name", names())
def test_bf16_keeps_more_of_a_model_than_q8(name):
    """By the mean of the rows: in a mixture, one row may get another expert from either."""
    judge, lost = model.Model(FIXTURES / name), {}
    for case in cases(name):
        ids = case["prompt"] + case["greedy"][:-1]
        wanted = judge.logits(ids)
        for dtype in ("bf16", "q8"):
            [rows] = engine.ask(FIXTURES / name, [("score", ids)], vocabulary(FIXTURES / name),
                                "--dtype", dtype)
            lost.setdefault(dtype, []).extend(((rows - wanted) ** 2).mean(-1) ** 0.5)
    assert np.mean(lost["bf16"]) < np.mean(lost["q8"])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", random_model.CONFIGS)
def test_random_models_compute_what_the_reference_does(family, seed):
    with tempfile.TemporaryDirectory() as directory:
        config = random_model.write(directory, family, seed)
        judge = model.Model(directory)
        ids = np.random.default_rng(seed).integers(0, judge.plan.V,
                                                   1 + seed * 37 % 100 + 20).tolist()
        wanted = judge.logits(ids)
        for kernels, tolerance in (("auto", TOLERANCE), ("portable", TOLERANCE_EXACT)):
            n = judge.n_sure(tolerance / 2)
            worst = np.abs(run(directory, ids, "--kernels", kernels) - wanted)[:n].max(initial=0)
            at_most = tolerance * max(1, wanted.std() / 3)
            assert worst <= at_most, f"{kernels} {worst:.2e}, {json.dumps(config)}"


@pytest.mark.parametrize("family", random_model.CONFIGS)
def test_weights_in_q4_stay_within_their_bound_in_every_mode(family):
    with tempfile.TemporaryDirectory() as directory:
        random_model.write(directory, family, 0)
        judge = model.Model(directory)
        ids = np.random.default_rng(0).integers(0, judge.plan.V, 40).tolist()
        wanted = judge.logits(ids)
        errors = (run(directory, ids, "--dtype", "q4") - wanted)[: judge.n_sure(0.3)]
        assert np.sqrt((errors ** 2).sum() / max(1, errors.size)) <= TOLERANCE_Q4 * wanted.std()


def test_latents_in_q8_have_the_same_bits_in_every_mode(tmp_path):
    for rank in (48, 24):
        random_model.write(tmp_path, "deepseek_v3", 1, lambda c: dict(c, kv_lora_rank=rank))
        judge = model.Model(tmp_path)
        ids = np.random.default_rng(1).integers(0, judge.plan.V, 70).tolist()
        if rank % 16:
            with pytest.raises(engine.Refused, match="kv-dtype: q8 is for a kv_lora_rank that is"):
                run(tmp_path, ids, "--kv-dtype", "q8")
            continue
        errors = run(tmp_path, ids, "--kv-dtype", "q8") - judge.logits(ids)
        assert np.sqrt((errors ** 2).mean()) <= 0.1 * 3


def test_the_story_model_gives_the_references_logits():
    judge, prompts = (model.Model(TALE),
                      json.loads((ROOT / "tests/golden/tale.json").read_text())["prompts"])
    for i, prompt in enumerate(prompts):
        ids = (prompt["ids"] + prompt["greedy_ids"])[: 40 * (i + 1)]
        assert np.abs(run(TALE, ids) - judge.logits(ids)).max() <= TOLERANCE
