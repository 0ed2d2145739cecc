"""Calls that a client forces, or holds to schemas: whatever the model would write, they fit."""
import json

import pytest
from conftest import TOOLS, written
from fleet import Fleet, Stream

WEATHER = {"type": "object",
           "properties": {"city": {"type": "string", "maxLength": 6},
                          "days": {"$ref": "#/$defs/few"}, "unit": {"enum": ["C", "F"]}},
           "required": ["city", "days", "unit"], "additionalProperties": False,
           "$defs": {"few": {"type": "integer", "minimum": 1, "maximum": 9}}}
SOME = [{"type": "function",
         "function": {"name": "weather", "strict": True, "parameters": WEATHER}},
        {"type": "function", "function": {"name": "now"}}]
NAMED = {"type": "function", "function": {"name": "weather"}}


# Names a form, and shows nothing of the tools.
SILENT = ("{% if tools %}{{ tools[0].function.name }}<tool_call>{% endif %}"
          "{% for message in messages %}{{ message.content }}\n{% endfor %}")


@pytest.fixture
def silent(tmp_path):
    template = tmp_path / "silent.jinja"
    template.write_text(SILENT)
    with Fleet(gateway_args=["--chat-template", template]) as started:
        yield started


def body(**more):
    return {"messages": [{"role": "user", "content": "How is it?"}], "tools": SOME,
            "temperature": 1.5, "max_tokens": 200, **more}


def ask(fleet, **more):
    return fleet.post("/v1/chat/completions", body(**more))["choices"][0]


def check(call):
    """The call fits its function."""
    arguments = json.loads(call["function"]["arguments"])
    if call["function"]["name"] == "now":
        assert arguments == {}
        return
    assert call["function"]["name"] == "weather" and set(arguments) == {"city", "days", "unit"}
    assert isinstance(arguments["city"], str) and len(arguments["city"]) <= 6
    assert arguments["days"] in range(1, 10) and arguments["unit"] in ("C", "F")


@pytest.mark.parametrize("seed", range(6))
def test_required_is_one_call_or_several(calling, seed):
    message = ask(calling, tool_choice="required", parallel_tool_calls=seed % 2 == 0, seed=seed,
                  max_tokens=400)["message"]
    if "tool_calls" not in message:  # cut off by max_tokens
        pytest.fail(str(message))
    for call in message["tool_calls"]:
        check(call)
    assert seed % 2 == 0 or len(message["tool_calls"]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_name_is_one_call_of_that_function(calling, seed):
    choice = ask(calling, tool_choice=NAMED, seed=seed)
    [call] = choice["message"]["tool_calls"]
    check(call)
    assert call["function"]["name"] == "weather" and choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None


def test_streams_and_drafts_tell_the_same_calls(calling):
    def calls(**more):
        return [call["function"] for call in ask(calling, tool_choice=NAMED, seed=5,
                                                 **more)["message"]["tool_calls"]]
    *events, last = calling.stream("/v1/chat/completions",
                                   **body(tool_choice=NAMED, seed=5, stream=True)).events
    parts = [part["function"] for event in events for choice in json.loads(event.data)["choices"]
             for part in choice["delta"].get("tool_calls", [])]
    streamed = [{**parts[0], "arguments": "".join(part["arguments"] for part in parts)}]
    assert last.data == "[DONE]" and calls() == streamed
    assert calls(speculation={"mode": "prompt_lookup", "max_tokens": 8}) == streamed


def test_an_answer_by_a_schema_may_be_calls(calling):
    number = {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {
        "type": "integer", "minimum": 0, "maximum": 99}}}}
    for seed in range(6):
        message = ask(calling, seed=seed, **number)["message"]
        if "tool_calls" in message:
            check(message["tool_calls"][0])
        else:
            assert 0 <= json.loads(message["content"]) <= 99
    assert "tool_calls" in ask(calling, tool_choice=NAMED, seed=1, **number)["message"]


def test_reasoning_may_come_before_a_forced_call(calling):
    choice = ask(calling, tool_choice=NAMED, seed=2, max_tokens=400,
                 chat_template_kwargs={"enable_thinking": True}, logit_bias={})
    if choice["finish_reason"] == "length":  # it may reason for long
        assert "tool_calls" not in choice["message"]
    else:
        check(choice["message"]["tool_calls"][0])


def test_many_tools_are_read(silent):
    properties = {f"a_rather_long_name_{i}": {"type": "integer", "description": "d" * 90}
                  for i in range(12)}
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    tools = [{"type": "function", "function": {"name": f"tool_{i}", "parameters": parameters}}
             for i in range(64)]
    assert len(json.dumps(tools)) > 64 << 10
    [call] = ask(silent, tools=tools, tool_choice="required", parallel_tool_calls=False,
                 max_tokens=480)["message"]["tool_calls"]
    assert call["function"]["name"] in {tool["function"]["name"] for tool in tools}
    assert set(json.loads(call["function"]["arguments"])) <= set(properties)
    more = body(tools=[{"type": "function", "function": {
        "name": "f", "strict": True, "parameters": {"const": {"a": "x" * (300 << 10)}}}}])
    status, answer, _ = silent.request("POST", "/v1/chat/completions", more)
    assert (status == 400
            and "tools[0].function.parameters: with it the schemas are longer than 262144 bytes"
            in answer["error"]["message"])


def function(**parameters):
    return [*TOOLS, {"type": "function",
                     "function": {"name": "f", "strict": True, "parameters": parameters}}]


@pytest.mark.parametrize("more, param, words", [
    ({"tool_choice": {"type": "function", "function": {"name": "rain"}}}, "tool_choice",
     "tools has no function called rain"),
    ({"tool_choice": "some"}, "tool_choice", "must be"),
    ({"tool_choice": {"type": "custom"}}, "tool_choice", "must be"),
    ({"tool_choice": "required", "tools": None}, "tool_choice", "needs functions in tools"),
    ({"tool_choice": "required", "regex": "a"}, "tool_choice", "cannot be combined with"),
    ({"tool_choice": "required", "ignore_eos": True}, "ignore_eos", "tool calls"),
    ({"parallel_tool_calls": 1}, "parallel_tool_calls", "true or false"),
    ({"tools": function(properties={"a": {"unevaluatedItems": False}})}, "tools",
     "tools[1].function.parameters: #/properties/a"),
])
def test_what_cannot_be_held_is_named(calling, more, param, words):
    status, answer, _ = calling.request("POST", "/v1/chat/completions", body(**more))
    assert (status == 400 and answer["error"]["param"] == param
            and words in answer["error"]["message"]), answer


UNHELD = {"type": "object", "$defs": {"d": {"type": "integer", "disallow": "string"}},
          "properties": {"city": {"type": "string", "maxLength": 9, "pattern": "(?=a)b"},
                         "days": {"allOf": [{"$ref": "#/$defs/d"}, {"minimum": 1, "maximum": 9}]},
                         "a/b": {"oneOf": [{"type": "integer", "maximum": 9, "minimum": 0},
                                           {"type": "number", "maximum": 8, "minimum": 0}]}},
          "required": ["city", "days", "a/b"], "additionalProperties": False}


def test_what_cannot_be_held_of_a_tool_that_is_not_strict_is_dropped(silent):
    tools = [{"type": "function", "function": {"name": "f", "parameters": UNHELD}}]
    dropped = ["a~1b/oneOf", "city/pattern", "days/disallow"]
    for seed in range(3):
        asked = body(tools=tools, tool_choice="required", seed=seed, max_tokens=400)
        status, answer, headers = silent.request("POST", "/v1/chat/completions", asked)
        assert status == 200, answer
        places = headers["x-baton-ignored"].split(", ")
        assert sorted(places) == [f"tools[0].function.parameters/properties/{place}"
                                  for place in dropped]
        for call in answer["choices"][0]["message"].get("tool_calls", []):
            given = json.loads(call["function"]["arguments"])
            assert (len(given["city"]) < 10 and 1 <= given["days"] <= 9 and 0 <= given["a/b"] <= 9
                    and len(given) == 3)
    tools[0]["function"]["strict"] = True
    status, answer, _ = silent.request("POST", "/v1/chat/completions", asked)
    assert status == 400 and "not supported" in answer["error"]["message"], answer


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_anthropics_choices_force_blocks_of_calls(calling, choice):
    tools = [{"name": "weather", "input_schema": WEATHER}, {"name": "now", "input_schema": {
        "type": "object", "additionalProperties": False}}]
    status, answer, _ = calling.request("POST", "/v1/messages", {
        "messages": [{"role": "user", "content": "How is it?"}], "max_tokens": 300, "tools": tools,
        "seed": 4, "tool_choice": {**choice, "disable_parallel_tool_use": True}})
    assert status == 200 and answer["stop_reason"] == "tool_use", answer
    [block] = answer["content"]
    assert block["type"] == "tool_use"
    check({"function": {"name": block["name"], "arguments": json.dumps(block["input"])}})
    tools[0]["input_schema"] = {"type": "object", "properties": {"a": {"unevaluatedItems": False}}}
    asked = {"messages": [{"role": "user", "content": "How?"}], "max_tokens": 3, "tools": tools,
             "tool_choice": {"type": "any"}}
    status, _, headers = calling.request("POST", "/v1/messages", asked)
    assert status == 200
    assert headers["x-baton-ignored"] == "tools[0].input_schema/properties/a/unevaluatedItems"
    tools[0]["strict"] = True
    status, answer, _ = calling.request("POST", "/v1/messages", asked)
    assert (status == 400
            and "tools[0].input_schema: #/properties/a" in answer["error"]["message"]), answer


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}])
def test_responses_are_forced_too(calling, choice):
    tools = [{"type": "function", "name": "weather", "parameters": WEATHER, "strict": True}]
    status, answer, _ = calling.request("POST", "/v1/responses", {
        "input": "How is it?", "tools": tools, "tool_choice": choice, "seed": 5,
        "max_output_tokens": 300, "parallel_tool_calls": False, "store": False})
    assert status == 200, answer
    [item] = answer["output"]
    assert item["type"] == "function_call"
    check({"function": item})


def test_ollamas_format_leaves_room_for_calls(calling):
    status, answer, _ = calling.request("POST", "/api/chat", {
        "messages": [{"role": "user", "content": "How?"}], "tools": SOME, "tool_choice": NAMED,
        "stream": False, "format": {"type": "integer"}, "options": {"num_predict": 300, "seed": 2}})
    assert status == 200, answer
    [call] = answer["message"]["tool_calls"]
    check({"function": {"name": call["function"]["name"],
                        "arguments": json.dumps(call["function"]["arguments"])}})


@pytest.fixture(scope="module")
def plain():
    """A fleet whose template knows neither tools nor a form of calls."""
    with Fleet(gateway_args=["--chat-template", "chatml"]) as started:
        yield started
        started.wait_all_free()


CITY = [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 6}},
    "required": ["city"], "additionalProperties": False}}}]
ASKED = [{"role": "user", "content": "How is it?"}]


def test_any_template_calls_in_the_generic_form(plain):
    """Told as calls in all four APIs, and in their streams."""
    function, short = CITY[0]["function"], dict(max_tokens=100, temperature=1.5)
    chat = dict(messages=ASKED, tools=CITY, tool_choice="required", parallel_tool_calls=False)
    [choice] = plain.post("/v1/chat/completions", {**chat, **short})["choices"]
    [call] = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and call["function"]["name"] == "weather"
    assert set(json.loads(call["function"]["arguments"])) == {"city"}
    named = {**chat, **short, "tool_choice": NAMED, "stream": True}
    events = list(Stream(plain.port, named, "/v1/chat/completions").events)[:-1]
    deltas = [event.json()["choices"][0]["delta"] for event in events]
    assert any(delta.get("tool_calls") for delta in deltas)
    assert not any(delta.get("content") for delta in deltas)
    anthropic = plain.post("/v1/messages", dict(
        messages=ASKED, tool_choice={"type": "tool", "name": "weather"}, **short,
        tools=[{"name": "weather", "input_schema": function["parameters"]}]))
    [block] = [one for one in anthropic["content"] if one["type"] == "tool_use"]
    assert block["name"] == "weather" and set(block["input"]) == {"city"}
    response = plain.post("/v1/responses", dict(
        input="How is it?", tools=[{"type": "function", **function}], tool_choice="required",
        max_output_tokens=100, parallel_tool_calls=False, temperature=1.5))
    [item] = [one for one in response["output"] if one["type"] == "function_call"]
    assert item["name"] == "weather" and set(json.loads(item["arguments"])) == {"city"}
    ollama = plain.post("/api/chat", {**chat, "model": "tale", "stream": False,
                                      "options": {"num_predict": 100, "temperature": 1.5}})
    [call] = ollama["message"]["tool_calls"]
    assert call["function"]["name"] == "weather" and set(call["function"]["arguments"]) == {"city"}


def test_tools_that_a_template_does_not_show_are_told(plain):
    def prompt(**more):
        return plain.post("/apply-template", {
            "messages": [{"role": "system", "content": "Be kind."}, *ASKED], **more})["prompt"]

    told = prompt(tools=CITY)
    system = told.split("<|im_end|>")[0]
    assert system.startswith("<|im_start|>system\nBe kind.\n\n# Tools\n")
    [line] = [line for line in system.splitlines() if line.startswith('{"type"')]
    assert json.loads(line) == CITY[0]
    assert '<tool_call>\n{"name": <function-name>, "arguments": ' in system
    assert told.split("<|im_end|>")[1:] == prompt().split("<|im_end|>")[1:]
    assert prompt(tools=CITY, tool_choice="none") == prompt()
    model = plain.request("GET", "/v1/models")[1]["data"][0]
    assert model["tool_call_form"] == "generic"
    assert "tools_told" in model["chat_template_abilities"]["with_tools"]
    # A model that calls by itself is understood, and its text stays.
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "7"}}\n</tool_call>'
    [choice] = plain.post("/v1/chat/completions", dict(
        messages=ASKED, tools=CITY, **written("See.\n" + call)))["choices"]
    assert choice["message"]["content"].strip() == "See."
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"city": "7"}
