"""Nasty texts for a tokenizer.json, and random mixes of the steps that such files hold."""
import json
import unicodedata

NASTY = [" ", "  ", "   ", "\n", "\r\n", "\t", " \n", "\n\n\n", "\u00a0", "\u3000", "\u2028",
         "\u0085", "\u180e", "\u200d", "\u200b", "\ufeff", "e\u0301", "\u0130", "\u017f", "\u212a",
         "'S", "'re", "'LL", "I'VE", "'\u017f", "12345", "1,234.56", "\u00bd\u00b2", "\u0663\u0664",
         "\U0001f469\u200d\U0001f467", "\u1112\u1161\u11ab", "\uac00\u11a8", "\ufb01", "\ufdfa",
         "\u212b", "\u2126", "a\u0323\u0307", "<0x41>", "\u2581", "\u0120", "</s>", "<s>", "<unk>",
         "http://x.y/z?a=b", "def f(x):\n    return x\n", "a" * 30, "ABCdefGHI", "camelCase",
         "....", "---===", "\u4e2d\u6587\uff0c\u53e5\u5b50\u3002",
         "\u65e5\u672c\u3072\u3089\u30ab\u30ca", "\u0438\u0306", "\x00", "\x7f", "a_b", "//"]

RANGES = [(0x20, 0x7e)] * 8 + [
    (1, 0x1f), (0x80, 0x24f), (0x300, 0x36f), (0x370, 0x52f), (0x590, 0x6ff), (0x900, 0x97f),
    (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1e00, 0x1fff), (0x2000, 0x2bff), (0x3000, 0x33ff),
    (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xf900, 0xfb4f), (0xff00, 0xffef),
    (0x10300, 0x1031e), (0x1d400, 0x1d7c9), (0x20000, 0x2a6d6)]

PATTERNS = [r"\s+", r"\p{L}+", r"\d", r"[^\s]+", r"\w+|[^\w\s]+", r"(?i:'s|'t)|\p{L}+",
            r"\s*[\r\n]+", r"[\p{L}\p{M}]+", r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}", r"(?=[A-Z])",
            r"\s+(?!\S)|\s+", r"[a-m&&[^c]]+", r"^.", r".$", r"\p{N}{1,3}+", r"[\S]{2}",
            r"\p{Han}+|\p{Hiragana}+", r"\h+", r"x*", r" ?[^\s\p{L}\p{N}]+", r"\b\w"]


def is_old(character):
    """Whether every Unicode library knows it: those in use are of several versions."""
    return unicodedata.ucd_3_2_0.category(character) != "Cn"


def words_of(tokenizer):
    vocab = tokenizer["model"]["vocab"]
    words = list(vocab) if isinstance(vocab, dict) else [pair[0] for pair in vocab]
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = {chr(b): b for b in printable}
    alphabet.update((chr(256 + i), b)
                    for i, b in enumerate(sorted(set(range(256)) - set(printable))))

    def text(word):
        try:
            return bytes(alphabet[c] for c in word).decode()
        except (KeyError, UnicodeDecodeError):
            return word.replace("\u2581", " ")
    return [t for t in map(text, words) if all(map(is_old, t))]


def random_texts(rng, tokenizer, n, longest=30):
    words, added = words_of(tokenizer), [a["content"] for a in tokenizer["added_tokens"]]

    def piece():
        kind = rng.random()
        if kind < 0.3:
            return rng.choice(words)
        if kind < 0.45:
            return rng.choice(NASTY)
        if kind < 0.52 and added:
            return rng.choice(added)
        if kind < 0.8:
            low, high = rng.choice(RANGES)
            return "".join(filter(is_old,
                                  (chr(rng.randint(low, high)) for _ in range(rng.randint(1, 8)))))
        return " " + "".join(rng.choice("etaoinshrdlu") for _ in range(rng.randint(1, 9)))
    return [""] + ["".join(piece() for _ in range(rng.randint(1, longest))) for _ in range(n - 1)]


def random_pattern(rng):
    if rng.random() < 0.75:
        return {"Regex": rng.choice(PATTERNS)}
    return {"String": rng.choice([" ", "a", "\u2581", "the", "\n", "-", "  "])}


def random_normalizer(rng):
    kind = rng.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip",
                       "Prepend", "Replace", "Nmt"])
    step = {"type": kind}
    if kind == "Strip":
        step.update(strip_left=rng.random() < 0.5, strip_right=rng.random() < 0.5)
    elif kind == "Prepend":
        step["prepend"] = rng.choice(["\u2581", " ", "ab"])
    elif kind == "Replace":
        step.update(pattern=random_pattern(rng), content=rng.choice(["\u2581", " ", "xy"]))
    return step


def random_splitter(rng):
    kind = rng.choice(["Split", "Split", "Split", "Digits", "Punctuation", "Whitespace",
                       "WhitespaceSplit", "Metaspace", "CharDelimiterSplit"])
    behavior = rng.choice(["Isolated", "Removed", "Contiguous", "MergedWithPrevious",
                           "MergedWithNext"])
    return {"type": kind, **{
        "Split": {"pattern": random_pattern(rng), "behavior": behavior,
                  "invert": rng.random() < 0.3},
        "Digits": {"individual_digits": rng.random() < 0.5},
        "Punctuation": {"behavior": behavior},
        "Metaspace": {"replacement": "\u2581", "prepend_scheme": rng.choice(["never", "always"]),
                      "split": rng.random() < 0.5},
        "CharDelimiterSplit": {"delimiter": rng.choice("a -")},
    }.get(kind, {})}


def mix_steps(rng, tokenizer):
    is_bytes = "ByteLevel" in json.dumps(tokenizer["pre_tokenizer"])
    if rng.random() < 0.6:
        steps = [random_normalizer(rng) for _ in range(rng.randint(1, 3))]
        tokenizer["normalizer"] = {"type": "Sequence", "normalizers": steps}
    if rng.random() < 0.7:
        steps = [random_splitter(rng) for _ in range(rng.randint(0, 2))]
        if is_bytes:
            steps.append({"type": "ByteLevel", "add_prefix_space": rng.random() < 0.3,
                          "trim_offsets": True, "use_regex": rng.random() < 0.5})
            if rng.random() < 0.15:
                steps.append({"type": "Digits", "individual_digits": True})
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps} if steps else None


def mix_added(rng, tokenizer):
    """Special tokens stay unnormalized and unconditional. Where the library leaves one in the text,
    its model may still make the token of it, which Baton does not."""
    vocab = tokenizer["model"]["vocab"]
    known = set(vocab) if isinstance(vocab, dict) else {pair[0] for pair in vocab}
    ids = list(vocab.values()) if isinstance(vocab, dict) else range(len(vocab))
    added = tokenizer["added_tokens"]
    known.update(a["content"] for a in added)
    next_id = max([*ids, *(a["id"] for a in added)]) + 1
    for token in added:
        token.update(lstrip=rng.random() < 0.3, rstrip=rng.random() < 0.3)
    for content in rng.sample(["the", "and the", "A-b", "ab", "12", "oe"], 3):
        if content not in known:
            added.append({"id": next_id, "content": content, "special": rng.random() < 0.3,
                          **{flag: rng.random() < 0.3
                             for flag in ("lstrip", "rstrip", "single_word", "normalized")}})
            next_id += 1


def random_mix(rng, tokenizer):
    """Changes steps, flags and added tokens; keeps model and decoder."""
    mix_steps(rng, tokenizer)
    mix_added(rng, tokenizer)
    if tokenizer["model"]["type"] == "BPE" and rng.random() < 0.3:
        tokenizer["model"]["fuse_unk"] = not tokenizer["model"].get("fuse_unk")
