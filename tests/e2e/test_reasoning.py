"""Reasoning, told apart from the answer's text. Structures make the model write it."""
import json

import pytest
from conftest import SHOW, TOOLS, written
from fleet import Fleet
from javascript import Client

REASONING = "<think>\nHm. It <may> rain.\n</think>\n\n"
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
OPEN = {"chat_template_kwargs": {"enable_thinking": True}}


def body(text, **more):
    return {"model": "tale", "messages": [{"role": "user", "content": "How is it?"}], "seed": 3,
            **written(text), **more}


def ask(calling, text, **more):
    """(message, usage)"""
    answer = calling.post("/v1/chat/completions", body(text, **more))
    return answer["choices"][0]["message"], answer["usage"]


def stream(calling, text, **more):
    """(reasoning, content) of all chunks together."""
    reasoning = content = ""
    *events, last = calling.stream("/v1/chat/completions", **body(text, **more), stream=True).events
    assert last.data == "[DONE]"
    for event in events:
        for choice in json.loads(event.data)["choices"]:
            assert not (content and choice["delta"].get("reasoning_content"))
            reasoning += choice["delta"].get("reasoning_content", "")
            content += choice["delta"].get("content", "")
    return reasoning, content


def test_reasoning_is_a_part_of_the_message_and_not_of_its_text(calling):
    message, usage = ask(calling, REASONING + "Yes.")
    assert message["reasoning_content"] == "Hm. It <may> rain." and message["content"] == "Yes."
    assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]
    assert stream(calling, REASONING + "Yes.") == ("Hm. It <may> rain.", "Yes.")


def test_the_prompt_may_have_opened_it(calling):
    message, _ = ask(calling, "Hm.\n</think>\nYes.", **OPEN)
    assert message["reasoning_content"] == "Hm." and message["content"] == "Yes."
    assert stream(calling, "Hm.\n</think>\nYes.", **OPEN) == ("Hm.", "Yes.")


def test_without_an_end_all_is_reasoning_and_the_answer_too(calling):
    message, _ = ask(calling, "<think>Hm.")
    assert message["reasoning_content"] == message["content"] == "Hm."
    assert stream(calling, "<think>Hm.") == ("Hm.", "Hm.")
    blocks = calling.post("/v1/messages", dict(body("<think>Hm."), max_tokens=60))["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text"]
    assert blocks[1]["text"] == "Hm."
    # What the length cuts off goes on, and what has an end has said nothing.
    cut, _ = ask(calling, "<think>" + "It may rain. " * 40, max_tokens=30)
    assert cut["reasoning_content"] and not cut["content"]
    silent, _ = ask(calling, "<think>Hm.</think>")
    assert silent["reasoning_content"] == "Hm." and not silent["content"]


def test_a_message_goes_on_within_its_reasoning(calling):
    talk = [{"role": "user", "content": "How is it?"},
            {"role": "assistant", "content": "<think>It may"}]
    message, _ = ask(calling, " rain.</think>Yes.", messages=talk, continue_final_message=True)
    assert message["reasoning_content"] == "rain." and message["content"] == "Yes."


def test_a_marker_further_on_is_text(calling):
    message, usage = ask(calling, "Write <think>Hm.</think>")
    assert message["content"] == "Write <think>Hm.</think>" and "reasoning_content" not in message
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 0


@pytest.mark.parametrize("name", ["auto", "deepseek"])
def test_calls_follow_reasoning(calling, name):
    message, _ = ask(calling, REASONING + CALL, tools=TOOLS, reasoning_format=name)
    assert message["reasoning_content"] == "Hm. It <may> rain." and message["content"] is None
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo"}


def test_none_leaves_it_in_the_text(calling):
    message, _ = ask(calling, REASONING + "Yes.", reasoning_format="none")
    assert message["content"] == REASONING + "Yes." and "reasoning_content" not in message


SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": "Yes."}}}
FORMS = [{"response_format": SCHEMA}, {"regex": r'"Yes\."'}, {"grammar": 'root ::= "\\"Yes.\\""'},
         {"structured_outputs": {"choice": ['"Yes."']}}]
OFF = [{"reasoning_effort": "none"}, {"enable_thinking": False}, {"thinking": {"type": "disabled"}},
       {"reasoning": {"effort": "none"}}, {"reasoning": {"enabled": False}},
       {"thinking_token_budget": 0}, {"chat_template_kwargs": {"enable_thinking": False}}]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_form_begins_behind_the_reasoning(calling, form):
    """Which this model does not end."""
    message, usage = ask(calling, "", **{"response_format": None, **form, **OPEN}, max_tokens=9)
    assert message["reasoning_content"] and message["content"] == ""
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 9


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
@pytest.mark.parametrize("off", OFF, ids=range(len(OFF)))
def test_without_reasoning_a_form_is_the_answer(calling, form, off):
    message, _ = ask(calling, "", **{"response_format": None, **form, **off}, temperature=2)
    assert message["content"] == '"Yes."' and "reasoning_content" not in message


@pytest.mark.parametrize("off", OFF[:3], ids=range(3))
def test_without_reasoning_a_forced_call_comes_alone(calling, off):
    for seed in range(8):
        body = {"messages": [{"role": "user", "content": "Go."}], "tools": TOOLS, "seed": seed,
                "tool_choice": "required", "temperature": 3, "max_tokens": 300, **off}
        choice = calling.post("/v1/chat/completions", body)["choices"][0]
        assert "reasoning_content" not in choice["message"]
        assert choice["finish_reason"] == "length" or choice["message"]["tool_calls"]


# ---- budgets

STORY = [{"role": "user", "content": "Once upon a time"}]
FREE = {"model": "tale", "messages": STORY, "temperature": 0, "max_tokens": 30}
BUDGETS = [{"thinking_token_budget": 7}, {"thinking_budget": 7}, {"thinking_budget_tokens": 7},
           {"reasoning_budget": 7}, {"reasoning_budget_tokens": 7},
           {"reasoning": {"max_tokens": 7}}, {"thinking": {"type": "enabled", "budget_tokens": 7}},
           {"thinking_token_budget": 9, "reasoning_budget": 7}]


def unbound(calling):
    """What the model thinks without a budget: it does not end."""
    answer = calling.post("/v1/chat/completions", {**FREE, **OPEN})
    return answer["choices"][0]["message"]["reasoning_content"]


def n_tokens(calling, text):
    return len(calling.post("/tokenize", {"content": text})["tokens"])


def assert_is_bound(thought, answer, n, whole, calling):
    assert whole.startswith(thought) and n_tokens(calling, thought) == n, (thought, whole)
    assert answer and "</think>" not in answer


@pytest.mark.parametrize("budget", BUDGETS, ids=range(len(BUDGETS)))
def test_a_budget_closes_the_reasoning(calling, budget):
    answer = calling.post("/v1/chat/completions", {**FREE, **OPEN, **budget})
    [choice] = answer["choices"]
    assert_is_bound(choice["message"]["reasoning_content"], choice["message"]["content"], 7,
                    unbound(calling), calling)
    assert choice["finish_reason"] == "length"
    assert 7 <= answer["usage"]["completion_tokens_details"]["reasoning_tokens"] <= 12


def test_a_budget_holds_on_every_route(calling):
    whole = unbound(calling)
    blocks = calling.post("/v1/messages", {**FREE, "thinking": {
        "type": "enabled", "budget_tokens": 5}})["content"]
    assert_is_bound(blocks[0]["thinking"], blocks[1]["text"], 5, whole, calling)
    blocks = calling.post("/v1/messages", {**FREE, **BUDGETS[0], "thinking": {
        "type": "adaptive"}})["content"]
    assert_is_bound(blocks[0]["thinking"], blocks[1]["text"], 7, whole, calling)
    items = calling.post("/v1/responses", {
        "model": "tale", "input": "Once upon a time", "temperature": 0, "max_output_tokens": 30,
        "reasoning": {"effort": "high"}, "thinking_token_budget": 5})["output"]
    assert_is_bound(items[0]["content"][0]["text"], items[1]["content"][0]["text"], 5, whole,
                    calling)
    for path, prompt in (("/api/chat", {"messages": STORY}),
                         ("/api/generate", {"prompt": "Once upon a time"})):
        answer = calling.post(path, {
            "model": "tale", **prompt, "stream": False, "think": True, "thinking_token_budget": 6,
            "options": {"temperature": 0, "num_predict": 30}})
        told = answer.get("message", {"thinking": answer.get("thinking"),
                                      "content": answer.get("response")})
        assert_is_bound(told["thinking"], told["content"], 6, whole, calling)
    told = stream(calling, "", **{**FREE, **OPEN, "response_format": None, "seed": None,
                                  "thinking_token_budget": 4})
    assert_is_bound(*told, 4, whole, calling)


RAW = {"/v1/completions": {"prompt": "Once"}, "/v1/fim/completions": {"prompt": "a"},
       "/completion": {"prompt": "Once"}, "/infill": {"input_prefix": "a", "input_suffix": "b"},
       "/generate_stream": {"inputs": "Once"}, "/generate": {"prompt": "Once"},
       "/api/generate": {"model": "tale", "prompt": "Once", "raw": True}}


@pytest.mark.parametrize("path", RAW)
def test_where_no_template_opens_reasoning_a_budget_is_refused_by_name(calling, path):
    told = [({name: 4}, name) for name in ("thinking_token_budget", "reasoning_budget_tokens")]
    if path not in ("/generate", "/generate_stream"):  # of which the first refuses all unknown
        told += [({"thinking": {"type": "enabled", "budget_tokens": 4}}, "thinking.budget_tokens"),
                 ({"reasoning": {"max_tokens": 4}}, "reasoning.max_tokens")]
    for budget, name in told:
        status, answer, _ = calling.request("POST", path, {**RAW[path], **budget})
        assert status in (400, 422) and name in json.dumps(answer), (budget, answer)


def test_a_message_may_end_reasoning_that_is_cut_off(calling):
    message, _ = ask(calling, "", **{**FREE, **OPEN, "response_format": None,
                                     "thinking_token_budget": 3,
                                     "reasoning_budget_message": " <b>Enough</think>."})
    assert message["reasoning_content"].endswith(" <b>Enough")  # words are text, as a model's are
    message, _ = ask(calling, "", **{**FREE, **OPEN, "response_format": None,
                                     "thinking_token_budget": 3,
                                     "reasoning_budget_message": " Enough, enough."})
    assert message["reasoning_content"].endswith(" Enough, enough.") and message["content"]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_form_follows_the_budget(calling, form):
    message, _ = ask(calling, "", **{**FREE, "response_format": None, **form, **OPEN,
                                     "thinking_token_budget": 6})
    assert message["content"] == '"Yes."' and n_tokens(calling, message["reasoning_content"]) == 6


def test_a_forced_call_follows_the_budget(calling):
    answer = calling.post("/v1/chat/completions", {
        **FREE, **OPEN, "tools": TOOLS, "tool_choice": "required", "max_tokens": 200,
        "temperature": 3, "seed": 1, "thinking_token_budget": 6})
    message = answer["choices"][0]["message"]
    n_marker = n_tokens(calling, "</think>")
    assert 6 <= answer["usage"]["completion_tokens_details"]["reasoning_tokens"] <= 6 + n_marker
    assert message["reasoning_content"]
    assert message["tool_calls"][0]["function"]["name"] == "weather"


@pytest.mark.parametrize("wrong", [-2, 2**31, 1.5, "many"])
@pytest.mark.parametrize("path,name", [("/v1/chat/completions", "thinking_token_budget"),
                                       ("/v1/messages", "thinking")])
def test_a_budget_out_of_range_is_refused(calling, path, name, wrong):
    value = {"type": "enabled", "budget_tokens": wrong} if name == "thinking" else wrong
    status, answer, _ = calling.request("POST", path, {**FREE, name: value})
    assert status == 400 and name in answer["error"]["message"], answer


def test_in_channels_the_final_one_is_forced_or_a_message_that_may_call(tmp_path):
    template = tmp_path / "channels.jinja"
    template.write_text("{{ tools | tojson if tools }}{{ messages[0].content }}<|end|><|start|>"
                        "assistant<|channel|>analysis<|message|>{# <|call|> #}")
    with Fleet(gateway_args=["--chat-template", template]) as fleet:
        for more, close in (({}, "<|end|><|start|>assistant<|channel|>final<|message|>"),
                            ({"tools": TOOLS}, "<|end|><|start|>assistant")):
            answer = fleet.post("/v1/chat/completions", {
                **FREE, **more, "max_tokens": 60, "thinking_token_budget": 5, "logprobs": True})
            tokens = [one["token"] for one in answer["choices"][0]["logprobs"]["content"]]
            rest = "".join(tokens[5:])
            assert rest.startswith(close) and len(rest) > len(close), tokens
            assert more or "<|channel|>" not in rest[len(close):]


def test_a_message_too_long_to_be_written_is_refused(calling):
    status, answer, _ = calling.request("POST", "/v1/chat/completions", {
        **FREE, **OPEN, "thinking_budget": 5, "reasoning_budget_message": "enough " * 600})
    assert status == 400 and answer["error"]["param"] == "reasoning_budget_message", answer


def test_another_name_is_refused(calling):
    status, answer, _ = calling.request("POST", "/v1/chat/completions",
                                        body("a", reasoning_format="legacy"))
    assert status == 400 and answer["error"]["param"] == "reasoning_format", answer
    assert answer["error"]["message"] == 'reasoning_format: must be "none", "auto" or "deepseek"'


def test_the_official_client_reads_reasoning(calling):
    Client("openai").drive(calling, "reasoning.test.mjs", "/v1", TEXT=REASONING + "Yes.")


@pytest.mark.parametrize("default", ["off", "on"])
def test_the_gateway_decides_for_requests_that_do_not_say(tmp_path, default):
    template = tmp_path / "show.jinja"
    template.write_text(SHOW)
    messages = [{"role": "user", "content": "a"}]
    with Fleet(prefill=0, decode=0, gateway_args=["--reasoning", default, "--chat-template",
                                                  template]) as fleet:
        def told(**more):
            prompt = fleet.post("/apply-template", {"messages": messages, **more})["prompt"]
            return prompt.split("|")[2]
        assert told() == str(default == "on")
        assert told(enable_thinking=True) == told(reasoning_effort="low") == "True"
        assert told(reasoning_effort="none") == told(thinking={"type": "disabled"}) == "False"
        assert told(chat_template_kwargs={"enable_thinking": True}) == "True"
