#!/usr/bin/python3 -B
"""Speculation changes no answer of any kind, alone, in a crowd, or when a worker dies.

    test_speculation.py --requests 500    random requests, 1 to 16 at once; some clients leave
"""
import argparse
import json
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import programs
import pytest
import random_requests
from fleet import MODEL, ROOT, Fleet
from kinds import ARGS, DECODED, essence, is_stream, of_stream
from test_migration import with_context

sys.path += [str(ROOT / "tests/chaos"), str(ROOT / "bench")]
import clients  # noqa: E402
import draft_pair  # noqa: E402

# At least some drafts, so that there are as many on a machine where they do not pay.
LOOKUP = {"mode": "prompt_lookup", "max_tokens": 8, "min_tokens": 4}
MODEL_DRAFTS = {"mode": "draft_model", "max_tokens": 8, "min_tokens": 4}
MODES = {"prompt_lookup": LOOKUP, "draft_model": MODEL_DRAFTS}
KV = ["--kv-tokens", 16384]
REPEATING = dict(prompt="Once upon a time", max_new_tokens=60, temperature=0, seed=1,
                 logit_bias={"5": 100})


def ask(fleet, path, body):
    if is_stream(path, body):
        return of_stream(path, list(fleet.stream(path=path, **body).events))
    answer = fleet.post(path, body)
    return essence(answer)


def total(metrics, name):
    """baton_NAME_tokens_total of all modes"""
    return sum(metrics[f'baton_{name}_tokens_total{{mode="{mode}"}}'] for mode in MODES)


def flat_in(directory):
    """A draft model that is often wrong: the first layers of the model."""
    made = Path(directory) / "flat"
    draft_pair.with_layers(MODEL, made, 2)
    return made


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    return flat_in(tmp_path_factory.mktemp("draft"))


@pytest.fixture(scope="module")
def fleet(flat):
    with Fleet(decode=2, gateway_args=ARGS, decode_args=[*KV, "--draft-model", flat]) as running:
        yield running


@pytest.mark.parametrize("kind", DECODED)
def test_an_answer_is_that_without_drafts(fleet, kind):
    path, body = DECODED[kind]
    before = total(fleet.metrics(), "drafted")
    expected = ask(fleet, path, {**body, "speculation": {"mode": "none"}})
    assert total(fleet.metrics(), "drafted") == before
    for mode, drafts in MODES.items():
        assert ask(fleet, path, {**body, "speculation": drafts}) == expected, mode


def assert_is_placed(step):
    draft = step["draft"]
    listed = {candidate["token_id"]: (rank, candidate["prob"])
              for rank, candidate in enumerate(step["candidates"], 1)}
    if draft["accepted"]:
        assert (draft["rank"], draft["prob"]) == (step["rank"], step["prob"])
    else:
        assert (draft["rank"], draft["prob"]) == listed.get(draft["token_id"], (None, None))


def test_a_draft_that_fell_is_told_with_what_the_model_thought_of_it(fleet):
    answer = fleet.generate(prompt="Once upon a time", max_new_tokens=60, temperature=1, seed=3,
                            explain=3, ignore_eos=True, speculation=MODEL_DRAFTS)
    fell = [step for step in answer["steps"] if step["draft"] and not step["draft"]["accepted"]]
    assert any(step["draft"]["rank"] for step in fell), fell
    for step in fell:
        assert_is_placed(step)


def test_a_text_that_repeats_takes_fewer_steps_and_says_so(fleet):
    before = fleet.metrics()
    answer = fleet.generate(**REPEATING, speculation=LOOKUP, explain=3)
    told, after = answer["speculation"], fleet.metrics()
    for name in ("drafted", "accepted"):
        assert total(after, name) - total(before, name) == told[f"{name}_tokens"]
        name = f'baton_{name}_tokens_total{{mode="draft_model"}}'
        assert after[name] == before[name]
    assert told["drafted_tokens"] >= told["accepted_tokens"] > 10
    drafts = [step["draft"] for step in answer["steps"] if step["draft"]]
    assert sum(draft["accepted"] for draft in drafts) == told["accepted_tokens"]
    for step in answer["steps"]:
        if step["draft"]:
            assert step["draft"]["accepted"] == (step["draft"]["token_id"] == step["token_id"])
            assert_is_placed(step)
    plain = fleet.generate(**REPEATING, explain=3)
    assert essence(plain) == essence(answer)
    assert plain["speculation"] == {"drafted_tokens": 0, "accepted_tokens": 0}
    status, chat, _ = fleet.request("POST", "/v1/completions",
                                    {"prompt": [5] * 8, "max_tokens": 60, "temperature": 0,
                                     "logit_bias": {"5": 100}, "speculation": LOOKUP})
    timings, details = chat["timings"], chat["usage"]["completion_tokens_details"]
    assert timings["draft_n_accepted"] == details["accepted_prediction_tokens"] > 10
    assert timings["draft_n"] - timings["draft_n_accepted"] == details["rejected_prediction_tokens"]


def test_a_gateway_may_speculate_for_all():
    with Fleet(gateway_args=["--speculation", "prompt_lookup", "--speculation-tokens", 3]) as eager:
        answer = eager.generate(**REPEATING, speculation={"min_tokens": 3})
        assert answer["speculation"]["accepted_tokens"] > 10
        assert eager.generate(**REPEATING,
                              speculation={"mode": "none"})["speculation"]["drafted_tokens"] == 0
        assert eager.generate(**REPEATING, kv_cache=False)["speculation"]["drafted_tokens"] == 0


def test_a_draft_model_that_is_the_model_itself_is_always_right():
    body = dict(prompt="Once upon a time", max_new_tokens=60, seed=1, ignore_eos=True, explain=2)
    with Fleet(decode_args=[*KV, "--draft-model", MODEL],
               gateway_args=["--speculation", "draft_model"]) as alike:
        assert alike.worker("decode-0")["draft_model"] == MODEL.name
        assert not alike.worker("prefill-0")["draft_model"]
        for temperature in (0, 1):
            plain = alike.generate(**body, temperature=temperature, speculation={"mode": "none"})
            answer = alike.generate(**body, temperature=temperature, speculation={"min_tokens": 3})
            assert essence(answer) == essence(plain)
            told = answer["speculation"]
            assert told["drafted_tokens"] == told["accepted_tokens"] >= 40, told
        metrics = alike.metrics()
        assert metrics['baton_drafted_tokens_total{mode="draft_model"}'] >= 80
        assert metrics['baton_drafted_tokens_total{mode="prompt_lookup"}'] == 0


def test_without_a_draft_model_there_are_no_drafts():
    with Fleet() as bare:
        answer = bare.generate(prompt="Once upon a time", max_new_tokens=20, temperature=0,
                               speculation=MODEL_DRAFTS)
        assert answer["output_tokens"] == 20 and answer["speculation"]["drafted_tokens"] == 0


def refusal(*args):
    return programs.refusal("baton-decode", "--gateway", "tcp://127.0.0.1:1", *args)


def test_a_draft_model_that_does_not_fit_is_refused_by_name(flat, tmp_path):
    other = shutil.copytree(flat, tmp_path / "other")
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    one, two = sorted(vocabulary, key=vocabulary.get)[300:302]
    vocabulary[one], vocabulary[two] = vocabulary[two], vocabulary[one]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert (f"draft-model: {other}: its vocabulary differs: token 300 is"
            in refusal("--draft-model", other))
    assert f"draft-model: {tmp_path / 'none'}: " in refusal("--draft-model", tmp_path / "none")
    assert 'dtype: "f31" is none of' in refusal("--draft-model", flat, "--draft-dtype", "f31")


@pytest.mark.parametrize("mode", MODES)
def test_a_request_that_migrates_goes_on_with_drafts(flat, mode):
    body = {**DECODED["penalties"][1], "explain": 2, "max_new_tokens": 200,
            "speculation": MODES[mode]}
    with Fleet(decode=2, decode_args=[*KV, "--draft-model", flat]) as two:
        expected = ask(two, "/generate", {**body, "speculation": {"mode": "none"}})
        with ThreadPoolExecutor(8) as pool:
            pending = two.pause_at_work(
                "decode-0", lambda: [pool.submit(two.generate, **body) for _ in range(8)],
                lambda: two.open("DECODING") == two.open() > 0)
            two.workers["decode-0"].kill()
            answers = [future.result() for future in pending]
        assert [essence(answer) for answer in answers] == [expected] * 8
        assert max(answer["served_by"]["migrations"] for answer in answers) >= 1
        two.wait_all_free()


# ---- models whose layers keep a state


def told_of(answers, name):
    return sum(answer["speculation"][f"{name}_tokens"] for answer in answers)


@pytest.mark.parametrize("name, draft", [("qwen35", "qwen35moe"), ("qwen3next", "qwen3next"),
                                         ("nemotron-h-moe", "nemotron-h"), ("lfm2", "lfm2moe")])
def test_a_state_forgets_drafts_that_fell(name, draft, tmp_path):
    """Batches of sequences with and without drafts, of which one worker dies."""
    asked = [dict(prompt=[7, 9, 4 + i, 7, 9], max_new_tokens=80, seed=i, temperature=i % 3 / 2,
                  ignore_eos=True, explain=2, logit_bias={str(9 + i): 4})
             for i in range(8)]
    kinds = [{"mode": "none"}, LOOKUP, MODEL_DRAFTS, {**MODEL_DRAFTS, "min_tokens": 0}]
    drafted = [{**body, "speculation": kinds[i % 4]} for i, body in enumerate(asked)]
    with Fleet(model=with_context(f"../hybrids/{name}", 1024, tmp_path), decode=2,
               decode_args=[*KV, "--draft-model", ROOT / "tests/fixtures/hybrids" / draft]) as two:
        expected = [essence(two.generate(**body)) for body in asked]
        with ThreadPoolExecutor(8) as pool:
            whole = list(pool.map(lambda body: two.generate(**body), drafted))
            assert [essence(answer) for answer in whole] == expected
            assert told_of(whole, "drafted") >= told_of(whole, "accepted") > 0
            pending = two.pause_at_work(
                "decode-0", lambda: [pool.submit(two.generate, **body) for body in drafted],
                lambda: two.open("DECODING") == two.open() > 0)
            two.workers["decode-0"].kill()
            answers = [future.result() for future in pending]
        assert [essence(answer) for answer in answers] == expected
        assert max(answer["served_by"]["migrations"] for answer in answers) >= 1
        two.wait_all_free()


# ---- random requests


def pairs(rng, n):
    """(request without, request with) drafts for tests/chaos/clients.py; some clients leave."""
    for _ in range(n):
        path, body = random_requests.lasting(rng)
        plain = {"path": path, "body": {**body, "speculation": {"mode": "none"}}, "gateway": 0,
                 "client": "patient"}
        max_tokens = rng.randint(1, 16)
        drafts = {"mode": rng.choice(list(MODES)), "max_tokens": max_tokens,
                  "min_tokens": rng.randint(0, max_tokens)}
        client = ({"client": "leaves", "leaves_after": rng.randrange(40)} if rng.random() < 0.1
                  else {})
        yield plain, {**plain, "body": {**body, "speculation": drafts}, **client}


def run(n, seed):
    """How the answers with drafts ended, and what speculation made of them."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as made, Fleet(
            decode=2, gateway_args=ARGS,
            decode_args=[*KV, "--draft-model", flat_in(made)]) as fleet:
        address = [("127.0.0.1", fleet.port)]
        rng = random.Random(seed)
        plain, drafted = zip(*pairs(rng, n))
        expected = clients.run_all(plain, address, clients.Clock())
        assert all(answer.outcome == "whole" for answer in expected)
        answers = clients.run_all(drafted, address, clients.Clock(), expected)
        for request, answer in zip(drafted, answers):
            assert answer.outcome in ("exact", "left"), (answer.outcome, answer.detail, request)
            outcomes[answer.outcome] = outcomes.get(answer.outcome, 0) + 1
        fleet.wait_all_free()
        metrics = fleet.metrics()
    made = {mode: [int(metrics[f'baton_{name}_tokens_total{{mode="{mode}"}}'])
                   for name in ("drafted", "accepted")] for mode in MODES}
    return {**outcomes, **made, "output": int(metrics["baton_output_tokens_total"])}


def test_random_requests_are_answered_alike_with_drafts_and_without():
    told = run(60, seed=18)
    assert told["exact"] > 40 and all(told[mode][1] > 0 for mode in MODES), told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--seed", type=int, default=18)
    arguments = parser.parse_args()
    print(run(arguments.requests, arguments.seed))
