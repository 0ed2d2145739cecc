"""A LoRA adapter of random numbers for every matrix of a model that adapters change, and the model
in which it is merged."""
import json

import numpy as np

import checkpoint
import model

RANK, ALPHA = 3, 6
ROLES = ("q", "k", "v", "o", "qkv", "q_a", "kv_a", "gate", "up", "down", "gate_up")


def targets(plan, tensors):
    """The names of those matrices: of attention and of MLPs that are no experts."""
    ends = [f".{plan.names[role]}.weight" for role in ROLES if role in plan.names]
    layer = (plan.names["prefix"] + plan.names["layer"].split("{")[0]).split(".")[-2]
    return [name for name, values in tensors.items()
            if values.ndim == 2 and f".{layer}." in f".{name}" and "expert" not in name
            and name.endswith(tuple(ends))]


def write(directory, adapter, merged, seed):
    """Reads the model of a directory, and writes the adapter, as PEFT does, and the merged model
    into two others."""
    rng, tensors, pairs = np.random.default_rng(seed), {}, {}
    for path in sorted(directory.glob("*.safetensors")):
        tensors.update(checkpoint.read_safetensors(path))
    plan = model.Model(directory).plan
    transposed = "conv1d" in (plan.attention, plan.mlp)
    for name in targets(plan, tensors):
        n_out, n_in = tensors[name].shape[::-1] if transposed else tensors[name].shape
        down = rng.normal(0, 1 / np.sqrt(n_in), (RANK, n_in)).astype("<f4")
        up = rng.normal(0, 0.3, (n_out, RANK)).astype("<f4")
        change = ALPHA / RANK * (up.astype(float) @ down.astype(float))
        tensors[name] = tensors[name] + (change.T if transposed else change)
        module = "base_model.model." + name.removesuffix(".weight")
        pairs[module + ".lora_A.weight"], pairs[module + ".lora_B.weight"] = ((down, "F32"),
                                                                              (up, "F32"))
    for path, of in (adapter / "adapter_model.safetensors", pairs), (
            merged / "model.safetensors", {
                name: (values, "U8" if values.dtype == np.uint8 else "F32")
                for name, values in tensors.items()}):
        path.parent.mkdir()
        checkpoint.write_safetensors(path, of)
    (adapter / "adapter_config.json").write_text(json.dumps(
        dict(peft_type="LORA", r=RANK, lora_alpha=ALPHA, fan_in_fan_out=transposed)))
    (merged / "config.json").write_bytes((directory / "config.json").read_bytes())
