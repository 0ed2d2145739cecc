"""A model that fills in the middle, and reranks under a name that says so."""
import json
import shutil

from fleet import ROOT

TOKENS = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>",
          "<|file_sep|>"]


# Of Qwen3-Reranker's question and answers.
RERANKERS = ["<|im_start|>", "yes", "no"]


def model_with_tokens(path, tokens, special=(), single_words=()):
    """The story model, the last merges of whose tokenizer became these tokens."""
    shutil.copytree(ROOT / "models/tale", path)
    file = path / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    for token in tokens:
        number = vocabulary.pop("".join(merges.pop()).replace(" ", ""))
        vocabulary[token] = number
        tokenizer["added_tokens"].append(dict(
            id=number, content=token, special=token in special, normalized=False,
            lstrip=False, rstrip=False, single_word=token in single_words))
    file.write_text(json.dumps(tokenizer))
    return path


def infill_model(path):
    """With Qwen Coder's tokens. As there, they are not marked as special."""
    return model_with_tokens(path, TOKENS + RERANKERS, RERANKERS[:1], RERANKERS[1:])
