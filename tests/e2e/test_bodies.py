"""Large bodies: what a client makes the gateway parse takes bounded memory, which it gives back."""
import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet import SLOW, Fleet, wait_for

MIB = 1 << 20
CLIENTS, BODY_BYTES = 60, MIB // 4
SMALL = (15 << 10, "once upon a time ")  # the loop parses such a body


def memory_mib(fleet, field):
    text = Path(f"/proc/{fleet.gateway.popen.pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", text)[1]) / 1024


def bytes_held(fleet):
    metrics = fleet.metrics()
    return metrics["baton_bodies_waiting_bytes"] + metrics["baton_bodies_value_bytes"]


def forget_peak(fleet):
    Path(f"/proc/{fleet.gateway.popen.pid}/clear_refs").write_text("5")


def chat_with(member):
    return '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1,"%s":%s}' % member


def many(item, n_bytes):
    return chat_with(("zz", "[" + ",".join([item] * (n_bytes // (len(item) + 1))) + "]"))


@pytest.fixture(scope="module")
def fleet():
    with Fleet(prefill=0, decode=0, gateway_args=["--chat-template", "chatml"]) as fleet:
        yield fleet


# Sanitizers have memory of their own.
@pytest.mark.skipif(SLOW != 1, reason="a sanitizer's memory is not the gateway's")
@pytest.mark.parametrize("item", ["[]", "{}", "1", '""'])
def test_many_bodies_of_small_values_take_bounded_memory_and_give_it_back(fleet, item):
    """Each would be up to 20 MiB as a tree, and all of them 1.2 GiB."""
    text, path = many(item, BODY_BYTES), "/v1/chat/completions"
    fleet.request("POST", path, text)
    before, held = memory_mib(fleet, "VmRSS"), CLIENTS * BODY_BYTES / MIB
    forget_peak(fleet)
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(lambda _: fleet.request("POST", path, text)[0], range(CLIENTS)))
    assert set(answers) == {503}, answers  # no worker is there
    assert memory_mib(fleet, "VmHWM") - before < 2 * held + 2 * 64
    wait_for(lambda: memory_mib(fleet, "VmRSS") - before < 30, "the memory to be given back")


def test_a_body_with_too_many_values_is_refused_while_it_is_parsed(fleet):
    answer = fleet.post("/v1/chat/completions", many("{}", MIB - 200), 413)["error"]
    assert answer["code"] == "body_too_large" and "KiB of memory" in answer["message"], answer
    assert fleet.metrics()['baton_bodies_refused_total{reason="values"}'] >= 1


def test_a_body_with_as_many_values_as_a_long_prompt_has_is_read(fleet):
    ids = json.dumps([7] * (300 << 10))  # 900 KiB
    assert fleet.post("/v1/completions", '{"prompt":%s}' % ids, 400)["error"]["code"] == \
        "context_length_exceeded"
    assert len(fleet.post("/detokenize", '{"tokens":%s}' % ids)["text"]) >= 300 << 10


@pytest.mark.parametrize("path, form", [("/v1/chat/completions", "%s"), ("/generate", "%s"),
                                        ("/api/generate", '{"options":%s}'),
                                        ("/generate_stream", '{"parameters":%s}')])
@pytest.mark.parametrize("padding", [0, 20 << 10])
def test_a_body_has_a_bounded_number_of_fields(fleet, path, form, padding):
    fields = json.dumps({f"k{i}": i for i in range(1025)}) + " " * padding
    status, answer, _ = fleet.request("POST", path, form % fields)
    assert status == (422 if path == "/generate_stream" else 400), answer
    assert "1024" in json.dumps(answer), answer
    assert fleet.metrics()['baton_bodies_refused_total{reason="fields"}'] >= 1


def test_unknown_fields_within_the_bound_are_ignored(fleet):
    body = {f"k{i}": i for i in range(1000)}
    status, _, headers = fleet.request("POST", "/v1/completions", {"prompt": "Once", **body})
    assert status == 503 and headers["x-baton-ignored"].startswith("k0, k1")


@pytest.mark.parametrize("add_special", [True, False])
def test_a_large_body_gets_the_tokens_that_a_small_one_gets(fleet, add_special):
    n_bytes, words = SMALL
    body = json.dumps({"text": words * (n_bytes // len(words)), "add_special_tokens": add_special})
    small, large = (fleet.post("/tokenize", body + " " * n) for n in (0, 4 * n_bytes))
    assert small == large and small["count"] > 1000
    tokens = json.dumps({"tokens": small["tokens"]})
    assert fleet.post("/detokenize", tokens + " " * 4 * n_bytes)["text"].strip() == \
        (words * (n_bytes // len(words))).strip()


@pytest.mark.parametrize("path, field", [("/tokenize", "text"), ("/detokenize", "tokens")])
def test_problems_of_a_large_body_are_those_of_a_small_one(fleet, path, field):
    for body in ({}, {field: 1}, {field: "a", "unknown": 1}, [1]):
        small, large = (fleet.post(path, json.dumps(body) + " " * n, 400) for n in (0, 20 << 10))
        assert small["error"]["message"] == large["error"]["message"]


def test_clients_that_leave_while_their_bodies_wait_leave_nothing_behind(fleet):
    text = many("[]", BODY_BYTES).encode()
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
            f"application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", fleet.port)) as client:
            client.sendall(head + text)
    assert fleet.post("/tokenize", json.dumps({"text": "a" * (20 << 10)}))["count"] > 0
    wait_for(lambda: fleet.metrics()["baton_http_connections"] < 5, "the clients to have left")
    wait_for(lambda: bytes_held(fleet) == 0, "their bodies to be freed")
