"""Wrong input gets the documented answer, and the next request is served."""
import json
import random

import pytest
from fleet import Fleet

import malformed_http

STORY = "Once upon a time"


@pytest.fixture(scope="module")
def fleet():
    with Fleet() as started:
        yield started
        started.generate(prompt=STORY)
        started.wait_all_free()


BAD_FIELDS = [
    ({}, "prompt", "missing_field"),
    ({"prompt": None}, "prompt", "missing_field"),
    ({"prompt": 5}, "prompt", "invalid_type"),
    ({"prompt": []}, "prompt", "invalid_value"),
    ({"prompt": [2560]}, "prompt", "out_of_range"),
    ({"prompt": [-1]}, "prompt", "out_of_range"),
    ({"prompt": [1.5]}, "prompt", "out_of_range"),
    ({"prompt": "a " * 4000}, "prompt", "context_length_exceeded"),
    ({"prompt": [1] * 513}, "prompt", "context_length_exceeded"),
    ({"max_new_tokens": 0}, "max_new_tokens", "out_of_range"),
    ({"max_new_tokens": 513}, "max_new_tokens", "out_of_range"),
    ({"max_new_tokens": 512}, "max_new_tokens", "context_length_exceeded"),
    ({"max_new_tokens": 2.5}, "max_new_tokens", "invalid_type"),
    ({"max_new_tokens": "9"}, "max_new_tokens", "invalid_type"),
    ({"max_new_tokens": True}, "max_new_tokens", "invalid_type"),
    ({"temperature": -0.1}, "temperature", "out_of_range"),
    ({"temperature": 100.5}, "temperature", "out_of_range"),
    ({"temperature": "hot"}, "temperature", "invalid_type"),
    ({"top_k": -1}, "top_k", "out_of_range"),
    ({"top_p": -0.01}, "top_p", "out_of_range"),
    ({"top_p": 1.01}, "top_p", "out_of_range"),
    ({"min_p": -0.1}, "min_p", "out_of_range"),
    ({"top_n_sigma": -1.1}, "top_n_sigma", "out_of_range"),
    ({"top_n_sigma": "1"}, "top_n_sigma", "invalid_type"),
    ({"typical_p": 0}, "typical_p", "out_of_range"),
    ({"typical_p": 1.01}, "typical_p", "out_of_range"),
    ({"min_p": 1.01}, "min_p", "out_of_range"),
    ({"min_p": "1"}, "min_p", "invalid_type"),
    ({"repetition_penalty": 0}, "repetition_penalty", "out_of_range"),
    ({"repetition_penalty": []}, "repetition_penalty", "invalid_type"),
    ({"presence_penalty": 2.1}, "presence_penalty", "out_of_range"),
    ({"presence_penalty": {}}, "presence_penalty", "invalid_type"),
    ({"frequency_penalty": -2.1}, "frequency_penalty", "out_of_range"),
    ({"frequency_penalty": False}, "frequency_penalty", "invalid_type"),
    ({"min_tokens": -1}, "min_tokens", "out_of_range"),
    ({"min_tokens": 1.5}, "min_tokens", "invalid_type"),
    ({"logit_bias": 1}, "logit_bias", "invalid_type"),
    ({"logit_bias": [1]}, "logit_bias", "invalid_type"),
    ({"logit_bias": [[2560, 1]]}, "logit_bias", "invalid_type"),
    ({"logit_bias": [[5, 1, 2]]}, "logit_bias", "invalid_type"),
    ({"logit_bias": [[5, 101]]}, "logit_bias", "out_of_range"),
    ({"logit_bias": [["the", True]]}, "logit_bias", "out_of_range"),
    ({"logit_bias": [["the fox " * 999, 1]]}, "logit_bias", "invalid_value"),
    ({"logit_bias": {"2560": 1}}, "logit_bias", "out_of_range"),
    ({"logit_bias": {"the fox " * 999: 1}}, "logit_bias", "invalid_value"),
    ({"logit_bias": {"the": 101}}, "logit_bias", "out_of_range"),
    ({"logit_bias": {"5": 100.1}}, "logit_bias", "out_of_range"),
    ({"logit_bias": {"5": "up"}}, "logit_bias", "out_of_range"),
    ({"speculation": "prompt_lookup"}, "speculation", "invalid_type"),
    ({"speculation": {"mode": "magic"}}, "speculation", "invalid_value"),
    ({"speculation": {"mode": 1}}, "speculation", "invalid_value"),
    ({"speculation": {"max_tokens": 0}}, "speculation", "out_of_range"),
    ({"speculation": {"max_tokens": 17}}, "speculation", "out_of_range"),
    ({"speculation": {"max_tokens": 3, "min_tokens": 4}}, "speculation", "out_of_range"),
    ({"speculation": {"max_tokens": "8"}}, "speculation", "invalid_type"),
    ({"speculation": {"tokens": 8}}, "speculation", "invalid_value"),
    ({"explain": 21}, "explain", "out_of_range"),
    ({"explain": -1}, "explain", "out_of_range"),
    ({"explain": True}, "explain", "invalid_type"),
    ({"seed": -1}, "seed", "out_of_range"),
    ({"stop": 5}, "stop", "invalid_type"),
    ({"stop": ["", "a"]}, "stop", "out_of_range"),
    ({"stop": ["x"] * 17}, "stop", "out_of_range"),
    ({"stop": ["x" * 300]}, "stop", "out_of_range"),
    ({"stop_token_ids": [99999]}, "stop_token_ids", "out_of_range"),
    ({"kv_cache": 1}, "kv_cache", "invalid_type"),
    ({"cache_prompt": "no"}, "cache_prompt", "invalid_type"),
    ({"cache_prompt": 0}, "cache_prompt", "invalid_type"),
    ({"timeline": "yes"}, "timeline", "invalid_type"),
    ({"temprature": 1}, "temprature", "unknown_field"),
]


@pytest.mark.parametrize("path", ["/generate", "/generate/stream"])
@pytest.mark.parametrize("fields,param,code", BAD_FIELDS, ids=lambda v: json.dumps(v)[:40])
def test_a_bad_field_is_named(fleet, path, fields, param, code):
    body = fields if "prompt" in fields or not fields else {"prompt": STORY, **fields}
    status, answer, _ = fleet.request("POST", path, body)
    error = answer["error"]
    assert status == 400 and error["type"] == "invalid_request_error"
    assert error["param"] == param and error["code"] == code, error
    assert param in error["message"]


@pytest.mark.parametrize("prompt",
                         [[[1], []], [[1], [2560]], [[1], 2], [[1], True], [[[1]]], [[1]] * 65,
                          [[5] * 511, [5] * 512]], ids=lambda v: json.dumps(v)[:40])
def test_a_bad_prompt_in_a_batch_is_refused_with_all_of_it(fleet, prompt):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": prompt})
    assert status == 400 and answer["error"]["param"].startswith("prompt"), answer
    assert "prompt" in answer["error"]["message"]


def test_a_stream_is_of_one_prompt(fleet):
    status, answer, _ = fleet.request("POST", "/generate/stream", {"prompt": [[1], [2]]})
    assert status == 400 and answer["error"]["param"] == "prompt"


def test_paths_methods_and_types(fleet):
    assert fleet.request("GET", "/nowhere")[0] == 404
    status, _, headers = fleet.request("GET", "/generate")
    assert status == 405 and headers["Allow"] == "POST"
    assert fleet.request("POST", "/health", "{}")[0] == 405
    status, answer, _ = fleet.request("POST", "/generate", "prompt=x",
                                      {"Content-Type": "application/x-www-form-urlencoded"})
    assert status == 415
    assert fleet.request("POST", "/generate", "x" * (2 << 20))[0] == 413
    status, answer, _ = fleet.request("POST", "/generate",
                                      '{"prompt":"a","seed":18446744073709551616}')
    assert status == 400 and answer["error"]["code"] == "out_of_range"
    assert answer["error"]["param"] == "seed"


def test_large_bodies_are_parsed_beside_the_loop(fleet):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": STORY, "stop": "x" * 200000})
    assert status == 400 and answer["error"]["param"] == "stop"
    text = STORY + " " * 100000
    answer = fleet.post("/tokenize", {"text": text})
    assert fleet.request("POST", "/detokenize", {"tokens": answer["tokens"]})[1]["text"] == text


def mutate(rng, text):
    """A JSON text, broken (or not) in one of many ways."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        kind, at = rng.randrange(6), rng.randrange(len(data) or 1)
        if kind == 0:
            del data[at:at + rng.randint(1, 5)]
        elif kind == 1:
            data.insert(at, rng.randrange(256))
        elif kind == 2 and data:
            data[at] = rng.randrange(256)
        elif kind == 3:
            data[at:at] = rng.choice([b'{', b'[', b'"', b'\\u0000', b'1e999', b'\xff', b'null',
                                      b'[' * 3000])
        elif kind == 4:
            data = data[:at]
        else:
            data += data[:at]
    return bytes(data)


def test_1000_malformed_bodies_get_400_or_are_valid_after_all(fleet):
    rng = random.Random(1)
    seeds = [json.dumps({"prompt": STORY, "max_new_tokens": 2, **extra}) for extra in (
        {}, {"temperature": 0, "stop": ["a", "b"]}, {"top_k": 3, "seed": 5, "kv_cache": False})]
    statuses = {}
    for _ in range(1000):
        body = mutate(rng, rng.choice(seeds))
        status, answer, _ = fleet.request("POST", "/generate", body)
        assert status in (200, 400), (status, body)
        if status == 400:
            assert set(answer["error"]) == {"message", "type", "param", "code"}, body
        else:
            json.loads(body)  # what was accepted is JSON by another parser's word too
        statuses[status] = statuses.get(status, 0) + 1
    assert statuses[400] > 700
    assert fleet.generate(prompt=STORY)["output_tokens"] == 20


def test_malformed_http_gets_its_documented_answer(fleet):
    failures = malformed_http.run("127.0.0.1", fleet.port)
    assert not failures, failures
    assert fleet.generate(prompt=STORY)["output_tokens"] == 20
