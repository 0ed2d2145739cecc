"""Rotary embeddings: how far each pair of a head's elements turns, for every kind of scaling.

RoFormer (arXiv:2104.09864); linear (arXiv:2306.15595); llama3 (Llama 3.1's model card); YaRN
(arXiv:2309.00071); LongRoPE (arXiv:2402.13753); Gemma 4's "proportional". Position p turns pair i
by p * inverse[i]; sine and cosine are multiplied by `factor`.
"""
import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Rope:
    inverse: np.ndarray  # [n / 2]
    factor: float
    interleaved: bool  # pairs are (2i, 2i + 1), else (i, i + n / 2)

    def turn(self, x, positions):
        """x [T][heads][D]: the first n elements of each head are turned, the others stay."""
        n = 2 * len(self.inverse)
        angle = positions[:, None, None] * self.inverse
        cos, sin = np.cos(angle) * self.factor, np.sin(angle) * self.factor
        first, second = ((slice(0, n, 2), slice(1, n, 2)) if self.interleaved
                         else (slice(0, n // 2), slice(n // 2, n)))
        turned = x.copy()
        turned[..., first] = x[..., first] * cos - x[..., second] * sin
        turned[..., second] = x[..., second] * cos + x[..., first] * sin
        return turned


def yarn(inverse, n, theta, scaling, original):
    def dimension(turns):
        return n * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    factor = scaling["factor"]
    low = dimension(scaling.get("beta_fast") or 32)
    high = dimension(scaling.get("beta_slow") or 1)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, n - 1)
    high += 0.001 if high == low else 0
    ramp = np.clip((np.arange(n // 2) - low) / (high - low), 0, 1)
    inverse = inverse / factor * ramp + inverse * (1 - ramp)

    def mscale(m):
        return 0.1 * m * math.log(factor) + 1 if factor > 1 else 1.0

    attention = scaling.get("attention_factor")
    if attention is None:
        if scaling.get("mscale") and scaling.get("mscale_all_dim"):
            attention = mscale(scaling["mscale"]) / mscale(scaling["mscale_all_dim"])
        else:
            attention = mscale(1)
    return inverse, attention


def llama3(inverse, scaling, original):
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = original * inverse / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0, 1)
    return (1 - share) * inverse / scaling["factor"] + share * inverse


def longrope(inverse, scaling, original, config, n_context):
    """One choice for all positions, from the context that is served."""
    factors = scaling["long_factor"] if n_context > original else scaling["short_factor"]
    stretch = config["max_position_embeddings"] / original
    attention = scaling.get("attention_factor")
    if attention is None:
        attention = 1.0 if stretch <= 1 else math.sqrt(1 + math.log(stretch) / math.log(original))
    return inverse / np.array(factors, float), attention


def make(config, scaling, theta, n, interleaved=False, n_context=None):
    """n: the elements of a head that turn. scaling: rope_scaling or rope_parameters, or None."""
    scaling = scaling or {}
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    inverse, factor = theta ** (-np.arange(0, n, 2) / n), 1.0
    longest = config["max_position_embeddings"]
    original = (scaling.get("original_max_position_embeddings")
                or config.get("original_max_position_embeddings") or longest)
    if kind == "dynamic" and scaling.get("alpha"):  # Hunyuan's
        inverse = (theta * scaling["alpha"] ** (n / (n - 2))) ** (-np.arange(0, n, 2) / n)
    if kind == "linear":
        inverse = inverse / scaling["factor"]
    elif kind == "llama3":
        inverse = llama3(inverse, scaling, original)
    elif kind == "yarn":
        inverse, factor = yarn(inverse, n, theta, scaling, original)
    elif kind in ("longrope", "su"):
        inverse, factor = longrope(inverse, scaling, original, config, n_context or longest)
    elif kind == "proportional":  # pairs of a whole head, of which only the first turn
        n_turning = int(n * scaling.get("partial_rotary_factor", 1.0) / 2)
        inverse = np.where(np.arange(n // 2) < n_turning, inverse, 0) / scaling.get("factor", 1.0)
    elif kind not in ("default", "mrope", "dynamic"):  # dynamic: plain below the model's context
        raise ValueError(f"rope type {kind}")
    return Rope(inverse, factor, interleaved)
