"""Four kinds of tokenizers in a fleet: what surrounds a prompt, and the text of streams."""
import json
import shutil

import programs
import pytest
from fleet import ROOT, Fleet, free_port

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


def grown(tmp_path, part, chain):
    """The model with eight steps in that part that each replace a by a thousand a."""
    model = tmp_path / "model"
    shutil.copytree(FIXTURES / "llama", model)
    path = model / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
    tokenizer[part] = {"type": "Sequence", chain: [step] * 8 + [tokenizer[part]] * bool(
        tokenizer[part] and tokenizer[part]["type"] != "Sequence")}
    path.write_text(json.dumps(tokenizer))
    return model


def test_a_normalizer_that_makes_texts_long_costs_the_request_and_nobody_else(tmp_path):
    with Fleet(model=grown(tmp_path, "normalizer", "normalizers")) as fleet:
        for path, body in (("/tokenize", {"text": "a"}), ("/generate", {"prompt": "a"}),
                           ("/v1/completions", {"prompt": "a"})):
            status, answer, _ = fleet.request("POST", path, body)
            assert status == 400 and "more than 16 times the text" in json.dumps(answer), answer
        assert fleet.generate(prompt="b", max_new_tokens=2, ignore_eos=True)["generated_text"]


def test_a_decoder_that_makes_tokens_long_is_refused_at_the_start(tmp_path):
    model = grown(tmp_path, "decoder", "decoders")
    port = "--port", 0, "--inbox", f"tcp://127.0.0.1:{free_port()}"
    assert "decoder: makes more than 16 times" in programs.refusal(
        "baton-gateway", *port, model=model)
