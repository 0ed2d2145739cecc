"""Encoders and rerankers through a gateway and prefill workers alone."""
import contextlib
import json

import numpy as np
import pytest
from baton_program import Up
from fleet import ROOT, Fleet

MODELS = ROOT / "tests/fixtures/encoders"
EMBEDDERS = ["bert-cls", "bert-mean", "bert-cls-F16.gguf", "xlm-roberta-cls", "nomic-bert",
             "nomic-bert-moe", "embeddinggemma", "embeddinggemma-last"]


def expected(name):
    path = MODELS / name
    beside = MODELS / f"{path.stem}.expected.json"
    return json.loads((path / "expected.json" if path.is_dir() else beside).read_text())


@contextlib.contextmanager
def fleet_of(name, *args):
    with Fleet(model=MODELS / name, decode=0, worker_args=args) as fleet:
        fleet.wait_ready(1)
        yield fleet


def embed(fleet, **body):
    return np.array([entry["embedding"] for entry in fleet.post("/v1/embeddings", body)["data"]])


@pytest.mark.parametrize("name", EMBEDDERS)
def test_texts_and_ids_have_the_references_vectors(name):
    cases = expected(name)["cases"]
    with fleet_of(name, "--dtype", "f32") as fleet:
        together = embed(fleet, input=[case["prompt"] for case in cases])
        for vector, case in zip(together, cases):
            assert np.abs(vector - case["embedding"]).max() <= 1e-5
            assert (embed(fleet, input=case["prompt"])[0] == vector).all()
        texts = [case for case in cases if "text" in case]
        assert texts
        for vector, case in zip(embed(fleet, input=[case["text"] for case in texts]), texts):
            assert np.abs(vector - case["embedding"]).max() <= 1e-5
        half = embed(fleet, input=cases[0]["prompt"], dimensions=16)[0]
        wanted = np.array(cases[0]["embedding"])[:16]
        assert np.abs(half - wanted / np.linalg.norm(wanted)).max() <= 1e-5


def test_a_fleet_of_an_encoder_needs_no_decode_worker_and_generates_nothing():
    with fleet_of("bert-cls") as fleet:
        assert fleet.request("GET", "/ready")[1]["decode"] == 0
        card = fleet.request("GET", "/v1/models")[1]["data"][0]
        assert card["embeddings"] == {"pooling": "cls", "trained": True, "dimensions": 48}
        for path, body in [("/v1/completions", {"prompt": "Hello"}),
                           ("/generate", {"prompt": "Hello"}),
                           ("/completion", {"prompt": "Hello"})]:
            problem = fleet.post(path, body, 400)["error"]
            assert "it is an encoder" in json.dumps(problem)
        long = fleet.post("/v1/embeddings", {"input": [[5] * 129]}, 400)["error"]
        assert "128" in json.dumps(long)


@pytest.mark.parametrize("name, example", [("bert-cls", "/v1/embeddings"),
                                           ("xlm-roberta-rerank", "/v1/rerank")])
def test_baton_up_of_an_encoder_starts_no_decode_worker(tmp_path, name, example):
    with Up(tmp_path / "state", "--model", MODELS / name) as up:
        up.wait_ready()
        told = "".join(up.seen)
        assert "needs no decode worker" in told and example in told
        assert {path.stem for path in up.state.glob("*.pid")} == {"gateway", "prefill-0"}
