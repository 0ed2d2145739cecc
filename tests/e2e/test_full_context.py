"""What is longer than the context: shortened where the API says so, and told; else refused."""
import json
import random

import pytest
from conftest import TOOLS
from fleet import Fleet

CONTEXT = 512
FLEET = dict(gateway_args=["--chat-template", "chatml"])
WORDS = "once upon a time there was a little fox who went to the lake".split()


def said(role, n, seed=0):
    return {"role": role, "content": " ".join(random.Random(seed).choices(WORDS, k=n))}


def ask(fleet, messages, **options):
    return fleet.request("POST", "/api/chat", {
        "messages": messages, "stream": False, "options": {"num_predict": 4, **options}})


def count(fleet, messages):
    """The tokens of a conversation's prompt; more than fit: None."""
    status, answer, _ = fleet.request("POST", "/v1/chat/completions",
                                      {"messages": messages, "max_tokens": 1})
    return answer["usage"]["prompt_tokens"] if status == 200 else None


def shortened(fleet, messages, target):
    """(tokens, messages dropped) as Ollama's own loop finds them, from the front on."""
    for start in range(1, len(messages)):
        front = [message for message in messages[:start] if message["role"] == "system"]
        n = count(fleet, front + messages[start:])
        if messages[start]["role"] != "tool" and n and n <= target:
            return n, start - len(front)
    return None


def conversation(seed):
    rng = random.Random(seed)
    messages = [said("system", rng.randint(1, 40), seed)] if rng.random() < 0.7 else []
    while len(messages) < 30:
        role = "user" if len(messages) % 2 else "assistant"
        messages.append(said(role, rng.choice([3, 10, 60]), rng.random()))
        if rng.random() < 0.1:
            messages.append(said("system", 5, rng.random()))
    return [*messages, said("user", 20, seed)]


@pytest.mark.parametrize("seed", range(6))
def test_the_oldest_messages_are_dropped_as_ollama_drops_them(fleet, seed):
    messages = conversation(seed)
    status, answer, headers = ask(fleet, messages)
    n, dropped = shortened(fleet, messages, CONTEXT - 1 - 4)
    assert (status, answer["prompt_eval_count"]) == (200, n)
    assert answer["dropped"] == {"messages": dropped, "tokens": 0}
    assert headers["x-baton-dropped"] == f"messages={dropped}, tokens=0"
    streamed = fleet.request("POST", "/api/chat",
                             {"messages": messages, "options": {"num_predict": 4}})[1]
    last = json.loads(streamed.splitlines()[-1])
    assert last["prompt_eval_count"] == n and last["dropped"] == answer["dropped"]


def test_what_fits_stays_whole(fleet):
    messages = [said("user", 30), said("assistant", 30), said("user", 30)]
    status, answer, headers = ask(fleet, messages)
    assert (status, answer["prompt_eval_count"]) == (200, count(fleet, messages))
    assert "dropped" not in answer and "x-baton-dropped" not in headers


def test_a_last_message_that_is_too_long_loses_its_middle(fleet):
    for messages in ([said("user", 2000)], [said("system", 3), *[said("user", 900)] * 2]):
        status, answer, _ = ask(fleet, messages, num_predict=20)
        assert status == 200 and answer["prompt_eval_count"] == CONTEXT - 1 - 20
        assert answer["dropped"]["tokens"] > 300 and answer["eval_count"] <= 20
    for raw in (True, False):
        status, answer, _ = fleet.request("POST", "/api/generate", {
            "prompt": "a fox " * 2000, "raw": raw, "stream": False, "options": {"num_predict": 4}})
        assert status == 200 and answer["prompt_eval_count"] == CONTEXT - 1 - 4
        assert answer["dropped"]["tokens"] > 1000


def test_a_result_is_not_parted_from_its_call(calling):
    call = {"role": "assistant", "tool_calls": [
        {"function": {"name": "weather", "arguments": {"city": "Oslo"}}}]}
    turns = [said("user", 100), call, {"role": "tool", "content": "rain " * 60}]
    messages = [*turns * 4, said("user", 5)]
    status, answer, _ = calling.request("POST", "/api/chat", {
        "messages": messages, "stream": False, "tools": TOOLS, "options": {"num_predict": 4}})
    assert status == 200 and answer["dropped"]["messages"] % 3 != 2


@pytest.mark.parametrize("path, body, message", [
    ("/api/chat", {"messages": [said("user", 900)], "truncate": False}, "messages: "),
    ("/api/generate", {"prompt": "fox " * 900, "raw": True, "truncate": False}, "prompt: "),
    ("/api/chat", {"messages": [], "shift": True}, "shift: is not supported"),
    ("/v1/responses", {"input": "fox " * 900}, "input: "),
    ("/v1/chat/completions", {"messages": [said("user", 9)], "truncate_prompt_tokens": 0},
     "truncate_prompt_tokens: must be -1 or an integer from 1 to 512"),
    ("/v1/embeddings", {"input": "a", "truncate_prompt_tokens": 513},
     "truncate_prompt_tokens: must be"),
    ("/v1/completions", {"prompt": "a", "truncate_prompt_tokens": -2},
     "truncate_prompt_tokens: must be"),
])
def test_the_rest_is_refused(fleet, path, body, message):
    status, answer, _ = fleet.request("POST", path, body)
    error = answer["error"] if isinstance(answer["error"], str) else answer["error"]["message"]
    assert status == 400 and message in error


def test_responses_drop_the_oldest_items_if_asked(fleet):
    messages = conversation(1)
    status, answer, headers = fleet.request("POST", "/v1/responses", {
        "input": messages, "truncation": "auto", "max_output_tokens": 4})
    n, dropped = shortened(fleet, messages, CONTEXT - 1 - 4)
    assert (status, answer["usage"]["input_tokens"]) == (200, n)
    assert headers["x-baton-dropped"] == f"messages={dropped}, tokens=0"
    assert answer["truncation"] == "auto"


@pytest.mark.parametrize("path, body, used", [
    ("/v1/completions", {"prompt": "a fox " * 900, "max_tokens": 4}, CONTEXT - 4),
    ("/v1/completions", {"prompt": [7] * 900, "max_tokens": 4}, CONTEXT - 4),
    ("/v1/chat/completions", {"messages": [said("user", 900)], "max_tokens": 4}, CONTEXT - 4),
    ("/v1/chat/completions", {"messages": [said("user", 900)]}, CONTEXT - 1),
    ("/v1/embeddings", {"input": ["a fox " * 900]}, CONTEXT),
])
def test_last_tokens_are_kept_as_vllm_keeps_them(fleet, path, body, used):
    for n, expected in ((-1, used), (10, 10), (400, 400)):
        status, answer, headers = fleet.request("POST", path, {**body, "truncate_prompt_tokens": n})
        assert (status, answer["usage"]["prompt_tokens"]) == (200, expected)
        assert headers["x-baton-dropped"].startswith("messages=0, tokens=")


def test_the_last_tokens_are_the_ones_that_are_kept(fleet):
    body = {"max_tokens": 0, "echo": True, "logprobs": 0, "prompt": [7] * 900 + [8, 9, 10]}
    kept = fleet.request("POST", "/v1/completions", {**body, "truncate_prompt_tokens": 3})[1]
    whole = fleet.request("POST", "/v1/completions", {**body, "prompt": [8, 9, 10]})[1]
    tokens = [answer["choices"][0]["logprobs"]["tokens"] for answer in (kept, whole)]
    assert tokens[0] == tokens[1] and len(tokens[0]) == 3


def test_shortening_follows_the_caches_of_the_workers():
    with Fleet(worker_args=["--kv-tokens", 160], **FLEET) as small:
        status, answer, _ = ask(small, conversation(2))
        assert status == 200 and answer["dropped"]["messages"]
