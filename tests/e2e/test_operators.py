"""Operators and clients; and requests of web pages, which are judged by Origin and Host."""
import http.client
import json
import signal
import socket

import pytest
from fleet import LONG_S, Fleet, wait_for

KEY, ADMIN_KEY, MARKED_KEY = "alpha-key-0001", "root-key-00001", "marked-key-001"
APP, EVIL = "https://app.example", "http://evil.example"
GENERATE = {"prompt": "Once upon a time", "max_new_tokens": 4, "temperature": 0}
INNER = {"pid", "address"}


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def ask(fleet, method, path, headers, body=None):
    """(status, error code) of a request that has these headers only."""
    connection = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        data = response.read()
        error = json.loads(data).get("error", {}) if response.status >= 400 else {}
        return response.status, error.get("code") if isinstance(error, dict) else None
    finally:
        connection.close()


def drains(fleet, headers):
    """What a drain of an unknown worker is answered with: 404 to an operator."""
    return ask(fleet, "POST", "/workers/none/drain", headers)


def is_operator(fleet, headers):
    drain, kv = drains(fleet, headers), ask(fleet, "GET", "/debug/kv", headers)
    connection = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
    connection.request("GET", "/workers", headers=headers)
    worker = json.load(connection.getresponse())["workers"][0]
    connection.close()
    if drain == (404, "not_found"):
        assert kv == (200, None) and INNER <= set(worker)
        return True
    assert drain[0] == kv[0] == 403 and not INNER & set(worker)
    assert ask(fleet, "GET", "/events", headers)[0] == 403
    return False


# Operators


@pytest.fixture(scope="module")
def plain():
    with Fleet() as fleet:
        yield fleet


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    (folder / "keys").write_text(f"{KEY}\n{MARKED_KEY} admin name=marked\n")
    (folder / "admins").write_text(f"{ADMIN_KEY}\n")
    with Fleet(key=ADMIN_KEY, gateway_args=["--api-keys", folder / "keys", "--admin-keys",
                                            folder / "admins"]) as fleet:
        fleet.admins = folder / "admins"
        yield fleet
        assert not any(key in fleet.gateway.text() for key in (KEY, MARKED_KEY, ADMIN_KEY))


def test_without_keys_a_program_of_this_host_is_the_operator(plain):
    assert is_operator(plain, {})
    assert is_operator(plain, {"Host": "localhost"})
    own = f"http://127.0.0.1:{plain.port}"
    assert is_operator(plain, {"Origin": own, "Sec-Fetch-Site": "same-origin"})


@pytest.mark.parametrize("headers", [{"X-Forwarded-For": "10.0.0.7"}, {"Via": "1.1 proxy"},
                                     {"Forwarded": "for=10.0.0.7"}], ids=str)
def test_a_client_of_a_proxy_is_none(plain, headers):
    assert drains(plain, headers) == (403, "operators_only")
    assert not is_operator(plain, headers)


def test_a_listed_page_is_none():
    with Fleet(gateway_args=["--cors-origins", APP]) as fleet:
        assert not is_operator(fleet, {"Origin": APP})
        assert drains(fleet, {"Origin": APP}) == (403, "operators_only")


def test_a_client_from_elsewhere_is_none():
    with Fleet(gateway_args=["--host", "0.0.0.0"]) as fleet:
        assert is_operator(fleet, {})
        assert not is_operator(fleet, {"Host": "gateway"})  # a name that may be rebound to us
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        connection = http.client.HTTPConnection(address, fleet.port, timeout=LONG_S)
        connection.request("POST", "/workers/none/drain")
        answer = connection.getresponse()
        assert answer.status == 403 and "--admin-keys" in json.load(answer)["error"]["message"]
        connection.request("POST", "/generate", json.dumps(GENERATE))
        assert connection.getresponse().status == 200
        connection.close()


def test_with_keys_an_operator_has_one(keyed):
    assert is_operator(keyed, bearer(ADMIN_KEY)) and is_operator(keyed, bearer(MARKED_KEY))
    assert is_operator(keyed, {"x-api-key": ADMIN_KEY})
    assert not is_operator(keyed, bearer(KEY))
    assert drains(keyed, bearer(KEY)) == (403, "operators_only")
    assert drains(keyed, {})[0] == drains(keyed, bearer("wrong-key-1"))[0] == 401
    assert keyed.generate(**GENERATE)["output_tokens"] == 4  # an operator is a client as well


def test_a_hangup_reads_the_operators_keys_again(keyed):
    before = keyed.admins.read_text()
    try:
        keyed.admins.write_text("other-root-key\n")
        keyed.gateway.signal(signal.SIGHUP)
        wait_for(lambda: drains(keyed, bearer("other-root-key"))[0] == 404, "the new key")
        assert drains(keyed, bearer(ADMIN_KEY))[0] == 401
    finally:
        keyed.admins.write_text(before)
        keyed.gateway.signal(signal.SIGHUP)
        wait_for(lambda: drains(keyed, bearer(ADMIN_KEY))[0] == 404, "the old key")


def test_with_operators_keys_alone_clients_need_none(tmp_path):
    (tmp_path / "admins").write_text(f"{ADMIN_KEY}\n")
    with Fleet(key=ADMIN_KEY, gateway_args=["--admin-keys", tmp_path / "admins"]) as fleet:
        assert is_operator(fleet, bearer(ADMIN_KEY)) and not is_operator(fleet, {})
        assert ask(fleet, "POST", "/generate", {}, json.dumps(GENERATE).encode()) == (200, None)


# Pages


JSON = {"Content-Type": "application/json"}
BODY = json.dumps(GENERATE).encode()


@pytest.mark.parametrize("headers", [
    {"Origin": EVIL}, {"Origin": "null"}, {"Origin": "http://localhost:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site"},
], ids=str)
def test_a_page_of_another_origin_changes_nothing(plain, headers):
    n_before = plain.metrics()['baton_requests_total{outcome="ok"}']
    for method, path, body in [
            ("POST", "/workers/decode-0/drain", None), ("POST", "/generate", BODY),
            ("POST", "/api/generate", BODY), ("POST", "/", BODY),
            ("DELETE", "/v1/responses/resp-1", None), ("DELETE", "/v1/streams/1", None),
            ("POST", "/no/such/path", b""), ("PUT", "/generate", b"")]:
        for kind in {}, JSON, {"Content-Type": "text/plain"}:
            assert ask(plain, method, path, {**headers, **kind}, body)[0] == 403, (path, kind)
    assert plain.metrics()['baton_requests_total{outcome="ok"}'] == n_before
    assert plain.worker("decode-0")["state"] == "ready"


def test_the_answer_comes_before_the_body(plain):
    address = "127.0.0.1", plain.port
    with socket.create_connection(address, timeout=LONG_S) as client:
        client.sendall(b"POST /generate HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n"
                       b"Content-Length: 1000\r\n\r\n")
        answer = b""
        while part := client.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 403 ") and b'"foreign_origin"' in answer
    assert b"--cors-origins" in answer


def test_our_own_page_is_served(plain):
    for host in f"127.0.0.1:{plain.port}", f"localhost:{plain.port}":
        own = {"Host": host, "Origin": f"http://{host}"}
        assert ask(plain, "POST", "/generate", {**own, **JSON}, BODY)[0] == 200
        assert ask(plain, "POST", "/generate", own, BODY) == (415, "unsupported_media_type")
    behind_tls = {"Origin": "https://llm.example", "Sec-Fetch-Site": "same-origin"}
    assert ask(plain, "POST", "/generate", {**behind_tls, **JSON}, BODY)[0] == 200
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(plain, "GET", "/", link)[0] == 200


def test_programs_need_no_type(plain):
    assert ask(plain, "POST", "/generate", {}, BODY)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.nip.io",
                                  "gateway"])
def test_another_host_is_misdirected(plain, host):
    for method, path in ("GET", "/workers"), ("GET", "/"), ("POST", "/generate"), ("GET", "/live"):
        assert ask(plain, method, path, {"Host": host, "Origin": f"http://{host}"})[0] == 421
    assert ask(plain, "GET", "/workers", {"Host": host}) == (421, "unknown_host")


def test_hosts_may_be_allowed():
    with Fleet(gateway_args=["--allowed-hosts", "llm.example,gateway"]) as fleet:
        for host in "llm.example", "LLM.example:8000", "gateway:8000", "localhost", "10.1.2.3":
            assert ask(fleet, "GET", "/ready", {"Host": host})[0] == 200
        page = {"Host": "llm.example", "Origin": "http://llm.example"}
        assert ask(fleet, "POST", "/generate", {**page, **JSON}, BODY)[0] == 200
        assert ask(fleet, "GET", "/ready", {"Host": "llm.example.evil"})[0] == 421


def test_elsewhere_than_on_loopback_any_host_is_served():
    with Fleet(prefill=0, decode=0, gateway_args=["--host", "0.0.0.0"]) as fleet:
        assert ask(fleet, "GET", "/health", {"Host": "gateway.baton.svc"})[0] == 200


def test_localhost_means_the_pages_of_this_host():
    with Fleet(gateway_args=["--cors-origins", "localhost"]) as fleet:
        for origin in "http://localhost:3000", "http://127.0.0.1:5173":
            page = {"Origin": origin, "Sec-Fetch-Site": "same-site", **JSON}
            assert ask(fleet, "POST", "/generate", page, BODY)[0] == 200
        assert ask(fleet, "POST", "/generate", {"Origin": EVIL, **JSON}, BODY)[0] == 403
