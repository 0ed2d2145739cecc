"""LoRA adapters of fixture models, made of random numbers: PEFT directories and GGUF files."""
import json
import random
import struct

from fleet import ROOT

LLAMA = ROOT / "tests/fixtures/models/llama"
RANK = 4
# Names of PEFT and of GGUF, and the heads whose rows stand in pairs there.
MODULES = {"self_attn.q_proj": ("attn_q", 4), "self_attn.k_proj": ("attn_k", 2),
           "self_attn.v_proj": ("attn_v", 0), "self_attn.o_proj": ("attn_output", 0),
           "mlp.gate_proj": ("ffn_gate", 0), "mlp.up_proj": ("ffn_up", 0),
           "mlp.down_proj": ("ffn_down", 0)}


def shapes(model=LLAMA):
    data = (model / "model.safetensors").read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    return {name: tensor["shape"] for name, tensor in header.items() if name != "__metadata__"}


def matrices(seed, model=LLAMA, strength=0.3):
    """{(layer, module): (A [r][n_in], B [n_out][r])}, rows as lists."""
    draw = random.Random(seed)

    def rows(n, width, scale):
        return [[draw.uniform(-scale, scale) for _ in range(width)] for _ in range(n)]
    found = {}
    for name, shape in sorted(shapes(model).items()):
        for module in MODULES:
            if name.endswith(f".{module}.weight"):
                layer = int(name.split(".layers.")[1].split(".")[0])
                found[layer, module] = (rows(RANK, shape[1], 1), rows(shape[0], RANK, strength))
    return found


def floats(rows):
    return b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)


def write_peft(path, seed, alpha=8, **config):
    path.mkdir(exist_ok=True)
    header, data = {}, b""
    for (layer, module), pair in matrices(seed).items():
        for letter, rows in zip("AB", pair):
            begin = len(data)
            data += floats(rows)
            header[f"base_model.model.model.layers.{layer}.{module}.lora_{letter}.weight"] = {
                "dtype": "F32", "shape": [len(rows), len(rows[0])],
                "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    (path / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (path / "adapter_config.json").write_text(json.dumps({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": alpha,
        "target_modules": sorted({module.split(".")[1] for module in MODULES}), **config}))
    return path


def paired(rows, n_heads):
    """The rows as convert_hf_to_gguf.py permutes those of queries and keys."""
    size = len(rows) // n_heads if n_heads else 0
    order = [head * size + half * size // 2 + i for head in range(n_heads)
             for i in range(size // 2) for half in range(2)]
    return [rows[i] for i in order] if n_heads else rows


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def write_gguf(path, seed, alpha=8):
    tensors, data = b"", b""
    pairs = matrices(seed)
    for (layer, module), (down, up) in pairs.items():
        name, n_heads = MODULES[module]
        for letter, rows in ("a", down), ("b", paired(up, n_heads)):
            tensors += gguf_text(f"blk.{layer}.{name}.weight.lora_{letter}") + struct.pack(
                "<IQQIQ", 2, len(rows[0]), len(rows), 0, len(data))
            data += floats(rows)
            data += bytes(-len(data) % 32)
    entries = b"".join(gguf_text(key) + struct.pack("<I", 8) + gguf_text(value) for key, value in [
        ("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")])
    entries += gguf_text("adapter.lora.alpha") + struct.pack("<If", 6, alpha)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2 * len(pairs), 4) + entries + tensors
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path
