"""Random encoders as Hugging Face directories, and their vectors in float64.

Shapes are awkward on purpose, as those of random_model.py. Letters: C width, H heads, G key/value
heads, D head size, F feed-forward width, L layers, V vocabulary, T tokens.
"""
import json
import math
from pathlib import Path

import numpy as np

import checkpoint
from random_model import Draw

POOLINGS = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken"}


def sizes(draw):
    H, D = draw.between(1, 5), 2 * draw.between(2, 14)
    return dict(H=H, C=H * D, F=draw.between(9, 90), L=draw.between(1, 4), V=draw.between(61, 300))


# ---- configurations and tensors ----


class Tensors(dict):
    """Draws tensors of a checkpoint."""

    def __init__(self, draw, biased=True):
        super().__init__()
        self.rng, self.biased = draw.rng, biased

    def normal(self, name, shape, deviation, mean=0.0):
        self[name] = self.rng.normal(mean, deviation, shape)

    def norm(self, name, n):
        self.normal(name + ".weight", n, 0.2, 1.0)
        self.normal(name + ".bias", n, 0.2)

    def linear(self, name, n_out, n_in):
        self.normal(name + ".weight", (n_out, n_in), 1.3 / math.sqrt(n_in))
        if self.biased:
            self.normal(name + ".bias", n_out, 0.3)


def bert(draw, family):
    s = sizes(draw)
    C, F, n_types = s["C"], s["F"], draw.of(1, 2)
    pad = 0 if family == "bert" else draw.of(0, 1, 3)
    n_positions = 70 + (0 if family == "bert" else pad + 1)
    config = dict(model_type=family, hidden_size=C, intermediate_size=F, num_hidden_layers=s["L"],
                  num_attention_heads=s["H"], layer_norm_eps=draw.of(1e-12, 1e-5, 1e-3),
                  vocab_size=s["V"], max_position_embeddings=n_positions, pad_token_id=pad,
                  type_vocab_size=n_types, hidden_act=draw.of("gelu", "gelu", "gelu_new", "relu"))
    t = Tensors(draw)
    for name, n in (("word", s["V"]), ("position", n_positions), ("token_type", n_types)):
        t.normal(f"embeddings.{name}_embeddings.weight", (n, C), 0.5)
    t.norm("embeddings.LayerNorm", C)
    for i in range(s["L"]):
        layer = f"encoder.layer.{i}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value",
                     "attention.output.dense"):
            t.linear(layer + part, C, C)
        t.linear(layer + "intermediate.dense", F, C)
        t.linear(layer + "output.dense", C, F)
        t.norm(layer + "attention.output.LayerNorm", C)
        t.norm(layer + "output.LayerNorm", C)
    return config, t


def nomic_bert(draw, family):
    s, every = sizes(draw), draw.of(0, 0, 2, 3)
    C, F, n_types, E = s["C"], s["F"], draw.of(1, 2), draw.between(2, 7)
    config = dict(model_type=family, n_embd=C, n_inner=F, n_layer=s["L"], n_head=s["H"],
                  layer_norm_epsilon=draw.of(1e-12, 1e-5), vocab_size=s["V"], n_positions=70,
                  rotary_emb_base=draw.of(1000.0, 10000.0), rotary_emb_fraction=1.0,
                  activation_function="gelu" if every else "swiglu", type_vocab_size=n_types,
                  qkv_proj_bias=bool(every), mlp_fc1_bias=bool(every), mlp_fc2_bias=bool(every))
    if every:
        config.update(moe_every_n_layers=every, num_experts=E, moe_top_k=draw.between(1, min(E, 3)))
    t = Tensors(draw, biased=bool(every))
    for name, n in (("word", s["V"]), ("token_type", n_types)):
        t.normal(f"embeddings.{name}_embeddings.weight", (n, C), 0.5)
    t.norm("emb_ln", C)
    for i in range(s["L"]):
        layer = f"encoder.layers.{i}."
        t.linear(layer + "attn.Wqkv", 3 * C, C)
        t.linear(layer + "attn.out_proj", C, C)
        t.norm(layer + "norm1", C)
        t.norm(layer + "norm2", C)
        if every and i % every == 1:
            t.normal(layer + "mlp.router.layer.weight", (E, C), 2 / math.sqrt(C))
            for k in (1, 2):
                t.normal(layer + f"mlp.experts.mlp.w{k}", (E * F, C), 1.3 / math.sqrt(C))
            t.normal(layer + "mlp.experts.bias", C, 0.3)
            continue
        for part in ("fc1",) if every else ("fc11", "fc12"):
            t.linear(layer + "mlp." + part, F, C)
        t.linear(layer + "mlp.fc2", C, F)
    return config, t


def gemma3_text(draw, family):
    G, D = draw.between(1, 2), 2 * draw.between(3, 12)
    H, L, C = G * draw.between(1, 3), draw.between(1, 5), draw.between(9, 90)
    F, V = draw.between(9, 90), draw.between(61, 300)
    config = dict(model_type=family, use_bidirectional_attention=True, hidden_size=C,
                  intermediate_size=F, num_hidden_layers=L, num_attention_heads=H,
                  num_key_value_heads=G, head_dim=D, query_pre_attn_scalar=draw.between(4, 40),
                  rms_norm_eps=1e-6, vocab_size=V, max_position_embeddings=70,
                  sliding_window=2 * draw.between(2, 20), rope_theta=1e6,
                  rope_local_base_freq=1e4, hidden_activation="gelu_pytorch_tanh",
                  layer_types=[draw.of("sliding_attention", "full_attention") for _ in range(L)])
    t = Tensors(draw, biased=False)
    t.normal("embed_tokens.weight", (V, C), 0.3)
    t.normal("norm.weight", C, 0.2)
    for i in range(L):
        layer = f"layers.{i}."
        for name, n in (("input_layernorm", C), ("post_attention_layernorm", C),
                        ("pre_feedforward_layernorm", C), ("post_feedforward_layernorm", C),
                        ("self_attn.q_norm", D), ("self_attn.k_norm", D)):
            t.normal(layer + name + ".weight", n, 0.2)
        for name, n_out, n_in in (("self_attn.q_proj", H * D, C), ("self_attn.k_proj", G * D, C),
                                  ("self_attn.v_proj", G * D, C), ("self_attn.o_proj", C, H * D),
                                  ("mlp.gate_proj", F, C), ("mlp.up_proj", F, C),
                                  ("mlp.down_proj", C, F)):
            t.linear(layer + name, n_out, n_in)
    return config, t


FAMILIES = {"bert": bert, "roberta": bert, "xlm-roberta": bert, "nomic_bert": nomic_bert,
            "gemma3_text": gemma3_text}


def write(directory, family, seed):
    """Writes a model of the seed's shape, and returns its config and its pooling."""
    draw = Draw([seed, list(FAMILIES).index(family)])
    config, tensors = FAMILIES[family](draw, family)
    pooling, dtype = draw.of(*POOLINGS), draw.of("F32", "F16", "BF16")
    directory = Path(directory)
    (directory / "1_Pooling").mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "modules.json").write_text(json.dumps([
        {"idx": i, "path": path, "type": "sentence_transformers.models." + kind}
        for i, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))]))
    (directory / "1_Pooling/config.json").write_text(json.dumps(
        {"pooling_mode_" + mode: name == pooling for name, mode in POOLINGS.items()}))
    prefix = draw.of("", "bert." if family == "bert" else "roberta.") if FAMILIES[
        family] is bert else ""
    checkpoint.write_safetensors(directory / "model.safetensors", {
        prefix + name: (values, dtype) for name, values in tensors.items()})
    return config, pooling


# ---- computation ----


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


ACTIVATIONS = {"gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
               "gelu_new": gelu_tanh, "relu": lambda x: np.maximum(x, 0)}


def attend(q, k, v, scale, half=None):
    """[T][H][D] of all positions, or of those at most half away."""
    T, H = q.shape[:2]
    k, v = (np.repeat(each, H // each.shape[1], 1) for each in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) * scale
    if half is not None:
        far = np.abs(np.subtract.outer(np.arange(T), np.arange(T))) > half
        scores[:, far] = -np.inf
    return np.einsum("hij,jhd->ihd", softmax(scores), v).reshape(T, -1)


def turned(x, theta):
    """Rotates [T][H][D] by positions; element i pairs with i + D / 2."""
    T, _, D = x.shape
    angles = np.outer(np.arange(T), theta ** (-2 * np.arange(D // 2) / D))[:, None]
    a, b, cos, sin = x[..., :D // 2], x[..., D // 2:], np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


class Model:
    """A directory's tensors, and the small parts of its layers."""

    def __init__(self, directory):
        directory = Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        tensors = checkpoint.read_safetensors(directory / "model.safetensors")
        self.w = {name.removeprefix("bert.").removeprefix("roberta."): values.astype(float)
                  for name, values in tensors.items()}
        self.eps = next(self.config[key] for key in ("layer_norm_eps", "layer_norm_epsilon",
                                                     "rms_norm_eps") if key in self.config)

    def linear(self, name, x):
        return x @ self.w[name + ".weight"].T + self.w.get(name + ".bias", 0.0)

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + self.eps)
        return x * self.w[name + ".weight"] + self.w[name + ".bias"]

    def rms(self, name, x):
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + self.eps) * (
            1 + self.w[name + ".weight"])

    def bert(self, ids, kinds):
        c, T = self.config, len(ids)
        H, act = c["num_attention_heads"], ACTIVATIONS[c["hidden_act"]]
        first = 0 if c["model_type"] == "bert" else c["pad_token_id"] + 1
        x = (self.w["embeddings.word_embeddings.weight"][ids]
             + self.w["embeddings.position_embeddings.weight"][first:first + T]
             + self.w["embeddings.token_type_embeddings.weight"][kinds])
        x = self.norm("embeddings.LayerNorm", x)
        for i in range(c["num_hidden_layers"]):
            layer = f"encoder.layer.{i}."
            q, k, v = (self.linear(layer + "attention.self." + part, x).reshape(T, H, -1)
                       for part in ("query", "key", "value"))
            y = attend(q, k, v, q.shape[-1] ** -0.5)
            x = self.norm(layer + "attention.output.LayerNorm",
                          x + self.linear(layer + "attention.output.dense", y))
            y = act(self.linear(layer + "intermediate.dense", x))
            x = self.norm(layer + "output.LayerNorm", x + self.linear(layer + "output.dense", y))
        return x

    def experts(self, layer, x):
        E, F, gelu = self.config["num_experts"], self.config["n_inner"], ACTIVATIONS["gelu"]
        up, down = (self.w[layer + f"experts.mlp.w{k}"].reshape(E, F, -1) for k in (1, 2))
        y = np.tile(self.w[layer + "experts.bias"], (len(x), 1))
        for row, (p, into) in enumerate(zip(softmax(self.linear(layer + "router.layer", x)), y)):
            for e in np.argsort(-p)[:self.config["moe_top_k"]]:
                into += p[e] * (gelu(x[row] @ up[e].T) @ down[e])
        return y

    def nomic_bert(self, ids, kinds):
        c, T, gelu = self.config, len(ids), ACTIVATIONS["gelu"]
        x = (self.w["embeddings.word_embeddings.weight"][ids]
             + self.w["embeddings.token_type_embeddings.weight"][kinds])
        x = self.norm("emb_ln", x)
        for i in range(c["n_layer"]):
            layer = f"encoder.layers.{i}."
            q, k, v = (part.reshape(T, c["n_head"], -1)
                       for part in np.split(self.linear(layer + "attn.Wqkv", x), 3, -1))
            y = attend(turned(q, c["rotary_emb_base"]), turned(k, c["rotary_emb_base"]), v,
                       q.shape[-1] ** -0.5)
            x = self.norm(layer + "norm1", x + self.linear(layer + "attn.out_proj", y))
            if layer + "mlp.router.layer.weight" in self.w:
                y = self.experts(layer + "mlp.", x)
            elif layer + "mlp.fc1.weight" in self.w:
                y = self.linear(layer + "mlp.fc2", gelu(self.linear(layer + "mlp.fc1", x)))
            else:
                gate = self.linear(layer + "mlp.fc12", x)
                y = self.linear(layer + "mlp.fc11", x) * gate / (1 + np.exp(-gate))
                y = self.linear(layer + "mlp.fc2", y)
            x = self.norm(layer + "norm2", x + y)
        return x

    def gemma3_text(self, ids, _):
        c, T, D = self.config, len(ids), self.config["head_dim"]
        x = self.w["embed_tokens.weight"][ids] * math.sqrt(c["hidden_size"])
        for i, kind in enumerate(c["layer_types"]):
            layer, whole = f"layers.{i}.", kind == "full_attention"
            theta = c["rope_theta"] if whole else c["rope_local_base_freq"]
            y = self.rms(layer + "input_layernorm", x)
            q, k, v = (self.linear(layer + f"self_attn.{part}_proj", y).reshape(T, -1, D)
                       for part in "qkv")
            q, k = (turned(self.rms(layer + f"self_attn.{part}_norm", each), theta)
                    for part, each in (("q", q), ("k", k)))
            y = attend(q, k, v, c["query_pre_attn_scalar"] ** -0.5,
                       None if whole else c["sliding_window"] // 2)
            y = self.linear(layer + "self_attn.o_proj", y)
            x = x + self.rms(layer + "post_attention_layernorm", y)
            y = self.rms(layer + "pre_feedforward_layernorm", x)
            y = (gelu_tanh(self.linear(layer + "mlp.gate_proj", y))
                 * self.linear(layer + "mlp.up_proj", y))
            y = self.linear(layer + "mlp.down_proj", y)
            x = x + self.rms(layer + "post_feedforward_layernorm", y)
        return self.rms("norm", x)

    def vector(self, ids, pooling, kinds=0):
        """Of length 1. kinds: the token type of each id, or of all."""
        family = self.config["model_type"]
        rows = getattr(self, "bert" if "roberta" in family else family)(np.array(ids), kinds)
        pooled = {"mean": rows.mean(0), "cls": rows[0], "last": rows[-1]}[pooling]
        return pooled / np.linalg.norm(pooled)
