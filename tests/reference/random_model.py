"""Writes a small random model of any family as a Hugging Face directory, drawn from a seed.

    random_model.py FAMILY SEED DIRECTORY

Shapes are awkward on purpose: head sizes that are no power of two, H D other than C, odd widths,
windows shorter than a prompt, few positions before a rotary embedding's scaling sets in.
"""
import json
import sys
from pathlib import Path

import numpy as np

import checkpoint
import families
import latents


class Draw:
    """Random choices of one model."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def of(self, *values):
        return values[self.rng.integers(len(values))]

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def chance(self, p=0.5):
        return bool(self.rng.random() < p)

    def real(self, low, high):
        return round(float(self.rng.uniform(low, high)), 4)


def heads(draw):
    """H, and G that divides it"""
    G = draw.between(1, 3)
    return G * draw.between(1, 4), G


def base(draw, family, own_head_size=True, even=True):
    """The fields that nearly all families share. A head's size is a field of its own in some."""
    H, G = heads(draw)
    D = draw.between(2, 14) * 2 if even else draw.between(3, 27)
    config = dict(model_type=family, num_attention_heads=H, num_key_value_heads=G,
                  num_hidden_layers=draw.between(1, 4), intermediate_size=draw.between(9, 90),
                  vocab_size=draw.between(61, 300), max_position_embeddings=128,
                  rms_norm_eps=draw.of(1e-5, 1e-6), hidden_act="silu",
                  tie_word_embeddings=draw.chance(), rope_theta=draw.of(10000.0, 500000.0, 31000.0),
                  eos_token_id=1, bos_token_id=2)
    if own_head_size:
        config["head_dim"] = D
        config["hidden_size"] = draw.of(H * D, draw.between(9, 90))
    else:
        config["hidden_size"] = H * D
    return config


def head_size(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def scaling(draw, config, n, kinds=("default", "linear", "llama3", "yarn", "dynamic")):
    """rope_scaling of one kind; n elements turn."""
    kind = draw.of(*kinds)
    entry = dict(rope_type=kind, factor=draw.of(2.0, 4.0, 8.0))
    if kind == "llama3":
        entry.update(low_freq_factor=1.0, high_freq_factor=draw.of(2.0, 4.0),
                     original_max_position_embeddings=48)
    if kind == "yarn":
        entry.update(factor=4.0, original_max_position_embeddings=32)
        entry.update(draw.of({}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"attention_factor": 1.25},
                             {"truncate": False}, {"mscale": 0.8, "mscale_all_dim": 0.6}))
    if kind == "longrope":
        del entry["factor"]
        entry.update(short_factor=[draw.real(1, 2) for _ in range(n // 2)],
                     long_factor=[draw.real(1, 9) for _ in range(n // 2)])
        config["original_max_position_embeddings"] = draw.of(4, 48, 128)
    if draw.chance(0.3):
        entry["type"] = entry.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else entry


def llama(draw, family):
    config = base(draw, family, own_head_size=draw.chance())
    config.update(attention_bias=draw.chance(0.3), mlp_bias=draw.chance(0.3))
    scaling(draw, config, head_size(config))
    return config


def granite(draw, family):
    config = dict(llama(draw, family), embedding_multiplier=draw.real(0.5, 3),
                  residual_multiplier=draw.real(0.2, 1), attention_multiplier=draw.real(0.1, 0.5),
                  logits_scaling=draw.real(0.5, 3))
    config.pop("head_dim", None)
    config["hidden_size"] = config["num_attention_heads"] * 2 * draw.between(2, 12)
    config["position_embedding_type"] = draw.of("rope", "nope", None)
    return config


def minicpm(draw, family):
    config = base(draw, family, own_head_size=False)
    config.update(scale_emb=draw.real(0.5, 3), scale_depth=1.4, dim_model_base=draw.between(4, 24))
    return config


def smollm3(draw, family):
    config = base(draw, family, own_head_size=False)
    L = config["num_hidden_layers"]
    config.update(draw.of({}, {"no_rope_layers": [int(draw.chance()) for _ in range(L)]}))
    config.update(use_sliding_window=False, sliding_window=None, attention_bias=draw.chance(0.2))
    return config


def windowed(draw, config, size=None):
    config["sliding_window"] = size or draw.of(None, 3, 9, 16, 17, 40)
    return config


def layer_types(draw, config, p=0.5):
    """Sometimes says each layer's kind."""
    if draw.chance(p):
        config["layer_types"] = [draw.of("sliding_attention", "full_attention")
                                 for _ in range(config["num_hidden_layers"])]
        config["sliding_window"] = config.get("sliding_window") or 9
    return config


def mistral(draw, family):
    config = windowed(draw, base(draw, family))
    scaling(draw, config, config["head_dim"], ("default", "default", "linear", "yarn"))
    return config


def qwen(draw, family):
    config = windowed(draw, base(draw, family, own_head_size=family != "qwen2"), draw.of(3, 9, 20))
    config.update(use_sliding_window=draw.chance(), max_window_layers=draw.between(0, 3))
    if config["use_sliding_window"]:
        layer_types(draw, config, 0.3)
    if family == "qwen3":
        config["attention_bias"] = draw.chance(0.2)
    scaling(draw, config, head_size(config), ("default", "yarn", "linear"))
    return config


def sections(draw, config, kind):
    """The pairs that a picture's three positions turn."""
    n = head_size(config) // 2
    first = draw.between(0, n)
    second = draw.between(0, n - first)
    entry = config.get("rope_scaling") or {"type": kind}
    config["rope_scaling"] = dict(entry, mrope_section=[first, second, n - first - second])


def in_text_config(draw, config, family):
    """As Qwen's models of pictures are published, with the text's config apart or beside."""
    tower = {"depth": 2, "hidden_size": 8, "model_type": family}
    if family != "qwen3_vl" and draw.chance():
        return dict(config, model_type=family, vision_config=tower)
    text = dict(config, model_type=family + "_text")
    if draw.chance(0.2):
        del text["model_type"]
    tied = text.pop("tie_word_embeddings")
    return dict(model_type=family, text_config=text, tie_word_embeddings=tied, vision_config=tower)


def qwen2_5_vl(draw, family):
    family = draw.of("qwen2_5_vl", "qwen2_vl")
    config = qwen(draw, "qwen2")
    sections(draw, config, "mrope")
    return in_text_config(draw, config, family)


def qwen3_vl(draw, family):
    config = base(draw, family)
    config.update(attention_bias=draw.chance(0.2))
    sections(draw, config, "default")
    config["rope_scaling"]["mrope_interleaved"] = True
    return in_text_config(draw, config, family)


def experts(draw, config, name, most=12):
    E = draw.between(2, most)
    config.update({name: E, "num_experts_per_tok": draw.between(1, min(E, 6))})
    return config


def qwen_moe(draw, family):
    config = experts(draw, base(draw, family, own_head_size=family == "qwen3_moe"), "num_experts")
    L = config["num_hidden_layers"]
    config.update(moe_intermediate_size=draw.between(7, 40), norm_topk_prob=draw.chance(),
                  use_sliding_window=False, decoder_sparse_step=draw.of(1, 1, 2),
                  mlp_only_layers=[i for i in range(L) if draw.chance(0.2)])
    if family == "qwen3_moe":
        config.update(use_sliding_window=draw.chance(0.3), sliding_window=draw.of(3, 9),
                      max_window_layers=1)
    if family == "qwen2_moe":
        config.update(shared_expert_intermediate_size=draw.between(7, 60),
                      qkv_bias=draw.of(True, True, False))
    return config


def mixtral(draw, family):
    return windowed(draw, experts(draw, base(draw, family, own_head_size=draw.chance()),
                                  "num_local_experts"))


def olmoe(draw, family):
    config = experts(draw, base(draw, family, own_head_size=False), "num_experts")
    config.update(clip_qkv=draw.of(None, 0.8), norm_topk_prob=draw.chance())
    return config


def granitemoe(draw, family):
    config = experts(draw, granite(draw, family), "num_local_experts")
    config.pop("mlp_bias", None)
    if family == "granitemoeshared":
        config["shared_intermediate_size"] = draw.between(7, 60)
    return config


def granitemoehybrid(draw, family):
    config = granite(draw, family)
    if draw.chance():
        experts(draw, config, "num_local_experts")
    else:
        config.update(num_local_experts=0, num_experts_per_tok=0)
    config.update({draw.of("layer_types", "layers_block_type"):
                   ["attention"] * config["num_hidden_layers"]},
                  shared_intermediate_size=draw.between(7, 60), mamba_n_heads=8, mamba_expand=2)
    config.pop("mlp_bias", None)
    return config


def seed_oss(draw, family):
    config = base(draw, family)
    config.update(attention_bias=draw.of(True, True, False), attention_out_bias=draw.chance(0.3),
                  mlp_bias=draw.chance(0.2))
    scaling(draw, config, config["head_dim"])
    return config


def ernie4_5(draw, family):
    return dict(base(draw, family), use_bias=draw.chance(0.3))


def arcee(draw, family):
    config = dict(llama(draw, family), hidden_act="relu2")
    scaling(draw, config, head_size(config), ("default", "yarn", "yarn"))
    return config


def gpt_oss(draw, family):
    config = experts(draw, base(draw, family), "num_local_experts", 8)
    config.update(hidden_size=32 * draw.between(1, 3), intermediate_size=32 * draw.between(1, 3),
                  attention_bias=True, tie_word_embeddings=False, sliding_window=draw.of(3, 9, 20),
                  swiglu_limit=7.0,
                  rope_scaling=dict(rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0,
                                    truncate=False, original_max_position_embeddings=32))
    return layer_types(draw, config)


def gemma(draw, family):
    config = base(draw, family)
    config.update(hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True)
    config["hidden_act"] = draw.of("gelu", "gelu_pytorch_tanh")
    return config


def gemma2(draw, family):
    config = layer_types(draw, windowed(draw, gemma(draw, family), draw.of(3, 9, 20)))
    config.update(query_pre_attn_scalar=draw.between(4, 40),
                  attn_logit_softcapping=draw.of(3.0, 8.0, None),
                  final_logit_softcapping=draw.of(4.0, 12.0, None))
    return config


def gemma3(draw, family):
    config = layer_types(draw, windowed(draw, gemma(draw, family), draw.of(3, 9, 20)))
    config.update(query_pre_attn_scalar=draw.between(4, 40), rope_local_base_freq=10000.0,
                  sliding_window_pattern=draw.between(2, 6), rope_theta=1e6,
                  rope_scaling=draw.of(None, {"rope_type": "linear", "factor": 8.0}))
    if draw.chance(0.3):
        whole = config.pop("rope_scaling") or {"rope_type": "default"}
        config["rope_parameters"] = {
            "full_attention": dict(whole, rope_theta=config.pop("rope_theta")),
            "sliding_attention": {"rope_type": "default",
                                  "rope_theta": config.pop("rope_local_base_freq")}}
    if draw.chance(0.3):
        return dict(model_type="gemma3", text_config=dict(config, model_type="gemma3_text"),
                    vision_config={"model_type": "siglip_vision_model", "hidden_size": 8})
    config["model_type"] = "gemma3_text"
    return config


def gemma4_by_layer(config):
    """The sizes of layers as later releases of transformers write them."""
    L, types = config["num_hidden_layers"], config["layer_types"]
    sizes = {"head_dim": config.pop("global_head_dim")}
    if config.pop("num_global_key_value_heads") and config["attention_k_eq_v"]:
        sizes["num_key_value_heads"] = 1
    config["per_layer_config"] = {str(i): sizes for i in range(L) if types[i] == "full_attention"}


def gemma4(draw, family):
    config = base(draw, family)
    types = [draw.of("sliding_attention", "full_attention") for _ in range(draw.between(1, 4))]
    types = types + ["sliding_attention", "full_attention"]
    n_shared = draw.of(0, 1, 2)
    types += types[-n_shared:] if n_shared else []
    config.update(model_type="gemma4_text", hidden_activation="gelu_pytorch_tanh",
                  tie_word_embeddings=True, num_hidden_layers=len(types), layer_types=types,
                  num_kv_shared_layers=n_shared, use_double_wide_mlp=draw.chance(),
                  # Small vectors may be so short that their norm is an error's factor of 100.
                  head_dim=2 * draw.between(6, 14), global_head_dim=2 * draw.between(6, 16),
                  attention_k_eq_v=draw.chance(),
                  num_global_key_value_heads=draw.of(None, 1),
                  hidden_size_per_layer_input=draw.of(0, draw.between(9, 20)),
                  vocab_size_per_layer_input=config["vocab_size"],
                  enable_moe_block=draw.chance(0.4),
                  sliding_window=draw.of(3, 9, 20), rms_norm_eps=1e-6,
                  final_logit_softcapping=draw.of(None, 30.0))
    if types[-1] != "full_attention":
        types[-1] = "full_attention"
    if config["enable_moe_block"]:
        config["use_double_wide_mlp"] = False
        config.update(num_experts=draw.between(2, 9), moe_intermediate_size=draw.between(7, 40))
        config["top_k_experts"] = draw.between(1, min(config["num_experts"], 4))
    config["rope_parameters"] = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "proportional", "rope_theta": config.pop("rope_theta"),
                           "partial_rotary_factor": draw.of(0.25, 0.5, 1.0)}}
    if draw.chance(0.3):
        gemma4_by_layer(config)
    if draw.chance(0.4):
        return dict(model_type="gemma4", text_config=config,
                    vision_config={"model_type": "gemma4_vision", "hidden_size": 8})
    return config


def phi3(draw, family):
    config = windowed(draw, base(draw, family, own_head_size=False))
    D = head_size(config)
    n = draw.between(1, D // 2) * 2
    config["partial_rotary_factor"] = n / D
    n = int(D * config["partial_rotary_factor"])
    if n % 2:
        del config["partial_rotary_factor"]
        n = D
    scaling(draw, config, n, ("default", "longrope"))
    return config


def partial(draw, config, key, D):
    """A share of D that gives a whole, even number of turned elements."""
    config[key] = draw.of(*[share for share in (0.25, 0.5, 0.75, 1.0) if D * share % 2 == 0])
    return config


def glm4(draw, family):
    config = base(draw, family)
    config["attention_bias"] = draw.chance()
    return partial(draw, config, "partial_rotary_factor", config["head_dim"])


def olmo2(draw, family):
    config = base(draw, family, own_head_size=False)
    config["attention_bias"] = draw.chance(0.2)
    scaling(draw, config, head_size(config))
    return config


def olmo3(draw, family):
    config = layer_types(draw, windowed(draw, olmo2(draw, family), draw.of(3, 9, 20)))
    scaling(draw, config, head_size(config), ("default", "yarn", "yarn", "linear"))
    return config


def exaone4(draw, family):
    config = windowed(draw, base(draw, family), draw.of(None, 3, 9, 20))
    pattern = draw.between(1, 4)
    config["sliding_window_pattern"] = draw.of(pattern, "L" * (pattern - 1) + "G")
    if not config["sliding_window"]:
        config["sliding_window_pattern"] = draw.of(None, 4)
    elif draw.chance():
        layer_types(draw, config)
    scaling(draw, config, config["head_dim"], ("default", "llama3"))
    return config


def apertus(draw, family):
    config = base(draw, family, own_head_size=False)
    config.update(hidden_act="xielu", attention_bias=draw.chance(0.2))
    scaling(draw, config, head_size(config), ("default", "llama3"))
    return config


def hunyuan(draw, family):
    config = base(draw, family)
    config.update(use_qk_norm=True, attention_bias=draw.chance(0.2),
                  head_dim=config["head_dim"] + 2)
    if draw.chance(0.7):
        config["rope_scaling"] = dict(type="dynamic", alpha=draw.of(8.0, 1000.0), factor=1.0,
                                      beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=0.0)
    return config


def cohere(draw, family):
    config = base(draw, family, own_head_size=False)
    config.update(layer_norm_eps=1e-5, logit_scale=draw.real(0.1, 1.5), use_qk_norm=draw.chance(),
                  tie_word_embeddings=True, attention_bias=draw.chance(0.2))
    return config


def cohere2(draw, family):
    config = layer_types(draw, windowed(draw, cohere(draw, family), draw.of(3, 9, 20)))
    del config["use_qk_norm"]
    config["sliding_window_pattern"] = draw.between(2, 4)
    return config


def starcoder2(draw, family):
    config = windowed(draw, base(draw, family, own_head_size=False))
    config.update(norm_epsilon=draw.of(1e-5, 1e-3), hidden_act="gelu_pytorch_tanh",
                  use_bias=draw.of(True, True, False))
    return config


def phi(draw, family):
    config = base(draw, family, own_head_size=False)
    config.update(layer_norm_eps=1e-5, hidden_act="gelu_new", qk_layernorm=False,
                  tie_word_embeddings=False)
    return partial(draw, config, "partial_rotary_factor", head_size(config))


def gpt_neox(draw, family):
    config = base(draw, family, own_head_size=False)
    del config["num_key_value_heads"], config["rope_theta"]
    config.update(layer_norm_eps=1e-5, hidden_act=draw.of("gelu", "gelu_new", "gelu_fast"),
                  rotary_emb_base=10000, tie_word_embeddings=False,
                  use_parallel_residual=draw.chance(0.7), attention_bias=draw.of(True, True, False))
    return partial(draw, config, "rotary_pct", head_size(config))


def gpt2(draw, family):
    H = draw.between(1, 6)
    C = H * (draw.between(3, 27) if family == "gpt2" else 2 * draw.between(2, 14))
    config = dict(model_type=family, n_embd=C, n_head=H, n_layer=draw.between(1, 4),
                  n_positions=128, n_inner=draw.of(None, draw.between(9, 90)),
                  vocab_size=draw.between(61, 300), layer_norm_epsilon=draw.of(1e-5, 1e-3),
                  activation_function=draw.of("gelu_new", "gelu", "relu"),
                  tie_word_embeddings=family == "gpt2" and draw.chance(), eos_token_id=1,
                  bos_token_id=1)
    if family == "gptj":
        config["rotary_dim"] = 2 * draw.between(1, C // H // 2)
    return config


def attention_types(draw, L):
    """The kinds of L layers: lists and how often each is repeated."""
    parts = draw.of([(["global"], 1), (["local"], L - 1)], [(["local"], L)],
                    [(["global", "local"], L // 2), (["global"], L % 2)])
    return [[kinds, times] for kinds, times in parts if times]


def gpt_neo(draw, family):
    H, L = draw.between(1, 6), draw.between(1, 4)
    return dict(model_type=family, hidden_size=H * draw.between(3, 27), num_heads=H, num_layers=L,
                attention_types=attention_types(draw, L),
                window_size=draw.of(3, 9, 20), intermediate_size=draw.of(None, draw.between(9, 90)),
                vocab_size=draw.between(61, 300), max_position_embeddings=128,
                layer_norm_epsilon=1e-5, activation_function=draw.of("gelu_new", "gelu"),
                tie_word_embeddings=True, eos_token_id=1, bos_token_id=1)


def ministral3(draw, family):
    config = windowed(draw, base(draw, family), draw.of(None, 9))
    config["rope_parameters"] = dict(rope_type="yarn", rope_theta=config.pop("rope_theta"),
                                     factor=4.0, original_max_position_embeddings=32,
                                     beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                                     llama_4_scaling_beta=draw.real(0.05, 0.5))
    if draw.chance(0.4):
        return dict(model_type="mistral3", text_config=config,
                    vision_config={"model_type": "pixtral"})
    return config


def with_latents(draw, family):
    return latents.config(draw, family, base(draw, family))


def minicpm3(draw, family):
    config = with_latents(draw, family)
    for key in latents.router(draw, family):
        del config[key]
    config.update(rope_interleave=False, rope_scaling=None, first_k_dense_replace=0,
                  scale_emb=draw.real(0.5, 3), scale_depth=1.4, dim_model_base=draw.between(4, 24))
    return config


def in_newer_form(draw, config):
    """rope_parameters instead of the fields of which transformers 5 makes it."""
    parameters = dict(config.pop("rope_scaling", None) or {"rope_type": "default"})
    parameters["rope_type"] = parameters.pop("type", None) or parameters["rope_type"]
    for newer, older in (("rope_theta", "rope_theta"), ("rope_theta", "rotary_emb_base"),
                         ("partial_rotary_factor", "partial_rotary_factor"),
                         ("partial_rotary_factor", "rotary_pct")):
        if older in config:
            parameters[newer] = config.pop(older)
    return dict(config, rope_parameters=parameters)


def in_either_form(make):
    """A family's configurations, some as transformers 5 writes them."""
    def either(draw, family):
        config = make(draw, family)
        turns = "rope_theta" in config or "rotary_emb_base" in config
        newer = turns and family not in ("gemma3", "gemma4") and draw.chance(0.3)
        return in_newer_form(draw, config) if newer else config
    return either


FAMILIES = dict(gpt2=gpt2, gpt_neo=gpt_neo, gpt_neox=gpt_neox, gptj=gpt2, llama=llama,
                smollm3=smollm3, mistral=mistral, mixtral=mixtral, qwen2=qwen, qwen2_moe=qwen_moe,
                qwen3=qwen, qwen3_moe=qwen_moe, gemma=gemma, gemma2=gemma2, gemma3=gemma3, phi=phi,
                phi3=phi3, granite=granite, granitemoe=granitemoe, granitemoeshared=granitemoe,
                olmo2=olmo2, olmoe=olmoe, cohere=cohere, cohere2=cohere2, glm4=glm4,
                starcoder2=starcoder2, minicpm=minicpm, gpt_oss=gpt_oss, ministral3=ministral3,
                granitemoehybrid=granitemoehybrid, seed_oss=seed_oss, ernie4_5=ernie4_5,
                arcee=arcee, gemma4=gemma4, qwen2_5_vl=qwen2_5_vl, qwen3_vl=qwen3_vl,
                olmo3=olmo3, exaone4=exaone4, hunyuan_v1_dense=hunyuan,
                apertus=apertus, deepseek_v2=with_latents, deepseek_v3=with_latents,
                glm4_moe_lite=with_latents, kimi_k2=with_latents, minicpm3=minicpm3)
CONFIGS = {family: in_either_form(make) for family, make in FAMILIES.items()}


def attention_shapes(plan, i):
    """{role: shape of weight, [out][in]}; biases and norms come with what they belong to."""
    D, G, _ = plan.sizes_of(i)
    q, kv = plan.H * D, G * D
    if plan.layers[i].kv_from >= 0 or plan.layers[i].k_is_v:
        yield "q", (q, plan.C)
        if plan.layers[i].kv_from < 0:
            yield "k", (kv, plan.C)
    elif plan.attention == "separate":
        yield from (("q", (q, plan.C)), ("k", (kv, plan.C)), ("v", (kv, plan.C)))
    else:
        yield "qkv", (q + 2 * kv, plan.C)
    yield "o", (plan.C, q)


def dense_shapes(plan, i):
    F = plan.sizes_of(i)[2]
    if plan.mlp == "gated":
        yield from (("gate", (F, plan.C)), ("up", (F, plan.C)))
    elif plan.mlp == "fused":
        yield "gate_up", (2 * F, plan.C)
    else:
        yield "up", (F, plan.C)
    yield "down", (plan.C, F)


class Writer:
    """Collects the tensors of a plan."""

    def __init__(self, plan, draw):
        self.plan, self.draw, self.tensors = plan, draw, {}
        # The first draw keeps the later ones. Newer files fuse all experts into one tensor.
        draw.chance(0.3)
        self.fuses = plan.moe and plan.moe.kind == "experts" and draw.chance(0.3)

    def normal(self, name, shape, deviation):
        self.tensors[name] = self.draw.rng.normal(0, deviation, shape)

    def matrix(self, name, shape, bias=False, transposed=False, gain=1.3):
        self.normal(name + ".weight", shape[::-1] if transposed else shape,
                    gain / np.sqrt(shape[1]))
        if bias:
            self.normal(name + ".bias", shape[:1], 0.3)

    def norm(self, name, shape, mean=1.0):
        mean = 0.0 if self.plan.norm == "rms1" else mean
        self.tensors[name + ".weight"] = mean + self.draw.rng.normal(0, 0.2, shape)
        if self.plan.norm_bias:
            self.normal(name + ".bias", shape, 0.2)

    def attention(self, name, i):
        plan, names = self.plan, self.plan.names
        if "latent" in plan.extra:
            latents.write(self, name)
            return
        D, G, _ = plan.sizes_of(i)
        for role, shape in attention_shapes(plan, i):
            bias = plan.o_bias if role == "o" else plan.qkv_bias
            # With unscaled scores (GPT-Neo) one position would take all, and an error of a score
            # would be one of the output.
            gain = 1.3 * min(1, plan.D ** -0.5 / plan.score_scale) ** 0.5 if role in "qk" else 1.3
            self.matrix(name + names[role], shape, bias, plan.attention == "conv1d", gain)
        norms = {"head": ((D,), (D,)), "own": ((plan.H, D), (G, D)),
                 "whole": ((plan.H * D,), (G * D,))}
        if plan.qk_norm:
            mean = D ** -0.25 if plan.score_scale == 1 else 1.0  # which the norms must scale
            for role, shape in zip(("q_norm", "k_norm"), norms[plan.qk_norm]):
                if role == "q_norm" or plan.layers[i].kv_from < 0:
                    self.norm(name + names[role], shape, mean)
        if plan.sinks:
            self.normal(name + names["sinks"], (plan.H,), 1.0)

    def experts(self, name):
        plan, names, moe = self.plan, self.plan.names, self.plan.moe
        E, F, C = moe.n_experts, moe.n_ff, plan.C
        self.matrix(name + names["router"], (E, C), moe.kind == "gpt_oss", gain=2.0)
        if plan.extra.get("latent", {}).get("topk_method") == "noaux_tc":
            self.normal(name + names["router"] + ".e_score_correction_bias", (E,), 0.2)
        if moe.kind == "experts" and self.fuses:
            self.normal(name + names["experts_in"], (E, 2 * F, C), 1.3 / np.sqrt(C))
            self.normal(name + names["experts_out"], (E, C, F), 1.3 / np.sqrt(F))
        elif moe.kind == "experts":
            for e in range(E):
                prefix = name + names["expert"].format(e)
                for part, shape in (("gate", (F, C)), ("up", (F, C)), ("down", (C, F))):
                    self.matrix(prefix + names["expert_" + part], shape)
        elif moe.kind == "gemma4":
            self.normal(name + names["experts_in"], (E, 2 * F, C), 1.3 / np.sqrt(C))
            self.normal(name + names["experts_out"], (E, C, F), 1.3 / np.sqrt(F))
            self.tensors[name + names["router_scale"]] = self.draw.rng.uniform(3, 8, C)
            self.tensors[name + names["expert_scales"]] = self.draw.rng.uniform(0.5, 1.5, E)
            for role in ("experts_norm", "experts_post", "shared_post"):
                self.norm(name + names[role], (C,))
        elif moe.kind == "granite":
            self.normal(name + names["experts_in"] + ".weight", (E, 2 * F, C), 1.3 / np.sqrt(C))
            self.normal(name + names["experts_out"] + ".weight", (E, C, F), 1.3 / np.sqrt(F))
        else:
            for role, n_in, n_out in (("experts_in", C, 2 * F), ("experts_out", F, C)):
                self.normal(name + names[role], (E, n_in, n_out), 1.3 / np.sqrt(n_in))
                self.normal(name + names[role] + "_bias", (E, n_out), 0.3)
        if moe.n_shared:
            self.shared(name)

    def shared(self, name):
        plan, names, F = self.plan, self.plan.names, self.plan.moe.n_shared
        if plan.moe.kind == "granite":
            self.matrix(name + names["shared_in"], (2 * F, plan.C))
            self.matrix(name + names["shared_out"], (plan.C, F))
            return
        for part, shape in (("gate_proj", (F, plan.C)), ("up_proj", (F, plan.C)),
                            ("down_proj", (plan.C, F))):
            self.matrix(name + names["shared"] + part, shape)
        if plan.moe.shared_gate:
            self.matrix(name + names["shared_gate"], (1, plan.C))

    def numbers(self, name):
        """Those of an xIELU: two learned ones, and two constants without a dimension."""
        self.tensors.update({name + "alpha_p": self.draw.rng.normal(0.2, 0.5, (1,)),
                             name + "alpha_n": self.draw.rng.normal(-1, 0.5, (1,)),
                             name + "beta": np.array(0.5), name + "eps": np.array(-1e-6)})

    def layer(self, i):
        plan, names = self.plan, self.plan.names
        name = names["prefix"] + names["layer"].format(i)
        for role in {"sandwich": ("n1", "n2", "n3", "n4"),
                     "parallel": ("n1",)}.get(plan.form, ("n1", "n2")):
            self.norm(name + names[role], (plan.C,))
        self.attention(name, i)
        if plan.layers[i].moe:
            self.experts(name)
        if not plan.layers[i].moe or plan.moe.kind == "gemma4":
            for role, shape in dense_shapes(plan, i):
                self.matrix(name + names[role], shape, plan.mlp_bias, plan.mlp == "conv1d")
        if plan.activation == "xielu":
            self.numbers(name + names["numbers"])
        if plan.layer_scales:
            self.tensors[name + names["scale"]] = self.draw.rng.uniform(0.5, 1.2, 1)
        if plan.n_per_layer:
            self.matrix(name + names["per_layer_gate"], (plan.n_per_layer, plan.C))
            self.matrix(name + names["per_layer_out"], (plan.C, plan.n_per_layer))
            self.norm(name + names["per_layer_norm"], (plan.C,))

    def per_layer_inputs(self):
        plan, names, width = self.plan, self.plan.names, self.plan.L * self.plan.n_per_layer
        self.normal(names["prefix"] + names["table"] + ".weight", (plan.V, width), 0.25)
        self.matrix(names["prefix"] + names["per_layer_in"], (width, plan.C), gain=10.0)
        self.norm(names["prefix"] + names["per_layer_in_norm"], (plan.n_per_layer,))

    def everything(self):
        plan, names = self.plan, self.plan.names
        embed = names["prefix"] + names["embed"] + ".weight"
        self.normal(embed, (plan.V, plan.C), 3 / np.sqrt(plan.C) if plan.tied else 1.0)
        if plan.learned_positions:
            self.normal(names["prefix"] + names["positions"] + ".weight",
                        (plan.n_positions, plan.C), 0.5)
        if plan.n_per_layer:
            self.per_layer_inputs()
        for i in range(plan.L):
            self.layer(i)
        self.norm(names["prefix"] + names["norm"], (plan.C,))
        if not plan.tied:
            self.matrix(names["head"], (plan.V, plan.C), plan.head_bias, gain=3.0)
        return self.tensors


def stored(draw, plan, tensors):
    """{name: (array, dtype)}: one dtype, or norms in F32; gpt-oss' experts often as MXFP4."""
    dtype = draw.of("BF16", "F16", "F32")
    wide = draw.chance(0.3)
    packed = plan.moe and plan.moe.kind == "gpt_oss" and draw.chance(0.7)
    out = {}
    for name, values in tensors.items():
        if packed and name.endswith((".gate_up_proj", ".down_proj")):
            blocks, scales = checkpoint.encode_mxfp4(values)
            out[name + "_blocks"], out[name + "_scales"] = (blocks, "U8"), (scales, "U8")
        else:
            out[name] = values, "F32" if wide and values.ndim == 1 else dtype
    return out


# Old checkpoints also hold masks, constants and frequencies, which no reader uses.
LEFTOVERS = dict(
    gpt2={"h.{}.attn.bias": (1, 1, 4, 4), "h.{}.attn.masked_bias": (1,)},
    gptj={"h.{}.attn.bias": (1, 1, 4, 4), "h.{}.attn.masked_bias": (1,)},
    gpt_neo={"h.{}.attn.attention.bias": (1, 1, 4, 4), "h.{}.attn.attention.masked_bias": (1,)},
    gpt_neox={"layers.{}.attention.bias": (1, 1, 4, 4), "layers.{}.attention.masked_bias": (1,),
              "layers.{}.attention.rotary_emb.inv_freq": (4,)},
    llama={"layers.{}.self_attn.rotary_emb.inv_freq": (4,)})


def add_leftovers(draw, plan, family, tensors):
    for name, shape in LEFTOVERS.get(family, {}).items():
        for i in range(plan.L):
            tensors[plan.names["prefix"] + name.format(i)] = draw.rng.normal(0, 9, shape), "F32"
    if plan.tied and draw.chance(0.3):  # a tied head is sometimes stored as well
        tensors[plan.names["head"] + ".weight"] = (
            tensors[plan.names["prefix"] + plan.names["embed"] + ".weight"])


def renamed(draw, config, tensors):
    """Renames as a multimodal model wraps its text model, or as gpt2's first files do."""
    if "text_config" in config:
        newer = draw.chance()
        tensors = {name.replace("model.", "model.language_model.", 1) if newer
                   else "language_model." + name: value for name, value in tensors.items()}
        tensors["vision_tower.vision_model.post_layernorm.weight"] = np.ones(8), "F32"
        tensors["model.visual.merger.norm.weight"] = np.ones(8), "F32"
    elif "vision_config" in config:
        tensors["visual.merger.ln_q.weight"] = np.ones(8), "F32"
    elif config["model_type"] == "gpt2" and draw.chance():
        tensors = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    return tensors


def save(directory, draw, tensors):
    """In one file or in shards with an index."""
    n, names = draw.of(1, 1, 3), list(tensors)
    if n == 1:
        checkpoint.write_safetensors(directory / "model.safetensors", tensors)
        return
    weight_map = {}
    for shard in range(n):
        path = f"model-{shard + 1:05}-of-{n:05}.safetensors"
        part = {name: tensors[name] for name in names[shard::n]}
        checkpoint.write_safetensors(directory / path, part)
        weight_map.update(dict.fromkeys(part, path))
    (directory / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map}))


def write(directory, family, seed, change=lambda config: config):
    """Writes a model of the seed's shape into a directory. Returns its config after change."""
    directory, draw = Path(directory), Draw([seed, list(CONFIGS).index(family)])
    config = change(CONFIGS[family](draw, family))
    (directory / "config.json").write_text(json.dumps(config))
    plan = families.plan(checkpoint.read_config(directory))
    tensors = stored(draw, plan, Writer(plan, draw).everything())
    add_leftovers(draw, plan, family, tensors)
    save(directory, draw, renamed(draw, config, tensors))
    return config


if __name__ == "__main__":
    Path(sys.argv[3]).mkdir(parents=True, exist_ok=True)
    print(json.dumps(write(sys.argv[3], sys.argv[1], int(sys.argv[2])), indent=1))
