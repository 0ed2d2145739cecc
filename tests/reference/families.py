"""Each family's computation, read from its configuration as transformers reads it (to release 5).

plan(config) gives the numbers and choices of one model as a Plan; model.py computes it. Letters: C
width, H query heads, G key/value heads, D head size, F feed-forward width, L layers, V vocabulary,
E experts.
"""
import math
from dataclasses import dataclass, field

import latents
import rope as rotary

LLAMA = dict(prefix="model.", layer="layers.{}.", embed="embed_tokens", norm="norm", head="lm_head",
             n1="input_layernorm", n2="post_attention_layernorm", q="self_attn.q_proj",
             k="self_attn.k_proj", v="self_attn.v_proj", o="self_attn.o_proj",
             q_norm="self_attn.q_norm", k_norm="self_attn.k_norm", gate="mlp.gate_proj",
             up="mlp.up_proj", down="mlp.down_proj", router="mlp.gate", expert="mlp.experts.{}.",
             expert_gate="gate_proj", expert_up="up_proj", expert_down="down_proj",
             experts_in="mlp.experts.gate_up_proj", experts_out="mlp.experts.down_proj")
GEMMA2 = dict(LLAMA, n2="post_attention_layernorm", n3="pre_feedforward_layernorm",
              n4="post_feedforward_layernorm")
GEMMA4 = dict(GEMMA2, table="embed_tokens_per_layer", per_layer_in="per_layer_model_projection",
              per_layer_in_norm="per_layer_projection_norm",
              per_layer_gate="per_layer_input_gate", per_layer_out="per_layer_projection",
              per_layer_norm="post_per_layer_input_norm", scale="layer_scalar",
              router="router.proj", router_scale="router.scale",
              expert_scales="router.per_expert_scale", experts_in="experts.gate_up_proj",
              experts_out="experts.down_proj", experts_norm="pre_feedforward_layernorm_2",
              experts_post="post_feedforward_layernorm_2",
              shared_post="post_feedforward_layernorm_1")
APERTUS = dict(LLAMA, n1="attention_layernorm", n2="feedforward_layernorm",
               numbers="mlp.act_fn.")
HUNYUAN = dict(LLAMA, q_norm="self_attn.query_layernorm", k_norm="self_attn.key_layernorm")
GLM4 = dict(LLAMA, n2="post_self_attn_layernorm", n3="post_attention_layernorm",
            n4="post_mlp_layernorm", gate_up="mlp.gate_up_proj")
PHI3 = dict(LLAMA, qkv="self_attn.qkv_proj", gate_up="mlp.gate_up_proj")
OLMO2 = dict(LLAMA, n1="post_attention_layernorm", n2="post_feedforward_layernorm")
STARCODER2 = dict(LLAMA, up="mlp.c_fc", down="mlp.c_proj")
PHI = dict(LLAMA, norm="final_layernorm", o="self_attn.dense", up="mlp.fc1", down="mlp.fc2")
GPT2 = dict(prefix="transformer.", layer="h.{}.", embed="wte", positions="wpe", norm="ln_f",
            head="lm_head", n1="ln_1", n2="ln_2", qkv="attn.c_attn", o="attn.c_proj", up="mlp.c_fc",
            down="mlp.c_proj")
GPT_NEO = dict(GPT2, q="attn.attention.q_proj", k="attn.attention.k_proj",
               v="attn.attention.v_proj", o="attn.attention.out_proj")
GPTJ = dict(GPT2, q="attn.q_proj", k="attn.k_proj", v="attn.v_proj", o="attn.out_proj",
            up="mlp.fc_in", down="mlp.fc_out")
GPT_NEOX = dict(prefix="gpt_neox.", layer="layers.{}.", embed="embed_in", norm="final_layer_norm",
                head="embed_out", n1="input_layernorm", n2="post_attention_layernorm",
                qkv="attention.query_key_value", o="attention.dense", up="mlp.dense_h_to_4h",
                down="mlp.dense_4h_to_h")
MIXTRAL = dict(LLAMA, router="block_sparse_moe.gate", expert="block_sparse_moe.experts.{}.",
               expert_gate="w1", expert_up="w3", expert_down="w2")
GRANITE_DENSE = dict(LLAMA, gate_up="shared_mlp.input_linear", down="shared_mlp.output_linear")
GRANITE_MOE = dict(LLAMA, router="block_sparse_moe.router.layer",
                   experts_in="block_sparse_moe.input_linear",
                   experts_out="block_sparse_moe.output_linear",
                   shared_in="shared_mlp.input_linear", shared_out="shared_mlp.output_linear")
QWEN_MOE = dict(LLAMA, shared="mlp.shared_expert.", shared_gate="mlp.shared_expert_gate")
DEEPSEEK = dict(LLAMA, q_a="self_attn.q_a_proj", q_a_norm="self_attn.q_a_layernorm",
                q_b="self_attn.q_b_proj", kv_a="self_attn.kv_a_proj_with_mqa",
                kv_a_norm="self_attn.kv_a_layernorm", kv_b="self_attn.kv_b_proj",
                shared="mlp.shared_experts.")
GPT_OSS = dict(LLAMA, router="mlp.router", sinks="self_attn.sinks")


@dataclass
class Layer:
    rope: rotary.Rope | None = None
    window: int = 0  # positions that one sees, itself among them; 0: all
    moe: bool = False
    D: int = 0  # sizes of its own; 0: the plan's
    G: int = 0
    F: int = 0
    kv_from: int = -1  # the layer whose K and V it reads; -1: it has its own
    k_is_v: bool = False


@dataclass
class Moe:
    n_experts: int
    n_chosen: int
    n_ff: int
    kind: str  # "experts": a tensor for each; "granite", "gpt_oss", "gemma4": all in one
    renormalises: bool = True
    n_shared: int = 0
    shared_gate: bool = False


@dataclass
class Plan:
    C: int
    H: int
    G: int
    D: int
    F: int
    L: int
    V: int
    n_positions: int
    names: dict
    layers: list = None
    form: str = "pre"  # pre, sandwich, post, parallel (one norm), parallel2 (two)
    norm: str = "rms"  # rms, rms1 (1 + w), layer
    norm_bias: bool = False
    epsilon: float = 1e-6
    # separate; rows (q, k, v below each other); conv1d; per_head (q, k, v of each head)
    attention: str = "separate"
    mlp: str = "gated"  # gated; fused (gate above up); plain; conv1d (plain)
    activation: str = "silu"
    qk_norm: str = ""  # head, own (a weight for each head), whole
    norms_turned: bool = False  # they come after the rotation
    score_scale: float = 0.0
    score_cap: float = 0.0
    clip: float = 0.0
    query_beta: float = 0.0  # queries grow by 1 + beta ln(1 + floor(position / query_period))
    query_period: int = 0
    sinks: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    tied: bool = False
    learned_positions: bool = False
    embed_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0
    logit_cap: float = 0.0
    normed_values: bool = False
    layer_scales: bool = False
    n_per_layer: int = 0  # width of a token's own input to each layer
    moe: Moe | None = None
    extra: dict = field(default_factory=dict)

    def sizes_of(self, i):
        """D, G and F of a layer"""
        layer = self.layers[i]
        return layer.D or self.D, layer.G or self.G, layer.F or self.F


def sizes(config, names, **more):
    """The sizes under the names that nearly all families use."""
    heads = config["num_attention_heads"]
    more.setdefault("D", config.get("head_dim") or config["hidden_size"] // heads)
    plan = Plan(C=config["hidden_size"], H=heads, G=config.get("num_key_value_heads") or heads,
                F=config["intermediate_size"], L=config["num_hidden_layers"],
                V=config["vocab_size"], n_positions=config["max_position_embeddings"], names=names,
                **{"epsilon": config.get("rms_norm_eps", 1e-6),
                   "activation": config.get("hidden_act", "silu"),
                   "tied": config.get("tie_word_embeddings", False), **more})
    plan.score_scale = plan.score_scale or plan.D ** -0.5
    return plan


def rope_of(config, n_head, n_context, theta=10000.0, partial=1.0, interleaved=False, kind=None):
    """kind: the layer type whose entry holds, where rope_parameters has one for each."""
    parameters = config.get("rope_parameters") or {}
    parameters = parameters.get(kind, parameters) if kind else parameters
    theta = parameters.get("rope_theta", config.get("rope_theta") or theta)
    partial = parameters.get("partial_rotary_factor",
                             config.get("partial_rotary_factor") or partial)
    scaling = parameters or config.get("rope_scaling")
    return rotary.make(config, scaling, theta, int(n_head * partial), interleaved, n_context)


def is_sliding(config, n_layers, default):
    """For each layer: does layer_types, or else the family's rule, give it a window?"""
    types = config.get("layer_types")
    return [types[i] == "sliding_attention" if types else default(i) for i in range(n_layers)]


def windows(config, n_layers, default, size=None):
    size = config.get("sliding_window", size) or 0
    return [size if sliding else 0 for sliding in is_sliding(config, n_layers, default)]


def uniform(plan, a_rope, window=None):
    plan.layers = [Layer(a_rope, window[i] if window else 0) for i in range(plan.L)]
    return plan


def plain_layers(plan, config, n_context, window=None, **more):
    return uniform(plan, rope_of(config, plan.D, n_context, **more), window)


def biased(config, default=False):
    on = config.get("attention_bias", default)
    return dict(qkv_bias=on, o_bias=on)


def llama(config, n_context):
    plan = sizes(config, LLAMA, mlp_bias=config.get("mlp_bias", False), **biased(config))
    return plain_layers(plan, config, n_context)


def granite(config, n_context):
    plan = llama(config, n_context)
    plan.score_scale = config.get("attention_multiplier", 1.0)
    plan.embed_scale = config.get("embedding_multiplier", 1.0)
    plan.residual_scale = config.get("residual_multiplier", 1.0)
    plan.logit_scale = 1 / config.get("logits_scaling", 1.0)
    if config.get("position_embedding_type") == "nope":
        uniform(plan, None)
    return plan


def scaled(plan, config):
    plan.embed_scale = config.get("scale_emb", 1)
    plan.residual_scale = config.get("scale_depth", 1) / math.sqrt(plan.L)
    plan.logit_scale = config.get("dim_model_base", 1) / plan.C
    return plan


def minicpm(config, n_context):
    return scaled(llama(config, n_context), config)


def smollm3(config, n_context):
    plan = llama(config, n_context)
    interval = config.get("no_rope_layer_interval", 4)
    turns = config.get("no_rope_layers") or [int((i + 1) % interval != 0) for i in range(plan.L)]
    sliding = windows(config, plan.L,
                      lambda i: config.get("use_sliding_window", False) and not turns[i])
    plan.layers = [Layer(plan.layers[i].rope if turns[i] else None, sliding[i])
                   for i in range(plan.L)]
    return plan


def mistral(config, n_context):
    plan = sizes(config, LLAMA)
    return plain_layers(plan, config, n_context, windows(config, plan.L, lambda i: True, 4096))


def ministral3(config, n_context):
    plan = sizes(config, LLAMA)
    plan.query_beta = config["rope_parameters"].get("llama_4_scaling_beta", 0)
    plan.query_period = config["rope_parameters"]["original_max_position_embeddings"]
    return plain_layers(plan, config, n_context, windows(config, plan.L, lambda i: True))


def qwen_windows(config, n_layers):
    if not config.get("use_sliding_window", False):
        return None
    return windows(config, n_layers, lambda i: i >= config.get("max_window_layers", 28), 4096)


def qwen2(config, n_context):
    plan = sizes(config, LLAMA, qkv_bias=True)
    return plain_layers(plan, config, n_context, qwen_windows(config, plan.L))


def qwen3(config, n_context):
    plan = sizes(config, LLAMA, qk_norm="head", D=config.get("head_dim") or 128, **biased(config))
    return plain_layers(plan, config, n_context, qwen_windows(config, plan.L))


def qwen2_5_vl(config, n_context):
    """M-RoPE gives a text's tokens the same three positions: a plain rotation."""
    plan = sizes(config, LLAMA, qkv_bias=True, epsilon=config.get("rms_norm_eps", 1e-5))
    return plain_layers(plan, config, n_context, qwen_windows(config, plan.L), theta=1e6)


def qwen3_vl(config, n_context):
    plan = sizes(config, LLAMA, qk_norm="head", D=config.get("head_dim") or 128, **biased(config))
    return plain_layers(plan, config, n_context, theta=5e5)


def qwen_moe_layers(config, plan, sparse_step):
    dense = config.get("mlp_only_layers") or []
    plan.names = QWEN_MOE
    for i, layer in enumerate(plan.layers):
        layer.moe = i not in dense and (i + 1) % sparse_step == 0
    return plan


def qwen2_moe(config, n_context):
    plan = sizes(config, LLAMA, qkv_bias=config.get("qkv_bias", True))
    plain_layers(plan, config, n_context, qwen_windows(config, plan.L))
    plan.moe = Moe(config["num_experts"], config["num_experts_per_tok"],
                   config["moe_intermediate_size"], "experts", config.get("norm_topk_prob", False),
                   config["shared_expert_intermediate_size"], True)
    return qwen_moe_layers(config, plan, config.get("decoder_sparse_step", 1))


def qwen3_moe(config, n_context):
    plan = qwen3(config, n_context)
    for layer in plan.layers:  # all, whatever max_window_layers
        layer.window = ((config.get("sliding_window", 4096) or 0)
                        if config.get("use_sliding_window") else 0)
    plan.moe = Moe(config["num_experts"], config["num_experts_per_tok"],
                   config["moe_intermediate_size"], "experts", config.get("norm_topk_prob", False))
    return qwen_moe_layers(config, plan, config.get("decoder_sparse_step", 1))


def all_moe(plan, moe):
    plan.moe = moe
    for layer in plan.layers:
        layer.moe = True
    return plan


def deepseek(config, n_context):
    n = config["qk_rope_head_dim"]
    plan = sizes(config, DEEPSEEK, D=config["kv_lora_rank"] + n,
                 score_scale=latents.score_scale(config), extra={"latent": config})
    plan.G = 1  # for all heads, as the engine has it
    uniform(plan, rope_of(config, n, n_context, interleaved=config.get("rope_interleave", True)))
    if config.get("n_routed_experts"):
        plan.moe = Moe(config["n_routed_experts"], config["num_experts_per_tok"],
                       config["moe_intermediate_size"], "experts", config["norm_topk_prob"],
                       config["n_shared_experts"] * config["moe_intermediate_size"])
        for i, layer in enumerate(plan.layers):
            layer.moe = i >= config["first_k_dense_replace"]
    return plan


def minicpm3(config, n_context):
    return scaled(deepseek(config, n_context), config)


def mixtral(config, n_context):
    plan = sizes(config, MIXTRAL)
    plain_layers(plan, config, n_context, windows(config, plan.L, lambda i: True), theta=1e6)
    return all_moe(plan, Moe(config["num_local_experts"], config["num_experts_per_tok"], plan.F,
                             "experts"))


def olmoe(config, n_context):
    plan = sizes(config, LLAMA, qk_norm="whole", clip=config.get("clip_qkv") or 0.0,
                 epsilon=config["rms_norm_eps"], **biased(config))
    plain_layers(plan, config, n_context)
    return all_moe(plan, Moe(config["num_experts"], config["num_experts_per_tok"], plan.F,
                             "experts", config.get("norm_topk_prob", False)))


def granitemoe(config, n_context):
    plan = granite(config, n_context)
    plan.names, plan.mlp_bias = GRANITE_MOE, False
    return all_moe(plan, Moe(config["num_local_experts"], config["num_experts_per_tok"], plan.F,
                             "granite", n_shared=config.get("shared_intermediate_size") or 0))


def granitemoehybrid(config, n_context):
    """Only layers of attention; without experts the shared one is the MLP."""
    plan = granite(config, n_context)
    if config.get("position_embedding_type") != "rope":
        uniform(plan, None)
    if config.get("num_local_experts", 8):
        plan.names = GRANITE_MOE
        return all_moe(plan, granitemoe(config, n_context).moe)
    plan.names, plan.mlp, plan.F = GRANITE_DENSE, "fused", config["shared_intermediate_size"]
    return plan


def seed_oss(config, n_context):
    plan = sizes(config, LLAMA, D=config.get("head_dim") or 128,
                 qkv_bias=config.get("attention_bias", True),
                 o_bias=config.get("attention_out_bias", False),
                 mlp_bias=config.get("mlp_bias", False))
    return plain_layers(plan, config, n_context)


def ernie4_5(config, n_context):
    on = config.get("use_bias", False)
    plan = sizes(config, LLAMA, qkv_bias=on, o_bias=on, mlp_bias=on,
                 D=config.get("head_dim") or 128, tied=config.get("tie_word_embeddings", True))
    return plain_layers(plan, config, n_context, theta=500000.0, interleaved=True)


def arcee(config, n_context):
    plan = sizes(config, LLAMA, mlp="plain", activation=config.get("hidden_act", "relu2"),
                 mlp_bias=config.get("mlp_bias", False), **biased(config))
    return plain_layers(plan, config, n_context)


def gpt_oss(config, n_context):
    plan = sizes(config, GPT_OSS, sinks=True, activation="clipped", D=config.get("head_dim") or 64,
                 **biased(config, True))
    plain_layers(plan, config, n_context, windows(config, plan.L, lambda i: i % 2 == 0, 128),
                 theta=150000.0)
    return all_moe(plan, Moe(config["num_local_experts"], config["num_experts_per_tok"], plan.F,
                             "gpt_oss"))


def gemma_activation(config):
    name = config.get("hidden_activation") or "gelu_pytorch_tanh"
    return {"gelu": "gelu_pytorch_tanh"}.get(name, name)


def gemma(config, n_context, names=LLAMA, **more):
    plan = sizes(config, names, norm="rms1", embed_scale=math.sqrt(config["hidden_size"]),
                 D=config.get("head_dim") or 256, tied=config.get("tie_word_embeddings", True),
                 activation=gemma_activation(config), **biased(config), **more)
    return plain_layers(plan, config, n_context)


def gemma2(config, n_context, **more):
    cap = {"score_cap": config.get("attn_logit_softcapping", 50.0) or 0,
           "logit_cap": config.get("final_logit_softcapping", 30.0) or 0}
    plan = gemma(config, n_context, GEMMA2, form="sandwich",
                 score_scale=config.get("query_pre_attn_scalar", 256) ** -0.5, **{**cap, **more})
    for layer, window in zip(plan.layers, windows(config, plan.L, lambda i: i % 2 == 0, 4096)):
        layer.window = window
    return plan


def gemma3(config, n_context):
    pattern = config.get("sliding_window_pattern") or 6
    plan = gemma2(config, n_context, qk_norm="head",
                  score_cap=config.get("attn_logit_softcapping") or 0,
                  logit_cap=config.get("final_logit_softcapping") or 0)
    whole = rope_of({**config, "rope_theta": config.get("rope_theta") or 1e6}, plan.D, n_context,
                    kind="full_attention")
    local = (config.get("rope_parameters") or {}).get("sliding_attention") or {}
    local_rope = rotary.make(config, local,
                             local.get("rope_theta", config.get("rope_local_base_freq", 10000.0)),
                             plan.D)
    sliding = is_sliding(config, plan.L, lambda i: (i + 1) % pattern)
    size = config.get("sliding_window", 4096) or 0
    plan.layers = [Layer(local_rope, size) if slides else Layer(whole) for slides in sliding]
    return plan


def gemma4_rope(config, kind, n_head, n_context):
    usual = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
             "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                                "rope_theta": 1e6}}
    scaling = (config.get("rope_parameters") or usual)[kind]
    return rotary.make(config, scaling, scaling["rope_theta"], n_head, n_context=n_context)


def gemma4_sizes(config, i, full):
    """D, G and F of a layer before sharing"""
    D, G = config.get("head_dim") or 256, config.get("num_key_value_heads") or 4
    own = config.get("per_layer_config")
    if own is not None:
        own = own.get(str(i), {})
        return (own.get("head_dim", D), own.get("num_key_value_heads", G),
                own.get("intermediate_size", config["intermediate_size"]))
    if full:
        D = config.get("global_head_dim", 512) or D
        G = (config.get("attention_k_eq_v") and config.get("num_global_key_value_heads")) or G
    return D, G, config["intermediate_size"]


def gemma4(config, n_context):
    plan = sizes(config, GEMMA4, form="sandwich", qk_norm="head", score_scale=1.0,
                 embed_scale=math.sqrt(config["hidden_size"]), normed_values=True,
                 layer_scales=True, tied=config.get("tie_word_embeddings", True),
                 logit_cap=config.get("final_logit_softcapping") or 0.0,
                 n_per_layer=config.get("hidden_size_per_layer_input", 256),
                 activation=gemma_activation(config), **biased(config))
    sliding = is_sliding(config, plan.L, lambda i: (i + 1) % 6)
    sliding[-1] = False
    shared_from = plan.L - config.get("num_kv_shared_layers", 0)
    plan.layers = []
    for i, slides in enumerate(sliding):
        D, G, F = gemma4_sizes(config, i, not slides)
        kind = "sliding_attention" if slides else "full_attention"
        layer = Layer(gemma4_rope(config, kind, D, n_context),
                      config.get("sliding_window", 512) if slides else 0, D=D, G=G, F=F,
                      k_is_v=bool(config.get("attention_k_eq_v")) and not slides)
        if i >= shared_from:
            layer.kv_from = max(k for k in range(shared_from) if sliding[k] == slides)
            layer.F *= 2 if config.get("use_double_wide_mlp") else 1
        plan.layers.append(layer)
    if config.get("enable_moe_block"):
        all_moe(plan, Moe(config["num_experts"], config["top_k_experts"],
                          config["moe_intermediate_size"], "gemma4"))
    return plan


def phi3(config, n_context):
    plan = sizes(config, PHI3, attention="rows", mlp="fused")
    return plain_layers(plan, config, n_context, windows(config, plan.L, lambda i: True))


def glm4(config, n_context):
    plan = sizes(config, GLM4, form="sandwich", mlp="fused",
                 qkv_bias=config.get("attention_bias", True), D=config.get("head_dim") or 128)
    return plain_layers(plan, config, n_context, partial=0.5, interleaved=True)


def olmo2(config, n_context):
    plan = sizes(config, OLMO2, form="post", qk_norm="whole", **biased(config))
    return plain_layers(plan, config, n_context)


def olmo3(config, n_context):
    """Layers with a window turn by rope_theta alone."""
    plan = olmo2(config, n_context)
    parameters = config.get("rope_parameters") or {}
    local = parameters.get("sliding_attention") or {}
    theta = (local.get("rope_theta") or parameters.get("rope_theta") or config.get("rope_theta")
             or 10000.0)
    whole = rope_of(config, plan.D, n_context, kind="full_attention")
    plain = rotary.make(config, local, theta, plan.D)
    plan.layers = [Layer(plain if window else whole, window) for window in
                   windows(config, plan.L, lambda i: (i + 1) % 4, 4096)]
    return plan


def exaone4(config, n_context):
    """In a model with windows, the layers that see everything do not turn."""
    pattern = config.get("sliding_window_pattern", 4)
    pattern = len(pattern) if isinstance(pattern, str) else pattern
    plan = sizes(config, OLMO2, form="post", qk_norm="head")
    plain_layers(plan, config, n_context)
    if config.get("sliding_window", 4096):
        plan.layers = [Layer(plan.layers[i].rope if window else None, window) for i, window in
                       enumerate(windows(config, plan.L, lambda i: (i + 1) % pattern, 4096))]
    return plan


def apertus(config, n_context):
    default = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=8192)
    if "rope_scaling" not in config and "rope_parameters" not in config:
        config = dict(config, rope_scaling=default)
    plan = sizes(config, APERTUS, mlp="plain", activation="xielu", qk_norm="head", **biased(config))
    return plain_layers(plan, config, n_context, theta=12e6)


def hunyuan(config, n_context):
    plan = sizes(config, HUNYUAN, qk_norm="head", norms_turned=True, **biased(config))
    return plain_layers(plan, config, n_context)


def cohere(config, n_context):
    plan = sizes(config, LLAMA, form="parallel", norm="layer",
                 epsilon=config.get("layer_norm_eps", 1e-5),
                 logit_scale=config.get("logit_scale", 0.0625),
                 tied=config.get("tie_word_embeddings", True),
                 qk_norm="own" if config.get("use_qk_norm") else "", **biased(config))
    return plain_layers(plan, config, n_context, interleaved=True)


def cohere2(config, n_context):
    pattern = config.get("sliding_window_pattern") or 4
    plan = cohere({**config, "use_qk_norm": False}, n_context)
    plan.layers = [Layer(plan.layers[i].rope if window else None, window) for i, window in
                   enumerate(windows(config, plan.L, lambda i: (i + 1) % pattern, 4096))]
    return plan


def starcoder2(config, n_context):
    on = config.get("use_bias", True)
    plan = sizes(config, STARCODER2, norm="layer", norm_bias=True,
                 epsilon=config.get("norm_epsilon", 1e-5), mlp="plain",
                 activation=config.get("hidden_act", "gelu_pytorch_tanh"), qkv_bias=on, o_bias=on,
                 mlp_bias=on, tied=config.get("tie_word_embeddings", True))
    return plain_layers(plan, config, n_context, windows(config, plan.L, lambda i: True))


def phi(config, n_context):
    plan = sizes(config, PHI, form="parallel", norm="layer", norm_bias=True,
                 epsilon=config.get("layer_norm_eps", 1e-5), mlp="plain",
                 activation=config.get("hidden_act", "gelu_new"), qkv_bias=True, o_bias=True,
                 mlp_bias=True, head_bias=True)
    return plain_layers(plan, config, n_context, partial=0.5)


def gpt_neox(config, n_context):
    on = config.get("attention_bias", True)
    parallel = config.get("use_parallel_residual", True)
    plan = sizes(config, GPT_NEOX, form="parallel2" if parallel else "pre", norm="layer",
                 norm_bias=True, epsilon=config.get("layer_norm_eps", 1e-5), attention="per_head",
                 mlp="plain", mlp_bias=True, activation=config.get("hidden_act", "gelu"),
                 qkv_bias=on, o_bias=on)
    config = {"rope_theta": config.get("rotary_emb_base", 10000), **config}
    return plain_layers(plan, config, n_context, partial=config.get("rotary_pct", 0.25))


def gpt2_sizes(config, names, **more):
    C, H = config["n_embd"], config["n_head"]
    return Plan(C=C, H=H, G=H, D=C // H, F=config.get("n_inner") or 4 * C, L=config["n_layer"],
                V=config["vocab_size"], n_positions=config["n_positions"], names=names,
                norm="layer", norm_bias=True, mlp_bias=True,
                epsilon=config.get("layer_norm_epsilon", 1e-5), score_scale=(C // H) ** -0.5,
                activation=config.get("activation_function", "gelu_new"), **more)


def gpt2(config, n_context):
    plan = gpt2_sizes(config, GPT2, attention="conv1d", mlp="conv1d", qkv_bias=True, o_bias=True,
                      learned_positions=True, tied=config.get("tie_word_embeddings", True))
    return uniform(plan, None)


def gptj(config, n_context):
    plan = gpt2_sizes(config, GPTJ, form="parallel", mlp="plain", head_bias=True,
                      tied=config.get("tie_word_embeddings", False))
    n = config.get("rotary_dim", 64) or plan.D
    return uniform(plan, rotary.make({"max_position_embeddings": plan.n_positions}, None, 10000.0,
                                     n, True))


def gpt_neo(config, n_context):
    heads = config["num_heads"]
    kinds = config.get("attention_layers") or [kind for part, times in config["attention_types"]
                                               for kind in part * times]
    plan = Plan(C=config["hidden_size"], H=heads, G=heads, D=config["hidden_size"] // heads,
                F=config.get("intermediate_size") or 4 * config["hidden_size"],
                L=config["num_layers"], V=config["vocab_size"],
                n_positions=config["max_position_embeddings"], names=GPT_NEO, norm="layer",
                norm_bias=True, epsilon=config.get("layer_norm_epsilon", 1e-5), mlp="plain",
                mlp_bias=True, o_bias=True,
                activation=config.get("activation_function", "gelu_new"), score_scale=1.0,
                learned_positions=True, tied=config.get("tie_word_embeddings", True))
    return uniform(plan, None,
                   [config.get("window_size", 256) if kind == "local" else 0 for kind in kinds])


FAMILIES = dict(gpt2=gpt2, gpt_neo=gpt_neo, gpt_neox=gpt_neox, gptj=gptj, llama=llama,
                smollm3=smollm3, mistral=mistral, mixtral=mixtral, qwen2=qwen2, qwen2_moe=qwen2_moe,
                qwen3=qwen3, qwen3_moe=qwen3_moe, gemma=gemma, gemma2=gemma2, gemma3=gemma3,
                gemma3_text=gemma3, gemma4_text=gemma4, gemma4_unified_text=gemma4, phi=phi,
                phi3=phi3, granite=granite, granitemoe=granitemoe, granitemoeshared=granitemoe,
                granitemoehybrid=granitemoehybrid, seed_oss=seed_oss,
                ernie4_5=ernie4_5, arcee=arcee, olmo3=olmo3, exaone4=exaone4,
                hunyuan_v1_dense=hunyuan, apertus=apertus, qwen2_5_vl=qwen2_5_vl,
                qwen2_5_vl_text=qwen2_5_vl, qwen2_vl=qwen2_5_vl, qwen2_vl_text=qwen2_5_vl,
                qwen3_vl=qwen3_vl, qwen3_vl_text=qwen3_vl, olmo2=olmo2, olmoe=olmoe, cohere=cohere,
                cohere2=cohere2, glm4=glm4, starcoder2=starcoder2, minicpm=minicpm, gpt_oss=gpt_oss,
                ministral3=ministral3, deepseek_v2=deepseek, deepseek_v3=deepseek,
                glm4_moe_lite=deepseek, kimi_k2=deepseek, minicpm3=minicpm3)


def plan(config, n_context=None):
    """n_context: the served positions, which some rotary embeddings depend on (longrope)."""
    return FAMILIES[config["model_type"]](config, n_context)
