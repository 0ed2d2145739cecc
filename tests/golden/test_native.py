"""GGUF in its own formats: no weight is rounded twice, and logits stay near the f32 ones."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import blocks  # noqa: E402
import engine  # noqa: E402
import gguf  # noqa: E402
import model  # noqa: E402
import random_model  # noqa: E402

TOOL = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin")) / "golden_native"
WIDTH, N_TOKENS = 256, 20
KINDS = [kind for kind in blocks.TYPES if kind != "F32"]
# In standard deviations of the logits. Only the rounding of a row's inputs to 8 bits differs, which
# costs 0.020 to 0.025. In a mixture it may choose another expert where scores are nearly equal, and
# later layers read the result.
TOLERANCE_RMS, TOLERANCE_MIXTURE = 0.03, 0.1
CASES = [("llama", kind) for kind in KINDS] + [(family, kind)
                                               for family in ("qwen2", "mixtral", "gpt_oss")
                                               for kind in ("F16", "Q4_K", "Q8_0", "MXFP4")]


def sized_gemma4(text):
    """The same, with experts beside the MLPs, whose router has factors of its own."""
    text.update(hidden_size=WIDTH, intermediate_size=WIDTH, num_attention_heads=4,
                num_key_value_heads=2, head_dim=64, global_head_dim=64, enable_moe_block=True,
                moe_intermediate_size=WIDTH, num_experts=4, top_k_experts=2,
                use_double_wide_mlp=False, hidden_size_per_layer_input=0,
                num_global_key_value_heads=None)
    text.pop("per_layer_config", None)


def sized(config):
    """Rows that are whole blocks of every type."""
    if config["model_type"].startswith("gemma4"):
        sized_gemma4(config.get("text_config", config))
        return config
    config.update(hidden_size=WIDTH, intermediate_size=WIDTH, num_attention_heads=8,
                  num_key_value_heads=2, head_dim=32, num_hidden_layers=2,
                  tie_word_embeddings=False)
    for key, value in (("attention_bias", config["model_type"] == "gpt_oss"), ("mlp_bias", False),
                       ("rope_scaling", None), ("rope_parameters", None), ("sliding_window", None),
                       ("num_local_experts", 4), ("num_experts_per_tok", 2)):
        if key in config:
            config[key] = value
    return config


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of the reference for each family."""
    made = {}

    def of(family):
        if family not in made:
            directory = tmp_path_factory.mktemp(family)
            random_model.write(directory, family, 5, sized)
            made[family] = model.Model(directory)
        return made[family]
    return of


def is_matrix(name, values):
    return values.ndim > 1 and "ffn_gate_inp" not in name and name.endswith(".weight")


def write(judge, path, kind, others=lambda name: None):
    """The model with its matrices in blocks of one kind, but for others."""
    converter = gguf.Converter(judge)
    tensors = converter.everything()
    keys = {"general.architecture": converter.arch, "tokenizer.ggml.model": "no_vocab"}
    keys.update((f"{converter.arch}.{key}", value) for key, value in converter.keys().items())
    types = {name: others(name) or kind for name, values in tensors.items()
             if is_matrix(name, values)}
    gguf.write(path, keys, tensors, types)
    return types


def dtypes_of(path, *options):
    """{dtype: bytes}, of a file whose weights are the same in both forms."""
    done = subprocess.run([TOOL, *options, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: int(n_bytes) for name, n_bytes in map(str.split, done.stdout.splitlines())}


def ids_of(judge):
    return np.random.default_rng(1).integers(0, judge.plan.V, N_TOKENS).tolist()


def error_of(path, judge):
    """How far a row of native logits is from f32's, in standard deviations of those: the median of
    the rows, the same in every mode."""
    ids = ids_of(judge)
    exact = engine.all_ways(path, ids, judge.plan.V, "--dtype", "f32")
    found = engine.all_ways(path, ids, judge.plan.V, "--dtype", "native", "--kv-dtype", "f32")
    return np.median(np.sqrt(np.mean((found - exact) ** 2, -1))) / exact.std()


def assert_near(path, judge):
    assert error_of(path, judge) <= (TOLERANCE_MIXTURE if judge.plan.moe else TOLERANCE_RMS)


@pytest.mark.parametrize("family, kind", CASES)
def test_every_type_is_kept_and_computed_with(models, tmp_path, family, kind):
    judge, path = models(family), tmp_path / "model.gguf"
    write(judge, path, kind)
    dtypes = dtypes_of(path)
    assert kind.lower() in dtypes and set(dtypes) <= {kind.lower(), "f32"}, dtypes
    assert_near(path, judge)


def test_q_k_and_v_may_have_types_of_their_own(models, tmp_path):
    judge, path = models("llama"), tmp_path / "model.gguf"
    kinds = {"attn_v": "Q6_K", "attn_k": "Q5_0", "ffn_down": "Q8_0", "output": "BF16",
             "token_embd": "IQ4_NL"}
    types = write(judge, path, "Q4_K", lambda name: kinds.get(name.split(".")[-2]))
    assert set(types.values()) == {"Q4_K", *kinds.values()}
    assert set(dtypes_of(path)) == {"q4_k", "q6_k", "q5_0", "q8_0", "bf16", "iq4_nl"}
    assert_near(path, judge)


@pytest.mark.parametrize("family, part", [("llama", "ffn_up"), ("mixtral", "ffn_up_exps")])
def test_a_gate_of_another_type_than_its_up_becomes_f32(models, tmp_path, family, part):
    judge, path = models(family), tmp_path / "model.gguf"
    write(judge, path, "Q4_K", lambda name: "Q6_K" if part in name else None)
    assert set(dtypes_of(path)) == {"q4_k", "f32"}
    assert_near(path, judge)


def write_scaled(judge, kind, scaled_path, plain_path):
    """A file with NAME.scale beside its matrices, and one of the products in F32."""
    converter, rng, types = gguf.Converter(judge), np.random.default_rng(3), {}
    tensors = converter.everything()
    plain, scaled = dict(tensors), dict(tensors)
    keys = {"general.architecture": converter.arch, "tokenizer.ggml.model": "no_vocab"}
    keys.update((f"{converter.arch}.{key}", value) for key, value in converter.keys().items())
    for name, values in tensors.items():
        is_taken = name.replace(".weight", ".scale") in tensors  # by Gemma 4's router
        if is_matrix(name, values) and name.startswith("blk.") and not is_taken:
            factors = rng.uniform(.2, 2, len(values) if values.ndim == 3 else 1).astype("<f4")
            coded = blocks.decode(kind, blocks.encode(kind, values)).reshape(values.shape)
            plain[name] = coded * factors.reshape(-1, *[1] * (values.ndim - 1))
            scaled[name.replace(".weight", ".scale")] = factors
            scaled[name.replace(".weight", ".input_scale")] = factors
            types[name] = kind
    gguf.write(scaled_path, keys, scaled, types)
    gguf.write(plain_path, keys, plain)


@pytest.mark.parametrize("family, kind", [("llama", "NVFP4"), ("mixtral", "NVFP4"),
                                          ("gemma4", "NVFP4"), ("llama", "Q4_0")])
def test_a_scale_beside_a_tensor_multiplies_it(models, tmp_path, family, kind):
    judge, path, plain = models(family), tmp_path / "scaled.gguf", tmp_path / "plain.gguf"
    write_scaled(judge, kind, path, plain)
    ids = [("score", ids_of(judge))]
    [found], [wanted] = (engine.ask(file, ids, judge.plan.V, "--dtype", "f32")
                         for file in (path, plain))
    assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))
    assert_near(path, judge)


def test_a_gguf_file_is_native_unless_asked(models, tmp_path):
    judge, path = models("llama"), tmp_path / "model.gguf"
    write(judge, path, "Q4_0")
    ids = [("score", ids_of(judge))]
    (usual,), (native,) = (engine.ask(path, ids, judge.plan.V, *options)
                           for options in ((), ("--dtype", "native")))
    assert np.array_equal(usual, native)


def test_native_is_refused_where_it_means_nothing(models, tmp_path):
    judge, path = models("llama"), tmp_path / "model.gguf"
    write(judge, path, "Q4_0")
    with pytest.raises(engine.Refused, match="openblas kernels do not compute in native"):
        engine.ask(path, [], judge.plan.V, "--dtype", "native", "--kernels", "openblas")
    with pytest.raises(engine.Refused, match="native keeps the formats of a GGUF file"):
        engine.ask(ROOT / "models/tale", [], judge.plan.V, "--dtype", "native")
    with pytest.raises(engine.Refused, match='"q4_0" is none of auto, f32, bf16, q8'):
        engine.ask(path, [], judge.plan.V, "--dtype", "q4_0")
