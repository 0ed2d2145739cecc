"""A model that fills in the middle."""
import json
import shutil

from fleet import ROOT

TOKENS = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>",
          "<|file_sep|>"]


def infill_model(path):
    """The story model, the last merges of whose tokenizer became Qwen Coder's tokens. As there,
    they are not marked as special."""
    shutil.copytree(ROOT / "models/tale", path)
    file = path / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    for token in TOKENS:
        number = vocabulary.pop("".join(merges.pop()).replace(" ", ""))
        vocabulary[token] = number
        tokenizer["added_tokens"].append(dict(
            id=number, content=token, special=False, normalized=False, lstrip=False, rstrip=False,
            single_word=False))
    file.write_text(json.dumps(tokenizer))
    return path
