#!/usr/bin/python3 -B
"""The grammars of the JSON Schema Test Suite's schemas beside the suite, ajv and XGrammar.

A text that is invalid never comes. One that is valid may come, unless one of the rules keeps it out
that docs/design/structured-output.md has under "Which texts of a schema"."""
import json
import os
import random
import re
import subprocess

import pytest
from fleet import BIN, MODEL, ROOT, SLOW, Fleet
from kinds import of_schema
from npm import install

SOURCE, SUITE = ROOT / "tests/e2e/schema_oracle", ROOT / "tests/fixtures/json_schema_suite"
STOP = 2559  # the id behind the texts of the vocabulary
N_SERVED = 170  # of the suite's 256; the others name the keyword that is not supported


def cases():
    """[{name, schema, texts, valid}] of the suite, the values written as Baton writes them."""
    found = []
    for path in sorted(SUITE.glob("*.json")):
        for case in json.loads(path.read_text()):
            values = [arranged(case["schema"], test["data"]) for test in case["tests"]]
            texts = [json.dumps(v, separators=(",", ":"), ensure_ascii=False) for v in values]
            found.append({"name": f"{path.stem}: {case['description']}", "schema": case["schema"],
                          "texts": texts, "valid": [test["valid"] for test in case["tests"]]})
    return found


def names_of(schema):
    """The members that a schema lists anywhere, in their order."""
    if isinstance(schema, list):
        return [name for one in schema for name in names_of(one)]
    if not isinstance(schema, dict):
        return []
    own = schema.get("properties")
    listed = list(own) if isinstance(own, dict) else []
    return listed + [name for one in schema.values() for name in names_of(one)]


def arranged(schema, value):
    """The value with the members of its objects in the schema's order."""
    names = names_of(schema)

    def place(name):
        return names.index(name) if name in names else len(names)

    def arrange(part):
        if isinstance(part, list):
            return [arrange(one) for one in part]
        if isinstance(part, dict):
            return {name: arrange(part[name]) for name in sorted(part, key=place)}
        return part
    return arrange(value)


def ask_grammars(questions, vocabulary=None):
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    argv = [BIN / "grammar_judge", *([vocabulary] if vocabulary else [])]
    done = subprocess.run(argv, input=asked, text=True, stdout=subprocess.PIPE, check=True,
                          timeout=300 * SLOW)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def oracle():
    if os.uname().machine != "x86_64":
        pytest.skip(f"the library is not installed for {os.uname().machine}")
    return install(SOURCE, BIN.parent / "schema-oracle")


def ask_oracle(oracle, folder, questions, vocabulary=None):
    """The other libraries' answers to the questions."""
    asked, answered = folder / "cases.json", folder / "answers.json"
    asked.write_text(json.dumps(questions))
    argv = ["node", "judge.mjs", asked, answered, *([vocabulary] if vocabulary else [])]
    subprocess.run(argv, cwd=oracle, stdout=subprocess.DEVNULL, check=True, timeout=600 * SLOW)
    return json.loads(answered.read_text())


# The meaning of schemas in Baton

KEYWORDS = {
    "object": ["properties", "required", "additionalProperties", "propertyNames", "minProperties",
               "maxProperties", "patternProperties", "dependentRequired", "dependentSchemas"],
    "array": ["items", "prefixItems", "minItems", "maxItems", "uniqueItems",
              "contains", "minContains", "maxContains"],
    "string": ["pattern", "format", "minLength", "maxLength"],
    "number": ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]}
CHOICES = {"$ref", "allOf", "anyOf", "oneOf", "if", "not"}


def meant(schema):
    """With the types that its keywords suggest, and no members but those it lists."""
    if not isinstance(schema, dict) or "const" in schema or "enum" in schema:
        return schema
    made = {}
    for name, value in schema.items():
        made[name] = value
        if isinstance(value, dict) and name in ("properties", "$defs"):
            made[name] = {key: meant(one) for key, one in value.items()}
        elif isinstance(value, list) and name in ("anyOf", "oneOf", "prefixItems"):
            made[name] = [meant(one) for one in value]
        elif name in ("items", "additionalProperties"):
            made[name] = meant(value)
    suggested = [kind for kind, names in KEYWORDS.items() if set(names) & set(schema)]
    if suggested:
        made.setdefault("type", suggested)
    if {"properties", "patternProperties"} & set(schema) and not CHOICES & set(schema):
        made.setdefault("additionalProperties", False)
    return made


def with_meant_schema(case):
    return {**case, "schema": meant(case["schema"])}


# Valid texts that never come, for what else than these rules: of which cases, which texts.
NARROWER = [
    ("", r"-?\d+\.0|\[-?\d+\.0\]"),  # an integer is written without fraction
    ("dependentRequired", r'\{"foo.*'),  # the member that asks stands before those it asks for
    ("const: const with object", r'\{"baz.*'),  # members have the schema's order
    ("format-(date-time|time)", r'".*(:60|[tz]).*"'),  # no leap seconds, capital letters
    ("format-duration", r'"P9{20,}D"'),  # four digits
    ("format-(hostname|uri)", r'".*(--|[a-z]{33}).*"'),  # no Punycode, labels of 32 letters
    ("format-ipv6", r'".+::.*192\.168\.0\.1"'),
    ("format-uri", r'".*(@example|\[).*"'),  # no user, no address of IPv6
]


def is_narrower(name, text):
    return any(re.match(part, name) and re.fullmatch(pattern, text) for part, pattern in NARROWER)


def test_the_suite(oracle, tmp_path):
    suite = cases()
    answers = ask_grammars(suite)
    both = zip(suite, answers, strict=True)
    served = [(case, answer) for case, answer in both if "error" not in answer]
    plain = ask_oracle(oracle, tmp_path, [case for case, _ in served])
    as_meant = ask_oracle(oracle, tmp_path, [with_meant_schema(case) for case, _ in served])
    counts = {"schemas": len(suite), "served": len(served)}
    counts |= dict.fromkeys(("valid, may come", "invalid, may not", "valid, kept out"), 0)
    unsound, missing = [], []
    for (case, answer), says, narrow in zip(served, plain, as_meant, strict=True):
        for i, text in enumerate(case["texts"]):
            valid, may_come, row = case["valid"][i], answer["accepted"][i], (case["name"], text)
            if may_come and (not valid or not says["ajv"][i]):
                unsound.append(row)
            elif valid and not may_come and narrow["ajv"][i] and not is_narrower(*row):
                missing.append(row)
            counts["invalid, may not" if not valid else
                   "valid, may come" if may_come else "valid, kept out"] += 1
    refused = [answer["error"] for answer in answers if "error" in answer]
    print(counts, *sorted(refused), sep="\n")
    assert not unsound, unsound
    assert not missing, "\n".join(map(str, missing))
    assert counts["served"] >= N_SERVED, counts


# Masks


def vocabulary_of(path):
    """The texts of the served model's tokens; None for one that is no UTF-8, or special."""
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in letters]
    bytes_of = {chr(byte): byte for byte in letters}
    bytes_of |= {chr(256 + i): byte for i, byte in enumerate(others)}
    words = json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"]
    texts = [None] * STOP
    for word, token in words.items():
        try:
            texts[token] = bytes(bytes_of[letter] for letter in word).decode()
        except (UnicodeDecodeError, KeyError, IndexError):
            continue
    path.write_text(json.dumps(texts))
    return texts


def cut(text, tokens, chance):
    """The text as tokens: the longest, or any that fit."""
    ids = []
    while text:
        fitting = [text[:n] for n in range(1, 17) if text[:n] in tokens]
        if not fitting:
            return None
        ids.append(tokens[chance.choice(fitting) if chance else fitting[-1]])
        text = text[len(next(t for t, i in tokens.items() if i == ids[-1])):]
    return ids


def allowed(mask, vocabulary):
    """The tokens of the mask, without those with white space: how much may stand where differs."""
    return {t for t, text in enumerate(vocabulary)
            if text and not set(text) & set(" \n\t\r") and int(mask[t // 4], 16) >> t % 4 & 1}


def test_masks(oracle, tmp_path):
    """No token of a valid answer is refused, however it is cut. Where XGrammar means the same, its
    masks are the same."""
    path, chance = tmp_path / "vocabulary.json", random.Random(5)
    vocabulary = vocabulary_of(path)
    tokens = {text: token for token, text in enumerate(vocabulary) if text}
    suite = cases()
    questions = []
    for case, answer in zip(suite, ask_grammars(suite), strict=True):
        for text, ok in zip(case["texts"], answer.get("accepted", []), strict=False):
            for how in (None, chance):
                ids = cut(text, tokens, how) if ok else None
                if ids is not None:
                    questions.append({**case, "tokens": ids, "texts": [text]})
    mine = ask_grammars(questions, path)
    theirs = ask_oracle(oracle, tmp_path, [with_meant_schema(asked) for asked in questions], path)
    names = "steps", "both read", "same mask", "only Baton's", "only XGrammar's"
    counts = {"answers": len(questions), **dict.fromkeys(names, 0)}
    differ = {}
    for asked, own, other in zip(questions, mine, theirs, strict=True):
        for i, token in enumerate([*asked["tokens"], STOP]):
            counts["steps"] += 1
            is_set = int(own["masks"][i][token // 4], 16) >> token % 4 & 1
            assert is_set, (asked["name"], asked["texts"], i)
        if other["xgrammar"] != [True]:
            continue
        for own_mask, other_mask in zip(own["masks"], other["masks"], strict=True):
            a, b = allowed(own_mask, vocabulary), allowed(other_mask, vocabulary)
            counts["both read"] += 1
            counts["same mask"] += a == b
            counts["only Baton's"] += bool(a - b)
            counts["only XGrammar's"] += bool(b - a)
            if a != b:
                differ.setdefault(asked["name"], [vocabulary[t] for t in sorted(a ^ b)[:6]])
    print(counts, *differ.items(), sep="\n")
    assert counts["same mask"] > counts["both read"] * 4 // 5, counts


# Answers


def test_answers_are_valid(oracle, tmp_path):
    """The texts of the model under the masks, without cut answers."""
    both = zip(cases(), ask_grammars(cases()), strict=True)
    suite = [case for case, answer in both if "error" not in answer]
    written = []
    with Fleet() as fleet:
        for i, case in enumerate(suite):
            body = dict(max_new_tokens=160, temperature=1.2, seed=i)
            held = of_schema(case["schema"])
            answer = fleet.generate(prompt="Once", response_format=held, **body)
            if answer["finish_reason"] == "eos":
                written.append({**case, "texts": [answer["generated_text"]]})
    for case, says in zip(written, ask_oracle(oracle, tmp_path, written), strict=True):
        assert says["ajv"] == [True], (case, says)
    print(f"{len(written)} of {len(suite)} answers came to their end, all valid")
    assert len(written) > len(suite) * 3 // 5
