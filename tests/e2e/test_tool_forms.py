"""Calls in several models' forms, by the official client. Structures make the model write them."""
import json
import re
import shutil

import pytest
from conftest import TOOLS, written
from fleet import ROOT, Fleet
from javascript import Client

TURNS = ("{{% if tools %}}{{{{ tools | tojson }}}}{{% endif %}}{{% for m in messages %}}"
         "{{{{ m.role }}}}: {{{{ m.content }}}}"
         "{{% for c in m.tool_calls or [] %}}{}{{% endfor %}}\n{{% endfor %}}")

# By the form: what its template shows, a call, and how a whole answer begins.
FORMS = {
    "qwen3-coder": ("<tool_call><function={{ c.function.name }}><parameter=...>",
                    "<tool_call>\n<function=weather>\n<parameter=city>\n7\n</parameter>\n"
                    "</function>\n</tool_call>", ""),
    "glm4": ("<tool_call>{{ c.function.name }}<arg_key></arg_key>",
             "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>7</arg_value>\n</tool_call>",
             "<think>Hm.</think>"),
    "apertus": ("<|tools_prefix|>{{ c.function.name }}",
                '<|tools_prefix|>[{"weather": {"city": "7"}}]<|tools_suffix|>', ""),
    "solar-open": ("<|tool_calls|><|tool_call:name|>{{ c.function.name }}",
                   "<|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>weather"
                   '<|tool_call:args|>{"city": "7"}<|tool_call:end|>', ""),
    "minimax-m3": ("]<]minimax[>[{{ c.function.name }}",
                   ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="weather">]<]minimax[>[<city>'
                   "7]<]minimax[>[</city>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>", ""),
    "harmony": (
        "<|channel|>commentary to=functions.{{ c.function.name }}<|channel|>analysis<|message|>",
        '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "7"}',
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"),
}


@pytest.fixture(scope="module", params=FORMS)
def form(request, tmp_path_factory):
    """(a fleet whose template shows the form, a call, how an answer with reasoning begins)"""
    shown, call, begin = FORMS[request.param]
    template = tmp_path_factory.mktemp("template") / "form.jinja"
    template.write_text(TURNS.format(shown) + ("{# <think> #}" if "<think>" in begin else ""))
    with Fleet(gateway_args=["--chat-template", template]) as fleet:
        yield fleet, call, begin
        fleet.wait_all_free()


def test_a_call_is_told_and_its_reasoning(form):
    fleet, call, begin = form
    body = {"messages": [{"role": "user", "content": "How is it?"}], "tools": TOOLS,
            **written(begin + call)}
    answer = fleet.post("/v1/chat/completions", body)
    [choice] = answer["choices"]
    [told] = choice["message"]["tool_calls"]
    assert told["function"]["name"] == "weather"
    assert json.loads(told["function"]["arguments"]) == {"city": "7"}
    assert choice["message"].get("reasoning_content", "") == ("Hm." if begin else "")
    assert choice["message"]["content"] is None and choice["finish_reason"] == "tool_calls"


def test_the_official_client_goes_round(form):
    fleet, call, begin = form
    Client("openai").drive(fleet, "tools.test.mjs", "/v1", CALL=begin + call)


def test_special_tokens_of_the_form_are_read_and_not_shown(tmp_path):
    model = tmp_path / "gpt-oss"
    shutil.copytree(ROOT / "tests/fixtures/models/gpt-oss", model)
    config = model / "generation_config.json"
    # Not <|end|>.
    config.write_text(json.dumps({**json.loads(config.read_text()),
                                  "eos_token_id": [761, 762, 767]}))
    (model / "chat_template.jinja").write_text(
        "{{ tools[0].function.name if tools }}"
        "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}"
        "{% if m.role == 'assistant' %}<|return|>{% else %}<|end|>{% endif %}{% endfor %}"
        "<|start|>assistant{# <|channel|>analysis<|message|> #}")
    answer = ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
              "to=functions.f json<|message|>{}")
    parts = [{"type": "token", "token": part} if part[:1] == "<"
             else {"type": "const_string", "value": part}
             for part in re.split(r"(<\|\w+\|>)", answer) if part]
    body = {"messages": [{"role": "user", "content": "?"}],
            "tools": [{"type": "function", "function": {"name": "f"}}],
            "response_format": {"type": "structural_tag",
                                "format": {"type": "sequence", "elements": parts}}}
    with Fleet(model=model) as fleet:
        told = fleet.post("/v1/chat/completions", body)
        [choice] = told["choices"]
        assert choice["message"]["reasoning_content"] == "Hm."
        assert choice["message"]["content"] is None
        assert [call["function"]
                for call in choice["message"]["tool_calls"]] == [{"name": "f", "arguments": "{}"}]
        fleet.wait_all_free()
