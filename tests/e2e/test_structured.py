#!/usr/bin/python3 -B
"""Outputs held to a schema, a pattern or a grammar are valid by an independent judge
(python3-jsonschema, re), however they are sampled and whatever happens to workers."""
import json
import re
from pathlib import Path

import jsonschema
import pytest
from fleet import Fleet
from kinds import of_schema

SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text())
PROMPT = "Once upon a time there was a"
SPECULATION = {"mode": "prompt_lookup", "max_tokens": 8, "min_tokens": 4}
GREEDY, WARM, HOT = ({"temperature": 0}, {"temperature": 1, "seed": 5},
                     {"temperature": 30, "seed": 9})
PEOPLE = {"type": "object", "properties": {
    "people": {"type": "array", "minItems": 2, "maxItems": 2, "items": {
        "type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
                                         "age": {"type": "integer", "maximum": 99, "minimum": 0}},
        "required": ["name", "age"], "additionalProperties": False}}}, "required": ["people"]}


@pytest.fixture(scope="module")
def fleet():
    with Fleet(prefill=2, decode=2) as fleet:
        yield fleet


def check(schema, text):
    jsonschema.validate(json.loads(text), schema,
                        format_checker=jsonschema.draft202012_format_checker)


def generate(fleet, **body):
    answer = fleet.post("/generate", {"prompt": PROMPT, "max_new_tokens": 400, **body})
    answer["text"] = answer["text"].removeprefix(PROMPT)
    return answer


def held(fleet, schema, **body):
    """The text, and whether it came to its end: an output may be cut by its length."""
    answer = generate(fleet, response_format=of_schema(schema), **body)
    if answer["finish_reason"] == "length":
        return None
    assert answer["finish_reason"] == "eos", answer["finish_reason"]
    check(schema, answer["text"])
    return answer["text"]


@pytest.mark.parametrize("sampling", [GREEDY, WARM, HOT], ids=["greedy", "warm", "hot"])
def test_every_answer_is_valid(fleet, sampling):
    whole = [i for i, schema in enumerate(SCHEMAS) if held(fleet, schema, **sampling) is not None]
    cut = set(range(len(SCHEMAS))) - set(whole)
    assert len(whole) > len(SCHEMAS) * 3 // 5, f"cut by their length: {cut}"


def test_speculation_changes_no_answer(fleet):
    for sampling in (GREEDY, WARM):
        drafted = held(fleet, PEOPLE, **sampling, speculation=SPECULATION)
        assert drafted == held(fleet, PEOPLE, **sampling)


def test_what_a_schema_forces_is_drafted(fleet):
    """Names that stand nowhere else, so that nothing can be looked up."""
    names = ["temperature", "background", "quarterly", "knowledge", "switchboard", "juxtaposed"]
    schema = {"type": "object", "properties": {name: {"enum": [i]} for i, name in enumerate(names)},
              "required": names}
    answers = [generate(fleet, response_format=of_schema(schema), temperature=0,
                        speculation=speculation) for speculation in (SPECULATION, {"mode": "none"})]
    assert answers[0]["text"] == answers[1]["text"]
    check(schema, answers[0]["text"])
    assert answers[0]["speculation"]["accepted_tokens"] >= 2 * len(names), answers[0]["speculation"]


def test_a_pattern_and_a_grammar(fleet):
    for sampling in (GREEDY, WARM, HOT):
        assert re.fullmatch(r"(cat|dog): [0-9]{3}",
                            generate(fleet, regex="(cat|dog): [0-9]{3}", **sampling)["text"])
        text = generate(fleet, grammar='root ::= pair ("," pair){1,3}\npair ::= [a-c]+ "=" [0-9]',
                        **sampling, max_new_tokens=300)
        if text["finish_reason"] == "eos":
            assert re.fullmatch(r"[a-c]+=[0-9](,[a-c]+=[0-9]){1,3}", text["text"])


def test_a_structure(fleet):
    call = {"type": "tag", "begin": {"type": "token", "token": "<call>"}, "end": "</call>",
            "content": {"type": "json_schema",
                        "json_schema": {"type": "object", "properties": {"x": {"enum": [1, 22]}}}}}
    tags = {"type": "triggered_tags", "triggers": ["<call>"], "tags": [call], "at_least_one": True,
            "stop_after_first": True}
    for sampling in (GREEDY, WARM, HOT):
        text = generate(fleet, response_format={"type": "structural_tag", "format": {
            "type": "sequence",
            "elements": [{"type": "regex", "pattern": "[a-z ]{3,9}"}, call, tags]}}, **sampling)
        if text["finish_reason"] == "eos":
            call_of = r"<call>\{\s*(\"x\":\s*(1|22)\s*)?\}</call>"
            assert re.fullmatch(rf"[a-z ]{{3,9}}{call_of}(?s:.*){call_of}",
                                text["text"]), text["text"]


NUMBERS = {"type": "array", "items": {"type": "integer", "maximum": 99, "minimum": 10},
           "minItems": 2, "maxItems": 3}
NUMBER_TEXT = r"\[\s*[1-9]\d(,\s*[1-9]\d){1,2}\s*\]"
TAG = {"begin": "<n>", "schema": NUMBERS, "end": "</n>"}
FORMS = [
    ({"response_format": {"type": "json_object", "schema": NUMBERS}}, NUMBER_TEXT),
    ({"response_format": {"type": "json_schema", "schema": NUMBERS}}, NUMBER_TEXT),
    ({"response_format": {"type": "json", "value": NUMBERS}}, NUMBER_TEXT),
    ({"response_format": {"type": "regex", "regex": "x{3}"}}, "xxx"),
    ({"response_format": {"type": "grammar", "grammar": 'root ::= "x"'}}, "x"),
    ({"json_schema": json.dumps(NUMBERS)}, NUMBER_TEXT),
    ({"structured_outputs": {"json": NUMBERS, "regex": None, "choice": []}}, NUMBER_TEXT),
    ({"structured_outputs": {"json": json.dumps(NUMBERS), "disable_fallback": True}}, NUMBER_TEXT),
    ({"structured_outputs": {"regex": "[ab]{5}"}}, "[ab]{5}"),
    ({"structured_outputs": {"choice": ["a (b)", "\u00e9\n"]}}, "a \\(b\\)|\u00e9\n"),
    ({"structured_outputs": {"grammar": "root ::=\n  [0-9]{2}\n  tail\n# more\ntail ::= '!'"
                                        .replace("'", '"')}}, "[0-9]{2}!"),
    ({"structured_outputs": {"json_object": True}, "max_new_tokens": 40}, r"\{[\s\S]*"),
    ({"structured_outputs": {"structural_tag": json.dumps({"type": "structural_tag", "format": {
        "type": "regex", "pattern": "q{2}"}})}}, "qq"),
    ({"guided_json": NUMBERS}, NUMBER_TEXT),
    ({"guided_regex": "(yes|no)"}, "yes|no"),
    ({"guided_choice": ["red", "green"], "guided_decoding_backend": "xgrammar"}, "red|green"),
    ({"guided_grammar": 'root ::= "\\?" [\\-+] "\\\'"'}, r"\?[-+]'"),
    ({"ebnf": 'root ::= a_b | "z"\na_b ::= "w"{2}'}, "ww|z"),
    ({"grammar": {"type": "regex", "value": "k"}}, "k"),
]
EMPTY = {"grammar": "", "regex": "", "ebnf": "", "json_schema": "", "stop": "", "logit_bias": [],
         "response_format": {}, "structured_outputs": {}, "guided_choice": [], "guided_json": None,
         "guided_json_object": False, "structural_tag": {}, "stop_token_ids": "",
         "grammar_lazy": False}


@pytest.mark.parametrize("body,text", FORMS, ids=range(len(FORMS)))
def test_the_forms_of_other_servers_are_held(fleet, body, text):
    assert re.fullmatch(text, generate(fleet, **HOT, **body)["text"])


def test_empty_values_ask_for_nothing(fleet):
    for more in {}, {"stop": [""]}:
        assert generate(fleet, **{"max_new_tokens": 5, **EMPTY, **more}, temperature=0)["text"] == \
            generate(fleet, max_new_tokens=5, temperature=0)["text"]
    answer = fleet.post("/v1/completions", {"prompt": "a", "logprobs": False, "max_tokens": 1,
                                            "stream_options": {}})
    assert answer["choices"][0]["logprobs"] is None


def test_every_route_holds_the_forms(fleet):
    choice = {"structured_outputs": {"choice": ["zebra", "yak"]}}
    routes = {"/v1/completions": {"prompt": "a"}, "/completion": {"prompt": "a"},
              "/generate": {"inputs": "a", "parameters": choice}, "/api/generate": {
                  "prompt": "a", "raw": True, "stream": False, "options": choice}}
    for route, body in routes.items():
        answer = json.dumps(fleet.post(route, {**choice, **body}))
        assert "zebra" in answer or "yak" in answer, (route, answer)


def test_no_token_but_the_allowed_ones_is_drawn(fleet):
    ids = [token for word in (" cat", " dog", " the") for token in fleet.post(
        "/tokenize", {"text": word})["tokens"]]
    for sampling in (GREEDY, WARM, HOT):
        for more in {}, {"speculation": SPECULATION}, {"min_tokens": 3}, {"explain": 3}:
            answer = fleet.post("/completion", {
                "prompt": PROMPT, "n_predict": 30, "return_tokens": True,
                "allowed_token_ids": ids, **sampling, **more})
            assert len(answer["tokens"]) == 30 and set(answer["tokens"]) <= set(ids)
    answer = generate(fleet, allowed_token_ids=ids[:1], stop_token_ids=ids[:1])
    assert answer["text"] == "" and answer["output_tokens"] == 1


def test_bad_words_are_in_no_output(fleet):
    """Words of the free answer, whose parts are tokens of their own."""
    free = generate(fleet, **HOT)["text"]
    words = sorted(set(re.findall("[a-z]{4,}", free)))[:6] + ["e", " a"]
    for sampling in (GREEDY, WARM, HOT):
        answer = generate(fleet, bad_words=words, **sampling, max_new_tokens=60)
        assert answer["text"] and not [word for word in words if word in answer["text"]], answer
        drafted = generate(fleet, bad_words=words, **sampling, max_new_tokens=60,
                           speculation=SPECULATION)
        assert drafted["text"] == answer["text"]
    for choice in fleet.post("/v1/completions", {"prompt": PROMPT, "bad_words": ["e"], "n": 3,
                                                 "max_tokens": 40, "temperature": 1})["choices"]:
        assert "e" not in choice["text"]


def test_members_without_an_effect_are_named(fleet):
    body = {"prompt": "a", "response_format": {"type": "regex", "regex": "a", "flags": "i"}}
    headers = fleet.request("POST", "/v1/completions", body)[2]
    assert headers["x-baton-ignored"] == "response_format.flags"


def test_explain_names_the_grammar(fleet):
    answer = generate(fleet, regex="[0-9]{4}", explain=5, temperature=0)
    assert re.fullmatch("[0-9]{4}", answer["text"])
    removed = [c["removed_by"] for step in answer["steps"] for c in step["candidates"]]
    assert "grammar" in removed


def test_explain_names_the_place_in_the_schema(fleet):
    """In the prefill worker's token and in the decode worker's."""
    properties = {"age": {"type": "integer", "maximum": 99, "minimum": 10},
                  "ids": {"type": "array", "items": {"enum": [5, 7]}}}
    schema = {"type": "object", "properties": properties, "required": ["age", "ids"]}
    answer = generate(fleet, response_format=of_schema(schema), explain=20, temperature=0)
    text, places = "", {}
    for step in answer["steps"]:
        for c in step["candidates"]:
            assert (c["removed_by"] == "schema") == (c["removed_at"] is not None), c
            if c["removed_at"]:
                places.setdefault(text, set()).add(c["removed_at"])
        text += step["text"]
    assert places[""] == {"#"} and answer["steps"][0]["phase"] == "prefill"
    at = {"#/properties/age": r'\{\s*"age":\s*\d?', "#/properties/ids": r'.*"ids":',
          "#/properties/ids/items": r'.*\[\s*'}
    for place, before in at.items():
        there = [told for text, told in places.items() if re.fullmatch(before, text, re.DOTALL)]
        assert any(place in told for told in there), (place, places)


BAD = [
    ({"response_format": of_schema({"properties": {"a": {"not": {"minimum": 1}}}})},
     "#/properties/a: not is not supported"),
    ({"response_format": of_schema({"allOf": [
        {"enum": list(range(3000))}, {"enum": list(range(3000, 6000))}]})}, "too much work"),
    ({"response_format": of_schema({"type": "string", "format": "regex"})},
     "format: regex is not supported"),
    ({"response_format": of_schema({"$ref": "http://x/y"})}, "$ref"),
    ({"response_format": of_schema({"type": "object", "properties": {"a": {"$ref": "#"}},
                                    "required": ["a"]})}, "no text matches"),
    ({"response_format": of_schema({"oneOf": [{"type": "integer"}, {"type": "number"}]})}, "oneOf"),
    ({"response_format": of_schema({"enum": []})}, "no text matches"),
    ({"response_format": {"type": "yaml"}}, "json_object"),
    ({"response_format": {"type": "json_schema"}}, "json_schema"),
    ({"response_format": {"type": "structural_tag"}}, "structural_tag"),
    ({"response_format": {"type": "structural_tag", "format": {"type": "any_texts"}}},
     "#: type: must be const_string"),
    ({"regex": "a(?=b)"}, "(?:"),
    ({"regex": "("}, ") is missing"),
    ({"allowed_token_ids": [1, 10**6]}, "allowed_token_ids[1]: must be a token id"),
    ({"allowed_token_ids": list(range(1025))}, "allowed_token_ids: must hold at most 1024"),
    ({"allowed_token_ids": [1], "regex": "a"}, "allowed_token_ids: cannot be combined"),
    ({"allowed_token_ids": [1], "bad_words": ["a"]}, "allowed_token_ids: cannot be combined"),
    ({"bad_words": ["a"], "regex": "a"}, "bad_words: cannot be combined"),
    ({"bad_words": ["a", ""]}, "bad_words: each must be a string"),
    ({"bad_words": ["x" * 161]}, "bad_words: must have at most 160"),
    ({"bad_words": ["a"], "ignore_eos": True}, "ignore_eos"),
    ({"guided_regex": "("}, "guided_regex: at byte"),
    ({"structured_outputs": {"regex": "("}}, "structured_outputs.regex: at byte"),
    ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, "structured_outputs.choice: another"),
    ({"structured_outputs": {"json": {"type": "date"}}}, "structured_outputs.json: #: type"),
    ({"structured_outputs": {"json": {}, "whitespace_pattern": " "}}, "whitespace_pattern"),
    ({"structured_outputs": {"yaml": "a"}}, "structured_outputs.yaml"),
    ({"structured_outputs": 7}, "structured_outputs: must be an object"),
    ({"guided_json": "{"}, "guided_json: "),
    ({"guided_json": [1]}, "guided_json: must be a schema"),
    ({"guided_choice": ["a", 5]}, "guided_choice: must be an array of strings"),
    ({"guided_grammar": "start: \"a\""}, "Lark"),
    ({"ebnf": "root ::= \"a\" (=\"b\")"}, "look-ahead"),
    ({"regex": "a", "guided_choice": ["a"]}, "only one"),
    ({"grammar": "root ::= \"a\"", "grammar_lazy": True}, "grammar_lazy"),
    ({"response_format": {"type": "json_object", "schema": {"type": "date"}}},
     "response_format.schema: #: type"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "mode": 1}}},
     "response_format.json_schema.mode"),
    ({"grammar": "root ::= x"}, "the rule x is not defined"),
    ({"grammar": "root ::= root \"a\" | \"b\""}, "root refers to itself"),
    ({"regex": "a", "grammar": "root ::= \"a\""}, "only one"),
    ({"regex": "a", "ignore_eos": True}, "ignore_eos"),
    ({"regex": "a{10000}" * 14}, "states"),
    ({"regex": 5}, "must be a string"),
]


@pytest.mark.parametrize("body,message", BAD, ids=range(len(BAD)))
def test_what_is_refused(fleet, body, message):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": PROMPT, **body})
    assert status == 400 and message in answer["error"]["message"], answer


def test_openai_routes(fleet):
    body = {"model": "tale", "prompt": PROMPT, "max_tokens": 200,
            "response_format": of_schema(PEOPLE), "n": 3, "seed": 3}
    answer = fleet.post("/v1/completions", body)
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop":
            check(PEOPLE, choice["text"])
