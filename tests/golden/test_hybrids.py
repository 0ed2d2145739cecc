"""Models whose layers keep a state, against numbers of an independent float64 reference: the same
bits in every mode, with any chunks, alone and in a batch, by any number of threads."""
import json
import os
from pathlib import Path

import numpy as np
import pytest

from test_families import engine
import states  # noqa: E402

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/hybrids"
MODELS = sorted(path.name for path in FIXTURES.iterdir()
                if path.is_dir() or path.suffix == ".gguf")
# In standard deviations of the logits. In a mixture a row may get another expert from rounding.
TOLERANCE = {"f32": 2e-3, "native": 2e-3, "bf16": 0.1, "q8": 0.5}
MIXTURES = {"f32": 2e-3, "native": 2e-3, "bf16": 0.25, "q8": 0.5}


def cases(name):
    path = FIXTURES / name
    beside = path.parent / f"{path.stem}.expected.json"
    return json.loads((path / "expected.json" if path.is_dir() else beside).read_text())["cases"]


def n_vocab(name):
    return len(cases(name)[0]["logits"])


def run(name, requests, *options):
    return engine.ask(FIXTURES / name, requests, n_vocab(name), *options)


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_the_references_in_every_mode(name):
    tolerance = MIXTURES if "moe" in name or "qwen3next" in name else TOLERANCE
    for case in cases(name):
        n = len(case["prompt"])
        ids = case["prompt"] + case["greedy"][:-1]
        wanted = np.asarray(case["logits"])
        for dtype in ["f32", "bf16", "q8"] + ["native"] * name.endswith(".gguf"):
            rows = engine.all_ways(FIXTURES / name, ids, n_vocab(name), "--dtype", dtype,
                                   "--kv-dtype", "f32")
            error = np.abs(rows[n - 1] - wanted)
            assert np.sqrt((error ** 2).mean()) <= tolerance[dtype] * wanted.std(), dtype
        rows = engine.all_ways(FIXTURES / name, ids, n_vocab(name), "--dtype", "f32")
        assert np.abs(rows[n - 1] - wanted).max() <= TOLERANCE["f32"] * max(1, wanted.std())
        for row, token, gap in zip(rows[n - 1:], case["greedy"], case["gaps"]):
            assert gap < 1e-2 or row.argmax() == token


@pytest.mark.parametrize("kernels", ["auto", "portable", "avx2"])
@pytest.mark.parametrize("name", MODELS)
def test_any_chunks_and_threads_give_the_same_bits(name, kernels):
    ids = cases(name)[-1]["prompt"]
    modes = ["prefill", "chunks1", "chunks15", "chunks16", "chunks17", "chunks48"]
    try:
        answers = [run(name, [(mode, ids) for mode in modes], "--kernels", kernels, "--threads",
                       str(threads)) for threads in (1, 3)]
    except engine.Refused:
        pytest.skip("this CPU does not run them")
    for found in sum(answers, []):
        assert np.array_equal(found.view(np.uint32), answers[0][0].view(np.uint32))


@pytest.mark.parametrize("name", MODELS)
def test_a_slot_that_is_used_again_holds_nothing_of_its_last_text(name):
    [long, *_, last] = sorted((case["prompt"] for case in cases(name)), key=len, reverse=True)
    [alone] = run(name, [("prefill", last)])
    [_, after] = run(name, [("prefill", long), ("prefill", last)])
    assert np.array_equal(alone.view(np.uint32), after.view(np.uint32))


def write_gguf(directory, family, seed):
    """The file, or None where the format cannot say what the seed's model is."""
    config = states.write(directory, family, seed)
    if config.get("time_step_limit", [0, 0])[0]:
        return None
    states.write_gguf(directory, directory / "x.gguf")
    return directory / "x.gguf"


@pytest.mark.parametrize("seed", range(int(os.environ.get("BATON_SEEDS", 2))))
@pytest.mark.parametrize("family", states.FAMILIES)
def test_random_models_compute_what_the_reference_does(tmp_path, family, seed):
    path = write_gguf(tmp_path, family, seed)
    judge = states.Model(tmp_path)
    V = judge.config["vocab_size"]
    ids = np.random.default_rng(seed).integers(0, V, 45).tolist()
    wanted = judge.logits(ids)
    n = judge.n_sure()
    for model, kernels in ((tmp_path, "auto"), (tmp_path, "portable"), (path, "auto")):
        if model:
            rows = engine.all_ways(model, ids, V, "--dtype", "f32", "--kv-dtype", "f32",
                                   "--kernels", kernels)
            error = np.abs(rows - wanted)[:n].max(initial=0)
            assert error <= TOLERANCE["f32"] * max(1, wanted.std()), (model.name, judge.config)


# A family, a change of its config, and the reason why the model is refused.
REFUSED = [
    ("lfm2", {"conv_bias": True}, "conv_bias: true is not supported in a lfm2 model"),
    ("lfm2", {"conv_L_cache": 5}, "conv_L_cache: must be a whole number in 2..4, not 5"),
    ("lfm2", {"hidden_act": "relu"}, "hidden_act"),
    ("lfm2", {"block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": 0.001},
     "block_ffn_dim_multiplier: must give a width in 1"),
    ("lfm2", {"layer_types": "all"}, "layer_types: must be a list"),
    ("lfm2", {"full_attn_idxs": [99], "layer_types": None}, "full_attn_idxs: must be a list of"),
    ("lfm2", {"full_attn_idxs": [], "layer_types": None}, "layer_types: one layer at least"),
    ("lfm2_moe", {"num_experts_per_tok": 99}, "num_experts_per_tok"),
    ("granitemoehybrid", {"mamba_d_head": 7}, "mamba_d_head: must be such that mamba_n_heads"),
    ("granitemoehybrid", {"mamba_d_state": 6}, "mamba_d_state: must be a multiple of 4"),
    ("granitemoehybrid", {"mamba_d_state": 1 << 17}, "mamba_d_state: must be a multiple of 4 in"),
    ("granitemoehybrid", {"mamba_n_groups": 99}, "mamba_n_heads: must be a multiple of 99"),
    ("granitemoehybrid", {"mamba_proj_bias": True}, "mamba_proj_bias: true is not supported"),
    ("granitemoehybrid", {"mamba_d_conv": 1}, "mamba_d_conv: must be a whole number in 2..4"),
    ("nemotron_h", {"mamba_hidden_act": "gelu"}, "mamba_hidden_act: \"gelu\" is not supported"),
    ("nemotron_h", {"mlp_hidden_act": "mish"}, "mlp_hidden_act: \"mish\" is not supported"),
    ("nemotron_h", {"use_bias": True}, "use_bias: true is not supported"),
    ("nemotron_h", {"moe_latent_size": 8}, "moe_latent_size: 8 is not supported"),
    ("nemotron_h", {"n_shared_experts": 2}, "n_shared_experts: must be 1, not 2"),
    ("nemotron_h", {"n_group": 7, "topk_group": 1}, "n_group: must divide the"),
    ("nemotron_h", {"time_step_limit": [1, 0.5]}, "time_step_limit: must be two numbers"),
    ("nemotron_h", {"time_step_limit": 3}, "time_step_limit: must be two numbers"),
    ("nemotron_h", {"hybrid_override_pattern": "MX"}, "hybrid_override_pattern: must be a text of"),
    ("nemotron_h", {"hybrid_override_pattern": "M*"}, "must have an entry for each of"),
    ("llama", {"layer_types": ["mamba", "mamba"], "num_hidden_layers": 2},
     'layer_types: "mamba" is not supported in a llama model'),
]


@pytest.mark.parametrize("family,change,message", REFUSED)
def test_what_is_not_computed_is_refused_by_its_name(tmp_path, family, change, message):
    config = states.write(tmp_path, family if family in states.FAMILIES else "lfm2",
                          2 if family == "nemotron_h" else 0)
    config.update(change, model_type=family)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(engine.Refused) as refused:
        engine.ask(tmp_path, [("prefill", [1])], 1)
    assert message in str(refused.value)


@pytest.mark.parametrize("name,shape", [("ssm_a", (4,)), ("ssm_norm.weight", (4,)),
                                        ("ssm_conv1d.weight", (4, 4)), ("ssm_in.weight", (8, 8))])
def test_tensors_of_another_shape_are_refused(tmp_path, name, shape):
    path = write_gguf(tmp_path, "granitemoehybrid", 0)
    model = states.Model(tmp_path)
    arch, keys = states.gguf_keys(model.config)
    tensors = states.gguf_tensors(model.config, model.w)
    [of, *_] = [key for key in tensors if key.endswith(name)]
    tensors[of] = np.zeros(shape)
    states.gguf.write(path, {"general.architecture": arch,
                             **{f"{arch}.{key}": value for key, value in keys.items()}}, tensors)
    with pytest.raises(engine.Refused, match=f"tensor {of}"):
        engine.ask(path, [("prefill", [1])], 1)
