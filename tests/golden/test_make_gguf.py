"""llama.cpp reads what `baton-bench make-model --gguf` writes: every type, and common families.

llama.cpp rounds the factors of blocks to 8 bits, so its logits are only near those of the same
weights in f32.
"""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import engine  # noqa: E402
import llama_cpp  # noqa: E402

BIN = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin"))
TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K",
         "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4", "NVFP4", "Q1_0", "Q2_0", "TQ1_0", "TQ2_0",
         "IQ3_XXS", "IQ3_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_S", "IQ1_M",
         "Q4_K_M", "Q5_K_M", "MXFP4_MOE")
FAMILIES = ("tiny", "tiny-llama", "tiny-mixtral", "tiny-qwen2", "tiny-qwen2_moe", "tiny-qwen3",
            "tiny-gemma", "tiny-gemma4", "tiny-gemma4_moe", "tiny-phi", "tiny-granite",
            "tiny-granitemoe", "tiny-granitemoeshared", "tiny-olmo2", "tiny-cohere2", "tiny-glm4",
            "tiny-minicpm", "tiny-seed_oss", "tiny-ernie4_5", "tiny-arcee", "tiny-olmo3",
            "tiny-qwen3_5_text", "tiny-qwen3_5_moe_text", "tiny-qwen3_next", "tiny-deepseek_v2",
            "tiny-granitemoehybrid_mamba", "tiny-nemotron_h", "tiny-lfm2", "tiny-lfm2_moe")
IDS = [i * i * 31 % 2560 for i in range(40)]
V = 2560
# The rms of the difference over that of the logits. llama.cpp's GELU is a table.
ROUNDED, EXACT, GELU = 0.05, 2e-3, 2e-2


@pytest.fixture(scope="module")
def library():
    return llama_cpp.Library(llama_cpp.install())


def make(path, shape, kind, *options):
    subprocess.run([BIN / "baton-bench", "make-model", "--shape", shape, "--gguf", kind,
                    "--out", path, *options], check=True)
    return path


def difference(library, path):
    """The relative difference of both programs' logits, and the spread of llama.cpp's."""
    theirs = library.logits(path, IDS, V)
    [ours] = engine.ask(path, [("score", IDS)], V, "--dtype", "f32")
    return np.std(theirs - ours[len(IDS) // 2 - 1:]) / theirs.std(), theirs.std()


@pytest.mark.parametrize("kind", TYPES)
def test_both_compute_alike_with_every_type(library, tmp_path, kind):
    error, spread = difference(library, make(tmp_path / "model.gguf", "tiny-blocks", kind))
    assert error < (EXACT if kind == "F32" else ROUNDED) and 0.1 < spread < 10, (error, spread)


@pytest.mark.parametrize("kind, most", [("Q8_0", 0.02), ("Q5_1", 0.1), ("Q4_0", 0.3),
                                        ("Q4_K_M", 0.3), ("Q6_K", 0.05)])
def test_encoded_weights_are_near_those_of_the_shape(tmp_path, kind, most):
    files = [make(tmp_path / name, "tiny-blocks", name, "--encode") for name in ("F32", kind)]
    exact, rounded = (engine.ask(path, [("score", IDS)], V, "--dtype", "f32")[0] for path in files)
    assert 0 < np.std(rounded - exact) / exact.std() < most


@pytest.mark.parametrize("shape", FAMILIES)
def test_both_compute_alike_in_every_family(library, tmp_path, shape):
    error, spread = difference(library, make(tmp_path / "model.gguf", shape, "F32"))
    assert error < GELU and spread > 0.05, (error, spread)
