"""TGI's routes: what a client of text-generation-inference reads of Baton's."""
import json

import pytest
from fleet import Fleet, Stream

STORY = "Once upon a time"
SAMPLED = {"max_new_tokens": 24, "temperature": 0.9, "top_p": 0.95, "seed": 7}


def post(fleet, path, expected=200, inputs=STORY, **parameters):
    return fleet.post(path, {"inputs": inputs, "parameters": parameters}, expected)


def events_of(fleet, inputs=STORY, path="/generate_stream", **parameters):
    body = {"inputs": inputs, "parameters": parameters, **({"stream": True} if path == "/" else {})}
    return [event.json() for event in Stream(fleet.port, body, path).events]


def native(fleet, **body):
    return fleet.generate(prompt=STORY, **body)["generated_text"]


def spelled(tokens):
    return "".join(token["text"] for token in tokens if not token["special"])


def test_the_text_is_that_of_the_native_route(fleet):
    assert post(fleet, "/generate", **SAMPLED) == {"generated_text": native(fleet, **SAMPLED)}
    assert post(fleet, "/", **SAMPLED) == [{"generated_text": native(fleet, **SAMPLED)}]
    full = post(fleet, "/generate", **SAMPLED, return_full_text=True)["generated_text"]
    assert full == STORY + native(fleet, **SAMPLED)


@pytest.mark.parametrize("asked, drawn", [
    ({}, False), ({"do_sample": False}, False), ({"temperature": None, "top_k": None}, False),
    ({"do_sample": True}, True),
    ({"temperature": 1.5}, True), ({"top_k": 50}, True), ({"top_p": 0.9}, True),
    ({"typical_p": 1}, True),
])
def test_tokens_are_drawn_where_sampling_is_asked_for(fleet, asked, drawn):
    details = post(fleet, "/generate", **asked, details=True, max_new_tokens=4)["details"]
    assert (details["seed"] is not None) == drawn
    if not drawn:
        assert spelled(details["tokens"]) == native(fleet, temperature=0, max_new_tokens=4)


@pytest.mark.parametrize("path", ["/generate_stream", "/"])
def test_a_stream_gathers_to_the_same(fleet, path):
    whole = post(fleet, "/generate", **SAMPLED, details=True, top_n_tokens=2)
    events = events_of(fleet, path=path, **SAMPLED, top_n_tokens=2)
    assert [event["index"] for event in events] == list(range(1, 25))
    assert [event["token"] for event in events] == whole["details"]["tokens"]
    assert [event["top_tokens"] for event in events] == whole["details"]["top_tokens"]
    assert (spelled(event["token"] for event in events) == events[-1]["generated_text"]
            == whole["generated_text"])
    assert all(event["generated_text"] is event["details"] is None for event in events[:-1])
    assert events[-1]["details"] == {
        "finish_reason": "length", "generated_tokens": 24, "seed": 7,
        "input_length": fleet.generate(prompt=STORY, max_new_tokens=1)["prompt_tokens"]}


def test_characters_that_take_several_tokens_are_whole(fleet):
    """Characters of many tokens are spelled by their tokens under a grammar, too."""
    regex = {"type": "regex", "value": "(\U0001F98A|\u00e9){6}"}
    whole = post(fleet, "/generate", grammar=regex, details=True)
    events = events_of(fleet, grammar=regex)
    assert len(whole["details"]["tokens"]) > 6 == len(whole["generated_text"])
    assert spelled(whole["details"]["tokens"]) == whole["generated_text"]
    assert [event["token"] for event in events] == whole["details"]["tokens"]


def test_why_a_text_ended(fleet):
    text = post(fleet, "/generate", max_new_tokens=12)["generated_text"]
    stop = text.split()[2]
    for name in "stop", "stop_sequences":
        answer = post(fleet, "/generate", max_new_tokens=12, details=True,
                      **{name: ["#never#", stop]})
        assert answer["details"]["finish_reason"] == "stop_sequence"
        assert (answer["generated_text"] == text[:text.index(stop)]
                == spelled(answer["details"]["tokens"]))
    events = events_of(fleet, max_new_tokens=12, stop=[stop])
    assert (spelled(event["token"] for event in events) == events[-1]["generated_text"]
            == text[:text.index(stop)])
    assert events[-1]["details"]["finish_reason"] == "stop_sequence"
    [last] = post(fleet, "/", grammar={"type": "regex", "value": "[a-c]"}, details=True)
    assert last["details"]["finish_reason"] == "eos_token"
    assert last["details"]["tokens"][-1]["special"]
    end = events_of(fleet, grammar={"type": "regex", "value": "[a-c]"})[-1]
    assert end["token"] == last["details"]["tokens"][-1]
    assert end["generated_text"] == last["generated_text"]


def test_the_last_tokens_of_a_prompt_alone(fleet):
    prefill = post(fleet, "/generate", decoder_input_details=True,
                   max_new_tokens=1)["details"]["prefill"]
    assert "".join(token["text"] for token in prefill) == STORY and prefill[0]["logprob"] is None
    assert all(token["logprob"] < 0 for token in prefill[1:])
    cut = post(fleet, "/generate", decoder_input_details=True, max_new_tokens=8, truncate=2)
    assert [token["id"]
            for token in cut["details"]["prefill"]] == [token["id"] for token in prefill[-2:]]
    alone = fleet.generate(prompt=[token["id"] for token in prefill[-2:]], max_new_tokens=8,
                           temperature=0)
    assert cut["generated_text"] == alone["generated_text"]
    long = post(fleet, "/generate", inputs="the fox " * 2000, truncate=100, max_new_tokens=4,
                details=True)
    assert long["details"]["generated_tokens"] == 4
    assert post(fleet, "/generate", 422,
                inputs="the fox " * 2000)["code"] == "context_length_exceeded"


def test_an_answer_is_held_to_a_schema(fleet):
    schema = {"type": "object",
              "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9}},
              "required": ["age"], "additionalProperties": False}
    for grammar in ({"type": "json", "value": schema},
                    {"type": "json_schema", "value": {"name": "pet", "schema": schema}}):
        pet = json.loads(post(fleet, "/generate", grammar=grammar)["generated_text"])
        assert 0 <= pet["age"] <= 9


@pytest.mark.parametrize("asked, words", [
    ({"top_k": -1}, "top_k: must be"), ({"top_n_tokens": 21}, "top_n_tokens: must be"),
    ({"truncate": 0}, "truncate: must be"),
    ({"best_of": 2}, "best_of: only 1 is supported"),
    ({"watermark": True}, "watermark: is not supported"),
    ({"typical_p": 1.5}, "typical_p: must be"),
    ({"grammar": {"type": "xml", "value": ""}}, "grammar: must have the type"),
    ({"grammar": 7}, "grammar: must be"), ({"stop": ["a"], "stop_sequences": ["a"]}, "stop"),
])
def test_what_is_not_understood_is_refused_by_name(fleet, asked, words):
    for path in "/generate", "/generate_stream", "/":
        answer = post(fleet, path, 422, **asked)
        assert words in answer["error"] and answer["error_type"] == "validation", answer
    assert post(fleet, "/", 422, decoder_input_details=True, inputs=None)["param"] == "inputs"
    assert post(fleet, "/generate_stream", 422,
                decoder_input_details=True)["param"] == "decoder_input_details"


def test_what_is_ignored_is_told(fleet):
    _, _, headers = fleet.request("POST", "/generate",
                                  {"inputs": STORY, "parameters": {"max_new_tokens": 1, "cat": 1}})
    assert headers["x-baton-ignored"] == "cat"


def test_a_conversation_is_tokenized():
    messages = [{"role": "user", "content": "Gr\u00fc\u00dfe, fox"}]
    with Fleet(gateway_args=["--chat-template", "chatml"]) as chatting:
        answer = chatting.post("/chat_tokenize", {"messages": messages})
        text, tokens = answer["templated_text"], answer["tokenize_response"]
        assert text == chatting.post("/apply-template", {"messages": messages})["prompt"]
        assert tokens[0]["start"] == 0 and tokens[-1]["stop"] == len(text)
        assert all(a["stop"] == b["start"] for a, b in zip(tokens, tokens[1:]))
        status, error, _ = chatting.request("POST", "/chat_tokenize", {"messages": []})
        assert status == 422 and error["error_type"] == "validation"


@pytest.mark.parametrize("text", [STORY, "Gr\u00fc\u00dfe \U0001f917, fox", "the fox " * 3000])
def test_a_text_is_tokenized(fleet, text):
    tokens = fleet.post("/tokenize", {"inputs": text})
    assert [token["id"] for token in tokens] == fleet.post("/tokenize", {"text": text})["tokens"]
    assert tokens[0]["start"] == 0 and tokens[-1]["stop"] == len(text)
    assert all(a["stop"] == b["start"] for a, b in zip(tokens, tokens[1:]))
    assert all(token["text"] == text[token["start"]:token["stop"]] for token in tokens
               if "\ufffd" not in token["text"])


@pytest.mark.parametrize("size", [1, 20 << 10])
def test_statuses_of_bad_bodies_are_those_of_tgi(fleet, size):
    for path, body in (("/tokenize", {"inputs": 7}), ("/generate", {"inputs": []}),
                       ("/generate_stream", {"inputs": "a", "parameters": {"top_k": "x"}})):
        status, error, _ = fleet.request("POST", path, json.dumps(body) + " " * size)
        assert status == 422 and error["error_type"] == "validation", path
    assert fleet.request("POST", "/generate_stream", "{" + " " * size)[0] == 400
