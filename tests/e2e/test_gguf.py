"""A GGUF file's own tokenizer, end tokens and template work as those of its directory."""
import json
import shutil
import sys

import pytest
from fleet import ROOT, Fleet, wait_for
from programs import refusal

sys.path.insert(0, str(ROOT / "tests/reference"))
import gguf  # noqa: E402
import gguf_tokenizer  # noqa: E402
import model  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/models"
# The name of each one's steps, and the texts of the tokens that begin and end a text.
MODELS = dict(llama=("llama-bpe", "<|begin_of_text|>", "<|end_of_text|>"),
              gemma=("default", "<bos>", "<eos>"), phi3=("default", "<s>", "</s>"),
              qwen3=("qwen2", None, "<|im_end|>"),
              **{"gemma4-e2b": ("gemma4", "<bos>", "<eos>")})
TEXTS = ["it's 12 words: Gr\u00fc\u00dfe, \u4e2d\u6587 \U0001f600!", " a  b\n\n c",
         "e\u0301 \u212b", "x<s>y <|im_end|> z"]
TEMPLATE = ("{{ bos_token }}{% for message in messages %}{{ message.role }}: {{ message.content }}"
            "{{ eos_token }}{% endfor %}")


def convert(name, path, **more):
    """The fixture as a GGUF file in path."""
    tokenizer = json.loads((FIXTURES / name / "tokenizer.json").read_text())
    keys = gguf_tokenizer.keys(tokenizer, *MODELS[name])
    gguf.convert(model.Model(FIXTURES / name), path / f"{name}.gguf", more={**keys, **more})
    return path / f"{name}.gguf"


def answers(source):
    """The answers of a fleet of the model to the same questions."""
    with Fleet(model=source, worker_args=["--dtype", "f32"]) as fleet:
        listed = fleet.request("GET", "/v1/models")[1]["data"][0]
        tokens = [fleet.post("/tokenize", {"text": text, "add_special_tokens": special})["tokens"]
                  for text in TEXTS for special in (True, False)]
        texts = [fleet.post("/detokenize", {"tokens": ids})["text"] for ids in tokens]
        said = [fleet.generate(prompt=text, max_new_tokens=24, temperature=0) for text in TEXTS]
        return (listed["vocab_size"], tokens, texts,
                [(answer["generated_text"], answer["finish_reason"], answer["prompt_tokens"])
                 for answer in said])


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
    asked = {"messages": [{"role": "user", "content": "who <|eot_id|> are you"}], "max_tokens": 8,
             "temperature": 0}
    said = []
    for source in (file, directory):
        with Fleet(model=source, worker_args=["--dtype", "f32"]) as fleet:
            assert fleet.request("GET", "/v1/models")[1]["data"][0]["chat_template"] == "model"
            answer = fleet.post("/v1/chat/completions", asked)
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


def test_a_split_file_says_what_its_directory_says(tmp_path):
    keys = gguf_tokenizer.keys(json.loads((FIXTURES / "qwen3/tokenizer.json").read_text()),
                               *MODELS["qwen3"])
    first = gguf.split(model.Model(FIXTURES / "qwen3"), tmp_path, "split", keys)
    assert answers(first) == answers(FIXTURES / "qwen3")


def test_every_process_refuses_a_broken_file_with_the_reason(tmp_path):
    whole = convert("qwen3", tmp_path).read_bytes()
    (tmp_path / "short.gguf").write_bytes(whole[:-64])
    (tmp_path / "other.gguf").write_bytes(b"PK\3\4" + whole)
    for program, *port in ("baton-gateway", "--port", 0), ("baton-prefill",), ("baton-decode",):
        short, other = (refusal(program, *port, model=tmp_path / f"{name}.gguf")
                        for name in ("short", "other"))
        assert "run past the end of the file" in short
        assert 'does not begin with "GGUF"' in other


def test_processes_of_two_files_do_not_join(tmp_path):
    def change(tensors):
        tensors["output_norm.weight"] = tensors["output_norm.weight"] + 1
        return {}

    one, other = convert("qwen3", tmp_path), tmp_path / "other.gguf"
    keys = gguf_tokenizer.keys(json.loads((FIXTURES / "qwen3/tokenizer.json").read_text()),
                               *MODELS["qwen3"])
    gguf.convert(model.Model(FIXTURES / "qwen3"), other, change, keys)
    with Fleet(prefill=0, decode=0, model=one) as fleet:
        worker = fleet.start_worker("decode", "other", model=other)
        wait_for(lambda: "the weights differ" in worker.text(), "the worker to be refused")


def test_a_file_keeps_its_formats_unless_asked(tmp_path):
    """Values in another one than queries and keys; all processes map one packed copy."""
    def change(tensors):
        return {name: "BF16" if "attn_v" in name else "F16" for name, values in tensors.items()
                if values.ndim > 1}

    file = tmp_path / "mixed.gguf"
    keys = gguf_tokenizer.keys(json.loads((FIXTURES / "qwen3/tokenizer.json").read_text()),
                               *MODELS["qwen3"])
    gguf.convert(model.Model(FIXTURES / "qwen3"), file, change, keys)
    asked = dict(prompt=TEXTS[0], max_new_tokens=24, temperature=0)
    with Fleet(model=file) as fleet:
        said = fleet.generate(**asked)["generated_text"]
        workers = fleet.request("GET", "/workers")[1]["workers"]
        assert [(w["dtype"], w["kv_dtype"]) for w in workers] == [("native", "f16")] * 2
        assert fleet.request("GET", "/v1/models")[1]["data"][0]["dtype"] == "native"
        [pack] = fleet.packs.glob("*.pack")
        assert "-native-" in pack.name
    with Fleet(model=file, prefill=0, gateway_args=["--colocated-prefill-tokens", 128]) as alone:
        alone.wait_ready(1)
        assert alone.generate(**asked)["generated_text"] == said
