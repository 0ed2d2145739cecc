"""LoRA adapters of random models of every family: the merged models' numbers, in every mode and
beside sequences without one; and files that are refused by name."""
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import adapter  # noqa: E402
import checkpoint  # noqa: E402
import engine  # noqa: E402
import gguf  # noqa: E402
import model  # noqa: E402
import random_model  # noqa: E402

SEED, TOLERANCE = 7, 2e-3  # of logits whose standard deviation is 3
LLAMA = ROOT / "tests/fixtures/models/llama"


@pytest.mark.parametrize("family", random_model.CONFIGS)
def test_an_adapter_computes_what_the_merged_model_does(family, tmp_path):
    (tmp_path / "model").mkdir()
    random_model.write(tmp_path / "model", family, SEED)
    adapter.write(tmp_path / "model", tmp_path / "adapter", tmp_path / "merged", SEED)
    judge = model.Model(tmp_path / "merged")
    ids = np.random.default_rng(SEED).integers(0, judge.plan.V, 50).tolist()
    wanted, before = judge.logits(ids), model.Model(tmp_path / "model").logits(ids)
    found = engine.all_ways(tmp_path / "model", ids, judge.plan.V, "--adapter",
                            tmp_path / "adapter")
    n = judge.n_sure(TOLERANCE / 2)
    assert np.abs(found - wanted)[:n].max(initial=0) <= TOLERANCE * max(1, wanted.std() / 3)
    assert np.abs(before - wanted).max() > 0.1


Q = "base_model.model.model.layers.1.self_attn.q_proj.lora_"


def with_value(letter, value):
    def change(tensors):
        name = Q + f"{letter}.weight"
        tensors[name] = tensors[name].copy()
        tensors[name][2, 1] = value
    return change


def without(letter):
    return lambda tensors: tensors.pop(Q + f"{letter}.weight")


def widened(tensors):
    tensors[Q + "A.weight"] = np.zeros((513, 48))
    tensors[Q + "B.weight"] = np.zeros((48, 513))


@pytest.mark.parametrize("change, reason", [
    (with_value("A", np.nan), "q_proj.lora_A.weight: row 2 has a value that is no finite number"),
    (with_value("B", -np.inf), "q_proj.lora_B.weight: row 2 has a value that is no finite number"),
    (without("A"), "q_proj.lora_B.weight: has no other half"),
    (without("B"), "q_proj.lora_B.weight is missing"),
    (widened, "q_proj.lora_A.weight: the rank must be 1..512"),
])
def test_a_wrong_adapter_is_refused_by_its_tensor(tmp_path, change, reason):
    adapter.write(LLAMA, tmp_path / "adapter", tmp_path / "merged", SEED)
    path = tmp_path / "adapter/adapter_model.safetensors"
    tensors = checkpoint.read_safetensors(path)
    change(tensors)
    checkpoint.write_safetensors(path, {name: (values, "F32") for name, values in tensors.items()})
    with pytest.raises(engine.Refused, match=reason):
        engine.ask(LLAMA, [], 1, "--adapter", tmp_path / "adapter")


@pytest.mark.parametrize("other, reason", [
    ("gpt2", r"tensor base_model\S+h.0\S+lora_A.weight: has no other half, or is of none of the"),
    ("phi3", r"tensor base_model\S+up_proj.lora_A.weight: has no other half, or is of none"),
    ("qwen3-moe", r"tensor base_model\S+lora_[AB].weight: must have shape"),
])
def test_an_adapter_of_another_model_is_refused_by_its_tensor(tmp_path, other, reason):
    adapter.write(LLAMA.parent / other, tmp_path / "adapter", tmp_path / "merged", SEED)
    with pytest.raises(engine.Refused, match=reason):
        engine.ask(LLAMA, [], 1, "--adapter", tmp_path / "adapter")


def test_a_gguf_adapter_of_another_family_is_refused_by_its_architecture(tmp_path):
    gguf.write(tmp_path / "x.gguf", {
        "general.architecture": "qwen2", "general.type": "adapter", "adapter.type": "lora",
        "adapter.lora.alpha": 8.0}, {"blk.0.attn_v.weight.lora_a": np.zeros((4, 48)),
                                     "blk.0.attn_v.weight.lora_b": np.zeros((24, 4))})
    with pytest.raises(engine.Refused, match='general.architecture: "qwen2" is not that of the m'):
        engine.ask(LLAMA, [], 1, "--adapter", tmp_path / "x.gguf")
