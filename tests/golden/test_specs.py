"""engine/arch and the reference read the same configurations, compared field by field."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import families  # noqa: E402
import random_model  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/models"
N_RANDOM = int(os.environ.get("BATON_CONFIGS", 60))  # of each family
ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu": "gelu_erf", "gelu_new": "gelu_tanh",
               "relu": "relu", "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
               "relu2": "relu2", "clipped": "clipped", "xielu": "xielu"}


def specs(configs):
    """[(n_context or 0, config)] -> [spec], all by one process."""
    with tempfile.TemporaryDirectory() as directory:
        lines = []
        for i, (n_context, config) in enumerate(configs):
            path = Path(directory) / f"{i}.json"
            path.write_text(json.dumps(config))
            lines.append(f"{n_context} {path}\n")
        done = subprocess.run([Path(os.environ["BATON_BIN"]) / "golden_spec"], input="".join(lines),
                              text=True, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def reference(n_context, config):
    config = {**config, **config.get("text_config", {})}
    return families.plan(config, n_context or None)


def close(found, wanted):
    return abs(found - wanted) <= 1e-6 * max(1, abs(wanted))


def hold_layers(spec, plan):
    assert len(spec["layers"]) == plan.L
    for i, (found, wanted) in enumerate(zip(spec["layers"], plan.layers)):
        D, G, F = plan.sizes_of(i)
        kv_from = i if wanted.kv_from < 0 else wanted.kv_from
        assert (found["G"], found["D"], found["kv_from"]) == (G, D, kv_from)
        assert found["window"] == wanted.window and found["moe"] == wanted.moe
        assert found["F"] == (0 if wanted.moe else F)
        assert found["values_are_keys"] == wanted.k_is_v
        assert found["n_latent"] == plan.extra.get("latent", {}).get("kv_lora_rank", 0)
        assert (found["rope"] < 0) == (wanted.rope is None)
        if wanted.rope:
            rope = spec["ropes"][found["rope"]]
            assert spec["interleaved"] == wanted.rope.interleaved
            assert close(rope["factor"], wanted.rope.factor)
            assert np.allclose(rope["inverse"], wanted.rope.inverse, rtol=1e-12, atol=0)


def hold_moe(spec, plan):
    if plan.moe is None:
        assert spec["moe"]["n_experts"] == 0
        return
    is_beside = plan.moe.kind == "gemma4"  # the MLP is the shared expert
    for name in ("n_experts", "n_chosen", "n_ff", "renormalises", "shared_gate"):
        assert spec["moe"][name] == getattr(plan.moe, name), name
    assert spec["moe"]["n_shared"] == (plan.F if is_beside else plan.moe.n_shared)
    assert spec["moe"]["beside"] == is_beside
    scores, method = plan.extra.get("latent", {}), plan.extra.get("latent", {}).get("topk_method")
    groups = scores.get("n_group", 0) if method in ("noaux_tc", "group_limited_greedy") else 0
    assert spec["moe"]["sigmoid"] == (scores.get("scoring_func") == "sigmoid")
    assert spec["moe"]["score_bias"] == (method == "noaux_tc")
    assert spec["moe"]["n_groups"] == (groups if groups > 1 else 0)
    assert spec["moe"]["n_kept"] == (scores["topk_group"] if groups > 1 else 0)
    assert close(spec["moe"]["scale"] or 1, scores.get("routed_scaling_factor", 1))
    assert spec["router_bias"] == (plan.moe.kind == "gpt_oss")


def hold(spec, plan):
    assert "refused" not in spec, spec["refused"]
    assert spec["form"] == {"parallel2": "parallel"}.get(plan.form, plan.form)
    assert spec["mlp_has_norm"] == (plan.form == "parallel2")
    assert spec["activation"] == ACTIVATIONS[plan.activation] and spec["qk_norm"] == plan.qk_norm
    assert spec["norms_turned"] == plan.norms_turned
    assert spec["rms"] == plan.norm.startswith("rms")
    assert spec["gated"] == (plan.mlp in ("gated", "fused"))
    for name in ("C", "H", "V", "n_per_layer"):
        assert spec[name] == getattr(plan, name), name
    for name in ("epsilon", "score_scale", "score_cap", "clip", "embed_scale", "residual_scale",
                 "logit_scale", "logit_cap"):
        assert close(spec[name], getattr(plan, name)), name
    for name in ("norm_bias", "normed_values", "layer_scales", "sinks", "qkv_bias", "o_bias",
                 "head_bias", "learned_positions", "tied"):
        assert spec[name] == getattr(plan, name), name
    assert spec["mlp_bias"] == (plan.mlp_bias
                                or (plan.moe is not None and plan.moe.kind == "gpt_oss"))
    hold_layers(spec, plan)
    hold_moe(spec, plan)


def test_the_fixtures_are_read_as_the_reference_reads_them():
    configs = [(0, json.loads(path.read_text())) for path in sorted(FIXTURES.glob("*/config.json"))]
    assert len(configs) > 20
    for config, spec in zip(configs, specs(configs)):
        hold(spec, reference(*config))


@pytest.mark.parametrize("family", random_model.CONFIGS)
def test_random_configs_are_read_as_the_reference_reads_them(family):
    draws = [random_model.Draw(1000 + seed) for seed in range(N_RANDOM)]
    configs = [(0, random_model.CONFIGS[family](draw, family)) for draw in draws]
    for config, spec in zip(configs, specs(configs)):
        try:
            hold(spec, reference(*config))
        except AssertionError as error:
            raise AssertionError(json.dumps(config)) from error


def test_the_context_that_is_served_chooses_among_rotary_embeddings():
    draws = [random_model.Draw(seed) for seed in range(N_RANDOM)]
    configs = [(draw.between(1, 128), random_model.CONFIGS["phi3"](draw, "phi3")) for draw in draws]
    for config, spec in zip(configs, specs(configs)):
        assert spec["n_context"] == config[0]
        hold(spec, reference(*config))


def test_more_context_than_the_model_knows_is_refused():
    config = random_model.CONFIGS["llama"](random_model.Draw(1), "llama")
    assert ("context: must be in 1..128"
            in specs([(129, dict(config, rope_scaling=None))])[0]["refused"])
