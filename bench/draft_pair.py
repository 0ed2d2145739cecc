#!/usr/bin/env python3
"""Writes a GPT-2 checkpoint with another number of layers, as a target or as a draft model.

    draft_pair.py models/tale /var/tmp/tall --layers 40              a draft of 1/10, always right
    draft_pair.py models/tale /var/tmp/tall --layers 40 --noise 0.1  ... and often right
    draft_pair.py models/tale /var/tmp/flat --layers 2               the first layers alone

Further layers repeat the model's own, but noise scales what they add to the residual stream. With 0
they add nothing: the target writes the model's text and takes as long as its size says. This
measures what drafts cost and bring at a known acceptance rate, not the rate of a trained pair.
"""
import argparse
import json
import re
import shutil
import struct
from pathlib import Path

OUTPUTS = ("attn.c_proj.", "mlp.c_proj.")


def read(path):
    """{tensor: (dtype, shape, bytes)} of a safetensors file"""
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    return {name: (of["dtype"], of["shape"],
                   data[begin + of["data_offsets"][0]:begin + of["data_offsets"][1]])
            for name, of in header.items() if name != "__metadata__"}


def write(path, tensors):
    header, end = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def scaled(tensor, factor):
    dtype, shape, data = tensor
    form = {"F16": "e", "F32": "f"}[dtype]
    n = len(data) // struct.calcsize(form)
    values = struct.unpack(f"<{n}{form}", data) if factor else [0.0] * n
    return dtype, shape, struct.pack(f"<{n}{form}", *(value * factor for value in values))


def with_layers(source, out, n_layers, noise=0.0):
    """Writes the model at source with n_layers to the directory out."""
    source, out = Path(source), Path(out)
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("*.safetensors", "*.pack"))
    config = json.loads((source / "config.json").read_text())
    n_own = config["n_layer"]
    (out / "config.json").write_text(json.dumps({**config, "n_layer": n_layers}))
    tensors, made, further = read(source / "model.safetensors"), {}, {}
    for name, tensor in tensors.items():
        match = re.match(r"(.*\bh\.)(\d+)(\..*)", name)
        if not match or int(match[2]) < n_layers:
            made[name] = tensor
        for layer in range(n_own + int(match[2]), n_layers, n_own) if match else ():
            is_output = any(part in name for part in OUTPUTS)
            if is_output and name not in further:
                further[name] = scaled(tensor, noise)
            made[f"{match[1]}{layer}{match[3]}"] = further[name] if is_output else tensor
    write(out / "model.safetensors", made)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("out", help="a directory that is not there yet")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--noise", type=float, default=0.0, help="scales what further layers add")
    options = parser.parse_args()
    with_layers(options.source, options.out, options.layers, options.noise)


if __name__ == "__main__":
    main()
