"""Baton, the reference and ggml's library decode blocks of every type to the same bits."""
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import blocks  # noqa: E402
import llama_cpp  # noqa: E402

BIN = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin"))
COUNT = int(os.environ.get("BATON_BLOCKS", 3000))
SPECIAL = np.array([0, 0x8000, 1, 0x83ff, 0x3c00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00], "<u2")


def random_blocks(name, n, seed):
    """The first hundred have special scales; of all others some are infinite or no numbers too."""
    kind, rng = blocks.TYPES[name], np.random.default_rng(seed)
    raw = rng.integers(0, 256, (n, kind.n_bytes), np.uint8)
    at = 0
    for field, n_bytes in blocks.FIELDS.get(name, ()):
        if field in ("d", "m", "dmin"):
            raw[:100, at:at + 2] = rng.choice(SPECIAL, 100).view(np.uint8).reshape(-1, 2)
        at += n_bytes
    return raw.tobytes()


def decoded(name, raw):
    done = subprocess.run([BIN / "golden_blocks", name], input=raw, capture_output=True, check=True)
    return np.frombuffer(done.stdout, "<f4")


def assert_same_bits(ours, theirs):
    assert ours.shape == theirs.shape
    same = (ours.view("<u4") == theirs.view("<u4")) | (np.isnan(ours) & np.isnan(theirs))
    assert same.all(), f"{(~same).sum()} of {same.size} differ, the first at {np.argmin(same)}"


class TypeTraits(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("n_values", ctypes.c_int64), ("interleave", ctypes.c_int64),
        ("n_bytes", ctypes.c_size_t), ("is_quantized", ctypes.c_bool),
        ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64))]


@pytest.fixture(scope="module")
def traits():
    """ggml's description of the type of a number."""
    lib = ctypes.CDLL(str(sorted(llama_cpp.install().glob("libggml-base*.so"))[0]))
    lib.ggml_get_type_traits.restype = ctypes.POINTER(TypeTraits)
    return lambda number: lib.ggml_get_type_traits(number).contents


def test_both_tables_name_the_same_types():
    listed = subprocess.run([BIN / "golden_blocks"], capture_output=True, check=True,
                            text=True).stdout
    ours = {name: tuple(map(int, numbers))
            for name, *numbers in map(str.split, listed.splitlines())}
    assert ours == {name: (kind.id, kind.n_values, kind.n_bytes)
                    for name, kind in blocks.TYPES.items()}


@pytest.mark.parametrize("name", blocks.TYPES)
def test_the_reference_decodes_the_same(name):
    raw = random_blocks(name, COUNT, 1)
    assert_same_bits(decoded(name, raw), blocks.decode(name, raw))


@pytest.mark.parametrize("name", blocks.TYPES)
def test_ggml_decodes_the_same(name, traits):
    kind = blocks.TYPES[name]
    theirs = traits(kind.id)
    assert theirs.name.decode().upper() == name
    assert (theirs.n_values, theirs.n_bytes) == (kind.n_values, kind.n_bytes)
    for first in range(0, COUNT, 100000):
        n = min(COUNT - first, 100000)
        raw, floats = random_blocks(name, n, first + 2), np.empty(n * kind.n_values, "<f4")
        if name == "F32":  # has no function
            floats[:] = np.frombuffer(raw, "<f4")
        else:
            theirs.to_float(raw, floats.ctypes.data, floats.size)
        assert_same_bits(decoded(name, raw), floats)


@pytest.mark.parametrize("name", [name for name, kind in blocks.TYPES.items() if kind.n_groups])
def test_encoded_values_are_near(name):
    values = np.random.default_rng(3).standard_normal((8, 512))
    error = blocks.decode(name, blocks.encode(name, values)).reshape(values.shape) - values
    bound = dict(Q8_0=.006, Q6_K=.02, Q5_K=.04, Q5_1=.04, Q5_0=.05, MXFP4=.12, Q3_K=.16,
                 Q2_K=.35, NVFP4=.12, IQ3_XXS=.22, IQ3_S=.2, IQ2_XXS=.5, IQ2_XS=.5, IQ2_S=.5,
                 IQ1_S=.7, IQ1_M=.7, TQ1_0=.9, TQ2_0=.9, Q2_0=.9, Q1_0=.7).get(name, .09)
    assert np.sqrt((error ** 2).mean()) < bound
