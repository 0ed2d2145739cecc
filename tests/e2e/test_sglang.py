"""SGLang's native API and the small routes of SGLang and vLLM, as their own tests use them."""
import json

import pytest
from fleet import Stream, wait_for

FLEET = dict(gateway_args=["--chat-template", "chatml"])
GREEDY = {"temperature": 0, "max_new_tokens": 8, "ignore_eos": True}


def ask(fleet, expected=200, **body):
    params = {**GREEDY, **body.pop("sampling_params", {})}
    status, answer, _ = fleet.request("POST", "/generate", {**body, "sampling_params": params})
    assert status == expected, answer
    return answer


def test_a_text_is_continued(fleet):
    answer = ask(fleet, text="Once upon a time")
    native = fleet.generate(prompt="Once upon a time", **GREEDY)
    assert answer["text"] == native["generated_text"]
    meta = answer["meta_info"]
    assert meta["finish_reason"] == {"type": "length", "length": 8}
    assert meta["completion_tokens"] == len(answer["output_ids"]) == 8
    assert meta["prompt_tokens"] == native["prompt_tokens"] and meta["e2e_latency"] > 0
    assert fleet.request("POST", "/generate", {"text": "a"})[1]["meta_info"]["id"]


def test_a_batch_and_several_answers_are_lists(fleet):
    one, two = ask(fleet, text=["Once", "Then"])
    assert one["text"] == ask(fleet, text="Once")["text"] and two["text"]
    ids = fleet.post("/tokenize", {"text": "Once"})["tokens"]
    assert ask(fleet, input_ids=ids)["text"] == one["text"]
    assert [each["text"] for each in ask(fleet, input_ids=[ids, ids])] == [one["text"]] * 2
    assert len(ask(fleet, text="Once", sampling_params={"n": 3})) == 3


def test_a_stream_has_the_text_so_far(fleet):
    body = {"text": "Once upon a time", "stream": True, "sampling_params": GREEDY}
    *events, done = [event.data for event in Stream(fleet.port, body, "/generate").events]
    parts = [json.loads(data) for data in events]
    whole = ask(fleet, text="Once upon a time")
    assert done == "[DONE]" and parts[-1]["text"] == whole["text"]
    assert all(later["text"].startswith(part["text"]) for part, later in zip(parts, parts[1:]))
    assert all(part["meta_info"]["finish_reason"] is None for part in parts[:-1])
    assert parts[-1]["meta_info"]["finish_reason"] == whole["meta_info"]["finish_reason"]


def test_what_ended_the_text_is_told(fleet):
    whole = ask(fleet, text="Once upon a time", sampling_params={"max_new_tokens": 20})
    word = whole["text"].split()[3]
    stopped = ask(fleet, text="Once upon a time",
                  sampling_params={"max_new_tokens": 20, "stop": [word]})
    assert stopped["meta_info"]["finish_reason"] == {"type": "stop", "matched": word}
    assert word not in stopped["text"]
    shown = ask(fleet, text="Once upon a time", sampling_params={
        "max_new_tokens": 20, "stop": [word], "no_stop_trim": True})
    assert shown["text"] == stopped["text"] + word
    token = whole["output_ids"][4]
    stopped = ask(fleet, text="Once upon a time",
                  sampling_params={"max_new_tokens": 20, "stop_token_ids": [token]})
    assert stopped["meta_info"]["finish_reason"] == {"type": "stop", "matched": token}


def test_logprobs_and_forms_are_held(fleet):
    scored = ask(fleet, text="Once", return_logprob=True)["meta_info"]["output_token_logprobs"]
    assert len(scored) == 8 and all(len(entry) == 3 and entry[0] <= 0 for entry in scored)
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
              "additionalProperties": False}
    params = {"max_new_tokens": 60, "ignore_eos": False}
    for given in (json.dumps(schema), schema):
        answer = ask(fleet, text="x", sampling_params={**params, "json_schema": given})
        assert isinstance(json.loads(answer["text"])["a"], bool)
    assert ask(fleet, text="x", sampling_params={**params, "regex": "yes|no"})["text"] in (
        "yes", "no")


@pytest.mark.parametrize("body, words", [
    ({"text": "a", "input_ids": [1]}, "input_ids: not together with text"),
    ({"text": 1}, "text: must be"),
    ({"text": "a", "sampling_params": {"temperature": -1}}, "temperature: must be"),
    ({"text": "a", "sampling_params": {"skip_special_tokens": False}}, "skip_special_tokens: only"),
    ({"text": "a", "sampling_params": {"min_new_tokens": 5}}, "min_new_tokens: must be"),
    ({"text": "a", "image_data": "x"}, "image_data: is not supported"),
    ({"text": "a", "sampling_params": [1]}, "sampling_params: must be an object"),
    ({"sampling_params": {}}, "text: required"),
])
def test_what_is_not_held_is_refused_by_name(fleet, body, words):
    status, answer, _ = fleet.request("POST", "/generate", body)
    assert status == 400 and words in answer["error"]["message"], answer


def test_the_server_tells_of_itself(fleet):
    model = fleet.request("GET", "/get_model_info")[1]
    assert model["model_path"] == "tale" and model["is_generation"] is True
    server = fleet.request("GET", "/get_server_info")[1]
    assert server["context_length"] == 512 and server["version"]
    for path in ("/ping", "/liveness", "/readiness", "/health_generate"):
        assert fleet.request("GET", path)[0] == 200


def test_open_generations_are_counted(fleet):
    assert fleet.request("GET", "/load")[1] == {"server_load": 0}
    stream = Stream(fleet.port, {"prompt": "a", "max_new_tokens": 480, "ignore_eos": True,
                                 "explain": 20})
    wait_for(lambda: fleet.request("GET", "/load")[1]["server_load"] == 1, "the generation")
    stream.abandon()
    wait_for(lambda: fleet.request("GET", "/load")[1]["server_load"] == 0, "its end")


def test_a_flushed_cache_is_not_shared(fleet):
    def cached():
        return fleet.generate(prompt=[9] * 64, max_new_tokens=1)["cached_tokens"]
    cached()
    assert cached()
    status, text, _ = fleet.request("POST", "/flush_cache")
    assert status == 200 and text.startswith("Cache flushed.")
    assert not cached() and cached()


def test_only_operators_flush(keyed):
    assert keyed.request("POST", "/flush_cache")[0] == 403
    assert keyed.request("POST", "/flush_cache", headers=keyed.operator)[0] == 200


@pytest.mark.parametrize("body, shape", [
    ({"messages": [{"role": "user", "content": "Hi"}]}, "chat.completion"),
    ({"prompt": "Hi"}, "text_completion"), ({"input": "Hi"}, "list")])
def test_invocations_take_the_body_of_any_route(fleet, body, shape):
    status, answer, _ = fleet.request("POST", "/invocations", body)
    assert status == 200 and answer["object"] == shape
