"""GGUF files through the engine: F32 gives its directory's bits, and blocks give their values'
bits.

tests/reference/gguf.py writes the files from directories as converters do: other names, other keys,
other orders of rows. Scalings that a file holds as rounded factors (Llama 3's, LongRoPE's) leave a
small difference.
"""
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
sys.path.insert(0, str(ROOT / "tests/golden"))
import blocks  # noqa: E402
import engine  # noqa: E402
import gguf  # noqa: E402
import latents  # noqa: E402
import model  # noqa: E402
import random_model  # noqa: E402
from test_llama_cpp import shared  # noqa: E402

FIXTURES = ROOT / "tests/fixtures/models"
TOLERANCE = 1e-3  # of a logit, where rope's factors or base are rounded to F32
# Their files cannot tell the scale of scores or which layers do not rotate.
UNSAID = ("gemma2", "gemma3", "gemma3-vlm", "smollm3")


def scaling(config):
    config = {**config, **config.get("text_config", {})}
    kind = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = kind.get("full_attention", kind)
    if kind.get("alpha"):
        return "alpha"
    return kind.get("rope_type") or kind.get("type") or "default"


def config_of(directory):
    return json.loads((Path(directory) / "config.json").read_text())


def rows(path, ids, n_vocab):
    """With all weights decoded to f32."""
    return engine.ask(path, [("score", ids)], n_vocab, "--dtype", "f32")[0]


def hold(directory, ids):
    """The rows of both, equal but for what F32 rounds."""
    judge = model.Model(directory)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.gguf"
        gguf.convert(judge, path)
        wanted, found = rows(directory, ids, judge.plan.V), rows(path, ids, judge.plan.V)
    if scaling(config_of(directory)) in ("llama3", "longrope", "su", "alpha"):
        assert np.abs(wanted - found).max() <= TOLERANCE * max(1, wanted.std() / 3)
    else:
        assert np.array_equal(wanted.view(np.uint32),
                              found.view(np.uint32)), np.abs(wanted - found).max()


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()
                                        and path.name not in UNSAID))
def test_a_fixture_and_its_gguf_give_the_same_bits(name):
    case = json.loads((FIXTURES / name / "expected.json").read_text())["cases"][0]
    hold(FIXTURES / name, case["prompt"] + case["greedy"][:-1])


def said(config):
    """The nearest configuration that a file can hold; it omits what the published models omit."""
    config = shared(config)
    config.update({"gpt_neox": {"hidden_act": "gelu"}}.get(config["model_type"], {}))
    if config["model_type"] == "gpt_oss":
        (config.get("rope_parameters") or config.get("rope_scaling") or {})["truncate"] = False
    return config


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("family", [family for family in random_model.CONFIGS
                                    if family in gguf.ARCHITECTURES])
def test_a_random_model_and_its_gguf_give_the_same_bits(family, seed):
    with tempfile.TemporaryDirectory() as directory:
        random_model.write(directory, family, 2000 + seed, said)
        n_vocab = model.Model(directory).plan.V
        hold(directory, np.random.default_rng(seed).integers(0, n_vocab, 60).tolist())


def blocky(config):
    """Rows of 256 values, of which every type of blocks has a whole number."""
    config = shared(config)
    config.update(hidden_size=256, intermediate_size=256, num_attention_heads=4,
                  num_key_value_heads=2, head_dim=64, num_hidden_layers=2, vocab_size=96,
                  rope_scaling=None)
    config.pop("rope_parameters", None)
    return config


def matrices(tensors):
    return [name for name, values in tensors.items() if values.ndim > 1 and "bias" not in name
            and "inp" not in name]


@pytest.mark.parametrize("kind", [kind for kind in blocks.TYPES if kind != "F32"])
@pytest.mark.parametrize("family", ["llama", "mixtral"])
def test_blocks_and_their_values_give_the_same_bits(family, kind, tmp_path):
    """Heads that are reordered, gates, experts and an embedding, all of one type."""
    def encode(tensors):
        return {name: kind for name in matrices(tensors)}

    def decode(tensors):
        for name in matrices(tensors):
            shape = tensors[name].shape
            tensors[name] = blocks.decode(kind, blocks.encode(kind, tensors[name])).reshape(shape)
        return {}

    random_model.write(tmp_path, family, 3000, blocky)
    judge = model.Model(tmp_path)
    gguf.convert(judge, tmp_path / "blocks.gguf", encode)
    gguf.convert(judge, tmp_path / "values.gguf", decode)
    ids = np.random.default_rng(0).integers(0, judge.plan.V, 20).tolist()
    found, wanted = (rows(tmp_path / name, ids, judge.plan.V)
                     for name in ("blocks.gguf", "values.gguf"))
    assert np.array_equal(wanted.view(np.uint32),
                          found.view(np.uint32)), np.abs(wanted - found).max()


def with_latents(config):
    config = said(config)
    config.update(kv_lora_rank=64, num_hidden_layers=2)
    return config


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0", "Q4_0"])
def test_keys_and_values_in_one_matrix_give_the_bits_of_two(tmp_path, kind):
    """As old files have them, whose blocks lie across the columns that keys are read by."""
    def join(tensors):
        latents.join_kv_b(judge.config, tensors)
        names = [name for name in tensors if "attn_kv_b" in name]
        if not decodes:
            return dict.fromkeys(names, kind)
        for name in names:
            values = blocks.decode(kind, blocks.encode(kind, tensors[name]))
            tensors[name] = values.reshape(tensors[name].shape)
        return {}

    random_model.write(tmp_path, "deepseek_v3", 5, with_latents)
    judge = model.Model(tmp_path)
    ids = np.random.default_rng(0).integers(0, judge.plan.V, 30).tolist()
    decodes = True
    gguf.convert(judge, tmp_path / "wanted.gguf", *[join] * (kind != "F32"))
    decodes = False
    gguf.convert(judge, tmp_path / "found.gguf", join)
    wanted, found = (rows(tmp_path / name, ids, judge.plan.V)
                     for name in ("wanted.gguf", "found.gguf"))
    assert np.array_equal(wanted.view(np.uint32), found.view(np.uint32))
    errors = engine.ask(tmp_path / "found.gguf", [("score", ids)], judge.plan.V)[0] - wanted
    assert np.sqrt((errors ** 2).mean()) <= 0.1 * wanted.std()  # native


# A key of deepseek2 and its value.
WRONG_LATENTS = [
    ("attention.kv_lora_rank", 0, "attention.kv_lora_rank: must be given, a whole number"),
    ("attention.value_length_mla", 0, "attention.value_length_mla: must be given"),
    ("rope.dimension_count", 500, "rope.dimension_count: must be below the length of keys"),
    ("expert_gating_func", 3, "expert_gating_func: must be 1 (softmax) or 2 (sigmoid)"),
    ("nextn_predict_layers", 9, "nextn_predict_layers: must be a whole number below block_count"),
    ("attention.q_lora_rank", 9, "tensor blk.0.attn_q"),
]


@pytest.mark.parametrize("name, value, reason", WRONG_LATENTS)
def test_files_with_latents_that_do_not_fit_are_refused_by_name(tmp_path, name, value, reason):
    keys, tensors = gguf.parts(model.Model(FIXTURES / "deepseek-v2-lite"))
    keys["deepseek2." + name] = value
    gguf.write(tmp_path / "x.gguf", keys, tensors)
    with pytest.raises(engine.Refused, match=re.escape(reason)):
        rows(tmp_path / "x.gguf", [1], 768)


def test_a_bias_in_blocks_is_refused(tmp_path):
    def encode(tensors):
        tensors["output_norm.weight"] = np.ones(256)
        return {"output_norm.weight": "Q8_0"}

    random_model.write(tmp_path, "llama", 3000, blocky)
    gguf.convert(model.Model(tmp_path), tmp_path / "x.gguf", encode)
    with pytest.raises(engine.Refused,
                       match="tensor output_norm.weight: Q8_0; F32, F16 or BF16 is wanted"):
        rows(tmp_path / "x.gguf", [1], 96)


def test_a_tensor_that_the_model_does_not_know_is_refused(tmp_path):
    def add(tensors):
        tensors["output_norm.bias"] = np.ones(256)
        return {}

    random_model.write(tmp_path, "llama", 3000, blocky)
    gguf.convert(model.Model(tmp_path), tmp_path / "x.gguf", add)
    with pytest.raises(
            engine.Refused,
            match="tensor output_norm.bias: the model that its configuration describes has"):
        rows(tmp_path / "x.gguf", [1], 96)


def test_a_file_of_another_architecture_is_refused_by_name(tmp_path):
    gguf.write(tmp_path / "x.gguf", {"general.architecture": "mamba", "mamba.block_count": 1}, {})
    with pytest.raises(engine.Refused,
                       match='general.architecture: "mamba" is not supported: it needs state'):
        rows(tmp_path / "x.gguf", [1], 1)


# A key of gemma4 and its value, or the name of a tensor that is left out.
WRONG = [
    ("attention.head_count_kv", [1, 1], "gemma4.attention.head_count_kv: must be a whole number, "
     "or one for every layer"),
    ("attention.head_count_kv", [1, 1, 1, 3, 1, 1, 1, 3],
     "per_layer_config.3.num_key_value_heads: must divide the 4 heads, not 3"),
    ("attention.head_count_kv", [-1] * 8, "must be a whole number in 1..131072, not -1"),
    ("feed_forward_length", [64] * 7, "gemma4.feed_forward_length: must be a whole number"),
    ("feed_forward_length", [64] * 8, "tensor blk.4.ffn_gate.weight: "),
    ("attention.key_length_swa", 24, "gemma4.attention.value_length_swa: must be the same as"),
    ("attention.value_length", 16, "gemma4.attention.value_length: must be the same as"),
    ("rope.dimension_count", 12, "gemma4.rope.dimension_count: must be the size of a head"),
    ("rope.scaling.factor", 8.0, "gemma4.rope.scaling.factor: must be left out"),
    ("attention.shared_kv_layers", 8, "num_kv_shared_layers: must be in 0..7"),
    ("attention.shared_kv_layers", 5, "num_kv_shared_layers: layer 3 has no layer of its type"),
    ("attention.sliding_window", 0, "sliding_window: must be given"),
    ("embedding_length_per_layer_input", 8, "tensor per_layer_token_embd.weight: "),
    ("embedding_length_per_layer_input", 0,
     "tensor blk.0.inp_gate.weight: the model that its configuration describes has none"),
    ("rope_freqs.weight", None, ""),
    ("per_layer_token_embd.weight", None, "tensor per_layer_token_embd.weight is missing"),
    ("per_layer_proj_norm.weight", None, "tensor per_layer_proj_norm.weight is missing"),
    ("blk.2.inp_gate.weight", None, "tensor blk.2.inp_gate.weight is missing"),
    ("blk.0.layer_output_scale.weight", None, "tensor blk.0.layer_output_scale.weight is missing"),
    ("blk.1.attn_v.weight", None, "tensor blk.1.attn_v.weight is missing"),
]


@pytest.mark.parametrize("name, value, reason", WRONG)
def test_files_whose_layers_do_not_fit_are_refused_by_name(tmp_path, name, value, reason):
    keys, tensors = gguf.parts(model.Model(FIXTURES / "gemma4-e2b"))
    if value is None:
        del tensors[name]
    else:
        keys["gemma4." + name] = value
    gguf.write(tmp_path / "x.gguf", keys, tensors)
    if not reason:  # all pairs turn
        assert np.isfinite(rows(tmp_path / "x.gguf", [1, 2], 529)).all()
        return
    with pytest.raises(engine.Refused, match=re.escape(reason)):
        rows(tmp_path / "x.gguf", [1], 529)
