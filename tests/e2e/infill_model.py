"""A model that fills in the middle, and reranks under a name that says so."""
import json
import shutil

from fleet import ROOT

TOKENS = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>",
          "<|file_sep|>"]


# Of Qwen3-Reranker's question and answers.
RERANKERS = ["<|im_start|>", "yes", "no"]


def infill_model(path):
    """The story model, the last merges of whose tokenizer became Qwen Coder's tokens. As there,
    they are not marked as special."""
    shutil.copytree(ROOT / "models/tale", path)
    file = path / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    for token in TOKENS + RERANKERS:
        number = vocabulary.pop("".join(merges.pop()).replace(" ", ""))
        vocabulary[token] = number
        tokenizer["added_tokens"].append(dict(
            id=number, content=token, special=token in RERANKERS[:1], normalized=False,
            lstrip=False, rstrip=False, single_word=token in RERANKERS[1:]))
    file.write_text(json.dumps(tokenizer))
    return path
