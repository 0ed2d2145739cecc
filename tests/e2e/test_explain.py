"""The test computes each choice again from what `explain` says of the step."""
import json
import math
import re
import statistics
import sys

import pytest
from fleet import MODEL, ROOT
from sampling import FILTERS, by_rank, entropy_bits, penalized, shape, softmax, uniform

sys.path.insert(0, str(ROOT / "tests/reference"))
import model as reference  # noqa: E402

STORY = "Once upon a time"
N_VOCAB, EOS = 2560, 2559
TOLERANCE = 2e-3  # of a logit
STEP_KEYS = {"index", "token_id", "text", "strategy", "logit", "logit_penalized", "logprob", "prob",
             "prob_raw", "rank", "kept", "draw", "interval", "entropy_bits", "phase", "reason",
             "draft", "candidates"}
CANDIDATE_KEYS = {"token_id", "text", "logit", "logit_penalized", "prob_raw", "prob_shaped", "prob",
                  "kept", "removed_by", "removed_at", "interval"}

# With top_k <= 20 all that can be chosen is listed: the whole distribution is computed again.
LISTED = [
    {"top_k": 20},
    {"top_k": 20, "temperature": 0.7, "top_p": 0.9},
    {"top_k": 15, "temperature": 1.8, "min_p": 0.1},
    {"top_k": 20, "temperature": 1.2, "top_p": 0.8, "min_p": 0.05},
    {"top_k": 20, "typical_p": 0.6},
    {"top_k": 20, "temperature": 1.5, "typical_p": 0.8, "top_p": 0.9, "min_p": 0.2},
    {"top_k": 18, "temperature": 2, "typical_p": 0.05},
    {"top_k": 20, "repetition_penalty": 1.3},
    {"top_k": 20, "presence_penalty": 1.0, "frequency_penalty": 0.7, "temperature": 1.1},
    {"top_k": 10, "repetition_penalty": 0.8, "frequency_penalty": -0.3,
     "logit_bias": {"11": 4.0, "13": -3.5}},
    {"top_k": 1},
    {"top_k": 20, "temperature": 50},
]
# Without it only a prefix of the ranking is listed.
UNLISTED = [
    {},
    {"temperature": 0.6},
    {"top_p": 0.9},
    {"top_p": 0.3, "temperature": 1.4},
    {"min_p": 0.02},
    {"top_k": 200, "top_p": 0.7, "min_p": 0.01, "repetition_penalty": 1.2},
    {"top_n_sigma": 1.5},
    {"top_n_sigma": 2, "temperature": 1.7, "top_k": 100, "min_p": 0.01},
    {"typical_p": 0.5},
    {"top_n_sigma": 2.5, "temperature": 3, "typical_p": 0.9, "repetition_penalty": 1.2},
    {"temperature": 100},
]
GREEDY = [
    {"temperature": 0},
    {"temperature": 0, "top_n_sigma": 0.1, "top_k": 3, "typical_p": 0.1, "top_p": 0.1,
     "min_p": 0.5},  # which then do not run
    {"temperature": 0, "repetition_penalty": 1.5, "presence_penalty": 0.5,
     "frequency_penalty": 0.5},
    {"temperature": 0, "logit_bias": {"5": 12.5, "11": -100}},
]
N_STEPS = 30
FLEET = dict(gateway_args=["--chat-template", "chatml"])


@pytest.fixture(scope="module")
def prompt(fleet):
    return fleet.request("POST", "/tokenize", {"text": STORY})[1]["tokens"]


@pytest.fixture(scope="module")
def runs(fleet, prompt):
    """[(sampling, answer)]: a run of each sampling, its steps explained by 20 candidates."""
    body = dict(prompt=prompt, max_new_tokens=N_STEPS, explain=20, ignore_eos=True)
    samplings = [{**s, "seed": 100 + i} for i, s in enumerate([*LISTED, *UNLISTED, *GREEDY])]
    return [(sampling, fleet.generate(**body, **sampling)) for sampling in samplings]


def close(a, b, tolerance=2e-6):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def steps_with_history(runs, prompt, wanted):
    """(sampling, step, the output ids before it) of the runs whose sampling is one of these."""
    for sampling, answer in runs:
        if {k: v for k, v in sampling.items() if k != "seed"} in wanted:
            ids = [step["token_id"] for step in answer["steps"]]
            for step in answer["steps"]:
                yield sampling, step, ids[:step["index"]]


# Facts in every step


def test_every_token_has_its_step(fleet, runs):
    assert sum(len(answer["steps"]) for _, answer in runs) >= 500
    for _, answer in runs:
        steps = answer["steps"]
        assert len(steps) == answer["output_tokens"] == N_STEPS
        assert [step["index"] for step in steps] == list(range(N_STEPS))
        assert steps[0]["phase"] == "prefill"
        assert {step["phase"] for step in steps[1:]} == {"decode"}
        assert all(set(step) == STEP_KEYS for step in steps)
        assert all(set(c) == CANDIDATE_KEYS for step in steps for c in step["candidates"])
        ids = [step["token_id"] for step in steps]
        if EOS not in ids:
            assert (fleet.request("POST", "/detokenize", {"tokens": ids})[1]["text"]
                    == answer["generated_text"])


def test_a_step_and_its_candidates_agree(runs):
    for _, answer in runs:
        for step in answer["steps"]:
            assert len(step["candidates"]) == 20
            listed = {c["token_id"]: c for c in step["candidates"]}
            assert close(step["logprob"], math.log(step["prob"]))
            assert (step["rank"] <= 20) == (step["token_id"] in listed)
            if step["rank"] <= 20:
                assert step["candidates"][step["rank"] - 1]["token_id"] == step["token_id"]
                chosen = listed[step["token_id"]]
                same = "text", "logit", "logit_penalized", "prob", "prob_raw", "interval"
                assert {key: step[key] for key in same} == {key: chosen[key] for key in same}
                assert chosen["kept"]
            for c in step["candidates"]:
                assert c["kept"] == (c["removed_by"] is None) == (c["prob"] > 0)
                assert (c["interval"] is not None) == (c["kept"] and step["strategy"] == "sample")


def test_a_reason_is_one_sentence(runs):
    for _, answer in runs:
        for step in answer["steps"]:
            reason = step["reason"]
            assert len(reason) > 20 and reason[-1] == "." and "\n" not in reason, reason


# The choice, computed again


def test_bias_and_penalties_are_computed_again(runs, prompt):
    for sampling, step, output in steps_with_history(runs, prompt, LISTED + UNLISTED + GREEDY):
        for c in step["candidates"]:
            expected = penalized(c["logit"], c["token_id"], sampling, prompt, output)
            assert close(c["logit_penalized"], expected), (sampling, c)
        order = {c["token_id"]: c["logit_penalized"] for c in step["candidates"]}
        assert by_rank(order) == list(order)


def test_the_choice_is_computed_again_from_the_candidates(runs, prompt):
    n = 0
    for sampling, step, output in steps_with_history(runs, prompt, LISTED):
        logits = {c["token_id"]: penalized(c["logit"], c["token_id"], sampling, prompt, output)
                  for c in step["candidates"]}
        shaped, where = shape(logits, sampling), (sampling, step["index"])
        assert step["strategy"] == "sample", where
        assert step["kept"] == {**shaped.kept(), "after_top_n_sigma": N_VOCAB}, where
        for c in step["candidates"]:
            assert_candidate_is(c, shaped)
        draw = uniform(sampling["seed"], len(prompt) + step["index"])
        assert step["draw"] == draw, where
        assert shaped.pick(draw) == step["token_id"], where
        assert step["rank"] == by_rank(logits).index(step["token_id"]) + 1
        assert close(step["prob"], shaped.probs[step["token_id"]])
        assert close(step["entropy_bits"], entropy_bits(shaped.probs), 1e-5)
        n += 1
    assert n == len(LISTED) * N_STEPS


def assert_candidate_is(c, shaped):
    token = c["token_id"]
    removed_by = shaped.removed_by(token)
    assert c["removed_by"] == removed_by, c
    assert close(c["prob"], shaped.probs.get(token, 0)), c
    if removed_by is None:
        assert all(map(close, c["interval"], shaped.intervals[token])), c


def test_the_draw_falls_into_the_interval_of_the_choice(runs, prompt):
    for sampling, step, _ in steps_with_history(runs, prompt, LISTED + UNLISTED):
        begin, end = step["interval"]
        assert step["draw"] == uniform(sampling["seed"], len(prompt) + step["index"])
        assert 0 <= begin <= step["draw"] < end <= 1
        assert close(end - begin, step["prob"])


def test_a_greedy_step_is_the_highest_logit_and_nothing_is_drawn(runs, prompt):
    for _, step, _ in steps_with_history(runs, prompt, GREEDY):
        assert step["strategy"] == "greedy" and step["rank"] == 1
        assert step["draw"] is None and step["interval"] is None
        assert step["kept"] == {f"after_{name}": N_VOCAB for name in FILTERS}
        best = step["candidates"][0]
        assert best["token_id"] == step["token_id"]
        for c in step["candidates"]:
            assert c["kept"] and close(c["prob"], c["prob_shaped"])
            assert close(math.log(best["prob"] / c["prob"]),
                         best["logit_penalized"] - c["logit_penalized"], 1e-5)


def test_probabilities_are_those_of_the_logits(runs, prompt):
    for sampling, step, _ in steps_with_history(runs, prompt, LISTED + UNLISTED):
        first = step["candidates"][0]
        kept = [c for c in step["candidates"] if c["kept"]]
        for c in step["candidates"]:
            raw = c["logit"] - first["logit"]
            shaped = c["logit_penalized"] - first["logit_penalized"]
            shaped /= sampling.get("temperature", 1)
            assert close(c["prob_raw"] / first["prob_raw"], math.exp(raw), 1e-5)
            assert close(c["prob_shaped"] / first["prob_shaped"], math.exp(shaped), 1e-5)
        for c in kept:
            assert close(c["prob"] / kept[0]["prob"], c["prob_shaped"] / kept[0]["prob_shaped"],
                         1e-5)
        for name in "prob_raw", "prob_shaped", "prob":
            assert sum(c[name] for c in step["candidates"]) <= 1 + 1e-6


def test_filters_but_typical_p_keep_a_prefix_of_the_ranking(runs, prompt):
    for sampling, step, _ in steps_with_history(runs, prompt, LISTED + UNLISTED):
        kept, mass = step["kept"], 0.0
        counts = [N_VOCAB, *(kept[f"after_{name}"] for name in FILTERS), 1]
        assert counts == sorted(counts, reverse=True)
        if "typical_p" in sampling:
            continue
        for rank, c in enumerate(step["candidates"], 1):
            removed_by = next((name for name in FILTERS if rank > kept[f"after_{name}"]), None)
            assert c["removed_by"] == removed_by, (sampling, step["index"], c)
            mass += c["prob_shaped"]
            if "top_p" in sampling and "top_k" not in sampling and rank == kept["after_top_p"]:
                assert mass - c["prob_shaped"] < sampling["top_p"] + 1e-6
                assert mass > sampling["top_p"] - 1e-6


def test_typical_p_keeps_an_interval_of_the_ranking(runs, prompt):
    n = 0
    for _, step, _ in steps_with_history(runs, prompt, LISTED + UNLISTED):
        left = [c["removed_by"] != "typical_p" for c in step["candidates"]
                if c["removed_by"] not in ("top_n_sigma", "top_k")]
        n += left[0] is False
        assert str(left).count("True, False") + str(left).count("False, True") <= 2
    assert n  # the most probable one was not typical


def test_top_n_sigma_looks_at_all_logits(runs, prompt):
    judge, n = reference.Model(MODEL), 0
    for sampling, step, output in steps_with_history(runs, prompt, UNLISTED):
        if "top_n_sigma" not in sampling or step["index"] % 5:
            continue
        raw = enumerate(judge.logits(prompt + output)[-1])
        logits = {i: penalized(x, i, sampling, prompt, output) for i, x in raw}
        border = max(logits.values()) - sampling["top_n_sigma"] * statistics.pstdev(logits.values())
        for c in step["candidates"]:
            if abs(c["logit_penalized"] - border) > 2 * TOLERANCE:
                is_left = c["logit_penalized"] > border
                assert (c["removed_by"] != "top_n_sigma") == is_left, (sampling, step["index"], c)
                n += not is_left
        sure = sum(x > border + 2 * TOLERANCE for x in logits.values())
        maybe = sum(x > border - 2 * TOLERANCE for x in logits.values())
        assert sure <= step["kept"]["after_top_n_sigma"] <= maybe, (sampling, step["index"])
    assert n


def test_the_logits_are_the_models_own(runs, prompt):
    """The float64 reference on the same prefixes: logits, and what needs the whole vocabulary."""
    judge = reference.Model(MODEL)
    for sampling, answer in runs[::3]:
        output = [step["token_id"] for step in answer["steps"]]
        for step in answer["steps"][::7]:
            before = output[:step["index"]]
            raw = dict(enumerate(judge.logits(prompt + before)[-1]))
            for c in step["candidates"]:
                assert close(c["logit"], raw[c["token_id"]], TOLERANCE)
            assert math.isclose(step["prob_raw"], softmax(raw)[step["token_id"]], rel_tol=5e-3)
            logits = {i: penalized(x, i, sampling, prompt, before) for i, x in raw.items()}
            probs = (softmax(logits) if step["strategy"] == "greedy"
                     else shape(logits, sampling).probs)
            assert math.isclose(step["prob"], probs[step["token_id"]],
                                rel_tol=2e-2), (sampling, step["index"])
            assert math.isclose(step["entropy_bits"], entropy_bits(probs), rel_tol=2e-2,
                                abs_tol=2e-2)


# Where it is told


def test_fewer_candidates_are_a_prefix_of_more(fleet, prompt, runs):
    sampling, whole = runs[1]
    for n in 1, 3:
        answer = fleet.generate(prompt=prompt, max_new_tokens=N_STEPS, explain=n, ignore_eos=True,
                                **sampling)
        for step, full in zip(answer["steps"], whole["steps"], strict=True):
            assert step == {**full, "candidates": full["candidates"][:n]}


def test_nothing_is_explained_unasked(fleet):
    for fields in {}, {"explain": 0}:
        assert "steps" not in fleet.generate(prompt=STORY, **fields)
        assert "step" not in {event.name for event in fleet.stream(prompt=STORY, **fields).events}
        assert "steps" not in complete(fleet, **fields)["choices"][0]


def test_explaining_changes_no_choice(fleet):
    body = dict(prompt=STORY, max_new_tokens=40, temperature=1.1, top_p=0.95, seed=5)
    assert (fleet.generate(**body)["generated_text"]
            == fleet.generate(**body, explain=20)["generated_text"])


def test_a_stream_tells_each_step_as_it_is_made(fleet, prompt, runs):
    sampling, whole = runs[3]
    body = dict(prompt=prompt, max_new_tokens=N_STEPS, explain=20, ignore_eos=True, **sampling)
    events = list(fleet.stream(**body).events)
    assert events[0].name == "meta" and events[-1].name == "summary"
    assert {event.name for event in events} == {"meta", "token", "step", "summary"}
    assert [event.json() for event in events if event.name == "step"] == whole["steps"]


def test_the_naive_loop_gives_the_same_reasons(fleet, prompt, runs):
    for sampling, whole in runs[::5]:
        answer = fleet.generate(prompt=prompt, max_new_tokens=N_STEPS, explain=20, ignore_eos=True,
                                kv_cache=False, **sampling)
        for step, cached in zip(answer["steps"], whole["steps"], strict=True):
            assert step["token_id"] == cached["token_id"] and step["rank"] == cached["rank"]
            assert close(step["draw"] or 0, cached["draw"] or 0)
            assert close(step["prob"], cached["prob"], 1e-3)


def test_each_prompt_of_a_batch_has_its_own_steps(fleet, prompt):
    body = dict(max_new_tokens=8, explain=3, seed=9, ignore_eos=True)
    prompts = [prompt, prompt[:2], [5, 6, 7]]
    batch = fleet.generate(prompt=prompts, **body)["results"]
    for result, ids in zip(batch, prompts, strict=True):
        steps = fleet.generate(prompt=ids, **body)["steps"]
        assert [s["token_id"] for s in result["steps"]] == [s["token_id"] for s in steps]
        assert [s["draw"] for s in result["steps"]] == [s["draw"] for s in steps]


CHAT = [{"role": "user", "content": STORY}]
# A body of every API. The last member, if it is an object, has the sampling fields.
APIS = {
    "/generate": {"prompt": STORY, "max_new_tokens": 1},
    "/v1/completions": {"prompt": STORY, "max_tokens": 1},
    "/v1/chat/completions": {"messages": CHAT, "max_tokens": 1},
    "/v1/responses": {"input": STORY, "max_output_tokens": 1},
    "/v1/messages": {"messages": CHAT, "max_tokens": 1},
    "/completion": {"prompt": STORY, "n_predict": 1},
    "/api/generate": {"prompt": STORY, "stream": False, "options": {"num_predict": 1}},
    "/": {"inputs": STORY, "parameters": {"do_sample": True, "max_new_tokens": 1}},
}


@pytest.mark.parametrize("path", APIS)
def test_every_api_has_the_filters(fleet, path):
    for name, value, most in (("top_n_sigma", 1e-6, 1), ("typical_p", 1e-6, 99), ("top_k", 7, 7)):
        body = json.loads(json.dumps(APIS[path]))
        last = list(body.values())[-1]
        (last if isinstance(last, dict) else body).update({name: value, "explain": 1})
        status, answer, _ = fleet.request("POST", path, body)
        assert status == 200, answer
        kept = int(re.search(rf'"after_{name}": (\d+)', json.dumps(answer))[1])
        assert 1 <= kept <= most, (name, kept)


# The OpenAI routes


def complete(fleet, **fields):
    return fleet.post("/v1/completions", {"prompt": STORY, **fields})


def streamed_steps(fleet, path, **fields):
    events = [e for e in fleet.stream(path, **fields, stream=True).events if e.data != "[DONE]"]
    choices = [choice for e in events for choice in json.loads(e.data)["choices"]]
    return [step for choice in choices for step in choice.get("steps", [])]


def test_completions_explain_too_and_agree_with_their_logprobs(fleet, runs):
    sampling, whole = runs[5]
    fields = dict(max_tokens=N_STEPS, explain=20, logprobs=5, ignore_eos=True, **sampling)
    choice = complete(fleet, **fields)["choices"][0]
    assert choice["steps"] == whole["steps"]
    for step, logprob in zip(choice["steps"], choice["logprobs"]["token_logprobs"], strict=True):
        assert close(math.log(step["prob_raw"]), logprob, 1e-5)
    assert streamed_steps(fleet, "/v1/completions", prompt=STORY, **fields) == whole["steps"]


def test_chats_explain_too(fleet):
    fields = dict(messages=[{"role": "user", "content": "Hello"}], max_tokens=12, explain=4,
                  temperature=0.9, seed=3, ignore_eos=True)
    answer = fleet.post("/v1/chat/completions", fields)
    steps = answer["choices"][0]["steps"]
    assert len(steps) == 12 and steps[0]["phase"] == "prefill"
    assert streamed_steps(fleet, "/v1/chat/completions", **fields) == steps
    del fields["explain"]
    assert "steps" not in fleet.request("POST", "/v1/chat/completions", fields)[1]["choices"][0]
