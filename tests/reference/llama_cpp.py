"""llama.cpp's library through ctypes: logits of a GGUF file.

Parameter structs are passed as blocks of bytes larger than they are, since the callee reads and
writes only its own size. So the layout of the first fields is enough, and that of the KV cache's
two types, which stand behind two empty pointers.
"""
import contextlib
import ctypes
import fcntl
import os
import platform
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/golden/llama_cpp"
INSTALLED = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin")).parent / "llama-cpp"
F16, F32 = 1, 0
FLASH_ATTENTION_OFF = 0


def install():
    """Installs the library once for concurrent tests, and returns its directory."""
    # Each kind of machine has its package. It is not optional: npm silently leaves an optional one
    # out where Node is older than the package asks for, but its libraries need no Node.
    name = "linux-" + {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with open(INSTALLED / ".lock", "w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        shutil.copytree(SOURCE / name, INSTALLED, dirs_exist_ok=True)
        lock, installed = (INSTALLED / "package-lock.json",
                           INSTALLED / "node_modules/.installed-lock.json")
        if not installed.exists() or installed.read_bytes() != lock.read_bytes():
            done = subprocess.run(["npm", "ci", "--prefer-offline", "--ignore-scripts",
                                   "--no-audit", "--no-fund"],
                                  cwd=INSTALLED, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stdout + done.stderr
            shutil.copy(lock, installed)
    return INSTALLED / "node_modules/@node-llama-cpp" / name / "bins" / name


class Struct(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 512)]

    def raw(self):
        return bytearray(ctypes.string_at(ctypes.addressof(self), ctypes.sizeof(self)))


def context_params(lib, n_context):
    """The library's parameters with n_ctx, n_batch, n_ubatch and n_seq_max set, K and V in float32,
    and no flash attention, the last of four kinds that are all "automatic", -1."""
    params = lib.llama_context_default_params()
    raw = params.raw()
    struct.pack_into("<4I", raw, 0, n_context, n_context, n_context, 1)
    at = raw.index(bytes(16) + struct.pack("<2i", F16, F16)) + 16
    struct.pack_into("<2i", raw, at, F32, F32)
    struct.pack_into("<i", raw, raw.index(b"\xff" * 16) + 12, FLASH_ATTENTION_OFF)
    ctypes.memmove(ctypes.addressof(params), bytes(raw), len(raw))
    return params


@contextlib.contextmanager
def silenced():
    """The library talks to stderr at length."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


class Library:
    def __init__(self, directory):
        """directory: of libllama*.so, libggml*.so and a libggml-cpu-*.so per kind of CPU."""
        directory = Path(directory)
        os.environ["LD_LIBRARY_PATH"] = str(directory)
        for name in ("libggml-base*.so", "libggml.*so", "libllama.*so"):
            path = sorted(directory.glob(name))[0]
            lib = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            if name == "libggml.*so":
                lib.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
                with silenced():
                    lib.ggml_backend_load_all_from_path(str(directory).encode())
        self.lib = lib
        for name, result, arguments in (
                ("llama_model_default_params", Struct, []),
                ("llama_context_default_params", Struct, []),
                ("llama_model_load_from_file", ctypes.c_void_p, [ctypes.c_char_p, Struct]),
                ("llama_init_from_model", ctypes.c_void_p, [ctypes.c_void_p, Struct]),
                ("llama_set_n_threads", None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]),
                ("llama_batch_get_one", Struct, [ctypes.POINTER(ctypes.c_int32), ctypes.c_int32]),
                ("llama_decode", ctypes.c_int32, [ctypes.c_void_p, Struct]),
                ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float),
                 [ctypes.c_void_p, ctypes.c_int32]), ("llama_free", None, [ctypes.c_void_p]),
                ("llama_model_free", None, [ctypes.c_void_p])):
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments

    def logits(self, path, ids, n_vocab):
        """The first half of the ids in one batch, the others one by one. Of the batch only the last
        row counts: [1 + T - T / 2][V]."""
        with silenced():
            model = self.lib.llama_model_load_from_file(str(path).encode(),
                                                        self.lib.llama_model_default_params())
            if not model:
                raise ValueError("llama.cpp does not load the file")
            context = self.lib.llama_init_from_model(model, context_params(self.lib, 256))
            self.lib.llama_set_n_threads(context, 1, 1)
        try:
            return self.rows(context, ids, n_vocab)
        finally:
            self.lib.llama_free(context)
            self.lib.llama_model_free(model)

    def rows(self, context, ids, n_vocab):
        half, rows = len(ids) // 2, []
        for part in [ids[:half]] + [[token] for token in ids[half:]]:
            tokens = (ctypes.c_int32 * len(part))(*part)
            if self.lib.llama_decode(context, self.lib.llama_batch_get_one(tokens, len(part))):
                raise ValueError("llama_decode failed")
            rows.append(np.ctypeslib.as_array(self.lib.llama_get_logits_ith(context, -1),
                                              (n_vocab,)).copy())
        return np.array(rows, np.float64)
