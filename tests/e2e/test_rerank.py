"""Documents are scored for a query on every route, as a reference in float64 scores them."""
import json
import math
import shutil
import sys

import pytest
from fleet import ROOT, Fleet
from test_encoders import expected, fleet_of

sys.path.insert(0, str(ROOT / "tests/reference"))
import model as reference  # noqa: E402

RERANKERS = ["bert-rerank", "xlm-roberta-rerank", "xlm-roberta-rerank-F16.gguf"]
QUESTION = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>'
    "user\n<Instruct>: {}\n<Query>: {}\n<Document>: {}<|im_end|>\n<|im_start|>assistant\n<think>\n"
    "\n</think>\n\n")
WEB = "Given a web search query, retrieve relevant passages that answer the query"


@pytest.fixture(scope="module")
def fleet():
    with fleet_of("xlm-roberta-rerank", "--dtype", "f32") as started:
        yield started


@pytest.fixture(scope="module")
def told():
    return expected("xlm-roberta-rerank")


def by_index(results, key="relevance_score"):
    assert [result[key] for result in results] == sorted(
        (result[key] for result in results), reverse=True)
    return [result[key] for result in sorted(results, key=lambda result: result["index"])]


def near(scores, wanted):
    return len(scores) == len(wanted) and all(
        abs(score - other) < 1e-5 for score, other in zip(scores, wanted))


@pytest.mark.parametrize("name", RERANKERS)
def test_scores_are_the_references_alone_and_together(name):
    told = expected(name)
    cases = told["cases"]
    texts = [case["document"] for case in cases]
    with fleet_of(name, "--dtype", "f32") as fleet:
        answer = fleet.post("/v1/rerank", {"query": told["query"], "documents": texts})
        together = by_index(answer["results"])
        assert near(together, [case["score"] for case in cases])
        assert answer["usage"]["prompt_tokens"] == sum(len(case["prompt"]) for case in cases)
        alone = [fleet.post("/v1/rerank", {"query": told["query"], "documents": [text]})
                 ["results"][0]["relevance_score"] for text in texts]
        assert alone == together
        raw = fleet.post("/rerank", {"query": told["query"], "texts": texts, "raw_scores": True})
        assert near(by_index(raw, "score"), [case["logit"] for case in cases])


def test_each_shape_of_a_request_has_its_answer(fleet, told):
    texts = [case["document"] for case in told["cases"]]
    objects = [{"text": text} for text in texts]
    scores = [case["score"] for case in told["cases"]]
    best = max(range(len(scores)), key=scores.__getitem__)
    body = {"query": told["query"], "documents": texts}
    for path, returns in (("/v1/rerank", True), ("/rerank", True), ("/v2/rerank", False),
                          ("/v1/reranking", False), ("/reranking", False)):
        answer = fleet.post(path, {**body, "documents": objects, "model": "xlm-roberta-rerank"})
        assert near(by_index(answer["results"]), scores), path
        assert all(("document" in result) == returns for result in answer["results"]), path
        few = fleet.post(path, {**body, "top_n": 2, "return_documents": not returns})["results"]
        assert len(few) == 2 and few[0]["index"] == best
        assert returns or few[0]["document"] == {"text": texts[best]}
    whole = fleet.post("/rerank", {"query": told["query"], "texts": texts, "return_text": True})
    assert near(by_index(whole, "score"), scores)
    assert [result["text"] for result in whole] == [texts[result["index"]] for result in whole]
    for path in ("/score", "/v1/score"):
        pairs = ({"text_1": told["query"], "text_2": texts}, {"queries": [told["query"]],
                 "documents": texts}, {"text_1": [told["query"]] * len(texts), "text_2": texts})
        for pair in pairs:
            assert near([one["score"] for one in fleet.post(path, pair)["data"]], scores)
        one = fleet.post(path, {"text_1": told["query"], "text_2": texts[0]})["data"]
        assert near([score["score"] for score in one], scores[:1])


def test_a_document_that_is_too_long_is_refused_or_cut_and_told(fleet, told):
    long = {"query": told["query"], "documents": ["well", "well " * 200]}
    assert "documents[1]" in json.dumps(fleet.post("/v1/rerank", long, 400)["error"])
    tei = fleet.post("/rerank", {"query": told["query"], "texts": long["documents"]}, 422)
    assert "texts[1]" in tei["error"]
    cuts = [{"truncate": True}, {"truncate": True, "truncation_direction": "Left"},
            {"truncate_prompt_tokens": 60}, {"truncate_prompt_tokens": -1},
            {"max_tokens_per_doc": 9}]
    for cut in cuts:
        status, answer, headers = fleet.request("POST", "/v1/rerank", {**long, **cut})
        assert status == 200 and "tokens=" in headers["x-baton-dropped"], cut
        assert answer["usage"]["prompt_tokens"] <= 25 + cut.get("truncate_prompt_tokens", 128) % 129
    least = fleet.post("/v1/rerank", {**long, "max_tokens_per_doc": 4})["results"]
    assert near(by_index(least)[:1], [told["cases"][2]["score"]])
    long = {"query": "well " * 200, "documents": ["well"], "truncate": True}
    assert "query" in json.dumps(fleet.post("/v1/rerank", long, 400)["error"])


def test_a_wrong_field_is_refused_by_its_name(fleet):
    fine = {"query": "a", "documents": ["b"]}
    for wrong, name in (({"documents": []}, "documents"), ({"documents": "b"}, "documents"),
                        ({"documents": ["b", 5]}, "documents[1]"),
                        ({"documents": ["b"] * 2049}, "documents"), ({"query": ""}, None),
                        ({"documents": [{"image": "b"}]}, "documents[0]"), ({"query": 5}, "query"),
                        ({"query": None}, "query"), ({"top_n": -1}, "top_n"),
                        ({"instruction": "c"}, "instruction"), ({"model": "gpt"}, "model"),
                        ({"truncation_direction": "up"}, "truncation_direction")):
        error = fleet.post("/v1/rerank", {**fine, **wrong},
                           404 if name == "model" else 400 if name else 200).get("error")
        assert not name or error["param"] == name, (wrong, error)
    for wrong, name in (({"text_1": ["a", "b"]}, "text_1"), ({"text_2": []}, "text_2"),
                        ({"text_2": None}, "text_2"), ({"text_2": ["a", 1]}, "text_2[1]")):
        error = fleet.post("/score", {"text_1": "a", "text_2": ["b"] * 3, **wrong}, 400)["error"]
        assert error["param"] == name
    for path, body in (("/v1/completions", {"prompt": "a"}), ("/v1/embeddings", {"input": "a"})):
        assert "use /v1/rerank" in fleet.post(path, body, 400)["error"]["message"]


def test_a_special_token_in_a_document_is_text(fleet):
    body = {"query": "well", "documents": ["well</s>", "well"]}
    answer = fleet.post("/v1/rerank", body)
    assert answer["usage"]["prompt_tokens"] > 2 * 7


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A decoder with the name and the tokens of Qwen3-Reranker."""
    path = tmp_path_factory.mktemp("model") / "Tiny-Reranker"
    shutil.copytree(ROOT / "tests/fixtures/models/qwen3", path)
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    for token in ("yes", "no"):
        number = vocabulary.pop("".join(merges.pop()).replace(" ", ""))
        vocabulary[token] = number
        tokenizer["added_tokens"].append(dict(
            id=number, content=token, special=False, normalized=False, lstrip=False, rstrip=False,
            single_word=True))
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = json.loads((path / "config.json").read_text())
    config["max_position_embeddings"] = 1024
    (path / "config.json").write_text(json.dumps(config))
    with Fleet(model=path, worker_args=["--dtype", "f32", "--kv-dtype", "f32"]) as started:
        yield started
        started.wait_all_free()


def test_a_decoder_scores_by_the_logits_of_yes_and_no(asked):
    judge = reference.Model(asked.model)
    yes, no = (asked.post("/tokenize", {"text": text})["tokens"] for text in ("yes", "no"))
    documents, query = ["The cat sat.", "no", "A well is deep: yes, it is."], "how deep is it?"
    for extra, instruction in (({}, WEB), ({"instruction": "Judge it."}, "Judge it.")):
        body = {"query": query, "documents": documents, **extra}
        scores = by_index(asked.post("/v1/rerank", body)["results"])
        raw = by_index(asked.post("/v1/rerank", {**body, "raw_scores": True})["results"])
        for text, score, difference in zip(documents, scores, raw):
            ids = asked.post("/tokenize", {"text": QUESTION.format(instruction, query, text)})
            logits = judge.logits(ids["tokens"])[-1]
            wanted = float(logits[yes[0]] - logits[no[0]])
            assert abs(difference - wanted) < 1e-3
            assert abs(score - 1 / (1 + math.exp(-wanted))) < 1e-3
            assert by_index(asked.post("/v1/rerank", {**body, "documents": [text]})["results"]) == [
                score]
    cut = asked.request("POST", "/v1/rerank", {"query": query, "documents": ["a b " * 900],
                                               "truncate": True})
    assert cut[0] == 200 and cut[1]["usage"]["prompt_tokens"] == 1024
    assert "tokens=" in cut[2]["x-baton-dropped"]
    refused = asked.post("/v1/rerank", {"query": query, "documents": ["a b " * 900]}, 400)["error"]
    assert refused["param"] == "documents[0]"


def test_a_model_that_is_no_reranker_says_so():
    with Fleet(prefill=1, decode=1) as fleet:
        error = fleet.post("/v1/rerank", {"query": "a", "documents": ["b"]}, 400)["error"]
        assert (error["param"], error["code"]) == ("model", "model_not_supported")
    with fleet_of("bert-cls") as fleet:
        error = fleet.post("/v1/rerank", {"query": "a", "documents": ["b"]}, 400)["error"]
        assert "use /v1/embeddings" in error["message"]
