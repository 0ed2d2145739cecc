"""Workers die amid requests of every kind: each goes on elsewhere with an undisturbed run's answer.

`tests/chaos/run --kills N` kills more often.
"""
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import TEMPLATE
from fleet import ROOT, SUSPICION, WORDY, Fleet, wait_for
from kinds import ARGS, CHAT, DECODED, LONG, NAIVE, essence, is_stream, of_stream

sys.path.append(str(ROOT / "tests/chaos"))
import kills  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/models"


def ask(fleet, path, body):
    """(essence, served_by of each generation): the latter is told by native answers alone."""
    if is_stream(path, body):
        events = list(fleet.stream(path=path, **body).events)
        return (of_stream(path, events),
                [events[-1].json()["served_by"]] if path == "/generate/stream" else [])
    answer = fleet.post(path, body)
    return essence(answer), [each["served_by"] for each in answer.get("results", [answer])
                             if "served_by" in each]


def n_generations(path, body):
    is_batch = isinstance(body.get("prompt"), list) and isinstance(body["prompt"][0], list)
    return (len(body["prompt"]) if is_batch else 1) * body.get("n", 1)


def has_begun(fleet):
    """Whether all that decodes has its context, and made tokens of it."""
    taken = [slot["next_token"][0] for slot in fleet.request("GET", "/slots")[1]
             if slot["is_processing"]]
    return all(token["n_decoded"] > 1 for token in taken)


def loses(fleet, victim, role, kinds):
    """Asks for all, and kills the role's only worker while it serves every one. The answers."""
    expected = {name: ask(fleet, *request)[0] for name, request in kinds.items()}
    n = sum(n_generations(*request) for request in kinds.values())
    before = fleet.metrics()
    with ThreadPoolExecutor(len(kinds)) as pool:
        pending = {}

        def ask_all():
            pending.update({name: pool.submit(ask, fleet, *request)
                            for name, request in kinds.items()})
            return list(pending.values())
        fleet.pause_at_work(victim, ask_all,
                            lambda: fleet.open("DECODING") == n and has_begun(fleet))
        fleet.start_worker(role, f"{role}-9")
        fleet.wait_worker(f"{role}-9")
        fleet.workers[victim].kill()
        answers = {name: future.result() for name, future in pending.items()}
    for name, (answer, served) in answers.items():
        assert answer == expected[name], name
        for by in served:
            assert (by["migrations"] == 1 and by["attempts"] == 2
                    and by["migration_gap_s"] > 0), (name, by)
            assert by["decode" if role == "decode" else "prefill"] == f"{role}-9", (name, by)
    metrics = fleet.metrics()
    assert metrics["baton_migrations_total"] - before["baton_migrations_total"] == n
    assert (metrics["baton_migration_gap_seconds_count"]
            - before["baton_migration_gap_seconds_count"] == n)
    assert metrics["baton_retries_total"] == before["baton_retries_total"]
    fleet.wait_all_free()
    migrated = [line for line in fleet.gateway.text().splitlines() if " ev=request " in line
                and " migrations=1 " in line]
    assert len(migrated) == n and all(" migration_s=" in line for line in migrated)
    return expected


def test_requests_of_every_kind_outlive_their_decode_worker():
    with Fleet(gateway_args=ARGS, decode_args=["--kv-tokens", 16384, "--max-batch", 64]) as fleet:
        loses(fleet, "decode-0", "decode", DECODED)


def test_requests_of_every_kind_outlive_a_decode_worker_that_ran_their_prompts():
    with Fleet(gateway_args=[*ARGS, "--colocated-prefill-tokens", 1024], prefill=0, decode=0,
               decode_args=["--kv-tokens", 16384, "--max-batch", 64]) as fleet:
        fleet.start_worker("decode", "decode-0")
        fleet.wait_ready(1)
        loses(fleet, "decode-0", "decode",
              {name: request for name, request in DECODED.items() if name != "echo"})


def test_shared_keys_and_wide_heads_outlive_their_decode_worker(tmp_path):
    """Gemma 4: layers without K and V of their own, heads of two sizes, windows, layers' inputs."""
    model = tmp_path / "gemma4"
    shutil.copytree(ROOT / "tests/fixtures/models/gemma4-e2b", model)
    config = json.loads((model / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = 1024
    (model / "config.json").write_text(json.dumps(config))
    long = {"prompt": [7 * i % 500 for i in range(90)], "max_new_tokens": 600, "ignore_eos": True,
            "seed": 3}
    kinds = {"greedy": ("/generate", {**long, "temperature": 0, "explain": 3}),
             "drawn": ("/generate/stream", {**long, "temperature": 0.9})}
    with Fleet(model=model) as fleet:
        loses(fleet, "decode-0", "decode", kinds)


def test_forced_calls_outlive_their_decode_worker(tmp_path):
    """With drafts too, which change nothing; each step tells the same place of the schema."""
    words = {"type": "array", "items": {"type": "string", "maxLength": 8}, "minItems": 24,
             "maxItems": 24}
    tell = {"type": "function", "function": {
        "name": "tell", "parameters": {"type": "object", "properties": {"words": words},
                                       "required": ["words"], "additionalProperties": False}}}
    held = {**CHAT, "tools": [tell], "tool_choice": "required", "parallel_tool_calls": False,
            "max_tokens": 460, "ignore_eos": False, "temperature": 0.9, "seed": 14, "explain": 2}
    drafts = {"speculation": {"mode": "prompt_lookup", "max_tokens": 8}}
    kinds = {"alone": ("/v1/chat/completions", held),
             "with drafts": ("/v1/chat/completions", {**held, **drafts})}
    template = tmp_path / "tools.jinja"
    template.write_text(TEMPLATE)
    with Fleet(gateway_args=["--chat-template", template]) as fleet:
        answers = loses(fleet, "decode-0", "decode", kinds)
    [choice] = answers["alone"]["choices"]
    [call] = choice["message"]["tool_calls"]
    assert len(json.loads(call["function"]["arguments"])["words"]) == 24
    assert choice["finish_reason"] == "tool_calls"
    assert any(one["removed_at"] for step in choice["steps"] for one in step["candidates"])
    told = {"alone": choice, "with drafts": answers["with drafts"]["choices"][0]}
    assert told["alone"]["message"] == told["with drafts"]["message"]


def test_budgets_of_reasoning_outlive_their_decode_worker(tmp_path):
    """Before the budget is used up and after it, with drafts and with a form behind it."""
    held = {**CHAT, "max_tokens": 440, "temperature": 0.9, "seed": 16, "explain": 1,
            "enable_thinking": True, "thinking_token_budget": 220}
    drafts = {"speculation": {"mode": "prompt_lookup", "max_tokens": 8, "min_tokens": 4}}
    kinds = {"half": held, "with drafts": {**held, **drafts},
             "soon": {**held, "thinking_token_budget": 9},
             "late": {**held, "thinking_token_budget": 430},
             "with a form": {**held, "ignore_eos": False, "regex": "([a-z]+[ ,.]){1000}"}}
    template = tmp_path / "tools.jinja"
    template.write_text(TEMPLATE)
    with Fleet(gateway_args=["--chat-template", template]) as fleet:
        answers = loses(fleet, "decode-0", "decode",
                        {name: ("/v1/chat/completions", body) for name, body in kinds.items()})
    told = {name: answer["choices"][0]["message"] for name, answer in answers.items()}
    assert told["half"] == told["with drafts"]
    assert all(message["reasoning_content"] and message["content"] for message in told.values())


def test_naive_requests_outlive_their_prefill_worker():
    with Fleet() as fleet:
        loses(fleet, "prefill-0", "prefill", NAIVE)


def test_a_stream_that_is_not_read_outlives_its_worker_and_stays_paused():
    with Fleet(decode=2) as fleet:
        expected, _ = fleet.stream(**WORDY, seed=0).text()
        streams = fleet.hold(4)
        wait_for(lambda: fleet.active("decode-0"), "a stream there")
        n = fleet.active("decode-0")
        fleet.workers["decode-0"].kill()
        wait_for(lambda: fleet.metrics()["baton_migration_gap_seconds_count"] == n, "them to go on")
        for stream in streams:
            text, last = stream.text()
            assert last.name == "summary" and text == expected
        fleet.wait_all_free()


def test_a_request_migrates_as_often_as_it_may_and_then_says_why_it_ended():
    with Fleet(gateway_args=["--migration-limit", 2]) as fleet:
        [stream] = fleet.hold()
        for i in range(3):
            fleet.start_worker("decode", f"decode-{i + 1}")
            fleet.wait_worker(f"decode-{i + 1}")
            fleet.workers[f"decode-{i}"].kill()
            wait_for(lambda: fleet.metrics()["baton_migration_gap_seconds_count"] == min(i + 1, 2),
                     "it to go on")
        _, last = stream.text()
        assert last.name == "error" and last.json()["error"]["code"] == "worker_failed"
        message = last.json()["error"]["message"]
        assert "decode-2" in message and "it had migrated --migration-limit 2 times" in message
        fleet.wait_all_free()


def test_a_worker_that_dies_before_it_accepts_a_request_costs_no_migration():
    with Fleet(gateway_args=["--migration-limit", 1]) as fleet:
        expected, _ = fleet.stream(**WORDY, seed=0).text()
        [stream] = fleet.hold()
        for worker in ("decode-1", "decode-2"):
            fleet.start_worker("decode", worker)
            fleet.wait_worker(worker)
            if worker == "decode-1":
                fleet.workers["decode-1"].pause()
                fleet.workers["decode-0"].kill()
                wait_for(lambda: fleet.open("RESERVING") == 1, "an offer of the stream to decode-1")
        fleet.workers["decode-1"].kill()
        text, last = stream.text()
        served = last.json()["served_by"]
        assert text == expected and served["migrations"] == 2 and served["decode"] == "decode-2"
        fleet.wait_all_free()


def test_a_stream_that_no_worker_can_continue_says_what_broke_it():
    with Fleet() as fleet:
        [stream] = fleet.hold()
        fleet.workers["decode-0"].kill()
        _, last = stream.text()
        error = last.json()["error"]
        assert last.name == "error" and error["code"] == "worker_failed"
        assert "decode-0" in error["message"] and "no decode worker" in error["message"]


def test_a_stopped_worker_s_stream_goes_on_elsewhere_and_what_it_says_later_is_ignored():
    with Fleet(decode=2, gateway_args=SUSPICION) as fleet:
        expected, _ = fleet.stream(**LONG).text()
        with ThreadPoolExecutor(8) as pool:
            pending = fleet.pause_at_work(
                "decode-0", lambda: [pool.submit(fleet.stream(**LONG).text) for _ in range(8)],
                lambda: fleet.open("DECODING") == fleet.open() > 0)
            answers = [future.result() for future in pending]
        assert {text for text, _ in answers} == {expected}
        assert max(last.json()["served_by"]["migrations"] for _, last in answers) == 1
        fleet.workers["decode-0"].resume()
        fleet.wait_ready(3)
        fleet.wait_all_free()
        assert fleet.stream(**LONG).text()[0] == expected


def test_a_worker_that_may_not_finish_its_streams_hands_them_over():
    with Fleet(decode=2) as fleet:
        fleet.start_worker("decode", "decode-2", args=["--drain-s", 0])
        fleet.wait_ready(4)
        expected, _ = fleet.stream(**WORDY, seed=0).text()
        streams = fleet.hold(6)
        assert fleet.active("decode-2")
        assert fleet.workers["decode-2"].stop() == 0
        ends = [stream.text() for stream in streams]
        assert {text for text, _ in ends} == {expected}
        assert max(last.json()["served_by"]["migrations"] for _, last in ends) == 1
        fleet.wait_all_free()


# ---- random kills


def test_random_kills_change_no_answer():
    campaign, failures = kills.run(8, seed=16)
    assert not failures, "\n".join(failures[:5])
    assert sum(campaign.n_kills.values()) == 8


def with_context(name, n_tokens, tmp_path):
    """A model of the fixtures, told to serve longer texts than it was made for."""
    model = tmp_path / Path(name).name
    shutil.copytree(FIXTURES / name, model)
    config = json.loads((model / "config.json").read_text())
    config.get("text_config", config)["max_position_embeddings"] = n_tokens
    (model / "config.json").write_text(json.dumps(config))
    return model


@pytest.mark.parametrize("name", ("qwen35", "nemotron-h"))
def test_a_state_is_made_again_elsewhere(name, tmp_path):
    args = ["--kv-tokens", 4096]
    with Fleet(model=with_context("../hybrids/" + name, 1024, tmp_path),
               worker_args=args) as fleet:
        alone = [fleet.stream(**{**WORDY, "seed": i}).text()[0] for i in range(3)]
        held = fleet.hold(3)
        fleet.start_worker("decode", "decode-1", args=args)
        fleet.wait_worker("decode-1")
        fleet.workers["decode-0"].kill()
        assert [stream.text()[0] for stream in held] == alone
