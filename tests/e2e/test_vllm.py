"""Members and fields that vLLM's clients know beside OpenAI's: what its own tests assert."""
import json

import pytest
from conftest import TOOLS, written
from fleet import Stream

FLEET = dict(gateway_args=["--chat-template", "chatml"])
GREEDY = {"temperature": 0, "ignore_eos": True}
MESSAGES = [{"role": "user", "content": "Once upon a time"}]
ROUTES = {"/v1/completions": {"prompt": "Once upon a time"},
          "/v1/chat/completions": {"messages": MESSAGES}}


def ask(fleet, path, **body):
    status, answer, _ = fleet.request("POST", path, {**ROUTES[path], **GREEDY, **body})
    assert status == 200, answer
    return answer


def text_of(choice):
    return choice.get("text") or choice["message"]["content"]


def chunks(fleet, path, **body):
    stream = Stream(fleet.port, {**ROUTES[path], **GREEDY, "stream": True, **body}, path)
    return [event.json() for event in stream.events if event.data != "[DONE]"]


@pytest.mark.parametrize("path", ROUTES)
def test_the_reason_of_a_stop_is_told(fleet, path):
    whole = ask(fleet, path, max_tokens=20, return_token_ids=True)["choices"][0]
    assert (whole["finish_reason"], whole["stop_reason"]) == ("length", None)
    word = text_of(whole).split()[3]
    stopped = ask(fleet, path, max_tokens=20, stop=[word])["choices"][0]
    assert (stopped["finish_reason"], stopped["stop_reason"]) == ("stop", word)
    assert word not in text_of(stopped)
    token = whole["token_ids"][5]
    stopped = ask(fleet, path, max_tokens=20, stop_token_ids=[token])["choices"][0]
    assert (stopped["finish_reason"], stopped["stop_reason"]) == ("stop", token)
    end = chunks(fleet, path, max_tokens=20, stop=[word])[-1]["choices"][0]
    assert (end["finish_reason"], end["stop_reason"]) == ("stop", word)


@pytest.mark.parametrize("path", ROUTES)
def test_the_stop_string_is_shown_if_asked(fleet, path):
    word = text_of(ask(fleet, path, max_tokens=20)["choices"][0]).split()[3]
    body = dict(max_tokens=20, stop=[word])
    cut = text_of(ask(fleet, path, **body)["choices"][0])
    shown = text_of(ask(fleet, path, include_stop_str_in_output=True, **body)["choices"][0])
    assert shown == cut + word
    streamed = "".join(
        choice.get("text") or choice.get("delta", {}).get("content") or ""
        for chunk in chunks(fleet, path, include_stop_str_in_output=True, **body)
        for choice in chunk["choices"])
    assert streamed == shown


@pytest.mark.parametrize("path", ROUTES)
def test_a_request_names_its_id(fleet, path):
    assert ask(fleet, path, max_tokens=1, request_id="my.id-1")["id"].endswith("cmpl-my.id-1")
    status, answer, _ = fleet.request("POST", path, {**ROUTES[path], "request_id": 'a"b'})
    assert status == 400 and "request_id: must have 1 to 128" in answer["error"]["message"]


@pytest.mark.parametrize("path", ROUTES)
def test_token_ids_are_those_of_prompt_and_output(fleet, path):
    answer = ask(fleet, path, max_tokens=9, return_token_ids=True)
    choice, usage = answer["choices"][0], answer["usage"]
    assert len(choice["prompt_token_ids"]) == usage["prompt_tokens"]
    assert len(choice["token_ids"]) == usage["completion_tokens"]
    text = fleet.post("/detokenize", {"tokens": choice["token_ids"]})["text"]
    assert text.endswith(text_of(choice))
    streamed = [chunk["choices"][0] for chunk in chunks(fleet, path, max_tokens=9,
                                                        return_token_ids=True)]
    assert sum((part["token_ids"] for part in streamed), []) == choice["token_ids"]
    assert [part["prompt_token_ids"] for part in streamed if "prompt_token_ids" in part] == [
        choice["prompt_token_ids"]]
    assert "token_ids" not in ask(fleet, path, max_tokens=1)["choices"][0]


@pytest.mark.parametrize("path", ROUTES)
def test_every_chunk_counts_if_asked(fleet, path):
    options = {"include_usage": True, "continuous_usage_stats": True}
    *parts, last = chunks(fleet, path, max_tokens=9, stream_options=options)
    counts = [chunk["usage"]["completion_tokens"] for chunk in parts]
    assert counts == sorted(counts) and counts[-1] == last["usage"]["completion_tokens"] == 9
    assert all(chunk["usage"]["prompt_tokens"] == last["usage"]["prompt_tokens"]
               and chunk["usage"]["total_tokens"] == sum(
                   chunk["usage"][key] for key in ("prompt_tokens", "completion_tokens"))
               for chunk in parts)
    quiet = chunks(fleet, path, max_tokens=9, stream_options={"include_usage": True})
    assert all(chunk["usage"] is None for chunk in quiet[:-1])


def test_a_conversation_is_embedded(fleet):
    prompt = fleet.post("/apply-template", {"messages": MESSAGES,
                                            "add_generation_prompt": False})["prompt"]
    answers = [fleet.post("/v1/embeddings", body) for body in ({"messages": MESSAGES},
                                                               {"input": prompt})]
    assert answers[0]["data"] == answers[1]["data"]
    status, answer, _ = fleet.request("POST", "/v1/embeddings",
                                      {"messages": MESSAGES, "input": "a"})
    assert status == 400 and "not together with input" in answer["error"]["message"]


@pytest.mark.parametrize("path", ROUTES)
def test_the_tokens_of_the_prompt_are_scored(fleet, path):
    plain = ask(fleet, path, max_tokens=3, logprobs=True if "chat" in path else 0)
    answer = ask(fleet, path, max_tokens=3, prompt_logprobs=2, return_token_ids=True,
                 logprobs=True if "chat" in path else 0)
    ids = answer["choices"][0]["prompt_token_ids"]
    first, *scored = (answer if "chat" in path else answer["choices"][0])["prompt_logprobs"]
    assert first is None and len(scored) == len(ids) - 1
    for token, entries in zip(ids[1:], scored):
        ranked = sorted(entries.values(), key=lambda entry: entry["rank"])
        assert str(token) in entries and len(entries) in (2, 3)
        assert [entry["rank"] for entry in ranked[:2]] == [1, 2]
        assert (len(entries) == 3) == (entries[str(token)]["rank"] > 2)
        assert all(a["logprob"] >= b["logprob"] for a, b in zip(ranked, ranked[1:]))
    assert answer["choices"][0]["logprobs"] == plain["choices"][0]["logprobs"]
    none = ask(fleet, path, max_tokens=3, prompt_logprobs=0)
    assert none["choices"][0]["logprobs"] is None
    status, refused, _ = fleet.request("POST", path, {
        **ROUTES[path], "stream": True, "prompt_logprobs": 1})
    assert status == 400 and "not available for a stream" in refused["error"]["message"]


def test_scores_of_the_prompt_are_those_of_an_echo(fleet):
    body = dict(max_tokens=1, echo=True, logprobs=1)
    echoed = ask(fleet, "/v1/completions", **body)["choices"][0]["logprobs"]
    answer = ask(fleet, "/v1/completions", max_tokens=1, prompt_logprobs=0,
                 return_token_ids=True)["choices"][0]
    scores = [entry[str(token)]["logprob"] for token, entry in zip(
        answer["prompt_token_ids"][1:], answer["prompt_logprobs"][1:])]
    assert scores == echoed["token_logprobs"][1:len(scores) + 1]


def test_reasoning_has_vllms_name_too(calling):
    body = {"messages": MESSAGES, "chat_template_kwargs": {"enable_thinking": True},
            **written("Well.</think>Yes."), "tools": TOOLS}
    message = calling.post("/v1/chat/completions", body)["choices"][0]["message"]
    assert message["reasoning"] == message["reasoning_content"]
    parts = [event.json()["choices"][0]["delta"]
             for event in Stream(calling.port, {**body, "stream": True},
                                 "/v1/chat/completions").events if event.data != "[DONE]"]
    assert all(part.get("reasoning") == part.get("reasoning_content") for part in parts)


def test_a_conversation_is_tokenized(fleet):
    prompt = fleet.post("/apply-template", {"messages": MESSAGES})["prompt"]
    ids = fleet.post("/tokenize", {"prompt": prompt, "add_special_tokens": False})["tokens"]
    for filler in "", " " * (20 << 10):  # which another thread parses
        status, answer, _ = fleet.request("POST", "/tokenize", json.dumps(
            {"messages": MESSAGES, "return_token_strs": True}) + filler)
        assert status == 200, answer
        assert answer["tokens"] == ids and answer["count"] == len(ids)
        assert "".join(answer["token_strs"]) == prompt
    assert answer["max_model_len"] == fleet.request("GET", "/v1/models")[1]["data"][0][
        "max_model_len"]
    short = fleet.post("/tokenize", {"messages": MESSAGES, "add_generation_prompt": False})
    assert short["tokens"] == ids[:short["count"]] and short["count"] < len(ids)
    status, answer, _ = fleet.request("POST", "/tokenize",
                                      {"messages": MESSAGES, "add_special_tokens": True})
    assert status == 400 and "only false" in answer["error"]["message"]
