"""A second judge: llama.cpp's library computes random models of the families it supports.

The configurations leave out what it computes otherwise than the models themselves. It ignores the
windows of Mistral, Mixtral, Qwen, Phi-3 and StarCoder2, and layer types that follow no pattern. It
divides scores of Gemma 2 and 3 by the root of the head's size. YaRN's range is always truncated and
its ends are 32 and 1; OLMo 2 has no llama3 scaling, and dynamic scaling is unknown. SmolLM3 has no
rotation in each fourth layer. Qwen 3's experts are always renormalised, those of OLMoE and Qwen 2
never. Granite's mixtures always rotate, and Qwen 3's models of pictures must have sections that
take turns. Every GELU is the tanh form, out of a table in float16.

Of models with states, LFM2's mixtures are renormalised, have a bias of scores and no factor.
Mamba-2 always has a bias of its taps, and no limit of its steps. A Nemotron's feed-forward layers
are all of one kind, and from groups that are left out no expert is chosen, where the model itself
has 0 for their scores.
"""
import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import engine  # noqa: E402
import gguf  # noqa: E402
import llama_cpp  # noqa: E402
import model  # noqa: E402
import random_model  # noqa: E402
import states  # noqa: E402

SEEDS = range(int(os.environ.get("BATON_SEEDS", 2)))
TOLERANCE = 2e-3
TOLERANCE_GELU = 5e-2  # of the table in float16


@pytest.fixture(scope="module")
def library():
    return llama_cpp.Library(llama_cpp.install())


def shared_scaling(config):
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = scaling.get("rope_type", scaling.get("type"))
    for key in ("attention_factor", "truncate", "beta_fast", "beta_slow", "mscale",
                "mscale_all_dim"):
        scaling.pop(key, None)
    if kind == "dynamic" or (kind, config["model_type"]) == ("llama3", "olmo2"):
        scaling["rope_type"] = scaling["type"] = "default"
    if config.get("original_max_position_embeddings") == 128:
        config["original_max_position_embeddings"] = 48  # it rounds the context up to 256


# Fields that a family must have to be computed alike.
FIXED = dict(
    gpt2={"activation_function": "gelu_new"},
    gpt_neox={"hidden_act": "gelu_new", "attention_bias": True},
    starcoder2={"sliding_window": None, "use_bias": True}, mistral={"sliding_window": None},
    mixtral={"sliding_window": None}, ministral3={"sliding_window": None},
    phi3={"sliding_window": None}, qwen2={"use_sliding_window": False},
    qwen3={"use_sliding_window": False, "attention_bias": False},
    qwen2_5_vl={"use_sliding_window": False}, qwen2_vl={"use_sliding_window": False},
    qwen2_5_vl_text={"use_sliding_window": False}, qwen2_vl_text={"use_sliding_window": False},
    qwen3_vl_text={"attention_bias": False}, hunyuan_v1_dense={"attention_bias": False},
    apertus={"attention_bias": False, "tie_word_embeddings": False},
    olmo3={"attention_bias": False, "tie_word_embeddings": False}, granite={"mlp_bias": False},
    smollm3={"no_rope_layers": None, "attention_bias": False},
    cohere={"use_qk_norm": False, "attention_bias": False}, cohere2={"attention_bias": False},
    olmo2={"attention_bias": False, "tie_word_embeddings": False},
    qwen3_moe={"use_sliding_window": False, "norm_topk_prob": True, "decoder_sparse_step": 1,
               "mlp_only_layers": []},
    qwen2_moe={"norm_topk_prob": False, "decoder_sparse_step": 1, "mlp_only_layers": [],
               "tie_word_embeddings": False},
    granitemoe={"position_embedding_type": "rope"},
    arcee={"mlp_bias": False, "attention_bias": False},
    granitemoeshared={"position_embedding_type": "rope"},
    olmoe={"norm_topk_prob": False, "clip_qkv": None, "tie_word_embeddings": False},
    gemma2={"attn_logit_softcapping": 8.0})


def shared(config):
    """The nearest configuration that both compute alike."""
    text = config.pop("text_config", {})
    config = {**config, **text}
    if config["model_type"] == "qwen3_vl":  # its text_config has no model_type
        config["model_type"] = "qwen3_vl_text"
    family = config["model_type"]
    config.update(FIXED.get(family, {}))
    if family not in ("granitemoehybrid", "gemma4_text"):  # the others' files do not hold them
        config.pop("layer_types", None)
    if family == "exaone4" and config["sliding_window"]:
        # Windows belong to the 32B, which has some.
        config.update(num_hidden_layers=64, sliding_window_pattern=3)
    if family == "exaone4":  # it has no other width
        config["hidden_size"] = config["num_attention_heads"] * config["head_dim"]
    if family != "gemma4_text":
        shared_scaling(config)
    if family in ("gemma2", "gemma3_text"):
        config["query_pre_attn_scalar"] = config["head_dim"]
    if family == "gemma2":
        config["final_logit_softcapping"] = config["final_logit_softcapping"] or 9.0
    if family == "qwen3_vl_text":  # a pair that no section has would not turn
        n = config["head_dim"] // 2
        config["rope_scaling"]["mrope_section"] = [(n + 2) // 3, (n + 1) // 3, n // 3]
    if family == "gemma3_text":
        config["attn_logit_softcapping"] = None
    # It always has both of YaRN's factors, sums pairs, and wants a rank of queries but in files of
    # some numbers of layers.
    if "kv_lora_rank" in config:
        config["q_lora_rank"] = config["q_lora_rank"] or 24
        config["rope_interleave"] = True
        for scaling in config.get("rope_scaling") or {}, config.get("rope_parameters") or {}:
            if "yarn" in (scaling.get("type"), scaling.get("rope_type")):
                scaling.update(mscale=0.707, mscale_all_dim=0.707)
        config.update(n_group=1, topk_group=1, num_experts_per_tok=2)
    if family == "olmoe":
        config["num_key_value_heads"] = config["num_attention_heads"]
    return config


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", [family for family in random_model.CONFIGS
                                    if family in gguf.ARCHITECTURES])
def test_llama_cpp_gives_the_references_logits(library, family, seed):
    with tempfile.TemporaryDirectory() as directory:
        config = random_model.write(directory, family, 1000 + seed, shared)
        judge = model.Model(directory)
        ids = np.random.default_rng(seed).integers(0, judge.plan.V, 70).tolist()
        path = Path(directory) / "model.gguf"
        gguf.convert(judge, path)
        wanted = judge.logits(ids)[len(ids) // 2 - 1:]
        worst = np.abs(library.logits(path, ids, judge.plan.V) - wanted).max()
        gelu = judge.plan.activation.startswith("gelu")
        assert worst <= (TOLERANCE_GELU if gelu else TOLERANCE) * max(1, wanted.std() / 3), (worst,
                                                                                             config)


def shared_states(config):
    family = config["model_type"]
    if family == "lfm2_moe":
        config.update(norm_topk_prob=True, use_expert_bias=True, routed_scaling_factor=1.0)
    if family == "granitemoehybrid":
        config["mamba_conv_bias"] = True
    if family == "nemotron_h":
        config.update(use_conv_bias=True, time_step_limit=[0.0, math.inf], n_group=1, topk_group=1)
        if "E" in config["hybrid_override_pattern"]:
            config["hybrid_override_pattern"] = config["hybrid_override_pattern"].replace("-", "E")
    return config


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", states.FAMILIES)
def test_both_give_the_logits_of_models_with_states(library, tmp_path, family, seed):
    config = states.write(tmp_path, family, 1000 + seed, shared_states)
    judge, path = states.Model(tmp_path), tmp_path / "model.gguf"
    ids = np.random.default_rng(seed).integers(0, config["vocab_size"], 70).tolist()
    states.write_gguf(tmp_path, path)
    wanted, first = judge.logits(ids)[:judge.n_sure(1e-4)], len(ids) // 2 - 1
    found = library.logits(path, ids, config["vocab_size"])[:max(0, len(wanted) - first)]
    [ours] = engine.ask(path, [("score", ids)], config["vocab_size"], "--dtype", "f32",
                        "--kv-dtype", "f32", "--threads", "1")
    for rows, right in ((found, wanted[first:]), (ours[:len(wanted)], wanted)):
        worst = np.abs(rows - right).max(initial=0)
        assert worst <= TOLERANCE * max(1, wanted.std() / 3), (worst, config)
