"""Multi-head latent attention (DeepSeek V2 and V3, GLM 4.7 Flash) in its plain form, with keys and
values of every head, and routers that choose by scores: their computation, and random models.
"""
import math

import numpy as np


def score_scale(config):
    """Of the scores, with YaRN's factor for all elements of queries and keys."""
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    scale = (config["qk_nope_head_dim"] + config["qk_rope_head_dim"]) ** -0.5
    if (scaling.get("rope_type") or scaling.get("type")) != "yarn":
        return scale
    mscale = 0.1 * scaling.get("mscale_all_dim", 0) * math.log(scaling["factor"]) + 1
    return scale * mscale ** 2


def attention(model, x, i):
    plan, T, H = model.plan, len(x), model.plan.H
    config = model.config
    plain, turned = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    values, rank = config["v_head_dim"], config["kv_lora_rank"]
    positions = np.arange(T)

    def project(x, role):
        return model.linear(x, model.layer_name(i, role), False)

    if config.get("q_lora_rank"):
        q = project(model.normed(project(x, "q_a"), model.layer_name(i, "q_a_norm")), "q_b")
    else:
        q = project(x, "q")
    q = q.reshape(T, H, plain + turned)
    both = project(x, "kv_a")
    latent = model.normed(both[:, :rank], model.layer_name(i, "kv_a_norm"))
    turn = plan.layers[i].rope.turn
    k_turned = turn(both[:, None, rank:], positions)
    kv = project(latent, "kv_b").reshape(T, H, plain + values)
    q = np.concatenate([q[..., :plain], turn(q[..., plain:], positions)], -1)
    k = np.concatenate([kv[..., :plain], np.repeat(k_turned, H, 1)], -1)
    scores = np.einsum("thd,shd->hts", q, k) * plan.score_scale
    scores = np.where(positions[:, None] >= positions, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return project(np.einsum("hts,shd->thd", weights, kv[..., plain:]).reshape(T, -1), "o")


def gap(rated, n):
    """How far the last of the n best is ahead of the next, in each row."""
    if n >= rated.shape[-1]:
        return np.full(len(rated), np.inf)
    best = -np.sort(-rated, -1)
    return best[:, n - 1] - best[:, n]


def chosen(model, x, i):
    """The experts of each row [T][k] and their weights; the model's margins are in logits."""
    config, moe = model.config, model.plan.moe
    logits = model.linear(x, model.layer_name(i, "router"), False)
    scores = 1 / (1 + np.exp(-logits))
    if config["scoring_func"] == "softmax":
        scores = np.exp(logits - logits.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
    rated, groups = scores.copy(), config.get("n_group") or 1
    margins = np.full(len(x), np.inf)
    if config["topk_method"] == "noaux_tc":
        rated += model.get(model.layer_name(i, "router") + ".e_score_correction_bias")
    if config["topk_method"] != "greedy" and groups > 1:
        best = -np.sort(-rated.reshape(len(x), groups, -1), -1)
        rating = best[..., :2 if config["topk_method"] == "noaux_tc" else 1].sum(-1)
        margins = gap(rating, config["topk_group"])
        kept = np.argsort(-rating, -1, kind="stable")[:, : config["topk_group"]]
        mask = np.zeros(rating.shape, bool)
        np.put_along_axis(mask, kept, True, -1)
        rated = np.where(np.repeat(mask, rated.shape[-1] // groups, -1), rated, 0)
    margins = np.minimum(margins, gap(rated, moe.n_chosen))
    model.margins = np.minimum(model.margins, 2 * margins)  # a sigmoid's slope is 1/4 at most
    ids = np.argsort(-rated, -1, kind="stable")[:, : moe.n_chosen]
    weights = np.take_along_axis(scores, ids, -1)
    if moe.renormalises:
        weights = weights / (weights.sum(-1, keepdims=True) + 1e-20)
    return ids, weights * config.get("routed_scaling_factor", 1.0)


# ---- random models ----

def router(draw, family):
    """The router's fields: as many experts as groups have."""
    groups = draw.of(1, 1, 2, 3)
    E = groups * draw.between(2, 5)
    kept = draw.between(1, groups)
    method = draw.of("greedy", "group_limited_greedy") if family == "deepseek_v2" else "noaux_tc"
    return dict(n_routed_experts=E, n_group=groups, topk_group=kept, topk_method=method,
                num_experts_per_tok=draw.between(1, min(E // groups * kept, 6)),
                scoring_func="softmax" if family == "deepseek_v2" else "sigmoid",
                norm_topk_prob=family != "deepseek_v2" or draw.chance(),
                routed_scaling_factor=draw.of(1.0, 1.8, 2.5),
                n_shared_experts=draw.between(1, 2),
                moe_intermediate_size=draw.between(7, 40))


def config(draw, family, base):
    H = draw.between(1, 13)
    base.update(num_attention_heads=H, num_key_value_heads=H, hidden_size=draw.between(9, 90),
                q_lora_rank=draw.of(None, draw.between(5, 40)), kv_lora_rank=draw.between(4, 70),
                qk_nope_head_dim=draw.between(3, 40), qk_rope_head_dim=2 * draw.between(1, 12),
                v_head_dim=draw.between(3, 40), rope_interleave=draw.chance(0.8),
                first_k_dense_replace=draw.between(0, 2), **router(draw, family))
    base.pop("head_dim", None)
    if draw.chance():
        mscale = draw.of(0.707, 1.0)
        base["rope_scaling"] = dict(type="yarn", factor=4.0, beta_fast=32, beta_slow=1,
                                    original_max_position_embeddings=32, mscale=mscale,
                                    mscale_all_dim=draw.of(mscale, 0.5))
    return base


def write(writer, name):
    """A layer's attention."""
    plan, c, names = writer.plan, writer.plan.extra["latent"], writer.plan.names
    H, heads = plan.H, c["qk_nope_head_dim"] + c["qk_rope_head_dim"]
    rank, q_rank = c["kv_lora_rank"], c.get("q_lora_rank")
    shapes = [("kv_a", (rank + c["qk_rope_head_dim"], plan.C)),
              ("kv_b", (H * (c["qk_nope_head_dim"] + c["v_head_dim"]), rank)),
              ("o", (plan.C, H * c["v_head_dim"]))]
    if q_rank:
        shapes += [("q_a", (q_rank, plan.C)), ("q_b", (H * heads, q_rank))]
        writer.norm(name + names["q_a_norm"], (q_rank,))
    else:
        shapes.append(("q", (H * heads, plan.C)))
    for role, shape in shapes:
        writer.matrix(name + names[role], shape)
    writer.norm(name + names["kv_a_norm"], (rank,))


# ---- GGUF files ----

GGUF_NAMES = dict(q="attn_q", q_a="attn_q_a", q_a_norm="attn_q_a_norm", q_b="attn_q_b",
                  kv_a="attn_kv_a_mqa", kv_a_norm="attn_kv_a_norm", o="attn_output")


def gguf_tensors(config, source, block, of):
    """A layer's attention; the matrix of keys and values by heads, keys' transposed."""
    tensors = {f"{block}{name}.weight": source[of(role) + ".weight"]
               for role, name in GGUF_NAMES.items() if of(role) + ".weight" in source}
    H, plain = config["num_attention_heads"], config["qk_nope_head_dim"]
    both = source[of("kv_b") + ".weight"].reshape(H, -1, config["kv_lora_rank"])
    tensors[block + "attn_k_b.weight"] = both[:, :plain].swapaxes(1, 2)
    tensors[block + "attn_v_b.weight"] = both[:, plain:]
    return tensors


def join_kv_b(config, tensors):
    """As files of before April 2025 have them."""
    for i in range(config["num_hidden_layers"]):
        block = f"blk.{i}.attn_"
        both = np.concatenate([tensors.pop(block + "k_b.weight").swapaxes(1, 2),
                               tensors.pop(block + "v_b.weight")], 1)
        tensors[block + "kv_b.weight"] = both.reshape(-1, both.shape[-1])
    return {}


def gguf_keys(config):
    turned, rank = config["qk_rope_head_dim"], config["kv_lora_rank"]
    keys = {"attention.kv_lora_rank": rank, "attention.head_count_kv": 1,
            "attention.key_length": rank + turned, "attention.value_length": rank,
            "attention.key_length_mla": config["qk_nope_head_dim"] + turned,
            "attention.value_length_mla": config["v_head_dim"],
            "leading_dense_block_count": config["first_k_dense_replace"],
            "expert_shared_count": config["n_shared_experts"],
            "expert_weights_scale": float(config["routed_scaling_factor"]),
            "expert_weights_norm": config["norm_topk_prob"],
            "expert_gating_func": 2 if config["scoring_func"] == "sigmoid" else 1}
    if config["topk_method"] != "greedy":
        keys.update({"expert_group_count": config["n_group"],
                     "expert_group_used_count": config["topk_group"]})
    if config.get("q_lora_rank"):
        keys["attention.q_lora_rank"] = config["q_lora_rank"]
    return keys
