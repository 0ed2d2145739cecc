"""Ollama's API: its official client, unmodified, against a fleet; and what becomes of a request."""
import http.client
import json

import pytest
from conftest import KEY
from fleet import Fleet, Stream, run_out_of_time
from javascript import Client

STORY = [{"role": "user", "content": "Tell me a story"}]
GREEDY = {"temperature": 0, "num_predict": 8}


@pytest.fixture(scope="module")
def fleet(keyed):
    return keyed


def post(fleet, path="/api/chat", expected=200, **body):
    status, answer, headers = fleet.request("POST", path, {"stream": False, **body})
    assert status == expected, answer
    return answer, headers


def test_the_official_client_is_served(fleet):
    Client("clients").drive(fleet, "ollama.test.mjs", API_KEY=KEY)


CALL = {"function": {"name": "look", "arguments": {"at": "it"}}}
PAIRS = [
    ("/api/chat", {"messages": STORY}, {"messages": STORY}),
    ("/api/generate", {"prompt": "Tell me a story"}, {"messages": STORY}),
    ("/api/generate", {"prompt": "Tell me a story", "system": "Be brief.", "think": False},
     {"messages": [{"role": "system", "content": "Be brief."}, *STORY],
      "chat_template_kwargs": {"enable_thinking": False}}),
    ("/api/chat", {"messages": STORY, "think": True},
     {"messages": STORY, "chat_template_kwargs": {"enable_thinking": True}}),
    ("/api/chat", {"messages": STORY, "think": "low"},
     {"messages": STORY, "reasoning_effort": "low"}),
    ("/api/chat", {"messages": [*STORY, {"role": "assistant", "content": "", "thinking": "hm",
                                         "tool_calls": [CALL]},
                                {"role": "tool", "tool_name": "look", "content": "a fox"}]},
     {"messages": [*STORY, {"role": "assistant", "content": "", "reasoning_content": "hm",
                            "tool_calls": [{"type": "function", **CALL}]},
                   {"role": "tool", "name": "look", "content": "a fox"}]}),
]


@pytest.mark.parametrize("path,theirs,ours", PAIRS)
def test_a_request_makes_the_prompt_that_it_makes_in_openais_words(shown, path, theirs, ours):
    answer, _ = post(shown, path, **theirs, options=GREEDY)
    expected = post(shown, "/v1/chat/completions", **ours, temperature=0, max_tokens=8)[0]
    assert answer["prompt_eval_count"] == expected["usage"]["prompt_tokens"]
    text = answer["response"] if path == "/api/generate" else answer["message"]["content"]
    assert text == expected["choices"][0]["message"]["content"]


def test_a_raw_prompt_is_continued_and_a_model_without_a_template_continues_every_prompt(fleet):
    expected = post(fleet, "/v1/completions", prompt="Once upon a time", temperature=0,
                    max_tokens=8)[0]
    raw, _ = post(fleet, "/api/generate", prompt="Once upon a time", raw=True, options=GREEDY)
    assert raw["response"] == expected["choices"][0]["text"]
    with Fleet() as plain:
        answer, _ = post(plain, "/api/generate", prompt="Once upon a time", options=GREEDY)
        assert answer["response"] == raw["response"]
        answer, _ = post(plain, "/api/generate", 400, prompt="Once", system="Be brief.")
        assert answer["code"] == "no_chat_template" and answer["error"].startswith("system: ")
        assert post(plain, expected=400, messages=STORY)[0]["code"] == "no_chat_template"


def test_a_stream_is_lines_unless_it_is_refused(fleet):
    stream = fleet.stream("/api/generate", prompt="Once", options={**GREEDY, "explain": 2})
    assert stream.response.getheader("Content-Type") == "application/x-ndjson"
    *parts, last = [json.loads(line) for line in stream.response.read().splitlines()]
    assert all(not part["done"] for part in parts) and last["done"] and last["eval_count"] == 8
    assert sum(len(part["steps"]) for part in [*parts, last]) == 8


def test_options_may_stand_beside_or_inside(fleet):
    inside, headers = post(fleet, messages=STORY, options={**GREEDY, "top_k": -1, "seed": -1,
                                                           "num_ctx": 2048, "num_gpu": 1})
    assert headers["x-baton-ignored"] == "num_ctx, num_gpu"
    beside, headers = post(fleet, messages=STORY, **GREEDY)
    assert beside["message"] == inside["message"] and "x-baton-ignored" not in headers


def test_as_many_tokens_as_fit_are_what_minus_one_asks_for(fleet):
    context = fleet.request("POST", "/api/show",
                            {"model": "tale"})[1]["model_info"]["gpt2.context_length"]
    for n in (-1, -2, 0):
        answer, _ = post(fleet, "/api/generate", prompt="Once", raw=True,
                         options={"num_predict": n, "ignore_eos": True})
        assert answer["prompt_eval_count"] + answer["eval_count"] == context


@pytest.mark.parametrize("path,body,words", [
    ("/api/generate", {"prompt": "a", "suffix": "b"}, "suffix: tale does not support insert"),
    ("/api/generate", {"prompt": "a", "template": "{{ .Prompt }}"}, "template: is not supported"),
    ("/api/generate", {"prompt": "a", "images": ["aGk="]}, "images: is not supported"),
    ("/api/generate", {"prompt": "a", "format": "yaml"}, 'format: must be "json" or a schema'),
    ("/api/chat", {"messages": [], "format": {"type": "object", "unevaluatedItems": 1}},
     "format: #"),
    ("/api/generate", {"prompt": ["a"]}, "prompt: must be a string"),
    ("/api/generate", {"prompt": "a", "raw": True, "system": "b"}, "system: not together with raw"),
    ("/api/generate", {"prompt": "a", "options": [1]}, "options: must be an object"),
    ("/api/generate", {"prompt": "a", "think": 1}, "think: must be"),
    ("/api/chat", {"messages": [{"role": 7, "content": "a"}]},
     "messages[0].role: must be"),
    ("/api/chat", {"messages": STORY, "tools": [{}]}, "tools[0]: must be"),
    ("/api/chat", {"messages": STORY, "options": {"repeat_penalty": 0}}, "repeat_penalty: must be"),
])
def test_what_is_not_understood_is_refused_by_name(fleet, path, body, words):
    answer, _ = post(fleet, path, 400, **body)
    assert words in answer["error"], answer


def test_what_asks_for_nothing_is_accepted(fleet):
    for nothing in ({"format": ""},
                    {"suffix": "", "template": "", "images": [], "context": [], "keep_alive": -1}):
        post(fleet, "/api/generate", prompt="a", options={"num_predict": 1}, **nothing)


def ask_by_hand(fleet, headers):
    connection = http.client.HTTPConnection("127.0.0.1", fleet.port)
    connection.request("POST", "/api/generate", '{"prompt":"a","options":{"num_predict":1}}',
                       {**fleet.headers, **headers})
    return connection.getresponse().status


def test_no_content_type_is_asked_for_but_of_pages(fleet):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ask_by_hand(fleet, form) == 200
    assert ask_by_hand(fleet, {**form, "Origin": "http://a.example"}) == 403
    assert ask_by_hand(fleet, {**form, "Origin": f"http://127.0.0.1:{fleet.port}"}) == 415


def test_a_stream_that_fails_ends_with_an_error(fleet):
    body = {"prompt": "a", "options": {"num_predict": 400, "ignore_eos": True, "explain": 20}}

    def fails_midway(timeout_s):
        stream = Stream(fleet.port, {**body, "timeout_s": timeout_s}, "/api/generate",
                        fleet.headers)
        if stream.status == 504:
            return "early"
        last = json.loads(stream.response.read().splitlines()[-1])
        return last if "error" in last else "late"
    error = run_out_of_time(fails_midway)
    assert error["code"] == "deadline_exceeded" and error["usage"]["eval_count"] >= 1


# ---- names ----

def names(fleet):
    return [model["name"] for model in fleet.request("GET", "/api/tags")[1]["models"]]


def test_a_copy_is_a_name_of_the_model_until_it_is_deleted(shown):
    before = names(shown)
    for path, body in (("/api/copy", {"source": "tale:latest", "destination": "my/story:2"}),
                       ("/api/create", {"from": "my/story:2", "model": "told:latest"}),
                       ("/api/create", {"from": "tale", "name": "told", "license": "MIT"})):
        post(shown, path, **body)
    assert names(shown) == [*before, "my/story:2", "told:latest"]
    for model in "my/story:2", "told", "told:latest":
        assert post(shown, model=model, messages=STORY, options=GREEDY)[0]["done"]
    post(shown, "/v1/completions", model="told", prompt="a", max_tokens=1)
    for name, status in ("my/story:2", 200), ("another", 404):
        assert shown.request("POST", "/tokenize", {"model": name, "text": "a"})[0] == status
    lines = Stream(shown.port, {"from": "tale", "model": "told"}, "/api/create").response.read()
    assert [json.loads(line)["status"] for line in lines.splitlines()][-1] == "success"
    for name in "my/story:2", "told:latest":
        assert shown.request("DELETE", "/api/delete", {"model": name})[0] == 200
        assert shown.request("DELETE", "/api/delete", {"model": name})[0] == 404
        post(shown, expected=404, model=name, messages=STORY)
    assert names(shown) == before


@pytest.mark.parametrize("path, body, status, words", [
    ("/api/copy", {"source": "other", "destination": "b"}, 404, "model 'other' not found"),
    ("/api/copy", {"destination": "b"}, 400, "source: must be"),
    ("/api/copy", {"source": "tale"}, 400, "destination: must be"),
    ("/api/copy", {"source": "tale", "destination": "a b"}, 400, "destination: must be"),
    ("/api/copy", {"source": "tale", "destination": "x" * 129}, 400, "destination: must be"),
    ("/api/create", {"from": "tale", "model": "b", "system": "Be brief."}, 400, "system: is not"),
    ("/api/create", {"from": "tale", "model": "b", "parameters": {"top_k": 1}}, 400, "parameters:"),
    ("/api/create", {"from": "tale", "model": "b", "template": "{{ .Prompt }}"}, 400, "template:"),
    ("/api/create", {"from": "tale", "model": "b", "messages": STORY}, 400, "messages:"),
    ("/api/create", {"model": "b", "files": {"a.gguf": "sha256:0"}}, 400, "files: is not supp"),
    ("/api/create", {"from": "tale", "model": "b", "quantize": "q4_K_M"}, 400, "quantize:"),
    ("/api/create", {"model": "b"}, 400, "from: must be"),
])
def test_what_is_more_than_a_name_is_refused(shown, path, body, status, words):
    assert post(shown, path, status, **body)[0]["error"].startswith(words)
    assert "b:latest" not in names(shown)


def test_names_are_bounded_and_for_operators(shown, fleet):
    before = names(shown)
    made = [f"n{i}" for i in range(16 - len(before))]
    for name in made:
        post(shown, "/api/copy", source="tale", destination=name)
    assert "delete one" in post(shown, "/api/copy", 400, source="tale", destination="more")[0][
        "error"]
    for name in made:
        assert shown.request("DELETE", "/api/delete", {"model": name})[0] == 200
    refused = shown.request("DELETE", "/api/delete", {"model": "tale"})
    assert refused[0] == 400 and "was started with" in refused[1]["error"]
    for method, path in ("POST", "/api/copy"), ("POST", "/api/create"), ("DELETE", "/api/delete"):
        assert fleet.request(method, path, {"source": "tale"})[0] == 403
