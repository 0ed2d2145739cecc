"""Tokenizers of GGUF files: the ids and texts of the tokenizer.json that they were made of."""
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/reference"), str(ROOT / "tests/e2e")]
import gguf  # noqa: E402
import gguf_tokenizer  # noqa: E402
from tokenizer_mixes import random_texts  # noqa: E402

BIN = Path(os.environ["BATON_BIN"])
FIXTURES = ROOT / "tests/fixtures/tokenizers"
N_TEXTS = 2000
# Each kind's architecture and the name that llama.cpp's converter knows its steps by.
KINDS = dict(deepseek=("llama", "deepseek-v3"), falcon=("llama", "falcon"),
             gemma2=("gemma2", "default"), gemma3=("gemma3", "default"),
             gemma4=("gemma4", "gemma4"), gpt2=("gpt2", "gpt-2"),
             granite=("granite", "refact"), llama2=("llama", "default"),
             llama3=("llama", "llama-bpe"), o200k=("gpt-oss", "gpt-4o"), olmo2=("olmo2", "dbrx"),
             phi3=("phi3", "default"), phi4=("phi3", "dbrx"), qwen2=("qwen2", "qwen2"),
             qwen35=("qwen2", "qwen35"), smollm=("llama", "smollm"),
             starcoder=("starcoder2", "starcoder"), tekken=("llama", "tekken"))


def first_token(tokenizer):
    """The text of the special token that the post-processor puts first."""
    found = re.search(r'"single": \[\{"SpecialToken": \{"id": ("[^"]*")',
                      json.dumps(tokenizer["post_processor"]))
    return found and json.loads(found[1])


def write(path, tokenizer, arch, pre, **more):
    keys = gguf_tokenizer.keys(tokenizer, pre, first_token(tokenizer), **more)
    gguf.write(path, {"general.architecture": arch, **keys}, {})
    return path


def read(kind):
    return json.loads((FIXTURES / kind / "tokenizer.json").read_text())


def run(*argv):
    return subprocess.run([str(a) for a in argv], text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def check_same(tmp_path, model, file, texts, *compared):
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    done = run(BIN / "golden_same_tokenizer", model, file, tmp_path / "texts.json",
               *compared)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_ids_and_texts_of_the_directory(tmp_path, kind):
    tokenizer = read(kind)
    file = write(tmp_path / "model.gguf", tokenizer, *KINDS[kind])
    check_same(tmp_path, FIXTURES / kind, file, random_texts(random.Random(5), tokenizer, N_TEXTS))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_ids_of_hugging_faces_library(tmp_path, kind):
    file = write(tmp_path / "model.gguf", read(kind), *KINDS[kind])
    done = run(BIN / "golden_tokenizer", file, FIXTURES / kind / "vectors.json", "-", 21)
    assert done.returncode == 0, done.stdout[-3000:]


def test_word_pieces_have_the_ids_of_the_directory(tmp_path):
    """An unknown word's text differs: no space of a word's beginning is before it in a file."""
    tokenizer = read("bert-wordpiece")
    keys = gguf_tokenizer.keys(tokenizer, bos="[CLS]", eos="[SEP]")
    keys["tokenizer.ggml.unknown_token_id"] = tokenizer["model"]["vocab"]["[UNK]"]
    keys["tokenizer.ggml.add_eos_token"] = True
    gguf.write(tmp_path / "model.gguf", {"general.architecture": "bert", **keys}, {})
    texts = random_texts(random.Random(8), tokenizer, N_TEXTS)
    check_same(tmp_path, FIXTURES / "bert-wordpiece", tmp_path / "model.gguf", texts, "ids")


def test_files_do_not_tell_metaspace_from_a_space_that_is_always_put_first(tmp_path):
    """The two differ behind special tokens, and where a text begins with a space."""
    tokenizer = read("llama2-metaspace")
    added = [token["content"] for token in tokenizer["added_tokens"]]
    texts = [text for text in random_texts(random.Random(6), tokenizer, N_TEXTS)
             if not text.startswith((" ", "\u2581")) and not any(map(text.__contains__, added))]
    check_same(tmp_path, FIXTURES / "llama2-metaspace",
               write(tmp_path / "model.gguf", tokenizer, "llama", "default"), texts)


def test_unigram_has_the_ids_of_the_directory(tmp_path):
    """Its NFKC and its joining of spaces are in no key: words of ASCII with single spaces."""
    tokenizer, rng = read("unigram"), random.Random(7)
    words = [word for word in (pair[0].replace("\u2581", " ").strip()
                               for pair in tokenizer["model"]["vocab"])
             if word.isascii() and word and "<" not in word]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(N_TEXTS)]
    file = write(tmp_path / "model.gguf", tokenizer, "llama", "default")
    keys = gguf_tokenizer.keys(tokenizer)
    assert keys["tokenizer.ggml.model"] == "t5"
    check_same(tmp_path, FIXTURES / "unigram", file, texts)


def test_padding_rows_are_no_tokens(tmp_path):
    tokenizer = read("qwen2")
    file = write(tmp_path / "model.gguf", tokenizer, "qwen2", "qwen2", n_vocab=1024)
    check_same(tmp_path, FIXTURES / "qwen2", file, ["[PAD1000] <|im_start|>[PAD768]", "a [PAD"])
