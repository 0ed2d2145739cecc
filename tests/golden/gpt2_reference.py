"""GPT-2 in float64, written from the formulas, as the judge of the engine's logits.

    gpt2_reference.py GOLDEN_LOGITS MODEL_DIR GOLDEN_JSON

Compares the last row of logits for prompts of the golden file on the real model, and for small random
models of odd shapes written in every storage the engine reads: F32, F16, BF16; one file or shards; with
and without the "transformer." prefix; tied or separate head.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

TOLERANCE = 2e-3  # of the real model's logits, about 1e-5 of which is spent
MODES = ("prefill", "decode", "naive")


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[begin:end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(raw, {"F16": "<f2", "F32": "<f4"}[entry["dtype"]])
        tensors[name] = values.astype(np.float64).reshape(entry["shape"])
    return tensors


def read_model(directory):
    with open(os.path.join(directory, "config.json")) as file:
        config = json.load(file)
    tensors = {}
    for name in sorted(os.listdir(directory)):
        if name.endswith(".safetensors"):
            tensors.update(read_safetensors(os.path.join(directory, name)))
    return config, {name.removeprefix("transformer."): value for name, value in tensors.items()}


def layer_norm(x, weights, name, epsilon):
    centered = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon)
    return centered * scale * weights[name + ".weight"] + weights[name + ".bias"]


def conv1d(x, weights, name):
    return x @ weights[name + ".weight"] + weights[name + ".bias"]


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def attention(x, weights, name, n_head):
    n_tokens, width = x.shape
    heads = conv1d(x, weights, name + ".c_attn").reshape(n_tokens, 3, n_head, width // n_head)
    q, k, v = heads.transpose(1, 2, 0, 3)
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // n_head)
    scores = np.where(np.tri(n_tokens, dtype=bool), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ v
    return conv1d(mixed.transpose(1, 0, 2).reshape(n_tokens, width), weights, name + ".c_proj")


def last_logits(config, weights, ids):
    epsilon = config["layer_norm_epsilon"]
    x = weights["wte.weight"][ids] + weights["wpe.weight"][: len(ids)]
    for layer in range(config["n_layer"]):
        name = f"h.{layer}"
        normed = layer_norm(x, weights, name + ".ln_1", epsilon)
        x = x + attention(normed, weights, name + ".attn", config["n_head"])
        normed = layer_norm(x, weights, name + ".ln_2", epsilon)
        x = x + conv1d(gelu_new(conv1d(normed, weights, name + ".mlp.c_fc")), weights, name + ".mlp.c_proj")
    head = weights.get("lm_head.weight", weights["wte.weight"])
    return head @ layer_norm(x[-1], weights, "ln_f", epsilon)


def encode(values, dtype):
    if dtype == "BF16":
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return values.astype({"F16": "<f2", "F32": "<f4"}[dtype]).tobytes()


def write_safetensors(path, tensors, dtype):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        raw = encode(values, dtype)
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def random_tensors(rng, config, prefix, own_head):
    width, inner = config["n_embd"], config["n_inner"] or 4 * config["n_embd"]
    shapes = {"wte.weight": (config["vocab_size"], width), "wpe.weight": (config["n_positions"], width)}
    for layer in range(config["n_layer"]):
        name = f"h.{layer}."
        for norm in ("ln_1", "ln_2"):
            shapes[name + norm + ".weight"] = shapes[name + norm + ".bias"] = (width,)
        sizes = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width),
                 "mlp.c_fc": (width, inner), "mlp.c_proj": (inner, width)}
        for part, size in sizes.items():
            shapes[name + part + ".weight"], shapes[name + part + ".bias"] = size, size[1:]
        shapes[name + "attn.bias"] = (1, 1, 4, 4)  # old checkpoints store their masks, which no reader uses
    shapes["ln_f.weight"] = shapes["ln_f.bias"] = (width,)
    tensors = {prefix + name: rng.normal(0, 0.3, shape) for name, shape in shapes.items()}
    if own_head:
        tensors["lm_head.weight"] = rng.normal(0, 0.3, shapes["wte.weight"])
    return tensors


def write_model(directory, rng, config, dtype, n_shards, prefix, own_head):
    with open(os.path.join(directory, "config.json"), "w") as file:
        json.dump(config, file)
    tensors = random_tensors(rng, config, prefix, own_head)
    if n_shards == 1:
        write_safetensors(os.path.join(directory, "model.safetensors"), tensors, dtype)
        return
    names, weight_map = sorted(tensors), {}
    for shard in range(n_shards):
        path = f"model-{shard + 1:05}-of-{n_shards:05}.safetensors"
        part = {name: tensors[name] for name in names[shard::n_shards]}
        write_safetensors(os.path.join(directory, path), part, dtype)
        weight_map.update(dict.fromkeys(part, path))
    with open(os.path.join(directory, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {}, "weight_map": weight_map}, file)


def compare(binary, directory, ids, label):
    config, weights = read_model(directory)
    expected = last_logits(config, weights, ids)
    worst = 0.0
    for mode in MODES:
        output = subprocess.run([binary, directory, mode, *map(str, ids)], check=True, capture_output=True, text=True)
        found = np.array(output.stdout.split(), dtype=np.float64)
        assert found.shape == expected.shape, f"{label} {mode}: {found.shape[0]} logits"
        worst = max(worst, np.abs(found - expected).max())
        assert worst <= TOLERANCE, f"{label} {mode}: logits differ by {worst}"
    print(f"{label}: {len(ids)} tokens, {len(expected)} logits, largest difference {worst:.2e}")


def check_real_model(binary, directory, golden_path):
    with open(golden_path) as file:
        prompts = json.load(file)["prompts"]
    for index, prompt in enumerate(prompts):
        ids = (prompt["ids"] + prompt["greedy_ids"])[: 40 * (index + 1)]
        compare(binary, directory, ids, f"{os.path.basename(directory)} prompt {index}")


def check_random_models(binary):
    rng = np.random.default_rng(7)
    variants = [("F32", 1, "transformer.", False), ("F16", 3, "", False), ("BF16", 1, "", True),
                ("F32", 2, "transformer.", True), ("BF16", 4, "transformer.", False), ("F16", 1, "transformer.", False)]
    for index, (dtype, n_shards, prefix, own_head) in enumerate(variants):
        n_head, head_dim = [(2, 8), (3, 5), (1, 17), (4, 16), (5, 3), (2, 72)][index]
        config = {"model_type": "gpt2", "n_layer": 1 + index % 3, "n_head": n_head, "n_embd": n_head * head_dim,
                  "n_inner": None if index % 2 else 37, "vocab_size": 61 + index, "n_positions": 150,
                  "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "tie_word_embeddings": not own_head}
        with tempfile.TemporaryDirectory() as directory:
            write_model(directory, rng, config, dtype, n_shards, prefix, own_head)
            for n_tokens in (1, 17, 150):
                ids = rng.integers(0, config["vocab_size"], n_tokens).tolist()
                compare(binary, directory, ids, f"{dtype} in {n_shards} files, prefix {prefix!r}, own head {own_head}")


if __name__ == "__main__":
    check_real_model(sys.argv[1], sys.argv[2], sys.argv[3])
    check_random_models(sys.argv[1])
