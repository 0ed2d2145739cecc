"""Encoders and rerankers through a gateway and prefill workers alone."""
import contextlib
import json
import shutil

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
        assert card["embeddings"] == {"pooling": "cls", "trained": True, "dimensions": 48,
                                      "prompts": None}
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


@pytest.fixture(scope="module")
def prompted(tmp_path_factory):
    """A model whose files name prompts."""
    path = tmp_path_factory.mktemp("model") / "bert-mean"
    shutil.copytree(MODELS / "bert-mean", path)
    (path / "config_sentence_transformers.json").write_text(json.dumps({
        "prompts": {"search_query": "search_query: ", "Retrieval-document": "title: none | "}}))
    with Fleet(model=path, decode=0) as fleet:
        fleet.wait_ready(1)
        yield fleet


def test_the_models_own_prompts_are_put_before_texts_and_told(prompted):
    assert prompted.request("GET", "/v1/models")[1]["data"][0]["embeddings"]["prompts"] == {
        "search_query": "search_query: ", "Retrieval-document": "title: none | "}
    for asked, name, before in (({"input_type": "query"}, "search_query", "search_query: "),
                                ({"prompt_name": "search_query"}, "search_query", "search_query: "),
                                ({"input_type": "passage"}, "Retrieval-document", "title: none | "),
                                ({}, None, "")):
        wanted = embed(prompted, input=[f"{before}Hello", f"{before}you"])
        status, answer, headers = prompted.request("POST", "/v1/embeddings", {
            "input": ["Hello", "you"], **asked})
        assert status == 200 and headers.get("x-baton-prompt") == name
        assert ([entry["embedding"] for entry in answer["data"]] == wanted).all()
        assert (prompted.post("/embed", {"inputs": ["Hello", "you"], **asked}) == wanted).all()
    for wrong, name in (({"input_type": "clustering"}, "input_type"), ({"prompt_name": "no"},
                        "prompt_name"), ({"prompt_name": "search_query", "input_type": "query"},
                        "input_type"), ({"input": [5], "prompt_name": "search_query"}, "input")):
        error = prompted.post("/v1/embeddings", {"input": "Hello", **wrong}, 400)["error"]
        assert error["param"] == name, error


def test_tei_routes(prompted):
    case = next(case for case in expected("bert-mean")["cases"] if "text" in case)
    one = prompted.post("/embed", {"inputs": case["prompt"]})
    assert np.abs(np.array(one) - [case["embedding"]]).max() < 1e-3
    raw = np.array(prompted.post("/embed", {"inputs": case["prompt"], "normalize": False})[0])
    assert np.abs(raw / np.linalg.norm(raw) - one[0]).max() < 1e-6
    info = prompted.request("GET", "/info")[1]
    assert info["model_type"] == {"embedding": {"pooling": "mean"}}
    assert "> 128 maximum" in prompted.post("/embed", {"inputs": "a " * 300}, 422)["error"]
    first, last = case["prompt"][0], case["prompt"][-1]
    middle = [5 + i % 300 for i in range(300)]
    for side, kept in (("Right", middle[:126]), ("left", middle[-126:])):
        status, answer, headers = prompted.request("POST", "/embed", {
            "inputs": [first, *middle, last], "truncate": True, "truncation_direction": side})
        assert status == 200 and headers["x-baton-dropped"] == "messages=0, tokens=174"
        assert answer == prompted.post("/embed", {"inputs": [first, *kept, last]})


def test_each_kind_of_model_is_told():
    for name, kind, capabilities in (("bert-cls", "embedding", ["embedding"]),
                                     ("xlm-roberta-rerank", "reranker", [])):
        with fleet_of(name) as fleet:
            assert fleet.request("GET", "/v1/models")[1]["data"][0]["kind"] == kind
            assert fleet.post("/api/show", {"model": name})["capabilities"] == capabilities
            assert "model_type" in fleet.request("GET", "/info")[1]
