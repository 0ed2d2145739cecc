"""Four kinds of tokenizers in a fleet: what surrounds a prompt, and the text of streams."""
import json

import pytest
from fleet import ROOT, Fleet

FIXTURES = ROOT / "tests/fixtures/models"
TEXT = "it's 12 words: Gr\u00fc\u00dfe, \u4e2d\u6587 \U0001f600!"


def has_first_token(model):
    return "TemplateProcessing" in json.dumps(
        json.loads((model / "tokenizer.json").read_text())["post_processor"])


def tokens_of(fleet, text, **fields):
    return fleet.post("/tokenize", {"text": text, **fields})["tokens"]


def text_of(fleet, tokens, **fields):
    return fleet.post("/detokenize", {"tokens": tokens, **fields})["text"]


@pytest.fixture(scope="module", params=["llama", "mistral", "gemma3", "qwen3"])
def served(request):
    model = FIXTURES / request.param
    with Fleet(model=model) as fleet:
        yield fleet, has_first_token(model)


def test_a_text_gets_the_models_first_token_and_ids_do_not(served):
    fleet, has_first = served
    whole, plain = tokens_of(fleet, TEXT), tokens_of(fleet, TEXT, add_special_tokens=False)
    assert whole[len(whole) - len(plain):] == plain and len(whole) - len(plain) == has_first
    asked = dict(max_new_tokens=8, temperature=0, ignore_eos=True)
    by_text, by_ids = fleet.generate(prompt=TEXT, **asked), fleet.generate(prompt=whole, **asked)
    assert by_text["prompt_tokens"] == len(whole)
    assert by_text["generated_text"] == by_ids["generated_text"]
    assert fleet.generate(prompt=plain, **asked)["prompt_tokens"] == len(plain)


def test_a_text_comes_back_from_its_ids(served):
    fleet, has_first = served
    whole = tokens_of(fleet, TEXT)
    assert text_of(fleet, whole, skip_special_tokens=True) == TEXT
    assert text_of(fleet, whole).endswith(TEXT) and (text_of(fleet, whole) != TEXT) == has_first


def test_a_stream_shows_the_text_of_the_answer(served):
    fleet, _ = served
    asked = dict(prompt=TEXT, max_new_tokens=24, temperature=1.5, seed=5, ignore_eos=True)
    assert fleet.stream(**asked).text()[0] == fleet.generate(**asked)["generated_text"]


def test_text_offsets_count_the_characters_of_the_prompt_as_it_was_written(served):
    fleet, has_first = served
    status, answer, _ = fleet.request("POST", "/v1/completions", {
        "prompt": "a test", "max_tokens": 1, "echo": True, "logprobs": 0, "temperature": 0})
    assert status == 200, answer
    choice = answer["choices"][0]
    offsets = choice["logprobs"]["text_offset"]
    assert offsets[0] == 0 and offsets[has_first] == 0
    assert offsets[-1] == len("a test")
    assert choice["text"].startswith("a test")
