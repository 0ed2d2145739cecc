"""`baton-bench make-model` writes what "shape:NAME" computes with, in the layout others load."""
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH, SAME_LOGITS = sys.argv[1:3]
TALE = "models/tale"
GGUF = [f"tiny-{family}" for family in (
    # what a file cannot say is in none of these
    "gpt_neox", "llama", "mistral", "ministral3", "mixtral", "qwen2", "qwen2_moe", "qwen3",
    "qwen3_moe", "gemma", "phi", "phi3", "granite", "granitemoe", "granitemoeshared", "olmo2",
    "olmoe", "cohere", "cohere2", "glm4", "starcoder2", "minicpm", "gpt_oss", "seed_oss",
    "ernie4_5", "arcee", "olmo3", "exaone4", "gemma4", "gemma4_moe", "deepseek_v2", "lfm2",
    "lfm2_moe")]
TINY = [f"tiny-{family}" for family in (
    "gpt_neo", "gpt_neox", "gptj", "llama", "smollm3", "mistral", "ministral3", "mixtral", "qwen2",
    "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3", "phi", "phi3", "granite",
    "granitemoe", "granitemoeshared", "olmo2", "olmoe",
    "cohere", "cohere2", "glm4", "starcoder2", "minicpm", "gpt_oss", "granitemoehybrid", "seed_oss",
    "ernie4_5", "arcee", "qwen2_5_vl_text", "qwen3_vl_text", "apertus", "olmo3", "exaone4",
    "hunyuan_v1_dense", "gemma4", "gemma4_moe", "qwen3_5_text", "qwen3_5_moe_text",
    "qwen3_next", "granitemoehybrid_mamba", "nemotron_h", "lfm2", "lfm2_moe")]
L, C, F, V, N_CONTEXT = 2, 80, 320, 2560, 256


def make(*options):
    return subprocess.run([BENCH, "make-model", "--shape", "tiny", *options], capture_output=True,
                          text=True)


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}"""
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__")
    tensors = {name: (t["dtype"], t["shape"],
                      data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
               for name, t in header.items()}
    assert sum(len(t[2]) for t in tensors.values()) == len(data) - 8 - n
    return tensors


def check_shapes(tensors):
    assert len(tensors) == 4 + 12 * L
    assert tensors["transformer.wte.weight"][1] == [V, C]
    assert tensors["transformer.wpe.weight"][1] == [N_CONTEXT, C]
    for layer in range(L):
        scope = f"transformer.h.{layer}."
        for name, shape in (("attn.c_attn", [C, 3 * C]), ("attn.c_proj", [C, C]),
                            ("mlp.c_fc", [C, F]), ("mlp.c_proj", [F, C])):
            assert tensors[f"{scope}{name}.weight"][1] == shape
            assert tensors[f"{scope}{name}.bias"][1] == shape[1:]


def rounded(f32):
    """The upper half of each float, to nearest even."""
    words = struct.unpack(f"<{len(f32) // 4}I", f32)
    return struct.pack(f"<{len(words)}H", *((w + 0x7fff + (w >> 16 & 1)) >> 16 for w in words))


with tempfile.TemporaryDirectory() as temporary:
    exact, brief, other = (Path(temporary) / name for name in ("exact", "brief", "other"))
    done = make("--out", exact, "--tokenizer", TALE)
    assert done.returncode == 0, done.stderr
    config = json.loads((exact / "config.json").read_text())
    assert (config["n_layer"], config["n_embd"], config["vocab_size"]) == (L, C, V)
    assert config["layer_norm_epsilon"] == 1e-5 and config["eos_token_id"] == 2559
    tensors = read_safetensors(exact / "model.safetensors")
    check_shapes(tensors)
    subprocess.run([SAME_LOGITS, "tiny", exact], check=True)

    assert (config["eos_token_id"]
            == json.loads((exact / "generation_config.json").read_text())["eos_token_id"][0])
    generated = subprocess.run([BENCH, "generate", "--model", exact, "--prompt", "Once upon",
                                "--max-new", "4"], check=True, capture_output=True, text=True)
    assert len(json.loads(generated.stdout)["tokens"]) == 4

    for shape in TINY:
        out = Path(temporary) / shape
        done = subprocess.run([BENCH, "make-model", "--shape", shape, "--out", out],
                              capture_output=True, text=True)
        assert done.returncode == 0, (shape, done.stderr)
        same = subprocess.run([SAME_LOGITS, shape, out], capture_output=True, text=True)
        assert same.returncode == 0, (shape, same.stderr)
        assert (json.loads((out / "generation_config.json").read_text())["eos_token_id"]
                == [256, 258])
        shutil.rmtree(out)

    for shape in ("tiny", *GGUF):
        out = Path(temporary) / f"{shape}.gguf"
        done = subprocess.run([BENCH, "make-model", "--shape", shape, "--gguf", "F32",
                               "--out", out], capture_output=True, text=True)
        assert done.returncode == 0, (shape, done.stderr)
        same = subprocess.run([SAME_LOGITS, shape, out], capture_output=True, text=True)
        assert same.returncode == 0, (shape, same.stderr)
    assert not list(Path(temporary).glob("*.part"))

    words = Path(temporary) / "words.gguf"
    assert make("--gguf", "Q8_0", "--tokenizer", TALE, "--out", words).returncode == 0
    generated = subprocess.run([BENCH, "generate", "--model", words, "--dtype", "q8",
                                "--prompt", "Once upon", "--max-new", "4"],
                               check=True, capture_output=True, text=True)
    assert len(json.loads(generated.stdout)["tokens"]) == 4

    assert make("--out", brief, "--dtype", "bf16").returncode == 0
    for name, (dtype, shape, data) in read_safetensors(brief / "model.safetensors").items():
        assert (dtype == "BF16" and shape == tensors[name][1]
                and data == rounded(tensors[name][2])), name

    assert make("--out", other, "--seed", "2").returncode == 0
    different = read_safetensors(other / "model.safetensors")
    assert all(different[name][2] != tensors[name][2] for name in tensors)
    assert subprocess.run([SAME_LOGITS, "tiny", other], capture_output=True).returncode in (1, 2)

    again = make("--out", exact)
    assert again.returncode in (1, 2) and "already exists" in again.stderr
    for options, reason in (
            (["--out", f"{temporary}/a", "--dtype", "q8"], "--dtype"), ([], "--out"),
            (["--out", f"{temporary}/b", "--shape", "huge"], "gpt2-xl"),
            (["--gguf", "Q4_K"], "--out: name the file"),
            (["--out", f"{temporary}/d", "--encode"], "only with"),
            (["--out", f"{temporary}/d", "--gguf", "IQ4_XS", "--encode"], "no encoder of IQ4_XS"),
            (["--out", words, "--gguf", "Q4_K"], "already exists"),
            (["--out", f"{temporary}/d.gguf", "--gguf", "Q9_0"], "Q8_0"),
            (["--out", f"{temporary}/d.gguf", "--gguf", "F32", "--dtype", "f32"],
             "--dtype and --gguf"),
            (["--out", f"{temporary}/d.gguf", "--gguf", "F32", "--shape", "tiny-gptj"],
             "no GGUF files of gptj"),
            (["--out", f"{temporary}/d", "--shape", "tiny-deepseek_v2"], "with --gguf only"),
            (["--out", f"{temporary}/c", "--tokenizer", temporary], "tokenizer"),
            (["--out", f"{temporary}/no/d"], "No such file")):
        refused = make(*options)
        assert refused.returncode in (1, 2) and reason in refused.stderr, (options, refused.stderr)
