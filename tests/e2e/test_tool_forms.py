"""Calls in some of the forms that models have, by the official client. Structures make the model write them."""
import json

import pytest
from conftest import TOOLS, written
from fleet import Fleet
from javascript import Client

TURNS = ("{{% if tools %}}{{{{ tools | tojson }}}}{{% endif %}}{{% for m in messages %}}{{{{ m.role }}}}: "
         "{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}{}{{% endfor %}}\n{{% endfor %}}")

# By the form: what its template shows, a call, and how a whole answer begins.
FORMS = {
    "qwen3-coder": ("<tool_call><function={{ c.function.name }}><parameter=...>",
                    "<tool_call>\n<function=weather>\n<parameter=city>\n7\n</parameter>\n</function>\n</tool_call>", ""),
    "glm4": ("<tool_call>{{ c.function.name }}<arg_key></arg_key>",
             "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>7</arg_value>\n</tool_call>",
             "<think>Hm.</think>"),
    "harmony": ("<|channel|>commentary to=functions.{{ c.function.name }}<|channel|>analysis<|message|>",
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
    body = {"messages": [{"role": "user", "content": "How is it?"}], "tools": TOOLS, **written(begin + call)}
    status, answer, _ = fleet.request("POST", "/v1/chat/completions", body)
    assert status == 200, answer
    [choice] = answer["choices"]
    [told] = choice["message"]["tool_calls"]
    assert told["function"]["name"] == "weather" and json.loads(told["function"]["arguments"]) == {"city": "7"}
    assert choice["message"].get("reasoning_content", "") == ("Hm." if begin else "")
    assert choice["message"]["content"] is None and choice["finish_reason"] == "tool_calls"


def test_the_official_client_goes_round(form):
    fleet, call, begin = form
    Client("openai").drive(fleet, "tools.test.mjs", "/v1", CALL=begin + call)
