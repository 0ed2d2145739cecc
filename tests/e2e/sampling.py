"""The sampling pipeline in float64, from its description, as the judge of `explain`."""
import math
from collections import Counter
from dataclasses import dataclass, field

MASK32 = 2**32 - 1


def philox4x32(counter, key):
    """Philox 4x32-10 (Salmon et al., SC 2011): a counter of four words, a key of two."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & MASK32, p0 >> 32 ^ c[3] ^ k[1], p0 & MASK32]
        k = [k[0] + 0x9E3779B9 & MASK32, k[1] + 0xBB67AE85 & MASK32]
    return c


def uniform(seed, position):
    """In [0, 1), 53 bits: the draw for the token at this absolute position."""
    words = philox4x32([position & MASK32, position >> 32, 0, 0], [seed & MASK32, seed >> 32])
    return ((words[1] << 32 | words[0]) >> 11) * 2.0**-53


def softmax(logits, temperature=1.0):
    """{id: probability} of {id: logit}"""
    highest = max(logits.values())
    weights = {i: math.exp((x - highest) / temperature) for i, x in logits.items()}
    total = sum(weights.values())
    return {i: w / total for i, w in weights.items()}


def penalized(logit, token, sampling, prompt, output):
    """A logit after bias and penalties. prompt and output: the ids so far."""
    logit += sampling.get("logit_bias", {}).get(str(token), 0)
    if token in prompt or token in output:
        penalty = sampling.get("repetition_penalty", 1)
        logit = logit / penalty if logit > 0 else logit * penalty
    n = Counter(output)[token]
    presence = sampling.get("presence_penalty", 0) if n else 0
    return logit - presence - sampling.get("frequency_penalty", 0) * n


def by_rank(logits):
    return sorted(logits, key=lambda i: (-logits[i], i))


@dataclass
class Shaped:
    """Filters penalized logits {id: logit}: the tokens left after each filter, by rank."""
    after_top_k: list
    after_top_p: list
    after_min_p: list
    probs: dict  # of those left
    intervals: dict = field(default_factory=dict)  # {id: (begin, end)}, of those left

    def pick(self, draw):
        return next(i for i, (_, end) in self.intervals.items() if draw < end)


def shape(logits, sampling):
    temperature, k = sampling.get("temperature", 1), sampling.get("top_k", 0)
    after_top_k = by_rank(logits)
    if 0 < k < len(after_top_k):
        lowest = logits[after_top_k[k - 1]]
        after_top_k = [i for i in after_top_k if logits[i] >= lowest]
    probs = softmax({i: logits[i] for i in after_top_k}, temperature)
    after_top_p, mass = [], 0.0
    for i in after_top_k:
        after_top_p.append(i)
        mass += probs[i]
        if mass >= sampling.get("top_p", 1) and sampling.get("top_p", 1) < 1:
            break
    least = sampling.get("min_p", 0) * probs[after_top_p[0]]
    after_min_p = [i for i in after_top_p if probs[i] >= least]
    shaped = Shaped(after_top_k, after_top_p, after_min_p,
                    softmax({i: logits[i] for i in after_min_p}, temperature))
    begin = 0.0
    for i in sorted(shaped.probs):
        shaped.intervals[i] = (begin, begin + shaped.probs[i])
        begin += shaped.probs[i]
    return shaped


def entropy_bits(probs):
    return -sum(p * math.log2(p) for p in probs.values() if p > 0)
