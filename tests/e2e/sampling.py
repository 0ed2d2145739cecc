"""The sampling pipeline in float64, from its description, as the judge of `explain`."""
import math
import statistics
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


def keep_top_k(logits, k, _temperature):
    ranked = by_rank(logits)
    lowest = logits[ranked[min(k, len(ranked)) - 1]]
    return [i for i in ranked if logits[i] >= lowest]


def keep_top_n_sigma(logits, n, _temperature):
    least = max(logits.values()) - n * statistics.pstdev(logits.values())
    return [i for i in by_rank(logits) if n <= 0 or logits[i] >= least]


def keep_typical_p(logits, p, temperature):
    probs = softmax(logits, temperature)
    entropy = entropy_bits(probs) * math.log(2)
    distance = {i: abs(-math.log(q) - entropy) if q else math.inf for i, q in probs.items()}
    border, mass = 0.0, 0.0
    for i in sorted(probs, key=distance.get):
        if mass >= p:
            break
        border, mass = distance[i], mass + probs[i]
    return [i for i in by_rank(logits) if distance[i] <= border + 1e-9]


def keep_top_p(logits, p, temperature):
    probs, left, mass = softmax(logits, temperature), [], 0.0
    for i in by_rank(logits):
        left.append(i)
        mass += probs[i]
        if mass >= p:
            break
    return left


def keep_min_p(logits, p, temperature):
    probs = softmax(logits, temperature)
    least = p * max(probs.values())
    return [i for i in by_rank(logits) if probs[i] >= least]


# {name: (the value that is off, what is left of {id: logit} by rank)}, in the order they run.
FILTERS = {"top_n_sigma": (0, keep_top_n_sigma), "top_k": (0, keep_top_k),
           "typical_p": (1, keep_typical_p), "top_p": (1, keep_top_p), "min_p": (0, keep_min_p)}


@dataclass
class Shaped:
    """Filters penalized logits {id: logit}: the tokens left after each filter, by rank."""
    after: dict  # {name of a filter: ids}
    probs: dict  # of those left
    intervals: dict = field(default_factory=dict)  # {id: (begin, end)}, of those left

    def pick(self, draw):
        return next(i for i, (_, end) in self.intervals.items() if draw < end)

    def kept(self):
        """As a step has it."""
        return {f"after_{name}": len(left) for name, left in self.after.items()}

    def removed_by(self, token):
        return next((name for name, left in self.after.items() if token not in left), None)


def shape(logits, sampling):
    temperature, left, after = sampling.get("temperature", 1), by_rank(logits), {}
    for name, (off, keep) in FILTERS.items():
        if sampling.get(name, off) != off:
            left = keep({i: logits[i] for i in left}, sampling[name], temperature)
        after[name] = left
    shaped = Shaped(after, softmax({i: logits[i] for i in left}, temperature))
    begin = 0.0
    for i in sorted(shaped.probs):
        shaped.intervals[i] = (begin, begin + shaped.probs[i])
        begin += shaped.probs[i]
    return shaped


def entropy_bits(probs):
    return -sum(p * math.log2(p) for p in probs.values() if p > 0)
