"""Anthropic's Messages API: its unmodified client on a fleet, and how conversations translate."""
import json

import pytest
from conftest import KEY, OTHER_KEY
from fleet import Fleet, Stream, run_out_of_time
from javascript import Client

STORY = [{"role": "user", "content": "Tell me a story"}]


@pytest.fixture(scope="module")
def fleet(keyed):
    return keyed


def post(fleet, path="/v1/messages", expected=200, **body):
    status, answer, headers = fleet.request("POST", path, {"max_tokens": 1, **body})
    assert status == expected, answer
    return answer, headers


def test_the_official_client_is_served(fleet):
    Client("clients").drive(fleet, "anthropic.test.mjs", API_KEY=KEY)


# A conversation in both APIs' words, that make the same prompt.
TOOL = {"name": "look", "description": "Looks.",
        "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}
PAIRS = [
    ({"messages": STORY}, {"messages": STORY}),
    ({"system": "Be brief.", "messages": STORY},
     {"messages": [{"role": "system", "content": "Be brief."}, *STORY]}),
    ({"messages": [*STORY, {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}]},
     {"messages": [*STORY, {"role": "system", "content": "Be brief."}]}),
    ({"messages": [{"role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]},
     {"messages": [{"role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}),
    ({"messages": STORY, "tools": [TOOL]},
     {"messages": STORY, "tools": [{"type": "function", "function": {
         "name": "look", "description": "Looks.", "parameters": TOOL["input_schema"]}}]}),
    ({"messages": STORY, "tools": [TOOL], "tool_choice": {"type": "none"}}, {"messages": STORY}),
    ({"messages": STORY, "thinking": {"type": "disabled"}},
     {"messages": STORY, "chat_template_kwargs": {"enable_thinking": False}}),
    ({"messages": STORY, "thinking": {"type": "enabled", "budget_tokens": 1024}},
     {"messages": STORY, "chat_template_kwargs": {"enable_thinking": True}}),
    ({"messages": STORY, "output_config": {"effort": "high", "format": None}},
     {"messages": STORY, "reasoning_effort": "high"}),
    ({"messages": [*STORY, {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "it"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "a fox"},
            {"type": "tool_result", "tool_use_id": "t2"}, {"type": "text", "text": "Go on."}]}]},
     {"messages": [
         *STORY,
         {"role": "assistant", "content": [{"type": "text", "text": "I look."}],
          "tool_calls": [{"id": "t1", "type": "function",
                          "function": {"name": "look", "arguments": {"at": "it"}}}],
          "reasoning_content": "hm"},
         {"role": "tool", "tool_call_id": "t1", "content": "a fox"},
         {"role": "tool", "tool_call_id": "t2", "content": ""},
         {"role": "user", "content": [{"type": "text", "text": "Go on."}]}]}),
]


@pytest.mark.parametrize("theirs,ours", PAIRS)
def test_a_conversation_makes_the_prompt_that_it_makes_in_openais_words(shown, theirs, ours):
    usage = post(shown, **theirs)[0]["usage"]
    n_theirs = usage["input_tokens"] + usage["cache_read_input_tokens"]
    assert n_theirs == post(shown, "/v1/messages/count_tokens", **theirs)[0]["input_tokens"]
    assert n_theirs == post(shown, "/v1/chat/completions", **ours)[0]["usage"]["prompt_tokens"]
    text = {"temperature": 0, "max_tokens": 8, "seed": 1}
    [block] = post(shown, **{**theirs, **text})[0]["content"]
    [choice] = post(shown, "/v1/chat/completions", **ours, **text)[0]["choices"]
    assert block["text"] == choice["message"]["content"]


def test_a_last_message_of_the_assistant_is_continued(fleet):
    words = {"role": "assistant", "content": "Once upon a time"}
    theirs = post(fleet, messages=[*STORY, words], temperature=0, max_tokens=6)[0]
    ours = post(fleet, "/v1/chat/completions", messages=[*STORY, words],
                continue_final_message=True, temperature=0, max_tokens=6)[0]
    assert theirs["content"][0]["text"] == ours["choices"][0]["message"]["content"]


PET = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8},
                                        "age": {"type": "integer", "maximum": 99}},
       "required": ["name", "age"], "additionalProperties": False}


def test_an_answer_is_held_to_the_schema_of_output_config(fleet):
    asked = {"messages": STORY, "max_tokens": 60, "temperature": 1, "seed": 3}
    theirs, _ = post(fleet, **asked,
                     output_config={"format": {"type": "json_schema", "schema": PET}})
    ours, _ = post(fleet, "/v1/chat/completions", **asked,
                   response_format={"type": "json_schema",
                                    "json_schema": {"name": "pet", "schema": PET}})
    [block] = theirs["content"]
    assert set(json.loads(block["text"])) == {"name", "age"} and theirs["stop_reason"] == "end_turn"
    assert block["text"] == ours["choices"][0]["message"]["content"]


def test_unknown_fields_are_ignored_and_told(fleet):
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "some-2026-01-01"}
    status, _, told = fleet.request("POST", "/v1/messages",
                                    {"messages": STORY, "max_tokens": 1,
                                     "metadata": {"user_id": "u"}, "mcp_servers": []}, headers)
    assert status == 200
    assert told["x-baton-ignored"] == "mcp_servers" and told["request-id"] == told["x-request-id"]


@pytest.mark.parametrize("body,words", [
    ({"messages": [{"role": "tool", "content": "a"}]},
     "messages[0].role: must be user, assistant or system"),
    ({"messages": [*STORY, {"role": "user"}]}, "messages[1].content: must be"),
    ({"messages": [{"role": "user", "content": [{"type": "document"}]}]},
     'messages[0]: content of type "document" is not'),
    ({"messages": [{"role": "assistant",
                    "content": [{"type": "tool_result", "tool_use_id": "a"}]}]}, "tool_result"),
    ({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
                                                 "content": 5}]}]},
     "a tool_result's content"),
    ({"messages": STORY, "system": [{"type": "image"}]},
     "system: must be a string or an array of text blocks"),
    ({"messages": STORY, "tools": [{"name": "a"}]}, "tools[0]: must be"),
    ({"messages": STORY, "thinking": {"type": "much"}}, "thinking: must be"),
    ({"messages": STORY, "output_config": {"effort": 1}}, "output_config.effort: must be a string"),
    ({"messages": STORY, "output_config": {"format": {"type": "json_object"}}},
     "output_config.format: must be"),
])
def test_what_is_not_understood_is_refused_by_name(fleet, body, words):
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        answer, _ = post(fleet, path, 400, **body)
        assert (words in answer["error"]["message"]
                and answer["error"]["type"] == "invalid_request_error"), answer


@pytest.mark.parametrize("schema,words", [({"type": "no"}, "output_config: #"),
                                          ({"not": {"minimum": 1}}, "#: not is not supported")])
def test_a_schema_that_cannot_be_held_to_is_refused(fleet, schema, words):
    answer, _ = post(fleet, expected=400, messages=STORY,
                     output_config={"format": {"type": "json_schema", "schema": schema}})
    assert (words in answer["error"]["message"]
            and answer["error"]["param"] == "output_config"), answer


def test_every_error_below_the_path_has_their_shape(fleet):
    for method, path, body, status, name in (
            ("POST", "/v1/messages", "{", 400, "invalid_request_error"),
            ("GET", "/v1/messages", None, 405, "invalid_request_error"),
            ("POST", "/v1/messages/others", {}, 404, "not_found_error"),
            ("POST", "/v1/messages", "x" * (2 << 20), 413, "request_too_large")):
        got, answer, _ = fleet.request(method, path, body)
        assert (got == status and answer["type"] == "error"
                and answer["error"]["type"] == name), answer
    assert "type" not in fleet.request("GET", "/v1/messagesx")[1]


def test_a_conversation_longer_than_the_context_is_counted_and_not_served(fleet):
    long = [{"role": "user", "content": "once upon a time " * 1000}]
    assert post(fleet, "/v1/messages/count_tokens", messages=long)[0]["input_tokens"] > 4000
    answer, _ = post(fleet, expected=400, messages=long)
    assert answer["error"]["code"] == "context_length_exceeded"


def test_a_stream_that_fails_ends_with_an_error(fleet):
    body = {"messages": STORY, "max_tokens": 400, "stream": True, "temperature": 0,
            "ignore_eos": True, "explain": 20}

    def fails_midway(timeout_s):
        stream = Stream(fleet.port, {**body, "timeout_s": timeout_s}, "/v1/messages", fleet.headers)
        if stream.status == 504:
            return "early"
        last = list(stream.events)[-1]
        return last if last.name == "error" else "late"
    error = run_out_of_time(fails_midway).json()
    assert error["type"] == "error" and error["error"]["type"] == "timeout_error"
    assert error["error"]["usage"]["output_tokens"] >= 1


def test_a_model_without_a_template_is_told():
    with Fleet() as plain:
        answer, _ = post(plain, expected=400, messages=STORY)
        assert answer["error"]["code"] == "no_chat_template"


# ---- threads

def begun(fleet):
    return post(fleet, messages=STORY, thread={"type": "create"})[0]["id"]


def continued(message_id, **more):
    return {"messages": [{"role": "user", "content": "Go on."}],
            "thread": {"type": "continue", "previous_message_id": message_id}, **more}


def test_a_thread_goes_on_from_each_of_its_messages(fleet):
    first = begun(fleet)
    second = post(fleet, **continued(first))[0]
    again = post(fleet, **continued(first))[0]
    third = post(fleet, **continued(second["id"]))[0]
    whole = [one["usage"]["input_tokens"] + one["usage"]["cache_read_input_tokens"]
             for one in (second, again, third)]
    assert whole[0] == whole[1] < whole[2]
    assert len({first, second["id"], again["id"], third["id"]}) == 4


@pytest.mark.parametrize("thread,status,code", [
    ({"type": "continue", "previous_message_id": "msg-none"}, 404, "thread_not_found"),
    ({"type": "continue", "previous_message_id": "resp-none"}, 404, "thread_not_found"),
    ({"type": "continue"}, 400, None), ({"type": "fork"}, 400, None), ("create", 400, None)])
def test_a_thread_that_is_not_there_is_told_in_the_sdks_words(fleet, thread, status, code):
    answer, _ = post(fleet, expected=status, messages=STORY, thread=thread)
    assert answer["error"].get("details", {}).get("error_code") == code, answer


def test_what_belongs_to_a_thread_is_not_given_again(fleet):
    first = begun(fleet)
    for more in ({"system": "Be brief."}, {"tools": [TOOL]}):
        answer, _ = post(fleet, expected=400, **continued(first, **more))
        assert answer["error"]["details"]["error_code"] == "thread_fingerprint_mismatch"


def test_a_thread_is_no_response_and_belongs_to_its_key(fleet):
    first = begun(fleet)
    assert fleet.request("GET", f"/v1/responses/{first}")[0] == 404
    status, answer, _ = fleet.request("POST", "/v1/responses", {
        "input": "Go on.", "previous_response_id": first})
    assert (status, answer["error"]["code"]) == (400, "previous_response_not_found")
    status, answer, _ = fleet.request("POST", "/v1/messages", {**continued(first), "max_tokens": 1},
                                      headers={"Authorization": f"Bearer {OTHER_KEY}"})
    assert status == 404, answer


def test_without_a_store_the_sdk_is_told_to_send_conversations():
    with Fleet(gateway_args=["--chat-template", "chatml", "--stored-responses", 0]) as fleet:
        answer, _ = post(fleet, expected=400, messages=STORY, thread={"type": "create"})
        assert answer["error"]["details"] == {"error_code": "thread_unsupported_request",
                                              "unsupported": ["thread"]}
