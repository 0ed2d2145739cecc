"""OpenAI's Responses API: the official client, translated inputs, and stored responses."""
import json
import re

import pytest
from conftest import KEY, OTHER_KEY
from fleet import Fleet, Stream, run_out_of_time
from javascript import Client

STORY = [{"role": "user", "content": "Tell me a story"}]
GREEDY = {"temperature": 0, "max_output_tokens": 8, "ignore_eos": True}
TOOL = {"name": "look", "description": "Looks.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}


@pytest.fixture(scope="module")
def fleet(keyed):
    return keyed


def post(fleet, expected=200, key=None, **body):
    headers = {"Authorization": f"Bearer {key}"} if key else None
    status, answer, told = fleet.request("POST", "/v1/responses", {"max_output_tokens": 1, **body},
                                         headers)
    assert status == expected, answer
    return (answer, told) if expected == 200 else answer["error"]


def text_of(response):
    [item] = response["output"]
    [part] = item["content"]
    return part["text"]


def get(fleet, id, method="GET", key=None):
    return fleet.request(method, f"/v1/responses/{id}", None,
                         {"Authorization": f"Bearer {key}"} if key else None)


def test_the_official_client_is_served(fleet):
    Client("openai").drive(fleet, "responses.test.mjs", "/v1", API_KEY=KEY)


CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":"it"}'}
CALLED = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"it"}'}}
# An input in the words of both APIs, that make the same prompt.
PAIRS = [
    ({"input": "Tell me a story"}, {"messages": STORY}),
    ({"input": STORY, "instructions": "Be brief."},
     {"messages": [{"role": "system", "content": "Be brief."}, *STORY]}),
    ({"input": [{"type": "message", "role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "input_text", "text": "a"},
                                             {"type": "input_text", "text": "b"}]}]},
     {"messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": [
         {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}),
    ({"input": "Hi", "tools": [{"type": "function", "strict": False, **TOOL}]},
     {"messages": [{"role": "user", "content": "Hi"}],
      "tools": [{"type": "function", "function": {**TOOL, "strict": False}}]}),
    ({"input": "Hi", "tools": [{"type": "function", **TOOL}], "tool_choice": "none"},
     {"messages": [{"role": "user", "content": "Hi"}]}),
    ({"input": "Hi", "reasoning": {"effort": "low", "summary": "auto"}},
     {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "low",
      "chat_template_kwargs": {"enable_thinking": True}}),
    ({"input": "Hi", "reasoning": {"effort": "none"}},
     {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "none",
      "chat_template_kwargs": {"enable_thinking": False}}),
    ({"input": [*STORY, {"type": "reasoning", "id": "r1",
                         "summary": [{"type": "summary_text", "text": "hm"}]},
                {"type": "message", "role": "assistant", "id": "m1", "status": "completed",
                 "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
                CALL, {**CALL, "call_id": "c2"},
                {"type": "function_call_output", "call_id": "c1", "output": "a fox"},
                {"type": "function_call_output", "call_id": "c2",
                 "output": [{"type": "input_text", "text": "a dog"}]}, CALL]},
     {"messages": [*STORY,
                   {"role": "assistant", "reasoning_content": "hm",
                    "content": [{"type": "text", "text": "I look."}],
                    "tool_calls": [CALLED, {**CALLED, "id": "c2"}]},
                   {"role": "tool", "tool_call_id": "c1", "content": "a fox"},
                   {"role": "tool", "tool_call_id": "c2",
                    "content": [{"type": "text", "text": "a dog"}]},
                   {"role": "assistant", "content": "", "tool_calls": [CALLED]}]}),
]


def chat(fleet, **body):
    status, answer, _ = fleet.request("POST", "/v1/chat/completions", {
        "temperature": 0, "max_tokens": 8, "ignore_eos": True, **body})
    assert status == 200, answer
    return answer["usage"]["prompt_tokens"], answer["choices"][0]["message"]["content"]


@pytest.mark.parametrize("theirs,ours", PAIRS)
def test_an_input_makes_the_prompt_that_it_makes_in_a_chats_words(shown, theirs, ours):
    answer, _ = post(shown, **theirs, **GREEDY)
    assert (answer["usage"]["input_tokens"], text_of(answer)) == chat(shown, **ours)


def test_a_response_goes_on_from_the_one_before_without_its_instructions(shown):
    first, _ = post(shown, input="Hi", instructions="Be brief.", **GREEDY)
    second, _ = post(shown, input="Go on.", previous_response_id=first["id"], **GREEDY)
    third, _ = post(shown, input=[{"role": "user", "content": "And?"}],
                    previous_response_id=second["id"], **GREEDY)
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text_of(first)},
            {"role": "user", "content": "Go on."}]
    assert (second["usage"]["input_tokens"], text_of(second)) == chat(shown, messages=said)
    said += [{"role": "assistant", "content": text_of(second)}, {"role": "user", "content": "And?"}]
    assert (third["usage"]["input_tokens"], text_of(third)) == chat(shown, messages=said)
    assert second["previous_response_id"] == first["id"] and second["instructions"] is None
    again, _ = post(shown, input="Go on.", previous_response_id=first["id"], **GREEDY)
    assert text_of(again) == text_of(second)  # later turns change nothing of earlier ones


def test_the_names_of_a_response_and_its_items_are_a_secret_of_its_own(fleet):
    """128 random bits, unlike the request's id. The log does not show them."""
    ids = set()
    for _ in range(2):
        status, answer, headers = fleet.request(
            "POST", "/v1/responses", {"input": "Hi", **GREEDY}, {"X-Request-Id": "fox"})
        assert status == 200 and headers["x-request-id"] == "fox"
        secret = re.fullmatch("resp-([0-9a-f]{32})", answer["id"])[1]
        assert answer["output"][0]["id"] == f"msg-{secret}"
        assert get(fleet, answer["id"])[0] == get(fleet, answer["id"], "DELETE")[0] == 200
        ids.add(secret)
    assert len(ids) == 2 and get(fleet, "resp-fox")[0] == 404
    log = fleet.gateway.text()
    assert not any(secret in log for secret in ids) and " path=/v1/responses/resp-" in log


def test_a_response_is_kept_for_its_key_alone(fleet):
    answer, _ = post(fleet, input="Hi", metadata={"a": "b"}, **GREEDY)
    id = answer["id"]
    assert get(fleet, id)[:2] == (200, answer) and answer["metadata"] == {"a": "b"}
    for method in ("GET", "DELETE"):
        status, error, _ = get(fleet, id, method, OTHER_KEY)
        assert status == 404 and error["error"]["code"] == "response_not_found"
    error = post(fleet, 400, OTHER_KEY, input="Hi", previous_response_id=id)
    assert (error["code"], error["param"]) == ("previous_response_not_found",
                                               "previous_response_id")
    assert get(fleet, id, "DELETE")[1] == {"id": id, "object": "response.deleted", "deleted": True}
    assert get(fleet, id)[0] == get(fleet, id, "DELETE")[0] == 404
    assert post(fleet, 400, input="Hi",
                previous_response_id=id)["code"] == "previous_response_not_found"


def test_an_item_of_a_response_may_be_referred_to(shown):
    first, _ = post(shown, input="Hi", **GREEDY)
    refer = {"type": "item_reference", "id": first["output"][0]["id"]}
    turns = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Go on."}
    answer, _ = post(shown, input=[turns[0], refer, turns[1]], **GREEDY)
    said = {"role": "assistant", "content": text_of(first)}
    assert (answer["usage"]["input_tokens"],
            text_of(answer)) == chat(shown, messages=[turns[0], said, turns[1]])
    for id in ("msg-none", "rs_1", "msg-" + "a" * 300, 1):
        error = post(shown, 400, input=[turns[0], {**refer, "id": id}])
        assert (error["code"], error["param"]) == ("item_not_found", "input")


def test_a_response_that_is_not_to_be_stored_is_not(fleet):
    answer, _ = post(fleet, input="Hi", store=False)
    assert not answer["store"] and get(fleet, answer["id"])[0] == 404


def test_the_oldest_response_makes_room():
    with Fleet(gateway_args=["--chat-template", "chatml", "--stored-responses", "2"]) as few:
        ids = [post(few, input="Hi")[0]["id"] for _ in range(3)]
        assert [get(few, id)[0] for id in ids] == [404, 200, 200]
        sizes = [few.metrics()[f"baton_stored_response{name}"] for name in ("s", "_bytes")]
        assert sizes[0] == 2 and sizes[1] > 1000
    with Fleet(gateway_args=["--chat-template", "chatml", "--stored-responses", "0"]) as none:
        answer, _ = post(none, input="Hi", store=True)
        assert not answer["store"] and get(none, answer["id"])[0] == 404


def events_of(fleet, **body):
    stream = Stream(fleet.port, {"stream": True, **body}, "/v1/responses", fleet.headers)
    assert stream.status == 200
    return list(stream.events)


def test_a_stream_tells_the_response_in_numbered_events(fleet):
    body = {"input": "Hi", **GREEDY, "include": ["message.output_text.logprobs"], "top_logprobs": 2,
            "explain": 1, "seed": 1}
    events = events_of(fleet, **body)
    data = [event.json() for event in events]
    assert [event["sequence_number"] for event in data] == list(range(len(events)))
    assert all(event.name == event.json()["type"] for event in events)
    names = [event.name.removeprefix("response.") for event in events]
    n = names.count("output_text.delta")
    assert n > 1 and names == ["created", "in_progress", "output_item.added", "content_part.added",
                               *["output_text.delta"] * n, "output_text.done", "content_part.done",
                               "output_item.done", "incomplete"]
    whole, _ = post(fleet, **body)
    last = data[-1]["response"]
    assert get(fleet, last["id"])[1] == last
    assert {**last, **{name: whole[name] for name in ("id", "created_at", "output", "usage")}} == \
        {name: member for name, member in whole.items() if name != "steps"}
    deltas = [event for event in data if event["type"] == "response.output_text.delta"]
    [part] = last["output"][0]["content"]
    assert ("".join(delta["delta"] for delta in deltas) == part["text"] == data[-4]["text"]
            == text_of(whole))
    assert part == whole["output"][0]["content"][0] == data[-3]["part"]
    assert data[-2]["item"] == last["output"][0]
    assert sum((delta["logprobs"] for delta in deltas), []) == part["logprobs"]
    assert len(part["logprobs"]) == 8
    assert all(len(entry["top_logprobs"]) == 2 for entry in part["logprobs"])
    assert sum(len(event.get("steps", [])) for event in data) == len(whole["steps"]) == 8


def test_a_stream_whose_output_is_empty_has_an_empty_message(fleet):
    [end] = fleet.request("POST", "/tokenize",
                          {"text": "<|endoftext|>", "add_special_tokens": False})[1]["tokens"]
    events = events_of(fleet, input="Hi", logit_bias={end: 100})
    assert events[-1].name == "response.completed" and text_of(events[-1].json()["response"]) == ""
    names = [event.name for event in events]
    assert (names.count("response.output_item.added") == names.count("response.output_item.done")
            == 1)


def test_a_format_holds_the_text_to_a_schema(fleet):
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
              "additionalProperties": False}
    form = {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": schema},
            "verbosity": "low"}
    answer, _ = post(fleet, input="Hi", text=form, max_output_tokens=64)
    assert set(json.loads(text_of(answer))) == {"a"}
    assert answer["status"] == "completed" and answer["text"] == form
    answer, _ = post(fleet, input="Hi", text={"format": {"type": "text"}})
    assert answer["status"] == "incomplete"
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}


def test_unknown_fields_are_ignored_and_told(fleet):
    _, headers = post(fleet, input="Hi", safety_identifier="u", betas=[], max_tokens=3)
    assert headers["x-baton-ignored"] in ("betas, max_tokens", "max_tokens, betas")


def test_tools_that_the_server_would_run_are_left_out(fleet):
    _, headers = post(fleet, input="Hi", tools=[{"type": "web_search"}], max_output_tokens=3)
    assert headers["x-baton-ignored"] == "tools[0]"
    with Fleet(gateway_args=["--unknown-fields", "refuse"]) as strict:
        status, answer, _ = strict.request("POST", "/v1/responses",
                                           {"input": "Hi", "tools": [{"type": "web_search"}]})
        assert status == 400 and "the server runs no tools of its own" in answer["error"]["message"]


@pytest.mark.parametrize("body,words", [
    ({}, "input: must be a string or an array of 1 to 4096 items"),
    ({"input": []}, "input: must be"),
    ({"input": "a", "messages": STORY}, "input: is another name of messages"),
    ({"input": [{"role": "tool", "content": "a"}]},
     "input[0].role: must be user, assistant, system or developer"),
    ({"input": [*STORY, {"role": "user"}]}, "input[1].content: must be"),
    ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
     'input[0]: content of type "input_image" is not'),
    ({"input": [{"type": "made_up_call"}]}, 'input[0]: items of type "made_up_call" are not'),
    ({"input": [{"type": "function_call", "name": "f"}]}, "input[0]: a function_call has"),
    ({"input": [{"type": "function_call_output", "output": "f"}]}, "input[0].call_id: must be"),
    ({"input": "a", "tools": [{"type": 5}]},
     'tools[0]: must be {"type":"function","name":...}, not of type ""'),
    ({"input": "a", "tools": [{"type": "custom"}]}, "tools[0]: must be"),
    ({"input": "a", "tools": [{"type": "namespace", "name": "n"}]},
     "tools[0]: a namespace has a name"),
    ({"input": "a", "tools": [{"type": "namespace", "name": "n", "tools": [{"type": "function"}]}]},
     "tools[0].tools[0]: must be"),
    ({"input": "a", "tools": [{"type": "namespace", "name": n,
                               "tools": [{"type": "function", "name": "f"}] * 1000} for n in "ab"]},
     "tools: must be up to 1024 with those of its namespaces"),
    ({"input": [{"type": "custom_tool_call", "call_id": "c", "name": "f"}]},
     "input[0]: a custom_tool_call has"),
    ({"input": "a", "tool_choice": {"type": "file_search"}}, "tool_choice: an object must be"),
    ({"input": "a", "text": {"format": {"type": "xml"}}}, "text: must be an object whose type is"),
    ({"input": "a", "text": {"format": {"type": "json_object"}},
      "response_format": {"type": "text"}}, "text: is another name of response_format"),
    ({"input": "a", "reasoning": "low"}, "reasoning: must be an object"),
    ({"input": "a", "truncation": "always"}, 'truncation: must be "disabled" or "auto"'),
    ({"input": "a", "background": True, "store": False}, "background: "),
    ({"input": "a", "background": 1}, "background: must be"),
    ({"input": "a", "include": "all"}, "include: must be an array of strings"),
    ({"input": "a", "metadata": 1}, "metadata: must be an object"),
    ({"input": "a", "instructions": [1]}, "instructions: must be a string"),
    ({"input": "a", "previous_response_id": 1}, "previous_response_id: must be a string"),
])
def test_what_is_not_understood_is_refused_by_name(fleet, body, words):
    for stream in (False, True):
        assert words in post(fleet, 400, stream=stream, **body)["message"]


def test_a_stream_that_fails_ends_with_a_failed_response(fleet):
    body = {"input": "Hi", "max_output_tokens": 400, "stream": True, "temperature": 0,
            "ignore_eos": True, "explain": 20}

    def fails_midway(timeout_s):
        stream = Stream(fleet.port, {**body, "timeout_s": timeout_s}, "/v1/responses",
                        fleet.headers)
        if stream.status == 504:
            return "early"
        *_, before, last = stream.events
        return (before.json(), last) if last.name == "response.failed" else "late"
    before, last = run_out_of_time(fails_midway)
    failed = last.json()["response"]
    assert last.json()["sequence_number"] == before["sequence_number"] + 1
    assert failed["status"] == "failed" and failed["error"]["code"] == "deadline_exceeded"
    assert failed["usage"]["output_tokens"] >= 1 and get(fleet, failed["id"])[0] == 404


def test_the_end_of_a_long_stream_does_not_cut_off_a_client_that_reads(fleet):
    """The last events repeat the text four times in one turn of the loop, log-probabilities too."""
    events = events_of(fleet, input="Hi", max_output_tokens=450, ignore_eos=True, top_logprobs=20,
                       temperature=0)
    assert events[-1].name == "response.incomplete" and len(events[-1].data) > 300_000
