"""Conversations in the shapes that today's clients send, on all four chat APIs."""
import json

import pytest
from fleet import ROOT, Fleet

KINDS = ROOT / "tests/fixtures/chat_templates"
IMAGE = "[image left out: this model reads text only]"
CALL = {"id": "call_0123456789abcdef", "type": "function",
        "function": {"name": "look", "arguments": "{}"}}
ASKED = [{"role": "user", "content": "Q"}, {"role": "assistant", "tool_calls": [CALL]}]


@pytest.fixture(scope="module")
def fleet():
    """Mistral's kind of template: roles alternate, ids have nine letters."""
    with Fleet(gateway_args=["--chat-template", str(KINDS / "ids_of_nine_letters.jinja")]) as fleet:
        yield fleet


def post(fleet, path, status=200, **body):
    got, answer, headers = fleet.request("POST", path, body)
    assert got == status, answer
    return answer, headers.get("x-baton-ignored")


def prompt_of(fleet, messages, **body):
    return post(fleet, "/apply-template", messages=messages, **body)[0]["prompt"]


def n_of_chat(fleet, messages):
    return post(fleet, "/v1/chat/completions", messages=messages,
                max_tokens=1)[0]["usage"]["prompt_tokens"]


def n_of_anthropic(fleet, **body):
    return post(fleet, "/v1/messages/count_tokens", **body)[0]["input_tokens"]


# ---- what has no text ----

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def test_an_image_in_a_result_becomes_a_note(fleet):
    results = {"role": "tool", "tool_call_id": CALL["id"],
               "content": [{"type": "image_url", "image_url": {"url": "x"}},
                           {"type": "text", "text": "Seen."}]}
    assert f"{IMAGE}Seen." in prompt_of(fleet, [*ASKED, results])
    _, ignored = post(fleet, "/v1/chat/completions", messages=[*ASKED, results], max_tokens=1)
    assert ignored == "messages[2].content[0]"
    _, ignored = post(fleet, "/v1/messages", max_tokens=1, messages=[
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01", "name": "look",
                                           "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01",
                                      "content": [PICTURE, {"type": "text", "text": "Seen."}]}]}])
    assert ignored == "messages[2].content[0].content[0]"
    _, ignored = post(fleet, "/v1/responses", max_output_tokens=1, input=[
        {"role": "user", "content": "Q"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1",
         "output": [{"type": "input_image", "image_url": "x"}]}])
    assert ignored == "input[2].content[0]"
    _, ignored = post(fleet, "/api/chat", stream=False, options={"num_predict": 1}, messages=[
        {"role": "user", "content": "Q", "images": ["aGk="]},
        {"role": "assistant", "content": "A"}, {"role": "user", "content": "R"}])
    assert ignored == "messages[0].images"


def test_a_question_about_an_image_is_refused_by_name(fleet):
    for path, body in (
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "x"}}]}]}),
            ("/v1/messages", {"max_tokens": 1,
                              "messages": [{"role": "user", "content": [PICTURE]}]}),
            ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
            ("/api/chat", {"messages": [{"role": "user", "content": "Q", "images": ["aGk="]}]})):
        answer, _ = post(fleet, path, 400, **body)
        error = answer["error"]
        assert "image" in (error if isinstance(error, str) else error["message"]), answer
        assert path != "/v1/chat/completions" or error["code"] == "unsupported_field"


def test_what_a_server_did_in_history_is_no_reason_to_refuse(fleet):
    messages = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "compaction", "content": "The summary."},
        {"type": "text", "text": "A"}]}, {"role": "user", "content": "R"}]
    _, ignored = post(fleet, "/v1/messages", max_tokens=1, messages=messages)
    assert ignored == "messages[1].content[0]"
    assert "The summary." in prompt_of(fleet, messages)
    refusal = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": [
        {"type": "refusal", "refusal": "I will not."}]}, {"role": "user", "content": "R"}]
    assert "I will not." in prompt_of(fleet, refusal)
    _, ignored = post(fleet, "/v1/responses", max_output_tokens=1, input=[
        {"role": "user", "content": "Q"}, {"type": "web_search_call", "id": "w"},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c", "output": "a.txt"}])
    assert ignored == "input[1], input[2]"


def test_tools_of_anthropics_server_are_left_out(fleet):
    tools = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]
    _, ignored = post(fleet, "/v1/messages", max_tokens=1, tools=tools,
                      messages=[{"role": "user", "content": "Q"}])
    assert ignored == "tools[0]"
    answer, _ = post(fleet, "/v1/messages", 400, max_tokens=1, tools=tools,
                     tool_choice={"type": "any"}, messages=[{"role": "user", "content": "Q"}])
    assert "tool_choice" in answer["error"]["message"]


def test_what_is_left_out_is_refused_by_strict_gateways():
    with Fleet(gateway_args=["--unknown-fields", "refuse"]) as strict:
        status, answer, _ = strict.request("POST", "/v1/chat/completions", {"messages": [
            *ASKED, {"role": "tool", "content": [{"type": "image_url"}]}]})
        assert status == 400 and "messages[2].content[0]" in answer["error"]["message"]


# ---- shapes ----

def test_null_content_and_calls_without_a_type_are_taken(fleet):
    messages = [{"role": "user", "content": "Q"},
                {"role": "assistant", "tool_calls": [{"function": {"name": "look"}}]},
                {"role": "tool", "content": None}, {"role": "assistant", "content": None},
                {"role": "user", "content": None}]
    post(fleet, "/v1/chat/completions", messages=messages, max_tokens=1)


def test_a_tool_turn_of_ollamas_clients_has_ids(fleet):
    post(fleet, "/api/chat", stream=False, options={"num_predict": 1}, messages=[
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "",
         "tool_calls": [{"function": {"name": "look", "arguments": {"at": "it"}}}]},
        {"role": "tool", "tool_name": "look", "content": "R"}])


def test_ids_of_other_servers_are_taken_on_each_route(fleet):
    result = {"role": "tool", "tool_call_id": CALL["id"], "content": "R"}
    chat = n_of_chat(fleet, [*ASKED, result])
    assert chat == n_of_anthropic(fleet, messages=[
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": CALL["id"], "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": CALL["id"],
                                      "content": "R"}]}])


def test_the_user_may_speak_after_a_result(fleet):
    messages = [*ASKED, {"role": "tool", "tool_call_id": CALL["id"], "content": "R"},
                {"role": "user", "content": "But why?"}]
    assert "R\n\nBut why?" in prompt_of(fleet, messages)


def test_a_last_message_of_the_assistant_in_blocks_is_continued(fleet):
    question = {"role": "user", "content": "Q"}
    text = n_of_anthropic(fleet, messages=[question, {"role": "assistant", "content": "One two"}])
    for blocks in ([{"type": "text", "text": "One two"}],
                   [{"type": "text", "text": "One"}, {"type": "text", "text": " two"}],
                   [{"type": "thinking", "thinking": "hm", "signature": ""},
                    {"type": "text", "text": "One two"}]):
        messages = [question, {"role": "assistant", "content": blocks}]
        assert n_of_anthropic(fleet, messages=messages) == text
        post(fleet, "/v1/messages", messages=messages, max_tokens=1)
    empty = n_of_anthropic(fleet, messages=[question, {"role": "assistant", "content": ""}])
    assert empty == n_of_anthropic(fleet, messages=[question])


def test_every_api_serves_a_system_message_that_the_template_refuses():
    template = str(KINDS / "alternation_is_enforced.jinja")
    with Fleet(gateway_args=["--chat-template", template]) as fleet:
        question = [{"role": "user", "content": "Q"}]
        system = [{"role": "system", "content": "S"}, *question]
        assert "user\nS\n\nQ" in prompt_of(fleet, system)
        post(fleet, "/v1/messages", system=[{"type": "text", "text": "S"}], messages=question,
             max_tokens=1)
        post(fleet, "/v1/responses", instructions="S", input="Q", max_output_tokens=1)
        post(fleet, "/api/chat", messages=system, stream=False, options={"num_predict": 1})
        words = fleet.request("GET", "/v1/models")[1]["data"][0]["chat_template_abilities"]
        assert "parallel_calls.told" in words["without_tools"]
        assert not any(word.startswith("system") for word in words["without_tools"])


def test_tools_may_lack_what_templates_read():
    with Fleet(gateway_args=["--chat-template", str(KINDS / "whole_tools.jinja")]) as fleet:
        question = [{"role": "user", "content": "Q"}]
        for more in ({}, {"description": "d"}, {"description": None, "parameters": None}):
            tools = [{"type": "function", "function": {"name": "ping", **more}}]
            assert "def ping()" in prompt_of(fleet, question, tools=tools)
            post(fleet, "/v1/chat/completions", messages=question, tools=tools, max_tokens=1)
            post(fleet, "/v1/responses", input="Q", tools=[
                {"type": "function", "name": "ping", **more}], max_output_tokens=1)
            post(fleet, "/api/chat", messages=question, tools=tools, stream=False,
                 options={"num_predict": 1})
        post(fleet, "/v1/messages", messages=question, max_tokens=1,
             tools=[{"name": "ping", "input_schema": {}}])


# ---- prompts ----

def test_a_rendered_prompt_that_begins_with_bos_gets_no_second_one(fleet):
    model = ROOT / "tests/fixtures/models/llama"
    bos = json.loads((model / "config.json").read_text())["bos_token_id"]
    with Fleet(model=model) as llama:
        text = llama.post("/detokenize", {"tokens": [bos]})["text"]
        plain = llama.post("/v1/completions", {"prompt": "ab", "max_tokens": 1})["usage"]
        begun = llama.post("/v1/completions", {"prompt": text + "ab", "max_tokens": 1})["usage"]
        assert plain["prompt_tokens"] == begun["prompt_tokens"]


def test_a_conversation_longer_than_the_context_can_be_looked_at(fleet):
    long = [{"role": "user", "content": "word " * 2000}]
    assert len(prompt_of(fleet, long)) > 10000
    post(fleet, "/v1/chat/completions", 400, messages=long)
    model = fleet.request("GET", "/v1/models")[1]["data"][0]
    assert model["max_model_len"] == model["context_length"]
