"""Tool calls in the text of a model, which structures make it write in its template's form."""
import json

import pytest
from conftest import TOOLS, written
from javascript import Client

CALL = (
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Troms\u00f8 \\"N\\""}}\n</tool_call>')
ARGUMENTS = {"city": 'Troms\u00f8 "N"'}


def body(text, **more):
    return {"model": "tale", "messages": [{"role": "user", "content": "How is it?"}],
            "tools": TOOLS, "seed": 3, **written(text), **more}


def ask(calling, text, **more):
    return calling.post("/v1/chat/completions", body(text, **more))["choices"][0]


def stream(calling, text, **more):
    """(content, {index: call}, finish reasons) of all chunks together."""
    content, calls, reasons = "", {}, []
    *events, last = calling.stream("/v1/chat/completions", **body(text, **more), stream=True).events
    assert last.data == "[DONE]"
    for event in events:
        for choice in json.loads(event.data)["choices"]:
            content += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls", []):
                call = calls.setdefault(part["index"], {**part, "name": "", "arguments": ""})
                call["name"] += part["function"].get("name", "")
                call["arguments"] += part["function"]["arguments"]
            reasons += [choice["finish_reason"]] if choice["finish_reason"] else []
    return content, calls, reasons


def test_a_call_is_a_part_of_the_message_and_not_of_its_text(calling):
    choice = ask(calling, CALL)
    [call] = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    assert call["type"] == "function"
    assert call["function"]["name"] == "weather" and len(call["id"]) == 9
    assert json.loads(call["function"]["arguments"]) == ARGUMENTS


def test_text_before_a_call_stays_and_each_call_has_an_id(calling):
    choice = ask(calling, "Let me look. " + CALL + "\n" + CALL)
    assert choice["message"]["content"].strip() == "Let me look."
    calls = choice["message"]["tool_calls"]
    assert len(calls) == 2 and calls[0]["id"] != calls[1]["id"]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [ARGUMENTS, ARGUMENTS]


def test_a_stream_tells_the_same(calling):
    text = "Let me look. " + CALL + "\n" + CALL
    whole = ask(calling, text)["message"]
    content, calls, reasons = stream(calling, text)
    assert reasons == ["tool_calls"] and content == whole["content"]
    assert [(calls[i]["name"], calls[i]["arguments"]) for i in sorted(calls)] == [
        (call["function"]["name"], call["function"]["arguments"]) for call in whole["tool_calls"]]


@pytest.mark.parametrize("text", [
    "<tool_call>the weather, please</tool_call>", '<tool_call>{"arguments": {}}</tool_call>',
    "<tool_cal", '<tool_call>{"name": "weather", "arguments"', "a <b> c </tool_call>"])
def test_what_only_resembles_a_call_is_text(calling, text):
    choice = ask(calling, text)
    assert choice["message"]["content"] == text and "tool_calls" not in choice["message"]
    assert choice["finish_reason"] == "stop"
    assert stream(calling, text) == (text, {}, ["stop"])


LONG = {"city": "Troms\u00f8 " * 20, "days": [1, 2.5, {"deep": None}]}


def pieces(calling, text, **more):
    """What streams of three APIs tell of a call: its pieces, and how the answer ended."""
    def events(path, **fields):
        fields.update(written(text), stream=True)
        lines = calling.stream(path, **fields).events
        return [json.loads(event.data) for event in lines if event.data != "[DONE]"]

    ask = [{"role": "user", "content": "How is it?"}]
    chunks = events("/v1/chat/completions", messages=ask, tools=TOOLS, **more)
    deltas = [call for chunk in chunks for choice in chunk["choices"]
              for call in choice["delta"].get("tool_calls", [])]
    yield ([delta["function"]["arguments"] for delta in deltas],
           chunks[-1]["choices"][0]["finish_reason"])
    chunks = events("/v1/responses", input=ask, max_output_tokens=more.get("max_tokens"), tools=[
        {"type": "function", **tool["function"]} for tool in TOOLS])
    last = chunks[-1]["response"]
    done = [chunk["arguments"] for chunk in chunks
            if chunk["type"] == "response.function_call_arguments.done"]
    given = [chunk["delta"] for chunk in chunks
             if chunk["type"] == "response.function_call_arguments.delta"]
    assert done == [last["output"][-1]["arguments"]] == ["".join(given)]
    assert last["status"] == last["output"][-1]["status"]
    yield given, last["status"]
    chunks = events("/v1/messages", messages=ask, **{"max_tokens": 400, **more}, tools=[
        {"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]}
        for tool in TOOLS])
    yield ([chunk["delta"]["partial_json"] for chunk in chunks
            if chunk.get("delta", {}).get("type") == "input_json_delta"],
           chunks[-2]["delta"]["stop_reason"])


def test_arguments_arrive_as_they_are_written(calling):
    text = "<tool_call>\n" + json.dumps({"name": "weather", "arguments": LONG}) + "\n</tool_call>"
    whole = ask(calling, text)["message"]["tool_calls"][0]["function"]["arguments"]
    for (given, reason), ended in zip(pieces(calling, text),
                                      ("tool_calls", "completed", "tool_use")):
        assert "".join(given) == whole and len(given) > 20 and reason == ended


def test_a_call_that_the_length_cuts_off_tells_what_came(calling):
    text = "<tool_call>\n" + json.dumps({"name": "weather", "arguments": LONG}) + "\n</tool_call>"
    whole = ask(calling, text)["message"]["tool_calls"][0]["function"]["arguments"]
    for (given, reason), ended in zip(pieces(calling, text, max_tokens=60, temperature=0),
                                      ("length", "incomplete", "max_tokens")):
        cut = "".join(given)
        assert 0 < len(cut) < len(whole) and whole.startswith(cut) and reason == ended
        if ended == "length":
            choice = ask(calling, text, max_tokens=60, temperature=0)
            [call] = choice["message"]["tool_calls"]
            assert (call["function"]["arguments"], choice["finish_reason"]) == (cut, "length")
            assert not choice["message"]["content"]


@pytest.mark.parametrize("more", [{"tools": None}, {"tool_choice": "none"}])
def test_without_tools_everything_is_text(calling, more):
    choice = ask(calling, CALL, **more)
    assert choice["message"]["content"] == CALL and "tool_calls" not in choice["message"]


def test_the_call_and_its_result_go_back_into_the_template(calling):
    [call] = ask(calling, CALL)["message"]["tool_calls"]
    messages = [{"role": "user", "content": "How is it?"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": "Rain."}]
    choice = ask(calling, "It rains.", messages=messages)
    assert choice["message"]["content"] == "It rains." and choice["finish_reason"] == "stop"


def test_choices_and_requests_beside_each_other_keep_their_calls(calling):
    answer = calling.post("/v1/chat/completions", body(CALL, n=4))
    ids = [choice["message"]["tool_calls"][0]["id"] for choice in answer["choices"]]
    assert len(set(ids)) == 4


def test_the_official_client_reads_calls(calling):
    Client("openai").drive(calling, "tools.test.mjs", "/v1", CALL=CALL)
    Client("openai").drive(calling, "response_tools.test.mjs", "/v1", CALL=CALL)


# ---- the other APIs ----

PARTS = "<think>Hm.</think>Let me look. " + CALL + "\n" + CALL
TALK = [{"role": "user", "content": "How is it?"}]


def message(calling, text, **more):
    tools = [{"name": "weather", "input_schema": TOOLS[0]["function"]["parameters"]}]
    body = {"messages": TALK, "tools": tools, "max_tokens": 200, **written(text), **more}
    answer = calling.post("/v1/messages", body)
    return body, answer


def test_anthropics_messages_have_a_block_for_each_part(calling):
    _, answer = message(calling, PARTS)
    thinking, text, *calls = answer["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": ""}
    assert text["type"] == "text" and text["text"].strip() == "Let me look."
    assert [(call["type"], call["name"], call["input"])
            for call in calls] == [("tool_use", "weather", ARGUMENTS)] * 2
    assert calls[0]["id"] != calls[1]["id"] and answer["stop_reason"] == "tool_use"


def test_anthropics_streams_tell_the_same_blocks(calling):
    body, whole = message(calling, PARTS)
    blocks, open_blocks = [], 0
    for event in calling.stream("/v1/messages", **body, stream=True).events:
        data = event.json()
        if event.name == "content_block_start":
            assert data["index"] == len(blocks) and not open_blocks
            blocks.append(data["content_block"])
            open_blocks = 1
        elif event.name == "content_block_stop":
            assert data["index"] == len(blocks) - 1 and open_blocks
            open_blocks = 0
        elif event.name == "content_block_delta":
            delta, block = data["delta"], blocks[data["index"]]
            kind = delta["type"].removesuffix("_delta")
            if kind == "input_json":
                block.setdefault("json", []).append(delta["partial_json"])
            else:
                block[kind] += delta[kind]
        elif event.name == "message_delta":
            assert data["delta"]["stop_reason"] == "tool_use"
    for block in blocks:
        if block["type"] == "tool_use":
            block["input"] = json.loads("".join(block.pop("json")))
    assert [{**block, "id": ""} for block in blocks] == [{**block, "id": ""}
                                                         for block in whole["content"]]


@pytest.mark.parametrize("text", ["<tool_call>the weather, please</tool_call>", "It rains."])
def test_anthropics_messages_without_parts_have_one_block(calling, text):
    _, answer = message(calling, text)
    assert answer["content"] == [{"type": "text", "text": text}]
    assert answer["stop_reason"] == "end_turn"


def ollama(calling, path, **more):
    return calling.post(path, {"stream": False, **more})


def test_ollamas_chat_tells_parts(calling):
    body = {"messages": TALK, "tools": TOOLS, **written(PARTS)}
    answer = ollama(calling, "/api/chat", **body)
    whole = answer["message"]
    assert whole["thinking"] == "Hm."
    assert whole["content"].strip() == "Let me look." and answer["done_reason"] == "stop"
    assert [call["function"] for call in whole["tool_calls"]] == [
        {"index": i, "name": "weather", "arguments": ARGUMENTS} for i in range(2)]
    told = {"thinking": "", "content": "", "tool_calls": []}
    stream = calling.stream("/api/chat", **body, stream=True)
    for line in stream.response.read().splitlines():
        for name in told:
            told[name] += json.loads(line)["message"].get(name, type(told[name])())
    assert [call.pop("id") for call in told["tool_calls"] + whole["tool_calls"]]
    assert {"role": "assistant", **told} == whole


def test_ollamas_generate_tells_reasoning(calling):
    answer = ollama(calling, "/api/generate", prompt="How is it?",
                    **written("<think>Hm.</think>Rain."))
    assert (answer["thinking"], answer["response"]) == ("Hm.", "Rain.")
    raw = ollama(calling, "/api/generate", prompt="How is it?", raw=True,
                 **written("<think>Hm.</think>Rain."))
    assert raw["response"] == "<think>Hm.</think>Rain." and "thinking" not in raw


def respond(calling, text, **more):
    tools = [{"type": "function", **TOOLS[0]["function"]}]
    body = {"input": "How is it?", "seed": 3, "tools": tools,
            "text": {"format": written(text)["response_format"]}, **more}
    answer = calling.post("/v1/responses", body)
    return body, answer


def test_responses_have_an_item_for_each_part(calling):
    _, answer = respond(calling, PARTS)
    reasoning, message, *calls = answer["output"]
    assert reasoning["type"] == "reasoning"
    assert reasoning["content"] == [{"type": "reasoning_text", "text": "Hm."}]
    assert message["content"][0]["text"].strip() == "Let me look."
    assert message["status"] == answer["status"] == "completed"
    assert [(call["type"], call["name"], json.loads(call["arguments"])) for call in calls] == [
        ("function_call", "weather", ARGUMENTS)] * 2
    assert len({item["id"] for item in answer["output"]}) == 4
    assert calls[0]["call_id"] != calls[1]["call_id"]
    assert answer["usage"]["output_tokens_details"]["reasoning_tokens"] > 0


def test_streams_of_responses_tell_the_same_items(calling):
    body, whole = respond(calling, PARTS)
    added, texts, done = [], {}, []
    events = [event.json() for event in calling.stream("/v1/responses", **body, stream=True).events]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    for event in events:
        if event["type"] == "response.output_item.added":
            assert event["output_index"] == len(added) == len(done)
            added.append(event["item"])
        elif event["type"] == "response.output_item.done":
            assert event["output_index"] == len(done) and event["item"]["id"] == added[-1]["id"]
            done.append(event["item"])
        elif event["type"].endswith(".delta"):
            assert event["item_id"] == added[event["output_index"]]["id"]
            texts[event["output_index"]] = texts.get(event["output_index"], "") + event["delta"]
    assert events[-1]["type"] == "response.completed" and events[-1]["response"]["output"] == done
    plain = [{**item, "id": "", "call_id": ""} for item in done]
    assert plain == [{**item, "id": "", "call_id": ""} for item in whole["output"]]
    assert [texts[i] for i in range(len(done))] == [
        item["arguments"] if "arguments" in item else item["content"][0]["text"] for item in done]


def test_logprobs_of_a_message_behind_reasoning_are_its_own(calling):
    body, whole = respond(calling, "<think>Hm.</think>It rains.", top_logprobs=1)
    [part] = whole["output"][1]["content"]
    assert "".join(entry["token"] for entry in part["logprobs"]).removesuffix(
        "<|endoftext|>").strip() == part["text"]
    *_, last = calling.stream("/v1/responses", **body, stream=True).events
    assert last.json()["response"]["output"][1]["content"] == whole["output"][1]["content"]


def prompt_tokens(calling, more, **fields):
    return respond(calling, "It rains.", input=more, **fields)[1]["usage"]["input_tokens"]


def test_a_response_with_calls_is_gone_on_from_in_three_ways(calling):
    _, first = respond(calling, CALL + "\n" + CALL)
    asked, calls = {"role": "user", "content": "How is it?"}, first["output"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "Rain."}
               for call in calls]
    references = [{"type": "item_reference", "id": call["id"]} for call in calls]
    after = prompt_tokens(calling, results, previous_response_id=first["id"])
    assert after > prompt_tokens(calling, [asked, *results])
    for middle in (calls, references, [references[0], *calls]):
        assert prompt_tokens(calling, [asked, *middle, *results]) == after


def called(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


# Coding agents send functions, tools in a namespace or with free text, and the server's own tools.
AGENTS_TOOLS = [{"type": "function", "name": "go"},
                {"type": "web_search", "external_web_access": False},
                {"type": "namespace", "name": "on", "description": "Others.",
                 "tools": [{"type": "function", "name": "go", "strict": True},
                           {"type": "custom", "name": "say"}]},
                {"type": "custom", "name": "say"}]


@pytest.mark.parametrize("name,arguments,told", [
    ("go", {"n": 1}, ("function_call", None, "go", '{"n":1}')),
    ("on__go", {"n": 1}, ("function_call", "on", "go", '{"n":1}')),
    ("say", {"input": '*** "A"\n'}, ("custom_tool_call", None, "say", '*** "A"\n')),
    ("on__say", {"input": "Hi"}, ("custom_tool_call", "on", "say", "Hi")),
    ("say", {"words": "Hi"}, ("custom_tool_call", None, "say", '{"words":"Hi"}'))])
def test_calls_of_agents_tools_are_told_in_the_clients_words(calling, name, arguments, told):
    body, whole = respond(calling, called(name, **arguments), tools=AGENTS_TOOLS)
    [item] = whole["output"]
    key = "input" if "custom" in told[0] else "arguments"
    assert (item["type"], item.get("namespace"), item["name"], item[key]) == told
    assert whole["tools"] == AGENTS_TOOLS
    all_events = [event.json() for event in
                  calling.stream("/v1/responses", **body, stream=True).events]
    events = {event["type"]: event for event in all_events}
    event = "response." + (told[0] + "_input" if key == "input" else told[0] + "_arguments")
    given = "".join(each["delta"] for each in all_events if each["type"] == event + ".delta")
    assert given == events[event + ".done"][key] == told[3]
    assert events["response.output_item.added"]["item"] == {
        **events["response.output_item.done"]["item"], key: "", "status": "in_progress"}
    assert {**events["response.output_item.done"]["item"], "id": "",
            "call_id": ""} == {**item, "id": "", "call_id": ""}
    result = {"type": told[0] + "_output", "call_id": item["call_id"], "output": "Done."}
    after = prompt_tokens(calling, [result], previous_response_id=whole["id"], tools=AGENTS_TOOLS)
    asked = {"role": "user", "content": "How is it?"}
    assert prompt_tokens(calling, [asked, {"type": "item_reference", "id": item["id"]},
                                   result], tools=AGENTS_TOOLS) == after
    if "words" not in arguments:  # which are no input, and come back as one
        assert prompt_tokens(calling, [asked, item, result], tools=AGENTS_TOOLS) == after


def test_models_are_told_the_grammar_of_a_tools_text(calling):
    tool = {"type": "custom", "name": "say", "description": "Says."}
    bare, described = ({**tool, **more} for more in (
        {}, {"format": {"type": "grammar", "syntax": "lark", "definition": "start: LINE"}}))
    n_bare, n_described = (prompt_tokens(calling, "Hi", tools=[tool]) for tool in (bare, described))
    assert n_bare < n_described


@pytest.mark.parametrize("choice,told", [
    ({"type": "function", "name": "go", "namespace": "on"}, ("function_call", "on", "go")),
    ({"type": "custom", "name": "say"}, ("custom_tool_call", None, "say"))])
def test_a_tool_of_any_kind_can_be_forced(calling, choice, told):
    status, answer, _ = calling.request("POST", "/v1/responses", {
        "input": "How is it?", "seed": 3, "tools": AGENTS_TOOLS, "tool_choice": choice})
    assert status == 200, answer
    [item, *_] = answer["output"]
    assert (item["type"], item.get("namespace"), item["name"]) == told


@pytest.mark.parametrize("name", ["anthropic", "ollama", "ai"])
def test_other_official_clients_read_calls(calling, name):
    Client("clients").drive(calling, f"{name}_tools.test.mjs", CALL=PARTS)


def test_the_form_is_told(calling):
    [model] = calling.request("GET", "/v1/models")[1]["data"]
    assert model["tool_call_form"] == "hermes" and model["reasoning"] is True
    shown = calling.request("POST", "/api/show", {"model": "tale"})[1]
    assert shown["capabilities"] == ["completion", "tools", "thinking"]
