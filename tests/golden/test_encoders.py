"""Every encoder and reranker through the engine, against numbers of an independent float64
reference, in every storage of weights, alone and in a batch."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
import encoders  # noqa: E402

TOOL = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin")) / "golden_vectors"
FIXTURES = ROOT / "tests/fixtures/encoders"
MODELS = sorted(path.name for path in FIXTURES.iterdir()
                if path.is_dir() or path.suffix == ".gguf")
# The greatest error of a vector of length 1, and of a score's logit, by storage. A width of 48 has
# few elements, so that each carries much of a rounding.
TOLERANCE = {"f32": 1e-5, "native": 1e-5, "bf16": 0.03, "q8": 0.08, "q4": 0.3}
TOLERANCE_LOGIT = {"f32": 1e-4, "native": 1e-4, "bf16": 0.1, "q8": 0.3, "q4": 1}


def expected(name):
    path = FIXTURES / name
    beside = path.parent / f"{path.stem}.expected.json"
    return json.loads((path / "expected.json" if path.is_dir() else beside).read_text())


def line(family, case):
    """The request of a case; the second text of a pair begins behind the first separator."""
    separator = 5 if family.startswith("bert") else 2
    first_part = case["prompt"].index(separator) + 1 if "document" in case else 0
    return " ".join(map(str, [first_part, *case["prompt"]])) + "\n"


def run(path, lines, *options):
    done = subprocess.run([TOOL, *options, path], input="".join(lines).encode(),
                          capture_output=True)
    assert not done.returncode, done.stderr.decode()
    return np.frombuffer(done.stdout, "<f4").reshape(len(lines), -1)


@pytest.mark.parametrize("name", MODELS)
def test_a_text_has_the_references_vector(name):
    wanted = expected(name)
    lines = [line(wanted["family"], case) for case in wanted["cases"]]
    storages = ["f32", "bf16", "q8", "q4"] + ["native"] * name.endswith(".gguf")
    for dtype in storages:
        for row, case in zip(run(FIXTURES / name, lines, "--dtype", dtype), wanted["cases"]):
            if "embedding" in case:
                row = row / np.linalg.norm(row.astype(np.float64))
                assert np.abs(row - case["embedding"]).max() <= TOLERANCE[dtype]
            else:
                assert abs(row[0] - case["logit"]) <= TOLERANCE_LOGIT[dtype]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "q8"])
@pytest.mark.parametrize("name", ["bert-cls", "nomic-bert-moe", "embeddinggemma"])
def test_a_text_has_the_same_bits_alone_and_in_a_batch(name, dtype):
    wanted = expected(name)
    lines = [line(wanted["family"], case) for case in wanted["cases"]]
    alone = run(FIXTURES / name, lines, "--dtype", dtype, "--threads", "1")
    together = run(FIXTURES / name, lines, "--dtype", dtype, "--together")
    backwards = run(FIXTURES / name, lines[::-1], "--dtype", dtype, "--together")
    assert alone.tobytes() == together.tobytes() == backwards[::-1].tobytes()


@pytest.mark.parametrize("seed", range(int(os.environ.get("BATON_SEEDS", 3))))
@pytest.mark.parametrize("family", encoders.FAMILIES)
def test_random_encoders_compute_what_the_reference_does(tmp_path, family, seed):
    config, pooling = encoders.write(tmp_path / "model", family, seed)
    judge, rng = encoders.Model(tmp_path / "model"), np.random.default_rng(seed)
    texts = [rng.integers(0, config["vocab_size"], n).tolist() for n in (1, 2, 16, 37, 70)]
    lines = [" ".join(map(str, [0, *ids])) + "\n" for ids in texts]
    wanted = np.array([judge.vector(ids, pooling) for ids in texts])
    for options in (["--threads", "1"], ["--together"], ["--kernels", "portable"]):
        found = run(tmp_path / "model", lines, "--dtype", "f32", *options).astype(float)
        found /= np.linalg.norm(found, axis=-1, keepdims=True)
        assert np.abs(found - wanted).max() <= TOLERANCE["f32"], (options, config, pooling)


# A change of a model's files, and the reason why the model is refused.
REFUSED = [
    ("bert-cls", "config.json", {"position_embedding_type": "relative_key"},
     "position_embedding_type: \"relative_key\" is not supported"),
    ("bert-cls", "config.json", {"is_decoder": True}, "is_decoder: true is not supported"),
    ("bert-cls", "config.json", {"hidden_act": "mish"}, "hidden_act: \"mish\" is not supported"),
    ("bert-cls", "config.json", {"type_vocab_size": 3}, "token_type_embeddings.weight"),
    ("bert-cls", "config.json", {"max_position_embeddings": 64}, "position_embeddings.weight"),
    ("bert-cls", "config.json", {"num_attention_heads": 5}, "num_attention_heads"),
    ("bert-rerank", "config.json", {"id2label": {"0": "a", "1": "b"}},
     "id2label: a classifier of 2 labels is not supported"),
    ("bert-cls", "1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "exactly one of"),
    ("bert-cls", "1_Pooling/config.json", {"pooling_mode_cls_token": False}, "exactly one of"),
    ("bert-cls", "modules.json", [{"type": "sentence_transformers.models.LSTM", "path": "1_LSTM"}],
     "a module of type \"LSTM\" is not supported"),
    ("embeddinggemma", "2_Dense/config.json", {"activation_function": "torch.nn.ReLU"},
     "activation_function: \"torch.nn.ReLU\" is not supported"),
    ("embeddinggemma", "2_Dense/config.json", {"out_features": 95}, "2_Dense.linear.weight"),
    ("embeddinggemma", "2_Dense/config.json", {"bias": True}, "2_Dense.linear.bias is missing"),
    ("embeddinggemma", "modules.json",
     [{"type": "sentence_transformers.models.Dense", "path": "5_Dense"}],
     "dense module \"5_Dense\" is not supported"),
    ("xlm-roberta-cls", "config.json", {"max_position_embeddings": 2}, "max_position_embeddings"),
    ("nomic-bert", "config.json", {"causal": True}, "causal: true is not supported"),
    ("nomic-bert", "config.json", {"prenorm": True}, "prenorm: true is not supported"),
    ("nomic-bert", "config.json", {"use_rms_norm": True}, "use_rms_norm: true is not supported"),
    ("nomic-bert", "config.json", {"parallel_block": True}, "parallel_block: true"),
    ("nomic-bert", "config.json", {"rotary_emb_fraction": 0.5}, "partial_rotary_factor: 0.5"),
    ("nomic-bert", "config.json", {"rotary_emb_interleaved": True}, "rotary_emb_interleaved"),
    ("nomic-bert", "config.json", {"rotary_emb_scale_base": 512}, "rotary_emb_scale_base"),
    ("nomic-bert", "config.json", {"rotary_scaling_factor": 2}, "rotary_scaling_factor"),
    ("nomic-bert-moe", "config.json", {"expert_choice_router": True}, "expert_choice_router"),
    ("nomic-bert-moe", "config.json", {"num_shared_experts": 1}, "num_shared_experts"),
    ("nomic-bert-moe", "config.json", {"moe_top_k": 6}, "num_experts_per_tok"),
    ("nomic-bert-moe", "config.json", {"mlp_fc2_bias": False}, "mlp_fc2_bias"),
]


@pytest.mark.parametrize("name, file, change, reason", REFUSED)
def test_a_variant_that_is_not_computed_is_refused_by_name(tmp_path, name, file, change, reason):
    directory = tmp_path / "model"
    shutil.copytree(FIXTURES / name, directory)
    read = json.loads((directory / file).read_text())
    changed = read + change if isinstance(change, list) else {**read, **change}
    (directory / file).write_text(json.dumps(changed))
    done = subprocess.run([TOOL, directory], input=b"", capture_output=True)
    assert done.returncode and reason in done.stderr.decode()
