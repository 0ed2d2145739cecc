"""Random models with Mamba-2 layers or short convolutions as Hugging Face directories and GGUF
files, and their logits in float64, a whole text at a time.

Letters: C width, H heads, G key/value heads, D head size, F feed-forward width, L layers,
V vocabulary, E experts, T tokens; of a state M heads of P values, N keys in g groups, K taps.
"""
import json
import math
from pathlib import Path

import numpy as np

import checkpoint
import gguf
from encoders import softmax, turned
from random_model import Draw, heads


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def relu2(x):
    return np.maximum(x, 0) ** 2


# ---- configurations ----


def base(draw, family):
    H, G = heads(draw)
    D, L = 2 * draw.between(2, 14), draw.between(2, 5)
    return dict(model_type=family, num_attention_heads=H, num_key_value_heads=G, head_dim=D,
                hidden_size=H * D, num_hidden_layers=L, intermediate_size=draw.between(9, 90),
                vocab_size=draw.between(61, 300), max_position_embeddings=128, eos_token_id=1,
                bos_token_id=2)


def mixed_types(draw, L, others, attention):
    """At least one layer has attention, and one a state: others[0]."""
    types = [others[0], attention] + [draw.of(others[0], attention, *others) for _ in range(L - 2)]
    return [types[i] for i in draw.rng.permutation(L)]


def router(draw, config, name="num_experts"):
    E = draw.between(2, 9)
    config.update({name: E, "num_experts_per_tok": draw.between(1, min(E, 4)),
                   "moe_intermediate_size": draw.between(7, 40), "norm_topk_prob": draw.chance(),
                   "routed_scaling_factor": draw.of(1.0, 2.5)})


def lfm2(draw, family):
    config = base(draw, family)
    config.pop("head_dim")
    L = config["num_hidden_layers"]
    config.update(norm_eps=draw.of(1e-5, 1e-6), conv_L_cache=draw.between(2, 4), conv_bias=False,
                  layer_types=mixed_types(draw, L, ["conv"], "full_attention"),
                  rope_theta=draw.of(1e4, 1e6))
    if family == "lfm2_moe":
        router(draw, config)
        config.update(num_dense_layers=draw.between(0, L), use_expert_bias=draw.chance(0.7))
    else:
        config.update(block_auto_adjust_ff_dim=draw.chance(), block_multiple_of=draw.between(1, 20),
                      block_ffn_dim_multiplier=draw.of(1.0, 1.3))
    if draw.chance(0.3):
        config["full_attn_idxs"] = [i for i, kind in enumerate(config.pop("layer_types"))
                                    if kind != "conv"]
    return config


def state_sizes(draw):
    g = draw.between(1, 4)
    return g * draw.between(1, 4), draw.of(3, 8, 12, 16, 20, 33), 4 * draw.between(1, 9), g


def granitemoehybrid(draw, family):
    config = base(draw, family)
    config.pop("head_dim")
    M, _, N, _ = state_sizes(draw)
    g = draw.of(*(n for n in (1, 2, M) if M % n == 0))
    while config["hidden_size"] * 2 % M:
        M //= 2
        g = 1
    config.update(rms_norm_eps=draw.of(1e-5, 1e-6), embedding_multiplier=draw.real(0.5, 12),
                  residual_multiplier=draw.real(0.2, 1), attention_multiplier=draw.real(0.05, 0.4),
                  logits_scaling=draw.real(0.5, 8), tie_word_embeddings=draw.chance(),
                  position_embedding_type=draw.of("nope", "rope"), rope_theta=1e4,
                  hidden_act="silu", shared_intermediate_size=draw.between(9, 60),
                  layer_types=mixed_types(draw, config["num_hidden_layers"], ["mamba"],
                                          "attention"),
                  mamba_n_heads=M, mamba_d_head=config["hidden_size"] * 2 // M, mamba_d_state=N,
                  mamba_n_groups=g, mamba_d_conv=draw.between(2, 4), mamba_expand=2,
                  mamba_conv_bias=draw.chance(), num_local_experts=0, num_experts_per_tok=0)
    if draw.chance():
        router(draw, config, "num_local_experts")
        config["intermediate_size"] = config.pop("moe_intermediate_size")
    return config


def nemotron_h(draw, family):
    config = base(draw, family)
    M, P, N, g = state_sizes(draw)
    pattern = "".join(mixed_types(draw, config["num_hidden_layers"] + 2, ["M", "-", "E"], "*"))
    config.update(num_hidden_layers=len(pattern), hybrid_override_pattern=pattern,
                  layer_norm_epsilon=draw.of(1e-5, 1e-6), tie_word_embeddings=False,
                  hidden_size=draw.between(9, 90), mamba_num_heads=M, mamba_head_dim=P,
                  ssm_state_size=N, n_groups=g, conv_kernel=draw.between(2, 4),
                  use_conv_bias=draw.chance(), mlp_hidden_act="relu2",
                  attention_bias=draw.chance(0.3), mlp_bias=draw.chance(0.3),
                  time_step_limit=draw.of([0.0, math.inf], [0.3, 0.9]))
    router(draw, config, "n_routed_experts")
    config.update(moe_shared_expert_intermediate_size=draw.between(9, 60), n_shared_experts=1)
    if draw.chance(0.5) and config["n_routed_experts"] % 2 == 0:
        E = config["n_routed_experts"]
        if E >= 4:
            config.update(n_group=2, topk_group=1)
            config["num_experts_per_tok"] = min(config["num_experts_per_tok"], E // 2)
    return config


FAMILIES = {"lfm2": lfm2, "lfm2_moe": lfm2, "granitemoehybrid": granitemoehybrid,
            "nemotron_h": nemotron_h}
LETTERS = {"M": "mamba", "*": "full_attention", "-": "mlp", "E": "moe"}


def types_of(config):
    """Of each layer; "attention" is "full_attention"."""
    if "hybrid_override_pattern" in config:
        return [LETTERS[letter] for letter in config["hybrid_override_pattern"]]
    if "full_attn_idxs" in config:
        return ["full_attention" if i in config["full_attn_idxs"] else "conv"
                for i in range(config["num_hidden_layers"])]
    return ["full_attention" if kind == "attention" else kind for kind in config["layer_types"]]


def n_ff_of(config):
    """LFM2's rule."""
    n_ff = config["intermediate_size"]
    if not config.get("block_auto_adjust_ff_dim"):
        return n_ff
    n_ff = int(config["block_ffn_dim_multiplier"] * int(2 * n_ff / 3))
    return -(-n_ff // config["block_multiple_of"]) * config["block_multiple_of"]


def mamba_sizes(config):
    """M, P, N, g, K"""
    keys = (("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel")
            if config["model_type"] == "nemotron_h" else
            ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv"))
    return [config[key] for key in keys]


# ---- tensors ----


class Writer(dict):
    def __init__(self, draw, config):
        super().__init__()
        self.rng, self.config = draw.rng, config

    def normal(self, name, shape, deviation, mean=0.0):
        self[name] = self.rng.normal(mean, deviation, shape)

    def linear(self, name, n_out, n_in, biased=False):
        self.normal(name + ".weight", (n_out, n_in), 1.3 / math.sqrt(n_in))
        if biased:
            self.normal(name + ".bias", n_out, 0.3)

    def attention(self, prefix, out, biased=False):
        c = self.config
        H, G, C = c["num_attention_heads"], c["num_key_value_heads"], c["hidden_size"]
        D = c.get("head_dim", C // H)
        for part, n in (("q", H * D), ("k", G * D), ("v", G * D)):
            self.linear(prefix + part + "_proj", n, C, biased)
        self.linear(prefix + out, C, H * D, biased)

    def mamba(self, prefix, has_bias):
        C, (M, P, N, g, K) = self.config["hidden_size"], mamba_sizes(self.config)
        n = M * P + 2 * g * N
        self.linear(prefix + "in_proj", 2 * M * P + 2 * g * N + M, C)
        self.normal(prefix + "conv1d.weight", (n, 1, K), 0.6)
        if has_bias:
            self.normal(prefix + "conv1d.bias", n, 0.3)
        for name, deviation, mean in (("dt_bias", 0.7, -1), ("A_log", 0.7, 0), ("D", 0.5, 1)):
            self.normal(prefix + name, M, deviation, mean)
        self.normal(prefix + "norm.weight", M * P, 0.2, 1)
        self.linear(prefix + "out_proj", C, M * P)

    def norms(self, prefix, *names):
        for name in names:
            self.normal(prefix + name + ".weight", self.config["hidden_size"], 0.2, 1)

    def experts(self, prefix, name, E, parts):
        """parts: the expert's matrices, [(name, n_out, n_in)]"""
        for e in range(E):
            for part, n_out, n_in in parts:
                self.linear(f"{prefix}{name}.{e}.{part}", n_out, n_in)


def lfm2_tensors(t, c):
    C, F, V = c["hidden_size"], n_ff_of(c), c["vocab_size"]
    t.normal("model.embed_tokens.weight", (V, C), 0.5)
    t.norms("model.", "embedding_norm")
    for i, kind in enumerate(types_of(c)):
        layer = f"model.layers.{i}."
        t.norms(layer, "operator_norm", "ffn_norm")
        if kind == "conv":
            t.linear(layer + "conv.in_proj", 3 * C, C)
            t.normal(layer + "conv.conv.weight", (C, 1, c["conv_L_cache"]), 0.7)
            t.linear(layer + "conv.out_proj", C, C)
        else:
            t.attention(layer + "self_attn.", "out_proj")
            for name in "qk":
                t.normal(f"{layer}self_attn.{name}_layernorm.weight",
                         C // c["num_attention_heads"], 0.2, 1)
        layer += "feed_forward."
        if i >= c.get("num_dense_layers", c["num_hidden_layers"]):
            E, F_e = c["num_experts"], c["moe_intermediate_size"]
            t.linear(layer + "gate", E, C)
            if c["use_expert_bias"]:
                t.normal(layer + "expert_bias", E, 0.5)
            t.experts(layer, "experts", E, (("w1", F_e, C), ("w2", C, F_e), ("w3", F_e, C)))
        else:
            for name, n_out, n_in in (("w1", F, C), ("w2", C, F), ("w3", F, C)):
                t.linear(layer + name, n_out, n_in)


def granite_tensors(t, c):
    C, F, V = c["hidden_size"], c["shared_intermediate_size"], c["vocab_size"]
    t.normal("model.embed_tokens.weight", (V, C), 0.3)
    t.norms("model.", "norm")
    if not c["tie_word_embeddings"]:
        t.linear("lm_head", V, C)
    for i, kind in enumerate(types_of(c)):
        layer = f"model.layers.{i}."
        t.norms(layer, "input_layernorm", "post_attention_layernorm")
        if kind == "mamba":
            t.mamba(layer + "mamba.", c["mamba_conv_bias"])
        else:
            t.attention(layer + "self_attn.", "o_proj")
        t.linear(layer + "shared_mlp.input_linear", 2 * F, C)
        t.linear(layer + "shared_mlp.output_linear", C, F)
        if c["num_local_experts"]:
            E, F_e = c["num_local_experts"], c["intermediate_size"]
            layer += "block_sparse_moe."
            t.linear(layer + "router.layer", E, C)
            t.normal(layer + "input_linear.weight", (E, 2 * F_e, C), 1.3 / math.sqrt(C))
            t.normal(layer + "output_linear.weight", (E, C, F_e), 1.3 / math.sqrt(F_e))


def nemotron_tensors(t, c):
    C, F, V = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    t.normal("backbone.embeddings.weight", (V, C), 0.7)
    t.norms("backbone.", "norm_f")
    t.linear("lm_head", V, C)
    for i, kind in enumerate(types_of(c)):
        t.norms(f"backbone.layers.{i}.", "norm")
        layer = f"backbone.layers.{i}.mixer."
        if kind == "mamba":
            t.mamba(layer, c["use_conv_bias"])
        elif kind == "full_attention":
            t.attention(layer, "o_proj", c["attention_bias"])
        elif kind == "mlp":
            t.linear(layer + "up_proj", F, C, c["mlp_bias"])
            t.linear(layer + "down_proj", C, F, c["mlp_bias"])
        else:
            E, F_e = c["n_routed_experts"], c["moe_intermediate_size"]
            F_s = c["moe_shared_expert_intermediate_size"]
            t.linear(layer + "gate", E, C)
            t.normal(layer + "gate.e_score_correction_bias", E, 0.5)
            t.experts(layer, "experts", E, (("up_proj", F_e, C), ("down_proj", C, F_e)))
            t.linear(layer + "shared_experts.up_proj", F_s, C)
            t.linear(layer + "shared_experts.down_proj", C, F_s)


def write(directory, family, seed, change=lambda config: config):
    """Writes a model of the seed's shape, and returns its config."""
    draw = Draw([seed, list(FAMILIES).index(family)])
    config = change(FAMILIES[family](draw, family))
    tensors = Writer(draw, config)
    {"lfm2": lfm2_tensors, "lfm2_moe": lfm2_tensors, "nemotron_h": nemotron_tensors,
     "granitemoehybrid": granite_tensors}[family](tensors, config)
    dtype = draw.of("F32", "F16", "BF16")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    checkpoint.write_safetensors(directory / "model.safetensors", {
        name: (values, dtype) for name, values in tensors.items()})
    return config


# ---- computation ----


def convolve(x, taps, bias):
    """x [T][channels], taps [channels][K]; the last tap meets the newest row."""
    K = taps.shape[1]
    padded = np.concatenate([np.zeros((K - 1, x.shape[1])), x])
    return sum(padded[j:j + len(x)] * taps[:, j] for j in range(K)) + bias


def scan(x, B, C, dt, A, D):
    """x [T][M][P], B and C [T][g][N], dt [T][M], A and D [M]: [T][M][P]"""
    M = x.shape[1]
    B, C = (np.repeat(part, M // part.shape[1], 1) for part in (B, C))
    h, y = np.zeros((M, x.shape[2], B.shape[2])), np.empty_like(x)
    for t in range(len(x)):
        h = (h * np.exp(dt[t] * A)[:, None, None]
             + (dt[t][:, None] * x[t])[..., None] * B[t][:, None])
        y[t] = np.einsum("mpn,mn->mp", h, C[t]) + D[:, None] * x[t]
    return y


class Model:
    """A directory's tensors, and the parts of its layers."""

    def __init__(self, directory):
        directory = Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        tensors = checkpoint.read_safetensors(directory / "model.safetensors")
        self.w = {name: values.astype(float) for name, values in tensors.items()}
        self.eps = next(self.config[key] for key in ("norm_eps", "rms_norm_eps",
                                                     "layer_norm_epsilon") if key in self.config)

    def linear(self, name, x):
        return x @ self.w[name + ".weight"].T + self.w.get(name + ".bias", 0.0)

    def rms(self, name, x, groups=1):
        parts = x.reshape(*x.shape[:-1], groups, -1)
        parts = parts / np.sqrt((parts ** 2).mean(-1, keepdims=True) + self.eps)
        return parts.reshape(x.shape) * self.w[name + ".weight"]

    def attention(self, layer, x, out, scale=None, theta=None, norm=None):
        """Causal; theta None: without rotation."""
        T, H = len(x), self.config["num_attention_heads"]
        D = self.w[layer + "q_proj.weight"].shape[0] // H
        q, k, v = (self.linear(layer + part + "_proj", x).reshape(T, -1, D) for part in "qkv")
        if norm:
            q, k = (self.rms(layer + part + norm, each) for part, each in (("q", q), ("k", k)))
        if theta:
            q, k = turned(q, theta), turned(k, theta)
        k, v = (np.repeat(each, H // each.shape[1], 1) for each in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) * (scale or D ** -0.5)
        scores[:, np.triu(np.ones((T, T), bool), 1)] = -np.inf
        y = np.einsum("hij,jhd->ihd", softmax(scores), v)
        return self.linear(layer + out, y.reshape(T, -1))

    def mamba(self, layer, x):
        T, (M, P, N, g, _) = len(x), mamba_sizes(self.config)
        z, m, dt = np.split(self.linear(layer + "in_proj", x), [M * P, 2 * M * P + 2 * g * N], -1)
        m = silu(convolve(m, self.w[layer + "conv1d.weight"][:, 0],
                          self.w.get(layer + "conv1d.bias", 0.0)))
        u, B, C = np.split(m, [M * P, M * P + g * N], -1)
        dt = np.logaddexp(0, dt + self.w[layer + "dt_bias"])
        dt = np.clip(dt, *self.config.get("time_step_limit", (0, math.inf)))
        y = scan(u.reshape(T, M, P), B.reshape(T, g, N), C.reshape(T, g, N), dt,
                 -np.exp(self.w[layer + "A_log"]), self.w[layer + "D"]).reshape(T, -1)
        return self.linear(layer + "out_proj", self.rms(layer + "norm", y * silu(z), g))

    def chosen(self, scores, weights, renormalises):
        """Of each row the experts of the best scores [T][k], and their weights."""
        n = self.config["num_experts_per_tok"]
        ids = np.argsort(-scores, -1, kind="stable")[:, :n]
        best = -np.sort(-scores, -1)
        if n < best.shape[-1]:
            self.margins = np.minimum(self.margins, best[:, n - 1] - best[:, n])
        weights = np.take_along_axis(weights, ids, -1)
        return ids, weights / weights.sum(-1, keepdims=True) if renormalises else weights

    def by_sigmoid(self, logits, bias):
        c, p = self.config, sigmoid(logits)
        scores, n_groups = p + bias, c.get("n_group", 1)
        if n_groups > 1:
            groups = np.sort(scores.reshape(len(p), n_groups, -1), -1)[..., -2:].sum(-1)
            best = -np.sort(-groups, -1)
            k = c["topk_group"]
            self.margins = np.minimum(self.margins, best[:, k - 1] - best[:, k])
            kept = groups >= best[:, k - 1:k]
            scores = np.where(np.repeat(kept, p.shape[1] // n_groups, -1), scores, 0)
        ids, weights = self.chosen(scores, p, c["norm_topk_prob"])
        return ids, weights * c["routed_scaling_factor"]

    @staticmethod
    def mixture(x, ids, weights, expert):
        y = np.zeros_like(x)
        for row, (chosen, by) in enumerate(zip(ids, weights)):
            y[row] = sum(w * expert(e, x[row]) for e, w in zip(chosen, by))
        return y

    def lfm2(self, ids):
        c, E = self.config, self.w["model.embed_tokens.weight"]
        x = E[ids]

        def gated(layer, x):
            return self.linear(layer + "w2", silu(self.linear(layer + "w1", x))
                               * self.linear(layer + "w3", x))

        for i, kind in enumerate(types_of(c)):
            layer = f"model.layers.{i}."
            y = self.rms(layer + "operator_norm", x)
            if kind == "conv":
                b, g, u = np.split(self.linear(layer + "conv.in_proj", y), 3, -1)
                y = g * convolve(b * u, self.w[layer + "conv.conv.weight"][:, 0], 0.0)
                x = x + self.linear(layer + "conv.out_proj", y)
            else:
                x = x + self.attention(layer + "self_attn.", y, "out_proj",
                                       theta=c["rope_theta"], norm="_layernorm")
            y, layer = self.rms(layer + "ffn_norm", x), layer + "feed_forward."
            if layer + "gate.weight" in self.w:
                chosen = self.by_sigmoid(self.linear(layer + "gate", y),
                                         self.w.get(layer + "expert_bias", 0.0))
                y = self.mixture(y, *chosen, lambda e, row: gated(f"{layer}experts.{e}.", row))
            else:
                y = gated(layer, y)
            x = x + y
        return self.rms("model.embedding_norm", x) @ E.T

    def granitemoehybrid(self, ids):
        c, E = self.config, self.w["model.embed_tokens.weight"]
        x, r = E[ids] * c["embedding_multiplier"], c["residual_multiplier"]

        def gated(into, out, x):
            gate, up = np.split(x @ into.T, 2, -1)
            return silu(gate) * up @ out.T

        for i, kind in enumerate(types_of(c)):
            layer = f"model.layers.{i}."
            y = self.rms(layer + "input_layernorm", x)
            theta = c["rope_theta"] if c["position_embedding_type"] == "rope" else None
            y = (self.mamba(layer + "mamba.", y) if kind == "mamba" else
                 self.attention(layer + "self_attn.", y, "o_proj", c["attention_multiplier"],
                                theta))
            x = x + r * y
            y = self.rms(layer + "post_attention_layernorm", x)
            z = gated(*(self.w[f"{layer}shared_mlp.{part}_linear.weight"]
                        for part in ("input", "output")), y)
            if c["num_local_experts"]:
                layer += "block_sparse_moe."
                into, out = (self.w[f"{layer}{part}_linear.weight"] for part in ("input", "output"))
                logits = self.linear(layer + "router.layer", y)
                chosen = self.chosen(logits, np.exp(logits), True)
                z = z + self.mixture(y, *chosen, lambda e, row: gated(into[e], out[e], row))
            x = x + r * z
        x = self.rms("model.norm", x) / c["logits_scaling"]
        return x @ (E if c["tie_word_embeddings"] else self.w["lm_head.weight"]).T

    def nemotron_h(self, ids):
        x = self.w["backbone.embeddings.weight"][ids]

        def plain(layer, x):
            return self.linear(layer + "down_proj", relu2(self.linear(layer + "up_proj", x)))

        for i, kind in enumerate(types_of(self.config)):
            y, layer = self.rms(f"backbone.layers.{i}.norm", x), f"backbone.layers.{i}.mixer."
            if kind == "mamba":
                y = self.mamba(layer, y)
            elif kind == "full_attention":
                y = self.attention(layer, y, "o_proj")
            elif kind == "mlp":
                y = plain(layer, y)
            else:
                chosen = self.by_sigmoid(self.linear(layer + "gate", y),
                                         self.w[layer + "gate.e_score_correction_bias"])
                y = (self.mixture(y, *chosen, lambda e, row: plain(f"{layer}experts.{e}.", row))
                     + plain(layer + "shared_experts.", y))
            x = x + y
        return self.linear("lm_head", self.rms("backbone.norm_f", x))

    def logits(self, ids):
        """Of every position: [T][V]"""
        self.margins = np.full(len(ids), np.inf)
        family = self.config["model_type"].removesuffix("_moe")
        return getattr(self, family)(np.array(ids))

    def n_sure(self, margin=1e-3):
        """How many rows of the last logits come before a router's tie, which rounding decides."""
        near = np.flatnonzero(self.margins < margin)
        return int(near[0]) if len(near) else len(self.margins)


# ---- GGUF ----

NAMES = {  # of weights, and of others by their whole name
    "embed_tokens": "token_embd", "embeddings": "token_embd", "lm_head": "output",
    "embedding_norm": "token_embd_norm", "norm_f": "output_norm",
    "operator_norm": "attn_norm", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "ffn_norm": "ffn_norm",
    "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj",
    "conv.conv": "shortconv.conv", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v",
    "o_proj": "attn_output", "self_attn.out_proj": "attn_output", "q_layernorm": "attn_q_norm",
    "k_layernorm": "attn_k_norm", "w1": "ffn_gate", "w2": "ffn_down", "w3": "ffn_up",
    "up_proj": "ffn_up", "down_proj": "ffn_down", "gate": "ffn_gate_inp",
    "router.layer": "ffn_gate_inp", "expert_bias": "exp_probs_b.bias",
    "gate.e_score_correction_bias": "exp_probs_b.bias", "shared_experts.up_proj": "ffn_up_shexp",
    "shared_experts.down_proj": "ffn_down_shexp", "in_proj": "ssm_in", "out_proj": "ssm_out",
    "conv1d": "ssm_conv1d", "dt_bias": "ssm_dt.bias", "A_log": "ssm_a", "D": "ssm_d",
}


def gguf_name(name, config):
    """blk.N.ffn_up.weight for model.layers.N.feed_forward.w3.weight"""
    base, _, end = name.rpartition(".")
    if end not in ("weight", "bias"):
        base, end = name, ""
    parts = base.split(".")
    layer = f"blk.{parts[2]}." if parts[1:2] == ["layers"] else ""
    rest = ".".join(parts[3:]) if layer else parts[-1]
    if rest == "norm":
        return f"{layer}attn_norm.weight" if layer else "output_norm.weight"
    if rest.endswith(".norm"):
        return f"{layer}ssm_norm.weight"
    while rest not in NAMES:
        rest = rest.partition(".")[2]
    return layer + NAMES[rest] + ("." + end if end else "")


def gguf_tensors(config, w):
    """{name: array}, of a state's vectors as llama.cpp's converter shapes them."""
    t, experts = {}, {}
    for name, x in w.items():
        head, _, rest = name.partition(".experts.")
        if rest:
            e, part = rest.split(".")[:2]
            role = NAMES[part] + "_exps.weight"
            experts.setdefault(f"blk.{head.split('.')[2]}.{role}", {})[int(e)] = x
            continue
        if name.endswith(("input_linear.weight", "output_linear.weight")):
            layer, shared = f"blk.{name.split('.')[2]}.", "shared_mlp" in name
            end = (("_shexp" if config["num_local_experts"] else "") if shared else "_exps")
            halves = (np.split(x, 2, -2) if "input" in name else [x])
            for part, half in zip(("gate", "up") if len(halves) == 2 else ("down",), halves):
                t[f"{layer}ffn_{part}{end}.weight"] = half
            continue
        to = gguf_name(name, config)
        if to.endswith(("ssm_conv1d.weight", "shortconv.conv.weight")):
            x = x[:, 0]
        elif to.endswith("ssm_a"):
            x = -np.exp(x)[:, None]
        elif to.endswith("ssm_d"):
            x = x[:, None]
        elif to.endswith("ssm_norm.weight"):
            x = x.reshape(mamba_sizes(config)[3], -1)
        elif config["model_type"] == "granitemoehybrid" and to.endswith(("q.weight", "k.weight")):
            key = "num_attention_heads" if to.endswith("q.weight") else "num_key_value_heads"
            x = gguf.interleaved(x, config[key])
        t[to] = x
    for name, parts in experts.items():
        t[name] = np.stack([parts[e] for e in range(len(parts))])
    return t


def gguf_keys(c):
    """general.architecture, and its keys without the architecture"""
    family, types, keys = c["model_type"], types_of(c), {}
    D = c.get("head_dim", c["hidden_size"] // c["num_attention_heads"])
    arch = {"granitemoehybrid": "granitehybrid", "lfm2_moe": "lfm2moe",
            "nemotron_h": "nemotron_h_moe" if "moe" in types else "nemotron_h"}.get(family, family)
    eps = next(c[key] for key in ("norm_eps", "rms_norm_eps", "layer_norm_epsilon") if key in c)
    E = c.get("num_experts", c.get("num_local_experts", c.get("n_routed_experts", 0)))
    keys.update({
        "block_count": len(types), "embedding_length": c["hidden_size"],
        "feed_forward_length": n_ff_of(c), "context_length": c["max_position_embeddings"],
        "attention.head_count": c["num_attention_heads"],
        "attention.head_count_kv": [c["num_key_value_heads"] * (kind == "full_attention")
                                    for kind in types],
        "attention.key_length": D, "attention.value_length": D, "rope.dimension_count": D,
        "rope.freq_base": c.get("rope_theta", 1e4), "vocab_size": c["vocab_size"],
        "attention.layer_norm_rms_epsilon": eps})
    if arch.startswith("lfm2"):
        keys["shortconv.l_cache"] = c["conv_L_cache"]
    else:
        M, P, N, g, K = mamba_sizes(c)
        keys.update({"ssm.conv_kernel": K, "ssm.inner_size": M * P, "ssm.state_size": N,
                     "ssm.time_step_rank": M, "ssm.group_count": g})
    if E and arch != "nemotron_h":
        keys.update({"expert_count": E, "expert_used_count": c["num_experts_per_tok"]})
    if arch == "lfm2moe" or arch == "nemotron_h_moe":
        keys.update({"expert_feed_forward_length": c["moe_intermediate_size"],
                     "expert_weights_scale": c["routed_scaling_factor"],
                     "expert_weights_norm": c["norm_topk_prob"], "expert_gating_func": 2})
    if arch == "lfm2moe":
        keys["leading_dense_block_count"] = c["num_dense_layers"]
    if arch == "granitehybrid":
        keys.update({"embedding_scale": c["embedding_multiplier"],
                     "residual_scale": c["residual_multiplier"],
                     "attention.scale": c["attention_multiplier"],
                     "logit_scale": c["logits_scaling"],
                     "rope.scaling.finetuned": c["position_embedding_type"] == "rope"})
        if E:
            keys["expert_shared_feed_forward_length"] = c["shared_intermediate_size"]
        else:
            keys["feed_forward_length"] = c["shared_intermediate_size"]
    if arch.startswith("nemotron"):
        widths = {"mlp": c["intermediate_size"], "moe": c["moe_intermediate_size"]}
        keys["feed_forward_length"] = [widths.get(kind, 0) for kind in types]
        keys["attention.layer_norm_epsilon"] = eps
    if arch == "nemotron_h_moe":
        keys.update({"expert_shared_count": c["n_shared_experts"],
                     "expert_shared_feed_forward_length": c["moe_shared_expert_intermediate_size"]})
        if "n_group" in c:
            keys.update({"expert_group_count": c["n_group"],
                         "expert_group_used_count": c["topk_group"]})
    return arch, keys


def write_gguf(directory, path):
    model = Model(directory)
    arch, keys = gguf_keys(model.config)
    gguf.write(path, {"general.architecture": arch, "tokenizer.ggml.model": "no_vocab",
                      **{f"{arch}.{key}": value for key, value in keys.items()}},
               gguf_tensors(model.config, model.w))
