"""Writes a model of the reference as a GGUF file, for llama.cpp and Baton to run.

The format: "GGUF", version 3, counts, keys with typed values, tensor descriptions (dimensions
fastest first), then aligned data. A file holds no family's constants and no tokenizer here; the
caller obeys what llama.cpp takes for granted.
"""
import struct
from pathlib import Path

import numpy as np

import blocks
import latents

ALIGNMENT = 32
U8, U32, I32, F32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9
ARCHITECTURES = dict(llama="llama", mistral="llama", mixtral="llama", qwen2="qwen2",
                     qwen2_moe="qwen2moe", qwen3="qwen3", qwen3_moe="qwen3moe", gemma="gemma",
                     gemma2="gemma2", gemma3="gemma3", gemma3_text="gemma3", gemma4="gemma4",
                     gemma4_text="gemma4", phi="phi2",
                     phi3="phi3", smollm3="smollm3", olmo2="olmo2", olmoe="olmoe",
                     granite="granite", granitemoe="granitemoe", granitemoeshared="granitemoe",
                     gpt2="gpt2", gpt_neox="gptneox", starcoder2="starcoder2", cohere="command-r",
                     cohere2="cohere2", glm4="glm4", minicpm="minicpm", gpt_oss="gpt-oss",
                     ministral3="mistral3", granitemoehybrid="granite", seed_oss="seed_oss",
                     ernie4_5="ernie4_5", arcee="arcee",
                     qwen2_vl="qwen2vl", qwen2_5_vl="qwen2vl", qwen2_vl_text="qwen2vl",
                     qwen2_5_vl_text="qwen2vl", qwen3_vl="qwen3vl", qwen3_vl_text="qwen3vl",
                     olmo3="olmo2", exaone4="exaone4", hunyuan_v1_dense="hunyuan-dense",
                     apertus="apertus", deepseek_v2="deepseek2", deepseek_v3="deepseek2",
                     glm4_moe_lite="deepseek2")
# Gemma 4's own tensors, by their roles in model.Model.
GEMMA4 = dict(per_layer_gate="inp_gate", per_layer_out="proj", per_layer_norm="post_norm",
              experts_norm="pre_ffw_norm_2", experts_post="post_ffw_norm_2",
              shared_post="post_ffw_norm_1")
# Their Q and K rows are stored in interleaved order.
PERMUTED = ("llama", "smollm3", "granite", "granitemoe", "minicpm", "mistral3", "arcee")
NORMS = {"pre": ("attn_norm", "ffn_norm"), "parallel": ("attn_norm",),
         "parallel2": ("attn_norm", "ffn_norm"),
         "sandwich": ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"),
         "post": ("post_attention_norm", "post_ffw_norm")}


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def array(values):
    """bytes, or a list of str, float or int"""
    if isinstance(values, bytes):
        kind, items = U8, values
    elif values and isinstance(values[0], str):
        kind, items = STRING, b"".join(map(text, values))
    elif values and isinstance(values[0], bool):
        kind, items = BOOL, bytes(values)
    elif values and isinstance(values[0], float):
        kind, items = F32, struct.pack(f"<{len(values)}f", *values)
    else:
        kind, items = I32, struct.pack(f"<{len(values)}i", *values)
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + items


def entry(key, value):
    if isinstance(value, (list, bytes)):
        return text(key) + array(value)
    if isinstance(value, bool):
        return text(key) + struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", U32, value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", F32, value)
    return text(key) + struct.pack("<I", STRING) + text(value)


def write(path, keys, tensors, types=None):
    """keys: {name: bool, int, float, str, or a list of one of them}. tensors: {name: array}; types:
    {name: one of blocks.TYPES}, others are F32."""
    offset, head, data = 0, b"", []
    for name, values in tensors.items():
        kind = (types or {}).get(name, "F32")
        head += text(name) + struct.pack("<I", values.ndim)
        head += struct.pack(f"<{values.ndim}QIQ", *values.shape[::-1], blocks.TYPES[kind].id,
                            offset)
        raw = blocks.encode(kind, values)
        raw += bytes(-len(raw) % ALIGNMENT)
        data.append(raw)
        offset += len(raw)
    head = (b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
            + b"".join(map(entry, keys, keys.values())) + head)
    Path(path).write_bytes(head + bytes(-len(head) % ALIGNMENT) + b"".join(data))


def interleaved(rows, n_heads):
    """Each head's rows in the order 0, n/2, 1, n/2 + 1, .."""
    halves = rows.reshape(n_heads, 2, -1, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


class Converter:
    def __init__(self, model):
        self.plan, self.config, self.source = model.plan, model.config, model.tensors
        self.arch = ARCHITECTURES[self.config["model_type"]]
        if self.config["model_type"] == "granitemoehybrid" and self.plan.moe:
            self.arch = "granitemoe"
        self.tensors = {}

    def put(self, name, source, change=lambda values: values):
        """weight, and bias where there is one"""
        for part in (".weight", ".bias"):
            if source + part in self.source:
                self.tensors[name + part] = change(self.source[source + part])

    def put_norm(self, name, source):
        self.put(name, source, lambda values: values + (self.plan.norm == "rms1"))

    def attention(self, block, of):
        plan = self.plan
        if self.arch == "deepseek2":
            self.tensors.update(latents.gguf_tensors(self.config, self.source, block, of))
            return
        if plan.attention == "separate":
            for role, n_heads in (("q", plan.H), ("k", plan.G), ("v", 0)):
                permutes = n_heads and self.arch in PERMUTED
                self.put(f"{block}attn_{role}", of(role),
                         (lambda rows, n=n_heads: interleaved(rows, n)) if permutes
                         else lambda rows: rows)
        elif plan.attention == "per_head":
            def split(rows):
                each = rows.reshape(plan.H, 3, plan.D, *rows.shape[1:])
                return np.moveaxis(each, 1, 0).reshape(rows.shape)
            self.put(block + "attn_qkv", of("qkv"), split)
        else:
            self.put(block + "attn_qkv", of("qkv"),
                     lambda rows: rows.T if plan.attention == "conv1d" else rows)
        self.put(block + "attn_output", of("o"),
                 lambda rows: rows.T if plan.attention == "conv1d" else rows)
        if plan.qk_norm:
            self.put_norm(block + "attn_q_norm", of("q_norm"))
            self.put_norm(block + "attn_k_norm", of("k_norm"))
        if plan.sinks:
            self.tensors[block + "attn_sinks.weight"] = self.source[of("sinks")]

    def dense(self, block, of):
        if self.arch == "granite" and self.plan.mlp == "fused":
            both = self.source[of("gate_up") + ".weight"]
            for part, half in zip(("gate", "up"), np.split(both, 2)):
                self.tensors[f"{block}ffn_{part}.weight"] = half
            self.put(block + "ffn_down", of("down"))
            return
        if self.plan.mlp == "gated":
            self.put(block + "ffn_gate", of("gate"))
        self.put(block + "ffn_up", of("gate_up" if self.plan.mlp == "fused" else "up"),
                 lambda rows: rows.T if self.plan.mlp == "conv1d" else rows)
        self.put(block + "ffn_down", of("down"),
                 lambda rows: rows.T if self.plan.mlp == "conv1d" else rows)

    def put_split(self, block, kind, both):
        """Gate rows above those of up: [..][2F][C]"""
        for part, half in zip(("gate", "up"), np.split(both, 2, -2)):
            self.tensors[f"{block}ffn_{part}_{kind}.weight"] = half

    def experts(self, block, of):
        plan, moe, source = self.plan, self.plan.moe, self.source
        bias = of("router") + ".e_score_correction_bias"
        if bias in source:
            self.tensors[block + "exp_probs_b.bias"] = source[bias]
        self.put(block + "ffn_gate_inp", of("router"))
        fused = plan.names["layer"].format(block.split(".")[1]) + "mlp.experts."
        if moe.kind == "experts" and fused + "gate_up_proj" in source:
            self.put_split(block, "exps", source[fused + "gate_up_proj"])
            self.tensors[block + "ffn_down_exps.weight"] = source[fused + "down_proj"]
        elif moe.kind == "experts":
            for part in ("gate", "up", "down"):
                each = [of("expert").format(e) + plan.names["expert_" + part]
                        for e in range(moe.n_experts)]
                self.tensors[f"{block}ffn_{part}_exps.weight"] = np.stack(
                    [source[name + ".weight"] for name in each])
        elif moe.kind == "gemma4":
            for role, name in (("router_scale", "ffn_gate_inp.scale"),
                               ("expert_scales", "ffn_down_exps.scale"),
                               ("experts_in", "ffn_gate_up_exps.weight"),
                               ("experts_out", "ffn_down_exps.weight")):
                self.tensors[block + name] = source[of(role)]
        elif moe.kind == "granite":
            self.put_split(block, "exps", source[of("experts_in") + ".weight"])
            self.tensors[block + "ffn_down_exps.weight"] = source[of("experts_out") + ".weight"]
        else:
            into, out = of("experts_in"), of("experts_out")
            rows = source[into].swapaxes(1, 2)
            for i, part in enumerate(("gate", "up")):
                self.tensors[f"{block}ffn_{part}_exps.weight"] = rows[:, i::2]
                self.tensors[f"{block}ffn_{part}_exps.bias"] = source[into + "_bias"][:, i::2]
            self.tensors[block + "ffn_down_exps.weight"] = source[out].swapaxes(1, 2)
            self.tensors[block + "ffn_down_exps.bias"] = source[out + "_bias"]
        if moe.n_shared:
            self.shared(block, of)

    def shared(self, block, of):
        if self.plan.moe.kind == "granite":
            self.put_split(block, "shexp", self.source[of("shared_in") + ".weight"])
            self.put(block + "ffn_down_shexp", of("shared_out"))
            return
        for part in ("gate", "up", "down"):
            self.put(f"{block}ffn_{part}_shexp", of("shared") + part + "_proj")
        if self.plan.moe.shared_gate:
            self.put(block + "ffn_gate_inp_shexp", of("shared_gate"), lambda row: row[0])

    def layer(self, i):
        plan, block = self.plan, f"blk.{i}."

        def of(role):
            return plan.names["layer"].format(i) + plan.names[role]

        for role, name in zip(("n1", "n2", "n3", "n4"), NORMS[plan.form]):
            is_oss = self.arch in ("gpt-oss", "seed_oss") and role == "n2"
            self.put_norm(block + ("post_attention_norm" if is_oss else name), of(role))
        self.attention(block, of)
        if plan.layers[i].moe:
            self.experts(block, of)
        if not plan.layers[i].moe or plan.moe.kind == "gemma4":
            self.dense(block, of)
        if self.arch == "gemma4":
            self.gemma4(block, of)

    def gemma4(self, block, of):
        self.tensors[block + "layer_output_scale.weight"] = self.source[of("scale")]
        for role, name in GEMMA4.items():
            self.put(block + name, of(role))

    def everything(self):
        plan = self.plan
        self.put("token_embd", plan.names["embed"])
        if plan.learned_positions:
            self.put("position_embd", plan.names["positions"])
        self.put_norm("output_norm", plan.names["norm"])
        if not plan.tied:
            self.put("output", plan.names["head"])
        if plan.n_per_layer:
            self.put("per_layer_token_embd", plan.names["table"])
            self.put("per_layer_model_proj", plan.names["per_layer_in"])
            self.put("per_layer_proj_norm", plan.names["per_layer_in_norm"])
        for i in range(plan.L):
            self.layer(i)
        return self.tensors

    def layer_keys(self):
        """Of gemma4, whose sizes differ by layer: lists, and keys of layers with a window."""
        plan, local = self.plan, [bool(layer.window) for layer in self.plan.layers]
        D, G, F = ([plan.sizes_of(i)[k] for i in range(plan.L)] for k in range(3))
        whole, sliding = D[local.index(False)], D[local.index(True)] if True in local else D[0]
        turned = plan.layers[local.index(False)].rope
        n = int(np.count_nonzero(turned.inverse))
        self.tensors["rope_freqs.weight"] = np.array([1.0] * n + [1e30] * (whole // 2 - n))
        ropes = self.config["rope_parameters"]
        return {"attention.head_count_kv": G, "feed_forward_length": F,
                "attention.key_length": whole, "attention.value_length": whole,
                "attention.key_length_swa": sliding, "attention.value_length_swa": sliding,
                "rope.dimension_count": whole, "rope.dimension_count_swa": sliding,
                "rope.freq_base": float(ropes["full_attention"]["rope_theta"]),
                "rope.freq_base_swa": float(ropes["sliding_attention"]["rope_theta"]),
                "attention.sliding_window": self.config["sliding_window"],
                "attention.sliding_window_pattern": local,
                "attention.shared_kv_layers": self.config.get("num_kv_shared_layers", 0),
                "embedding_length_per_layer_input": plan.n_per_layer,
                "final_logit_softcapping": plan.logit_cap}

    def rope_keys(self):
        plan, config = self.plan, self.config
        turned = [layer.rope for layer in plan.layers if layer.rope]
        if not turned:
            return {}
        parameters = config.get("rope_parameters") or {}
        parameters = parameters.get("full_attention", parameters)
        scaling = parameters or config.get("rope_scaling") or {}
        kind = scaling.get("rope_type") or scaling.get("type") or "default"
        n = 2 * len(turned[0].inverse)
        theta = float(parameters.get("rope_theta") or config.get("rope_theta") or 10000.0)
        original = (scaling.get("original_max_position_embeddings")
                    or config.get("original_max_position_embeddings") or plan.n_positions)
        if kind == "dynamic" and scaling.get("alpha"):
            theta *= scaling["alpha"] ** (n / (n - 2))
        keys = {"rope.dimension_count": n, "rope.freq_base": theta}
        if kind in ("linear", "yarn"):
            keys.update({"rope.scaling.type": kind,
                         "rope.scaling.factor": float(scaling["factor"])})
        if scaling.get("mrope_section"):
            keys["rope.dimension_sections"] = scaling["mrope_section"] + [0]
        if kind == "yarn":
            keys["rope.scaling.original_context_length"] = original
            for key, name in (("rope.scaling.yarn_log_multiplier", "mscale_all_dim"),
                              ("attention.temperature_scale", "llama_4_scaling_beta")):
                if scaling.get(name):
                    keys[key] = scaling[name] * (0.1 if self.arch == "deepseek2" else 1)
        if kind == "llama3":  # a divisor for each plain frequency
            self.tensors["rope_freqs.weight"] = (theta ** (-np.arange(0, n, 2) / n)
                                                 / turned[0].inverse)
        if kind == "longrope":
            keys.update({"rope.scaling.original_context_length": original,
                         "rope.scaling.attn_factor": float(turned[0].factor)})
            for length in ("short", "long"):
                self.tensors[f"rope_factors_{length}.weight"] = np.array(
                    scaling[length + "_factor"])
        return keys

    def lists(self):
        """The numbers of activations, by layer."""
        if self.plan.activation != "xielu":
            return {}
        name = self.plan.names["layer"] + self.plan.names["numbers"]
        return {"xielu." + part: [float(self.source[name.format(i) + part].reshape(-1)[0])
                                  for i in range(self.plan.L)]
                for part in ("alpha_p", "alpha_n", "beta", "eps")}

    def keys(self):
        plan, moe = self.plan, self.plan.moe
        norm = "layer_norm_rms" if plan.norm.startswith("rms") else "layer_norm"
        keys = {"context_length": plan.n_positions, "embedding_length": plan.C,
                "block_count": plan.L, "feed_forward_length": plan.F, "vocab_size": plan.V,
                "attention.head_count": plan.H, "attention.head_count_kv": plan.G,
                "attention.key_length": plan.D, "attention.value_length": plan.D,
                f"attention.{norm}_epsilon": plan.epsilon, **self.rope_keys()}
        windows = {layer.window for layer in plan.layers if layer.window}
        if windows:
            keys["attention.sliding_window"] = max(windows)
        if self.config.get("sliding_window_pattern") and self.arch != "exaone4":
            keys["attention.sliding_window_pattern"] = self.config["sliding_window_pattern"]
        if moe:
            keys.update({"expert_count": moe.n_experts, "expert_used_count": moe.n_chosen,
                         "expert_feed_forward_length": moe.n_ff})
            if moe.n_shared:
                keys["expert_shared_feed_forward_length"] = moe.n_shared
        return {**keys, **self.family_keys()}

    def family_keys(self):
        plan, arch = self.plan, self.arch
        if arch == "gemma4":
            return self.layer_keys()
        if arch == "deepseek2":
            return latents.gguf_keys(self.config)
        if arch in ("granite", "granitemoe"):
            return {"attention.scale": float(plan.score_scale),
                    "embedding_scale": float(plan.embed_scale),
                    "residual_scale": float(plan.residual_scale),
                    "logit_scale": 1 / plan.logit_scale,
                    "rope.scaling.finetuned": plan.layers[0].rope is not None}
        if arch == "qwen3vl":
            return {"n_deepstack_layers": 0}
        if arch == "exaone4":
            return {} if not self.config["sliding_window"] else {
                "attention.sliding_window": self.config["sliding_window"],
                "attention.sliding_window_pattern": [bool(layer.window) for layer in plan.layers]}
        if arch == "minicpm":
            return {"embedding_scale": float(plan.embed_scale),
                    "residual_scale": plan.residual_scale, "logit_scale": 1 / plan.logit_scale}
        if arch in ("command-r", "cohere2"):
            return {"logit_scale": float(plan.logit_scale)}
        if arch == "gemma2":
            return {"attn_logit_softcapping": plan.score_cap,
                    "final_logit_softcapping": plan.logit_cap}
        if arch == "gemma3":
            return {"final_logit_softcapping": plan.logit_cap or 0.0, "rope.freq_base_swa": 10000.0}
        if arch == "gptneox":
            return {"use_parallel_residual": plan.form == "parallel2"}
        return {}


def parts(model, more=None):
    """Keys and tensors of a model.Model. more: further keys, such as those of gguf_tokenizer."""
    converter = Converter(model)
    tensors = converter.everything()
    keys = {"general.architecture": converter.arch, "tokenizer.ggml.model": "no_vocab"}
    keys.update((f"{converter.arch}.{key}", value) for key, value in converter.keys().items())
    keys.update(converter.lists())
    return {**keys, **(more or {})}, tensors


def convert(model, path, change=lambda tensors: {}, more=None):
    """The GGUF file of a model.Model. change edits the tensors and returns types other than F32."""
    keys, tensors = parts(model, more)
    types = change(tensors)
    write(path, keys, tensors, types)


def split(model, directory, name, more=None, n=2):
    """The same in n files, the first returned: it has all keys, and each has every n-th tensor."""
    keys, tensors = parts(model, more)
    paths = [Path(directory) / f"{name}-{i + 1:05}-of-{n:05}.gguf" for i in range(n)]
    for i, path in enumerate(paths):
        place = {"split.no": i, "split.count": n, "split.tensors.count": len(tensors)}
        write(path, place if i else {**keys, **place}, dict(list(tensors.items())[i::n]))
    return paths[0]
