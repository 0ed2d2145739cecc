"""Conversations: each family's tokenizer, templates, tools, ends of turns, sampling defaults."""
import json
import shutil

import pytest
from fleet import ROOT, Fleet

FIXTURES = ROOT / "tests/fixtures/models"
FAMILIES = ("gemma3", "gpt-oss", "llama", "mistral", "phi3", "qwen3", "smollm3")
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ BEGIN + message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}"
    "[{{ call.function.name }} {{ call.function.arguments | tojson }}]"
    "{% endfor %}{{ END }}\n{% endfor %}"
    "{% if tools %}{{ tools | map(attribute='function.name') | join(' ') }}\n{% endif %}"
    "{% if mood is defined %}{{ mood }}\n{% endif %}"
    "{% if add_generation_prompt %}{{ BEGIN }}assistant\n{% endif %}")
TOOLS = [{"type": "function",
          "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]


def special_tokens(model):
    """Texts of special tokens: one to begin a turn, one to end it."""
    added = json.loads((model / "tokenizer.json").read_text())["added_tokens"]
    texts = [token["content"] for token in added if token["special"]]
    return texts[0], texts[-1]


def model_with(tmp_path, name, template=TEMPLATE, **generation):
    """A copy of a family's model whose template marks turns with its own special tokens."""
    model = tmp_path / name
    shutil.copytree(FIXTURES / name, model)
    begin, end = special_tokens(model)
    names = f"{{% set BEGIN = {json.dumps(begin)} %}}{{% set END = {json.dumps(end)} %}}"
    (model / "chat_template.jinja").write_text(names + template)
    path = model / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **generation}))
    return model, begin, end


def ask(fleet, status=200, **body):
    got, answer, _ = fleet.request("POST", "/v1/chat/completions",
                                   {"max_tokens": 4, "temperature": 0, **body})
    assert got == status, answer
    return answer


def user(content):
    return {"role": "user", "content": content}


def n_tokens(fleet, text):
    return fleet.post("/tokenize", {"text": text})["count"]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_conversation_has_the_tokens_of_the_text_that_the_template_writes(tmp_path, name):
    model, begin, end = model_with(tmp_path, name)
    with Fleet(model=model) as fleet:
        assert fleet.request("GET", "/v1/models")[1]["data"][0]["chat_template"] == "model"

        def ids(**body):
            return ask(fleet, **body)["usage"]["prompt_tokens"]
        plain = ids(messages=[user("ab")])
        assert plain >= 4 and ids(messages=[user("ab"), user("cd")]) > plain
        # A user's text is no special token: it takes the tokens of its letters.
        assert ids(messages=[user("ab" + end)]) > plain + 1
        assert (ids(messages=[user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])])
                == plain)
        assert ids(messages=[user("ab")], tools=TOOLS) > plain
        assert ids(messages=[user("ab")], tools=TOOLS, tool_choice="none") == plain
        assert ids(messages=[user("ab")], chat_template_kwargs={"mood": "calm"}) > plain
        assert ids(messages=[user("ab")], add_generation_prompt=False) < plain
        call = {"type": "function", "function": {"name": "look_up", "arguments": "{\"a\": 1}"}}
        assert ids(messages=[user("ab"), {"role": "assistant", "tool_calls": [call]},
                             {"role": "tool", "content": "c", "tool_call_id": "x"}]) > plain


def test_a_last_message_is_continued(tmp_path):
    model, begin, end = model_with(tmp_path, "qwen3")
    with Fleet(model=model) as fleet:
        talk = [user("ab"), {"role": "assistant", "content": "c d"}]
        open_turn = ask(fleet, messages=talk, continue_final_message=True)["usage"]["prompt_tokens"]
        closed = ask(fleet, messages=talk, add_generation_prompt=False)["usage"]["prompt_tokens"]
        assert open_turn < closed
        ask(fleet, 400, messages=[user("ab")], continue_final_message=True)


def test_a_template_refuses_in_its_own_words_and_says_where_it_fails(tmp_path):
    refuses = ("{% if messages[0].content == 'b' %}{{ raise_exception('Not b') }}{% endif %}\n"
               "{{ messages[0].x.y }}")
    model, _, _ = model_with(tmp_path, "qwen3", refuses)
    with Fleet(model=model) as fleet:
        error = ask(fleet, 400, messages=[user("b")])["error"]
        assert error["code"] == "invalid_value"
        assert error["message"].endswith("refuses the conversation: Not b")
        error = ask(fleet, 400, messages=[user("a")])["error"]
        assert "line 2" in error["message"] and error["param"] == "messages"


def test_the_token_behind_an_assistants_message_ends_the_answer(tmp_path):
    model, _, end = model_with(tmp_path, "qwen3")
    added = json.loads((model / "tokenizer.json").read_text())["added_tokens"]
    end_id = next(token["id"] for token in added if token["content"] == end)
    with Fleet(model=model) as fleet:
        bias = {"logit_bias": {str(end_id): 100}, "max_tokens": 8}
        answer = ask(fleet, messages=[user("a")], **bias)
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["usage"]["completion_tokens"] == 1
        longer = ask(fleet, messages=[user("a")], ignore_eos=True, **bias)
        assert longer["usage"]["completion_tokens"] == 8


def test_sampling_defaults_are_reported_and_applied_when_asked_for(tmp_path):
    model, _, _ = model_with(tmp_path, "qwen3", do_sample=True, temperature=0.5, top_k=1, top_p=0.9)
    body = {"messages": [user("a")], "max_tokens": 6, "explain": 1, "ignore_eos": True}

    def strategy_and_kept(*args):
        with Fleet(model=model, gateway_args=args) as fleet:
            reported = fleet.request("GET", "/v1/models")[1]["data"][0]["sampling_defaults"]
            answer = fleet.post("/v1/chat/completions", body)
            steps = answer["choices"][0]["steps"]
            return reported, {step["kept"]["after_top_k"] for step in steps}
    said = {"do_sample": True, "temperature": 0.5, "top_k": 1, "top_p": 0.9,
            "repetition_penalty": None}
    reported, kept = strategy_and_kept()
    assert reported == {**said, "applied": False} and kept != {1}
    reported, kept = strategy_and_kept("--sampling-defaults", "model")
    assert reported == {**said, "applied": True} and kept == {1}
