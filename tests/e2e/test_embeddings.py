"""Embeddings equal the reference's on every route, whatever happens to the workers."""
import base64
import concurrent.futures
import json
import socket
import sys

import numpy as np
import pytest
from fleet import ROOT, Fleet, wait_for
from javascript import Client

sys.path.insert(0, str(ROOT / "tests/reference"))
import model as reference  # noqa: E402

TEXTS = ["Once upon a time", "there was a fox", "The fox and the hen", "a"]
FLEET = dict(prefill=2, worker_args=["--kv-dtype", "f32"])


def post(fleet, path="/v1/embeddings", expected=200, **body):
    return fleet.post(path, body, expected)


def embed(fleet, **body):
    answer = post(fleet, **body)
    assert [entry["index"] for entry in answer["data"]] == list(range(len(answer["data"])))
    return np.array([entry["embedding"] for entry in answer["data"]])


def ids_of(fleet, text):
    return post(fleet, "/tokenize", text=text)["tokens"]


def length_one(vector):
    return vector / np.linalg.norm(vector)


def pooled(judge, ids, pooling):
    hidden = judge.hidden(ids)
    return hidden[-1] if pooling == "last" else hidden.mean(0)


def test_an_embedding_is_cut_normalised_and_written_as_asked(fleet):
    judge = reference.Model(fleet.model)
    for pooling in ("last", "mean"):
        whole = embed(fleet, input=TEXTS, pooling=pooling)
        for text, vector in zip(TEXTS, whole):
            assert abs(np.linalg.norm(vector) - 1) < 1e-5
            assert np.abs(vector
                          - length_one(pooled(judge, ids_of(fleet, text), pooling))).max() < 1e-4
        short = embed(fleet, input=TEXTS, pooling=pooling, dimensions=8)
        assert short.shape == (len(TEXTS), 8)
        assert np.abs(short - [length_one(vector[:8]) for vector in whole]).max() < 1e-5
        coded = post(fleet, input=TEXTS, pooling=pooling, encoding_format="base64")["data"]
        floats = [np.frombuffer(base64.b64decode(entry["embedding"]), "<f4") for entry in coded]
        assert (np.array(floats) == whole.astype("f4")).all()
    assert (embed(fleet, input=TEXTS) == embed(fleet, input=TEXTS, pooling="last")).all()


def test_ids_are_embedded_as_their_text_is_and_what_is_asked_is_accounted_for(fleet):
    ids = [ids_of(fleet, text) for text in TEXTS]
    before = fleet.metrics()
    answer = post(fleet, input=TEXTS, model="tale", user="someone", encoding_format="float")
    assert answer["object"] == "list" and answer["model"] == "tale"
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] == sum(map(len, ids))
    assert post(fleet, input=ids)["data"] == answer["data"]
    assert (post(fleet, input=ids[0])["data"] == answer["data"][:1]
            == post(fleet, input=TEXTS[0])["data"])
    after = fleet.metrics()
    counts = {name: after[name] - before[name] for name in after if name.endswith("_total")
              and "{" not in name}
    n_tokens = 2 * sum(map(len, ids)) + 2 * len(ids[0])
    assert counts["baton_embeddings_total"] == 2 * len(ids) + 2
    assert counts["baton_prompt_tokens_total"] == n_tokens
    assert counts["baton_output_tokens_total"] == 0
    assert (after['baton_requests_total{outcome="ok"}']
            - before['baton_requests_total{outcome="ok"}'] == 2 * len(ids) + 2)
    assert (after["baton_time_to_first_token_seconds_count"]
            == before["baton_time_to_first_token_seconds_count"])


def test_a_prompt_of_the_whole_context_is_embedded_alike_alone_in_chunks_and_beside_others(fleet):
    prompts = [[(7 * i + k) % 2000 for k in range(n)]
               for i, n in enumerate((512, 300, 17, 511, 64))]
    for pooling in ("last", "mean"):
        alone = [embed(fleet, input=prompt, pooling=pooling, cache_prompt=False)[0]
                 for prompt in prompts]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            beside = [pool.submit(fleet.generate, prompt=prompt[:200], max_new_tokens=20)
                      for prompt in prompts]
            together = embed(fleet, input=prompts * 8, pooling=pooling)
            [future.result() for future in beside]
        assert (together == np.array(alone * 8)).all()
    assert "513 tokens > 512" in post(fleet, expected=400, input=[1] * 513)["error"]["message"]


def test_of_a_long_list_few_wait_at_a_time_so_that_others_pass(fleet):
    """2048 texts, which a queue of 64 holds because they come 32 at a time."""
    with Fleet(gateway_args=["--max-queued", 64]) as small:
        texts = [[i % 2000, (i * 7) % 2000] for i in range(2048)]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            long = pool.submit(embed, small, input=texts)
            wait_for(lambda: long.done() or small.open(), "the list")
            n_open = small.open()
            small.generate(prompt="Once", max_new_tokens=2)
            found = long.result()
        assert n_open <= 2048 and (found[:3] == embed(small, input=texts[:3])).all()
        assert post(small, expected=400, input=[[1]] * 2049)["error"]["param"] == "input"


def test_a_worker_that_dies_midway_changes_no_value():
    prompts = [[(11 * i + k) % 2000 for k in range(400)] for i in range(12)]
    with Fleet(prefill=2, prefill_args=["--chunk", 32]) as two:
        expected = {pooling: embed(two, input=prompts, pooling=pooling, cache_prompt=False)
                    for pooling in ("last", "mean")}
        for name, pooling in (("prefill-0", "last"), ("prefill-1", "mean")):
            retries = two.metrics()["baton_retries_total"]

            def ask(pooling=pooling):
                return [pool.submit(embed, two, input=prompts, pooling=pooling, cache_prompt=False)]
            with concurrent.futures.ThreadPoolExecutor() as pool:
                [future] = two.pause_at_work(name, ask, lambda: True)
                two.workers[name].kill()
                assert (future.result() == expected[pooling]).all()
            assert two.metrics()["baton_retries_total"] > retries
            two.start_worker("prefill", name)
            two.wait_ready(3)


def test_a_client_that_leaves_stops_its_embeddings(fleet):
    body = json.dumps({"input": [[(i + k) % 2000 for k in range(500)]
                                 for i in range(200)], "cache_prompt": False}).encode()
    before = fleet.metrics()['baton_requests_total{outcome="canceled"}']
    with socket.create_connection(("127.0.0.1", fleet.port)) as client:
        client.sendall(b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        client.sendall(body)
        wait_for(fleet.open, "the texts to be queued")
    wait_for(lambda: not fleet.open(), "nothing to be left")
    assert fleet.metrics()['baton_requests_total{outcome="canceled"}'] > before
    fleet.check_kv_accounts()


@pytest.mark.parametrize("body, words", [
    ({}, "input: required"),
    ({"input": {"a": 1}},
     "input: must be a string, an array of token ids or an array of either, not object"),
    ({"input": []}, "input: must hold at least one token"),
    ({"input": ["a", 5.5]}, "input[1]: must be a string or an array of token ids"),
    ({"input": ["a", 5, -1]}, "input[2]: must be a token id from 0 to 2559 or a string"),
    ({"input": [[5], []]}, "input[1]: must hold at least one token"),
    ({"input": [1, 2560]}, "input[1]: must be a token id from 0 to 2559"),
    ({"input": "a", "pooling": "cls"}, 'pooling: must be "last" or "mean"'),
    ({"input": "a", "encoding_format": "hex"}, 'encoding_format: must be "float" or "base64"'),
    ({"input": "a", "dimensions": 0}, "dimensions: must be an integer from 1 to 256, not 0"),
    ({"input": "a", "dimensions": 257}, "dimensions: must be an integer from 1 to 256, not 257"),
    ({"input": [1] * 513}, "input: prompt is too long"),
    ({"input": [[1]] * 2049}, "input: must hold at most 2048 prompts, not 2049"),
])
def test_what_is_wrong_is_named(fleet, body, words):
    message = post(fleet, expected=400, **body)["error"]["message"]
    assert words in message, message


def test_a_fleet_without_prefill_workers_makes_none():
    with Fleet(prefill=0) as decode:
        wait_for(lambda: decode.fleet() and decode.worker("decode-0")["state"] == "ready",
                 "the worker")
        answer = post(decode, expected=503, input="a")
        assert answer["error"]["code"] == "no_worker" and "prefill" in answer["error"]["message"]


# ---- what models say ----

def test_a_model_says_how_it_pools_and_whether_it_was_trained_to(fleet, tmp_path):
    assert fleet.request("GET", "/v1/models")[1]["data"][0]["embeddings"] == {
        "pooling": "last", "trained": False, "dimensions": 256, "prompts": None}
    assert post(fleet, "/api/show")["capabilities"] == ["completion"]
    for file in fleet.model.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "modules.json").write_text(
        json.dumps([{"type": f"sentence_transformers.models.{name}"}
                    for name in ("Transformer", "Pooling", "Normalize")]))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling/config.json").write_text(
        '{"pooling_mode_mean_tokens": true, "pooling_mode_lasttoken": false}')
    with Fleet(model=tmp_path, worker_args=["--kv-dtype", "f32"]) as trained:
        assert trained.request("GET", "/v1/models")[1]["data"][0]["embeddings"]["trained"]
        assert "embedding" in post(trained, "/api/show")["capabilities"]
        assert (embed(trained, input=TEXTS) == embed(fleet, input=TEXTS, pooling="mean")).all()


# ---- other clients' routes ----

def test_ollamas_routes(fleet):
    expected = embed(fleet, input=TEXTS)
    answer = post(fleet, "/api/embed", input=TEXTS, model="tale:latest", keep_alive="5m",
                  options={"num_ctx": 512})
    assert (np.array(answer["embeddings"]) == expected).all()
    assert answer["prompt_eval_count"] == sum(len(ids_of(fleet, text)) for text in TEXTS)
    assert answer["total_duration"] > 0
    assert (post(fleet, "/api/embed", input=TEXTS[0])["embeddings"] == expected[:1]).all()
    for nothing in ({}, {"input": ""}, {"input": []}):
        assert post(fleet, "/api/embed", **nothing)["embeddings"] == []
    assert post(fleet, "/api/embeddings")["embedding"] == []
    raw = np.array(post(fleet, "/api/embeddings", prompt=TEXTS[0])["embedding"])
    assert abs(np.linalg.norm(raw) - 1) > 0.1 and np.abs(length_one(raw) - expected[0]).max() < 1e-5
    long = "fox " * 600
    assert len(post(fleet, "/api/embed", input=long)["embeddings"][0]) == 256
    refused = post(fleet, "/api/embed", expected=400, input=long, truncate=False)
    assert "too long" in refused["error"]


def test_the_official_clients_are_served(fleet):
    expected = json.dumps(post(fleet, input=TEXTS)["data"])
    Client("openai").drive(fleet, "embeddings.test.mjs", "/v1", EXPECTED=expected,
                           TEXTS=json.dumps(TEXTS))
    Client("clients").drive(fleet, "embed.test.mjs", EXPECTED=expected, TEXTS=json.dumps(TEXTS))
