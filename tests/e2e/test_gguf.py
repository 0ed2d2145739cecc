"""GGUF files through the processes: a file's own tokenizer, end tokens and template, held against its directory."""
import json
import shutil
import sys

import pytest
from fleet import ROOT, Fleet

sys.path.insert(0, str(ROOT / "tests/reference"))
import gguf  # noqa: E402
import gguf_tokenizer  # noqa: E402
import model  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/models"
# The name of each one's steps, and the texts of the tokens that begin and end a text.
MODELS = dict(llama=("llama-bpe", "<|begin_of_text|>", "<|end_of_text|>"), gemma=("default", "<bos>", "<eos>"),
              phi3=("default", "<s>", "</s>"), qwen3=("qwen2", None, "<|im_end|>"))
TEXTS = ["it's 12 words: Gr\u00fc\u00dfe, \u4e2d\u6587 \U0001f600!", " a  b\n\n c", "e\u0301 \u212b", "x<s>y <|im_end|> z"]
TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message.role }}: {{ message.content }}{{ eos_token }}{% endfor %}"


def convert(name, path, **more):
    """The fixture as a GGUF file in path."""
    tokenizer = json.loads((FIXTURES / name / "tokenizer.json").read_text())
    keys = gguf_tokenizer.keys(tokenizer, *MODELS[name])
    gguf.convert(model.Model(FIXTURES / name), path / f"{name}.gguf", more={**keys, **more})
    return path / f"{name}.gguf"


def post(fleet, path, body):
    status, answer, _ = fleet.request("POST", path, body)
    assert status == 200, answer
    return answer


def answers(source):
    """What a fleet of the model says to the same questions."""
    with Fleet(model=source, worker_args=["--dtype", "f32"]) as fleet:
        listed = fleet.request("GET", "/v1/models")[1]["data"][0]
        tokens = [post(fleet, "/tokenize", {"text": text, "add_special_tokens": special})["tokens"]
                  for text in TEXTS for special in (True, False)]
        texts = [post(fleet, "/detokenize", {"tokens": ids})["text"] for ids in tokens]
        said = [fleet.generate(prompt=text, max_new_tokens=24, temperature=0) for text in TEXTS]
        return (listed["vocab_size"], tokens, texts,
                [(answer["generated_text"], answer["finish_reason"], answer["prompt_tokens"]) for answer in said])


@pytest.mark.parametrize("name", MODELS)
def test_a_file_says_what_its_directory_says(tmp_path, name):
    assert answers(convert(name, tmp_path)) == answers(FIXTURES / name)


def test_a_file_brings_its_chat_template(tmp_path):
    file = convert("llama", tmp_path, **{"tokenizer.chat_template": TEMPLATE})
    directory = tmp_path / "directory"
    shutil.copytree(FIXTURES / "llama", directory)
    (directory / "chat_template.jinja").write_text(TEMPLATE)
    (directory / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}))
    asked = {"messages": [{"role": "user", "content": "who <|eot_id|> are you"}], "max_tokens": 8, "temperature": 0}
    said = []
    for source in (file, directory):
        with Fleet(model=source, worker_args=["--dtype", "f32"]) as fleet:
            assert fleet.request("GET", "/v1/models")[1]["data"][0]["chat_template"] == "model"
            answer = post(fleet, "/v1/chat/completions", asked)
            said.append((answer["choices"][0]["message"], answer["usage"]))
    assert said[0] == said[1]


@pytest.mark.parametrize("key, value, reason", [
    ("tokenizer.ggml.pre", "rot13", 'tokenizer.ggml.pre: "rot13" is not supported'),
    ("tokenizer.ggml.model", "rwkv", 'tokenizer.ggml.model: "rwkv" is not supported'),
    ("tokenizer.ggml.eos_token_id", 768, "tokenizer.ggml.eos_token_id: 768: must be in 0..767")])
def test_a_tokenizer_that_is_not_supported_is_refused_with_the_reason(tmp_path, key, value, reason):
    file = convert("qwen3", tmp_path, **{key: value})
    fleet = Fleet(model=file, prefill=0, decode=0)
    with pytest.raises(AssertionError) as refused:
        fleet.start_gateway()
    fleet.kill_all()
    assert reason in str(refused.value).replace("\\", ""), refused.value
