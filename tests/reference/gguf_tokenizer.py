"""A tokenizer.json as the keys of a GGUF file, as llama.cpp's converter writes them.

Much gets lost: patterns and normalizers become a name, the order of merges becomes scores, and
added tokens keep no flag but whether they are special.
"""
import base64
import re

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"


def tokens_of(tokenizer, n_vocab):
    """Text and type of each id."""
    vocab, added = tokenizer["model"]["vocab"], tokenizer["added_tokens"]
    pairs = vocab.items() if isinstance(vocab, dict) else ((pair[0], i)
                                                           for i, pair in enumerate(vocab))
    rows = {i: (token, BYTE if re.fullmatch("<0x[0-9A-F]{2}>", token) else NORMAL)
            for token, i in pairs}
    spaced = tokenizer["model"]["type"] == "Unigram" or tokenizer["model"].get("byte_fallback")
    for token in added:
        content = token["content"]
        looks_special = re.fullmatch(r"<\|.*\|>|<\uff5c.*\uff5c>|<unused.*>|<pad>|<mask>", content)
        if content == "<unk>" and spaced:
            rows[token["id"]] = content, UNKNOWN
        elif token["special"] or looks_special:
            rows[token["id"]] = content, CONTROL
        else:
            rows[token["id"]] = content.replace(SPACE, " "), USER_DEFINED
    if tokenizer["model"]["type"] == "WordPiece":
        rows = {i: (token if kind == CONTROL else wordpiece(token), kind)
                for i, (token, kind) in rows.items()}
    n = max(n_vocab or 0, max(rows) + 1)
    return [rows.get(i, (f"[PAD{i}]", UNUSED)) for i in range(n)]


def wordpiece(token):
    """A file marks the pieces that begin a word, in place of those that continue one."""
    return token[2:] if token.startswith("##") else SPACE + token


def scores_of(tokenizer, rows):
    """Each piece's negative rank among the merges; converters overwrite those of added tokens."""
    model = tokenizer["model"]
    if model["type"] == "Unigram":
        return ([float(pair[1]) for pair in model["vocab"]]
                + [-1000.0] * (len(rows) - len(model["vocab"])))
    ranks = {}
    for merge in model["merges"]:
        left, right = merge if isinstance(merge, list) else merge.split(" ")
        ranks.setdefault(left + right, float(-1 - len(ranks)))
    lowest = float(-1 - len(ranks))
    return [{NORMAL: ranks.get(token, lowest), BYTE: 0.0}.get(kind, -1000.0)
            for token, kind in rows]


def steps_in(part, key):
    return [] if part is None else part[key] if part["type"] == "Sequence" else [part]


def merges_of(tokenizer):
    return [" ".join(merge) if isinstance(merge, list) else merge
            for merge in tokenizer["model"]["merges"]]


def keys(tokenizer, pre="default", bos=None, eos=None, n_vocab=None):
    """pre: the name of a byte-level tokenizer's steps. bos, eos: texts."""
    rows = tokens_of(tokenizer, n_vocab)
    normalizers = steps_in(tokenizer["normalizer"], "normalizers")
    made = {"tokenizer.ggml.pre": pre, "tokenizer.ggml.tokens": [token for token, _ in rows],
            "tokenizer.ggml.token_type": [kind for _, kind in rows]}
    if tokenizer["model"]["type"] == "Unigram":
        made["tokenizer.ggml.model"] = "t5"
    elif tokenizer["model"]["type"] == "WordPiece":
        made["tokenizer.ggml.model"] = "bert"
    elif pre == "gemma4":
        made["tokenizer.ggml.model"] = "gemma4"
        made["tokenizer.ggml.merges"] = merges_of(tokenizer)
    elif tokenizer["model"].get("byte_fallback"):
        made["tokenizer.ggml.model"] = "llama"
        made["tokenizer.ggml.add_space_prefix"] = any(
            step["type"] == "Prepend" or step.get("prepend_scheme", "never") != "never"
            for step in normalizers + steps_in(tokenizer["pre_tokenizer"], "pretokenizers"))
    else:
        made["tokenizer.ggml.model"] = "gpt2"
        made["tokenizer.ggml.merges"] = merges_of(tokenizer)
    if made["tokenizer.ggml.model"] not in ("gpt2", "gemma4", "bert"):
        made["tokenizer.ggml.scores"] = scores_of(tokenizer, rows)
    for step in normalizers:
        if step["type"] == "Precompiled":
            made["tokenizer.ggml.precompiled_charsmap"] = (
                base64.b64decode(step["precompiled_charsmap"]))
    ids = {token: i for i, (token, _) in enumerate(rows)}
    for name, token in (("bos", bos), ("eos", eos)):
        if token is not None:
            made[f"tokenizer.ggml.{name}_token_id"] = ids[token]
    if "<unk>" in ids:
        made["tokenizer.ggml.unknown_token_id"] = ids["<unk>"]
    made["tokenizer.ggml.add_bos_token"] = bos is not None
    made["tokenizer.ggml.add_eos_token"] = False
    return made
