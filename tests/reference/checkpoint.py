"""Reads and writes a model's Hugging Face directory, config.json and safetensors, in own code.

A tensor is read as float64, whatever it is stored as. gpt-oss' MXFP4 experts (OCP Microscaling
Formats 1.0) come as two tensors, NAME_blocks [E][out][in / 32][16] with neighbouring values in one
byte, the first in the low half, and NAME_scales [E][out][in / 32], a power of two biased by 127.
They are read as one tensor NAME [E][in][out], as the same model in bf16 calls it.
"""
import json
import struct
from pathlib import Path

import numpy as np

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
# Prefixes of a tensor's own name, by what wrote the file and by what wraps the text model.
PREFIXES = ("model.language_model.", "language_model.model.", "language_model.", "model.",
            "transformer.", "gpt_neox.")


def bf16_bits(values):
    """The upper half of each float32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, "<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def from_bytes(raw, dtype, shape):
    if dtype == "BF16":
        values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
    else:
        values = np.frombuffer(raw, {"F16": "<f2", "F32": "<f4", "F64": "<f8", "U8": "u1"}[dtype])
    return values.reshape(shape)


def to_bytes(values, dtype):
    if dtype == "BF16":
        return bf16_bits(values).tobytes()
    kinds = {"F16": "<f2", "F32": "<f4", "U8": "u1", "I8": "i1", "I32": "<i4", "I64": "<i8",
             "F8_E4M3": "u1"}
    return np.ascontiguousarray(values, kinds[dtype]).tobytes()


def read_safetensors(path):
    """{name: array as stored}"""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: from_bytes(data[slice(*entry["data_offsets"])], entry["dtype"], entry["shape"])
            for name, entry in header.items()}


def write_safetensors(path, tensors):
    """tensors: {name: (array, dtype)}"""
    header, parts, n_bytes = {}, [], 0
    for name, (values, dtype) in tensors.items():
        raw = to_bytes(values, dtype)
        header[name] = {"dtype": dtype, "shape": list(values.shape),
                        "data_offsets": [n_bytes, n_bytes + len(raw)]}
        parts.append(raw)
        n_bytes += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def decode_mxfp4(blocks, scales):
    """[E][out][in / 32][16] and [E][out][in / 32] as [E][in][out]"""
    values = np.stack([FP4[blocks & 15], FP4[blocks >> 4]], -1).reshape(*blocks.shape[:3], 32)
    values = values * np.exp2(scales.astype(np.float64) - 127)[..., None]
    return values.reshape(*blocks.shape[:2], -1).swapaxes(1, 2)


def encode_mxfp4(values):
    """[E][in][out] as blocks and scales: the largest value of 32 becomes 4 to 7.9, cut to 6."""
    rows = values.swapaxes(1, 2).reshape(values.shape[0], values.shape[2], -1, 32)
    exponent = np.floor(np.log2(np.abs(rows).max(-1) + 1e-30)) - 2
    scaled = rows / np.exp2(exponent)[..., None]
    nearest = np.abs(scaled[..., None] - FP4).argmin(-1).astype(np.uint8)
    return nearest[..., 0::2] | nearest[..., 1::2] << 4, (exponent + 127).astype(np.uint8)


def bare(name):
    """A tensor's name without what wraps the text model."""
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix):]
    return name


def read_config(directory):
    """The text model's configuration, with the fields around it where it has none."""
    config = json.loads((Path(directory) / "config.json").read_text())
    return {**config, **config.get("text_config", {})}


def read_tensors(directory):
    """{bare name: float64 array} of all shards"""
    tensors = {}
    for path in sorted(Path(directory).glob("*.safetensors")):
        tensors.update((bare(name), values) for name, values in read_safetensors(path).items())
    for name in [name for name in tensors if name.endswith("_blocks")]:
        whole = name.removesuffix("_blocks")
        tensors[whole] = decode_mxfp4(tensors.pop(name), tensors.pop(whole + "_scales"))
    return {name: values.astype(np.float64) for name, values in tensors.items()}
