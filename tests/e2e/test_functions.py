"""OpenAI's older and newer shapes of tools on chats: functions, custom tools, allowed tools."""
import json

import pytest
from conftest import TOOLS, written
from fleet import Fleet
from infill_model import model_with_tokens

FUNCTIONS = [tool["function"] for tool in TOOLS]
ASKED = [{"role": "user", "content": "How is it?"}]
CUSTOM = {"type": "custom", "custom": {"name": "say", "description": "Says.", "format": {
    "type": "grammar", "grammar": {"syntax": "lark", "definition": "start: LINE"}}}}
OTHER = {"type": "function", "function": {"name": "go", "parameters": {"type": "object"}}}


def called(*calls):
    return written("".join(f'<tool_call>{json.dumps({"name": name, "arguments": arguments})}'
                           "</tool_call>" for name, arguments in calls))


def ask(calling, **body):
    body = {"messages": ASKED, "seed": 3, "max_tokens": 200, **body}
    [choice] = calling.post("/v1/chat/completions", body)["choices"]
    return choice


def deltas(calling, **body):
    body = {"messages": ASKED, "seed": 3, "max_tokens": 200, "stream": True, **body}
    *events, _ = calling.stream("/v1/chat/completions", **body).events
    return [event.json()["choices"][0] for event in events]


def joined(parts):
    """Pieces of one call's object, as one."""
    made = {}
    for part in parts:
        for key, value in part.items():
            made[key] = made[key] + value if key in made else value
    return made


OSLO = ("weather", {"city": "Oslo"})


def test_functions_are_answered_by_a_function_call(calling):
    body = {"functions": FUNCTIONS, **called(OSLO)}
    choice = ask(calling, **body)
    call = choice["message"]["function_call"]
    assert call["name"] == "weather" and json.loads(call["arguments"]) == OSLO[1]
    assert choice["finish_reason"] == "function_call"
    assert "tool_calls" not in choice["message"] and choice["message"]["content"] is None
    chunks = deltas(calling, **body)
    told = [chunk["delta"] for chunk in chunks if "function_call" in chunk["delta"]]
    assert joined(one["function_call"] for one in told) == call
    assert chunks[-1]["finish_reason"] == "function_call"
    assert "tool_calls" not in json.dumps(chunks)


def test_further_calls_are_not_lost(calling):
    body = {"functions": FUNCTIONS, **called(OSLO, ("weather", {"city": "Rome"}))}
    message = ask(calling, **body)["message"]
    [second] = message["tool_calls"]
    assert "Oslo" in message["function_call"]["arguments"]
    assert "Rome" in second["function"]["arguments"]
    chunks = [chunk["delta"] for chunk in deltas(calling, **body)]
    assert "Oslo" in joined(c["function_call"] for c in chunks if "function_call" in c)["arguments"]
    assert "Rome" in "".join(c["tool_calls"][0]["function"]["arguments"]
                             for c in chunks if "tool_calls" in c)


@pytest.mark.parametrize("choice,is_call", [({"name": "weather"}, True), ("none", False),
                                            ("auto", False)])
def test_a_function_can_be_forced(calling, choice, is_call):
    answer = ask(calling, functions=FUNCTIONS, function_call=choice, temperature=0)
    assert (answer["finish_reason"] == "function_call") == is_call
    if is_call:
        assert set(json.loads(answer["message"]["function_call"]["arguments"])) >= {"city"}


def test_a_conversation_with_functions_is_one_with_tools(shown):
    call = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    older = [*ASKED, {"role": "assistant", "content": None, "function_call": call},
             {"role": "function", "name": "weather", "content": "Rain."},
             {"role": "assistant", "content": "It rains.", "function_call": None}, *ASKED]
    newer = [*ASKED, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call00000", "type": "function", "function": call}]},
        {"role": "tool", "name": "weather", "content": "Rain.", "tool_call_id": "call00000"},
        {"role": "assistant", "content": "It rains."}, *ASKED]
    for path in ("/apply-template", "/v1/chat/completions"):
        one, other = (shown.request("POST", path, {**body, "max_tokens": 1, "temperature": 0})[1]
                      for body in ({"messages": older, "functions": FUNCTIONS},
                                   {"messages": newer, "tools": TOOLS}))
        assert (one["prompt"] == other["prompt"] if "prompt" in one
                else one["usage"]["prompt_tokens"] == other["usage"]["prompt_tokens"])


@pytest.mark.parametrize("arguments,told", [({"input": '*** "A"\n'}, '*** "A"\n'),
                                            ({"words": "Hi"}, '{"words":"Hi"}')])
def test_custom_tools_get_text(calling, arguments, told):
    body = {"tools": [*TOOLS, CUSTOM], **called(("say", arguments))}
    choice = ask(calling, **body)
    [call] = choice["message"]["tool_calls"]
    assert call == {"id": call["id"], "type": "custom", "custom": {"name": "say", "input": told}}
    assert choice["finish_reason"] == "tool_calls"
    [streamed] = [chunk["delta"]["tool_calls"] for chunk in deltas(calling, **body)
                  if "tool_calls" in chunk["delta"]]
    assert streamed == [{**call, "index": 0, "id": streamed[0]["id"]}]


def test_a_custom_tool_can_be_forced_and_its_call_comes_back(calling, shown):
    choice = ask(calling, tools=[CUSTOM, *TOOLS], temperature=0, max_tokens=400,
                 tool_choice={"type": "custom", "custom": {"name": "say"}})
    assert '"say"' in json.dumps(choice["message"]["tool_calls"] if "tool_calls" in
                                 choice["message"] else choice["message"]["content"]).replace(
                                     '\\', "")  # the end of the text may cut the input off
    call = {"id": "call00000", "type": "custom", "custom": {"name": "say", "input": 'a "b"'}}
    result = {"role": "tool", "tool_call_id": "call00000", "content": "Said."}
    prompt = shown.request("POST", "/apply-template", {"tools": [CUSTOM], "messages": [
        *ASKED, {"role": "assistant", "content": None, "tool_calls": [call]}, result]})[1]["prompt"]
    messages, tools, *_ = prompt.split("|")
    function = json.loads(messages)[1]["tool_calls"][0]["function"]
    assert function["name"] == "say" and '\\"b\\"' in json.dumps(function["arguments"])
    [tool] = json.loads(tools)
    assert "start: LINE" in tool["function"]["description"]
    assert list(tool["function"]["parameters"]["properties"]) == ["input"]


def allowed(mode, *names, kind="function"):
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [
        {"type": kind, kind: {"name": name}} for name in names]}}


@pytest.mark.parametrize("choice,name", [(allowed("required", "go"), "go"),
                                         (allowed("required", "weather", "weather"), "weather"),
                                         (allowed("required", "say", kind="custom"), "say")])
def test_only_allowed_tools_are_called(calling, choice, name):
    for seed in range(4):
        answer = ask(calling, tools=[*TOOLS, OTHER, CUSTOM], tool_choice=choice, seed=seed,
                     temperature=2, max_tokens=400)
        calls = answer["message"].get("tool_calls", [])
        assert all(call[call["type"]]["name"] == name for call in calls)
        assert calls or answer["finish_reason"] == "length"


def test_allowed_tools_are_those_that_the_model_sees(shown):
    tools = [*TOOLS, OTHER]
    prompt, of_one = (shown.request("POST", "/apply-template", {"messages": ASKED, **body})[1][
        "prompt"] for body in ({"tools": tools, "tool_choice": allowed("auto", "go")},
                               {"tools": [OTHER]}))
    assert prompt == of_one
    status, answer, _ = shown.request("POST", "/v1/responses", {
        "input": "How is it?", "max_output_tokens": 16, "tools": [
            {"type": "function", "name": "weather"}, {"type": "function", "name": "go"}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [
            {"type": "function", "name": "go"}, {"type": "web_search"}]}})
    assert status == 200, answer


@pytest.mark.parametrize("body,param,words", [
    ({"functions": FUNCTIONS, "tools": TOOLS}, "functions", "not together"),
    ({"functions": [{}]}, "functions", "name"),
    ({"functions": "weather"}, "functions", "array"),
    ({"functions": FUNCTIONS, "function_call": {"name": "go"}}, "function_call",
     "one of"),
    ({"functions": FUNCTIONS, "function_call": "many"}, "function_call", "must be"),
    ({"functions": FUNCTIONS, "function_call": "none", "tool_choice": "none"}, "function_call",
     "not together"),
    ({"tools": TOOLS, "tool_choice": allowed("auto", "go")}, "tool_choice", "go"),
    ({"tools": TOOLS, "tool_choice": allowed("often", "weather")}, "tool_choice", "mode"),
    ({"tools": TOOLS, "tool_choice": allowed("auto")}, "tool_choice", "one tool"),
    ({"tools": [{"type": "custom"}]}, "tools", "must be")], ids=range(10))
def test_what_cannot_be_is_refused_by_name(calling, body, param, words):
    status, answer, _ = calling.request("POST", "/v1/chat/completions", {"messages": ASKED, **body})
    assert (status, answer["error"]["param"]) == (400, param), answer
    assert words in answer["error"]["message"]


# ---- a token that opens calls and ends turns ----

SEPARATORS = ["<|message_sep|>\n\n", "<|role_sep|>\n"]
GIGACHAT = """{% for m in messages %}{{ m.role }}<|role_sep|>
{{ m.content }}<|message_sep|>

{% endfor %}{{ tools | tojson if tools }}{# 'role': 'function call' #}assistant<|role_sep|>
"""


def test_the_token_before_a_call_does_not_end_a_turn_that_may_call(tmp_path):
    """GigaChat 3 writes a call as a message behind the one that has the text."""
    (tmp_path / "template.jinja").write_text(GIGACHAT)
    model = model_with_tokens(tmp_path / "tale", SEPARATORS, SEPARATORS)
    with Fleet(model=model, gateway_args=["--chat-template",
                                          tmp_path / "template.jinja"]) as fleet:
        [separator] = fleet.post("/tokenize", {"text": SEPARATORS[0]})["tokens"]
        body = {"messages": ASKED, "max_tokens": 3, "allowed_token_ids": [separator]}
        for tools, n, reason in ([], 1, "stop"), (TOOLS, 3, "length"):
            answer = fleet.post("/v1/chat/completions", {**body, **({"tools": tools} if tools
                                                                    else {})})
            [choice] = answer["choices"]
            assert (answer["usage"]["completion_tokens"], choice["finish_reason"]) == (n, reason)
            assert not choice["message"]["content"]
