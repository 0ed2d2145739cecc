"""Quantized Hugging Face directories: the weights are those that the format's own formula gives.

Each model of codes is written twice, with its codes and with the weights in float32; in f32 both
give the same logits, bit for bit. In its own formats ("native") logits stay near.
"""
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import checkpoint  # noqa: E402
import coded_blocks  # noqa: E402
import engine  # noqa: E402
import random_model  # noqa: E402
import test_native  # noqa: E402

WIDTH, FORWARD, GROUP = 256, 384, 64
IDS = [i * i * 31 % 90 for i in range(20)]
E4M3 = np.append(coded_blocks.E4M3, np.nan).astype(np.float32)
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def sized(config, width=WIDTH, forward=FORWARD, heads=8, size=32):
    config.update(hidden_size=width, intermediate_size=forward, num_attention_heads=heads,
                  num_key_value_heads=2, head_dim=size, num_hidden_layers=2, vocab_size=96,
                  tie_word_embeddings=False, rope_scaling=None, rope_parameters=None)
    if "num_experts" in config:
        config.update(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=forward,
                      decoder_sparse_step=1, mlp_only_layers=[])
    return config


def words(codes, n_bits, axis):
    """Codes along an axis, packed to int32 from the lowest bits on."""
    codes = np.moveaxis(np.asarray(codes, np.uint32), axis, -1)
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % (32 // n_bits))])
    parts = codes.reshape(*codes.shape[:-1], -1, 32 // n_bits) << np.arange(
        0, 32, n_bits, dtype=np.uint32)
    return np.moveaxis(parts.sum(-1, dtype=np.uint32), -1, axis).view(np.int32)


def rounded(values, kind):
    raw = checkpoint.to_bytes(values, kind)
    return checkpoint.from_bytes(raw, kind, values.shape).astype(np.float32)


def groups(n_in, group):
    """The group of each input; of -1 there is one."""
    return np.arange(n_in) // (group if group > 0 else n_in)


def grouped(rng, weights, n_bits, symmetric, kind="F16", g_idx=None, group=GROUP):
    """codes [out][in], scales and zeros [out][groups], and the weights they stand for"""
    n_out, n_in = weights.shape
    g_idx = groups(n_in, group) if g_idx is None else g_idx
    n_groups, most = g_idx.max() + 1, (1 << n_bits) - 1
    scales = rounded(np.stack([np.abs(weights[:, g_idx == g]).max(1) for g in range(n_groups)], 1)
                     * 2 / most + 1e-4, kind)
    zeros = np.full((n_out, n_groups), 1 << n_bits - 1)
    if not symmetric:
        zeros += rng.integers(-3, 4, zeros.shape)
    codes = np.clip(np.rint(weights / scales[:, g_idx]) + zeros[:, g_idx], 0, most).astype(int)
    return codes, scales, zeros, scales[:, g_idx] * (codes - zeros[:, g_idx]).astype(np.float32)


def gptq(rng, weights, n_bits=4, symmetric=True, act_order=False, group=GROUP, named=True):
    g_idx = groups(weights.shape[1], group)
    if act_order:
        g_idx = rng.permutation(g_idx)
    codes, scales, zeros, plain = grouped(rng, weights, n_bits, symmetric, g_idx=g_idx)
    parts = {"qweight": (words(codes.T, n_bits, 0), "I32"),
             "qzeros": (words(zeros.T - 1, n_bits, 1), "I32"), "scales": (scales.T, "F16"),
             "g_idx": (g_idx.astype(np.int32), "I32")}
    return {end: part for end, part in parts.items() if named or end != "g_idx"}, plain


def in_awq_order(codes):
    return words(codes.reshape(len(codes), -1, 8)[:, :, AWQ_ORDER].reshape(codes.shape), 4, 1)


def awq(rng, weights, group=GROUP):
    codes, scales, zeros, plain = grouped(rng, weights, 4, False, group=group)
    return {"qweight": (in_awq_order(codes.T), "I32"), "qzeros": (in_awq_order(zeros.T), "I32"),
            "scales": (scales.T, "F16")}, plain


def packed(rng, weights, n_bits=4, symmetric=True, group=GROUP, act_order=False):
    g_idx = groups(weights.shape[1], group)
    if act_order:
        g_idx = rng.permutation(g_idx)
    codes, scales, zeros, plain = grouped(rng, weights, n_bits, symmetric, "BF16", g_idx)
    parts = {"weight_packed": (words(codes, n_bits, 1), "I32"), "weight_scale": (scales, "BF16"),
             "weight_shape": (np.array(weights.shape), "I64")}
    if not symmetric:
        parts["weight_zero_point"] = words(zeros, n_bits, 0), "I32"
    if act_order:
        parts["weight_g_idx"] = g_idx.astype(np.int32), "I32"
    return parts, plain


def fp8_codes(values):
    """float -> the nearest E4M3"""
    codes = np.searchsorted((E4M3[:126] + E4M3[1:127]) / 2, np.abs(values))
    return (codes | np.where(values < 0, 128, 0)).astype(np.uint8)


def fp8_values(codes):
    return E4M3[codes & 127] * np.where(codes & 128, -1, 1).astype(np.float32)


def fp8_blocks(rng, weights):
    n_out, n_in = (-(-n // 128) for n in weights.shape)
    scales = rng.uniform(.0004, .0008, (n_out, n_in)).astype(np.float32)
    wide = np.repeat(np.repeat(scales, 128, 0), 128, 1)[:weights.shape[0], :weights.shape[1]]
    codes = fp8_codes(weights / wide)
    return {"weight": (codes, "F8_E4M3"), "weight_scale_inv": (scales, "F32")}, \
        wide * fp8_values(codes)


def fp8_rows(rng, weights, per_tensor=False):
    scales = np.abs(weights).max(1, keepdims=True) / 448
    scales = rounded(np.full_like(scales, scales.max()) if per_tensor else scales, "BF16")
    codes = fp8_codes(weights / scales)
    stored = scales.ravel()[:1] if per_tensor else scales
    return {"weight": (codes, "F8_E4M3"), "weight_scale": (stored, "BF16"),
            "input_scale": (np.ones(1), "F32")}, scales * fp8_values(codes)


def int8_rows(rng, weights):
    scales = (np.abs(weights).max(1, keepdims=True) / 127).astype(np.float32)
    codes = np.rint(weights / scales).astype(np.int8)
    return {"weight": (codes, "I8"), "weight_scale": (scales, "F32")}, scales * codes


def compressed(form, kind, n_bits):
    return dict(quant_method="compressed-tensors", format=form, config_groups=dict(
        group_0=dict(weights=dict(num_bits=n_bits, type=kind, strategy="group"))))


GPTQ = dict(quant_method="gptq", bits=4, group_size=GROUP)
# Name: the codes, quantization_config, and the format that "native" keeps them in; None: they are
# rounded to bf16.
KINDS = {
    "gptq": (gptq, GPTQ, "q4_0"),
    "gptq-8": (lambda *of: gptq(*of, 8), dict(GPTQ, bits=8), None),
    "gptq-zeros": (lambda *of: gptq(*of, symmetric=False), GPTQ, "q5_0"),
    "gptq-act-order": (lambda *of: gptq(*of, act_order=True), dict(GPTQ, desc_act=True), None),
    "awq": (awq, dict(quant_method="awq", bits=4, version="gemm", zero_point=True), "q5_0"),
    "w4a16": (packed, compressed("pack-quantized", "int", 4), "q4_0"),
    "w4a16-zeros": (lambda *of: packed(*of, symmetric=False),
                    compressed("pack-quantized", "int", 4), "q5_0"),
    "w8a16": (lambda *of: packed(*of, 8), compressed("pack-quantized", "int", 8), None),
    "fp8-blocks": (fp8_blocks, dict(quant_method="fp8", weight_block_size=[128, 128]), None),
    "fp8-rows": (fp8_rows, compressed("float-quantized", "float", 8), None),
    "fp8-tensors": (lambda *of: fp8_rows(*of, per_tensor=True),
                    dict(quant_method="fp8", activation_scheme="static"), None),
    "int8-rows": (int8_rows, compressed("int-quantized", "int", 8), None),
    "gptq-8-zeros": (lambda *of: gptq(*of, 8, False), dict(GPTQ, bits=8, sym=False), None),
    "gptq-one-group": (lambda *of: gptq(*of, group=-1), dict(GPTQ, group_size=-1), "q4_0"),
    "gptq-unnamed": (lambda *of: gptq(*of, group=32, named=False), dict(GPTQ, group_size=32),
                     "q4_0"),
    "awq-one-group": (lambda *of: awq(*of, -1), dict(quant_method="awq", bits=4, group_size=-1),
                      "q5_0"),
    "w4a16-rows": (lambda *of: packed(*of, group=-1), compressed("pack-quantized", "int", 4),
                   "q4_0"),
    "w4a16-act-order": (lambda *of: packed(*of, symmetric=False, act_order=True),
                        compressed("pack-quantized", "int", 4), None),
}
# Kinds of matrices whose sizes are no multiples of blocks, words or the width of a register.
ODD = {
    "gptq-act-order": dict(width=72, forward=104, heads=6, size=12),
    "gptq-one-group": dict(width=72, forward=104, heads=6, size=12),
    "gptq-8": dict(width=192, forward=320, heads=6, size=32),
    "awq-one-group": dict(width=72, forward=104, heads=6, size=12),
    "w4a16-rows": dict(width=75, forward=101, heads=6, size=10),
    "w8a16": dict(width=192, forward=320, heads=6, size=32),
    "fp8-blocks": dict(width=150, forward=203, heads=6, size=26),
    "fp8-rows": dict(width=75, forward=101, heads=6, size=10),
    "int8-rows": dict(width=75, forward=101, heads=6, size=10),
}


def is_coded(name, values):
    return values.ndim == 2 and "_proj.weight" in name


@pytest.fixture(scope="module")
def plain_model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("plain")
    random_model.write(directory, "llama", 5, sized)
    return directory


def hold(coded, plain):
    """The weights of the codes are those that the plain directory has, also rounded."""
    [ours], [wanted] = (engine.ask(path, [("score", IDS)], 96, "--dtype", "f32")
                        for path in (coded, plain))
    assert np.array_equal(ours.view(np.uint32), wanted.view(np.uint32))
    native = engine.all_ways(coded, IDS, 96)
    assert 0 < np.std(native - wanted) < 0.03 * wanted.std()


def write_pair(plain_model, directory, codes_of, config, extra=()):
    """The directory of codes, with extra tensors, and the one of the weights that they stand
    for."""
    coded, plain, rng = {}, {}, np.random.default_rng(7)
    tensors = {}
    for path in sorted(plain_model.glob("*.safetensors")):
        tensors.update(checkpoint.read_safetensors(path))
    for name, values in tensors.items():
        coded[name] = plain[name] = values, "F32"
        if is_coded(name, values):
            parts, weights = codes_of(rng, values.astype(np.float32))
            del coded[name]
            coded.update((name.removesuffix("weight") + end, part) for end, part in parts.items())
            plain[name] = weights, "F32"
    coded.update(extra)
    told = json.loads((plain_model / "config.json").read_text())
    for kind, of, extra in (("coded", coded, {"quantization_config": config}),
                            ("plain", plain, {})):
        (directory / kind).mkdir()
        (directory / kind / "config.json").write_text(json.dumps(dict(told, **extra)))
        checkpoint.write_safetensors(directory / kind / "model.safetensors", of)
    return directory / "coded", directory / "plain"


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_read_exactly(plain_model, tmp_path, kind):
    codes_of, config, _ = KINDS[kind]
    hold(*write_pair(plain_model, tmp_path, codes_of, config))


def write_plain(path, family="llama", **sizes):
    path.mkdir()
    random_model.write(path, family, 5, lambda config: sized(config, **sizes))
    return path


@pytest.mark.parametrize("kind", ODD)
def test_codes_of_odd_sizes_are_read_exactly(tmp_path, kind):
    codes_of, config, _ = KINDS[kind]
    hold(*write_pair(write_plain(tmp_path / "model", **ODD[kind]), tmp_path, codes_of, config))


@pytest.mark.parametrize("kind", ["gptq-zeros", "awq", "w4a16", "fp8-blocks"])
def test_codes_of_experts_are_read_exactly(tmp_path, kind):
    codes_of, config, _ = KINDS[kind]
    hold(*write_pair(write_plain(tmp_path / "model", "qwen3_moe"), tmp_path, codes_of, config))


def test_a_shorter_last_group_needs_its_inputs_named(tmp_path):
    """Without g_idx no tensor tells 128 and 64 inputs from twice 96."""
    plain = write_plain(tmp_path / "model", width=192, forward=384, heads=6)
    hold(*write_pair(plain, tmp_path, lambda *of: gptq(*of, group=128), GPTQ))
    for name, codes_of in (("gptq", lambda *of: gptq(*of, group=128, named=False)),
                           ("awq", lambda *of: awq(*of, 128)),
                           ("packed", lambda *of: packed(*of, group=128))):
        (tmp_path / name).mkdir()
        coded, _ = write_pair(plain, tmp_path / name, codes_of, GPTQ)
        with pytest.raises(engine.Refused, match="scale.*: must have groups of a power of two"):
            engine.ask(coded, [("score", IDS)], 96)


DOWN = "model.layers.1.mlp.down_proj."
ATTENTION = "model.layers.0.self_attn."


def test_tensors_without_an_effect_may_stand_beside_codes(plain_model, tmp_path):
    """GPTQ's writers gave biases of zeros to all matrices; FP8's add scales of a KV cache."""
    extra = {DOWN + "bias": (np.zeros(WIDTH), "F16"),
             ATTENTION + "q_proj.bias": (np.zeros(WIDTH), "F16")}
    (tmp_path / "fp8").mkdir()
    hold(*write_pair(plain_model, tmp_path, gptq, GPTQ, extra))
    extra = {ATTENTION + "k_scale": (np.full(1, .5), "F32"),
             ATTENTION + "v_proj.v_scale": (np.full(1, .5), "F32"),
             ATTENTION + "k_proj.output_scale": (np.full(1, .5), "F32")}
    hold(*write_pair(plain_model, tmp_path / "fp8", fp8_rows, KINDS["fp8-rows"][1], extra))


@pytest.mark.parametrize("name, values, message", [
    ("bias", np.eye(1, WIDTH)[0], "down_proj.bias: the model that its configuration describes"),
    ("weight", np.zeros((WIDTH, FORWARD)), "down_proj.weight is there both as codes and as num"),
])
def test_tensors_that_contradict_codes_are_refused(plain_model, tmp_path, name, values, message):
    coded, _ = write_pair(plain_model, tmp_path, gptq, GPTQ, {DOWN + name: (values, "F16")})
    with pytest.raises(engine.Refused, match=message):
        engine.ask(coded, [("score", IDS)], 96)


def test_native_keeps_codes_in_blocks(plain_model, tmp_path):
    """The tool fails if a weight is not exactly that of the codes."""
    for kind, (codes_of, config, dtype) in KINDS.items():
        (tmp_path / kind).mkdir()
        if dtype:
            coded, _ = write_pair(plain_model, tmp_path / kind, codes_of, config)
            assert dtype in test_native.dtypes_of(coded), kind


@pytest.mark.parametrize("end, change, message", [
    ("scales", lambda part: part[:5], "scales: must have a row for each group of inputs"),
    ("qzeros", lambda part: part[:, :1], "qzeros: must have dtype I32 and a code"),
    ("g_idx", lambda part: part + 1000, "g_idx: must have the numbers of groups"),
    ("qweight", lambda part: part[:-1], "must have"),
])
def test_parts_that_do_not_fit_are_refused(plain_model, tmp_path, end, change, message):
    def broken(rng, weights):
        parts, plain = gptq(rng, weights)
        parts[end] = change(parts[end][0]), parts[end][1]
        return parts, plain
    coded, _ = write_pair(plain_model, tmp_path, broken, GPTQ)
    with pytest.raises(engine.Refused, match=message):
        engine.ask(coded, [("score", IDS)], 96)
