"""API keys and limits, pages that may read answers, and the size of one request."""
import http.client
import json
import re
import signal
import socket

import pytest
from fleet import LONG_S, Fleet, Stream, free_port, wait_for
from programs import refusal

STORY = "Once upon a time"
KEY, OTHER_KEY, NEW_KEY = "alpha-key-0001", "beta-key-00022", "gamma-key-000333"
APP = "https://app.example"

OPEN = [("GET", "/health"), ("HEAD", "/health"), ("GET", "/live"), ("GET", "/ready"),
        ("HEAD", "/ready")]
GENERATE = {"prompt": STORY, "max_new_tokens": 4, "temperature": 0}
CLOSED = [
    ("GET", "/workers", None), ("GET", "/metrics", None), ("HEAD", "/metrics", None),
    ("POST", "/generate", GENERATE), ("POST", "/generate/stream", GENERATE),
    ("POST", "/tokenize", {"text": STORY}), ("POST", "/detokenize", {"tokens": [1]}),
    ("GET", "/v1/models", None), ("POST", "/v1/completions", {"prompt": STORY}),
    ("POST", "/v1/chat/completions", {"messages": []}), ("POST", "/v1/messages", {"messages": []}),
    ("POST", "/health", {}), ("POST", "/", {}), ("GET", "/no/such/path", None),
    ("GET", "//workers/", None), ("POST", "/chat/completions", {"messages": []}),
    ("GET", "/models/", None), ("GET", "/v1/v1/models", None), ("GET", "/health/x", None),
    ("OPTIONS", "/generate", None), ("POST", "/generate", "no JSON"),
    ("POST", "/generate", " " * 100000),
]


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def without_key(fleet, *arguments, **more):
    """A request of a client that has no key unless it says one."""
    mine, fleet.headers = fleet.headers, {}
    try:
        return fleet.request(*arguments, **more)
    finally:
        fleet.headers = mine


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "api-keys"
    path.write_text(f"# the tests' keys\n{KEY}\n\n{OTHER_KEY}\r\n")
    return path


@pytest.fixture(scope="module")
def fleet(key_file):
    with Fleet(key=KEY, gateway_args=["--api-keys", key_file,
                                      "--cors-origins", f"{APP},http://localhost:3000",
                                      "--log-level", "debug"]) as started:
        yield started
        log = started.gateway.text()
        assert not any(key in log for key in (KEY, OTHER_KEY, NEW_KEY))


@pytest.fixture(scope="module")
def plain():
    """A fleet as it is without any of these options."""
    with Fleet() as started:
        yield started


# Keys


@pytest.mark.parametrize("method, path", OPEN)
def test_probes_need_no_key(fleet, method, path):
    assert without_key(fleet, method, path)[0] == 200
    assert without_key(fleet, method, path, headers=bearer("wrong-key-1"))[0] == 200


def test_the_page_needs_no_key_but_what_it_asks_for_does(fleet):
    for path in "/", "/web/app.js", "/web/style.css":
        assert without_key(fleet, "GET", path)[0] == without_key(fleet, "HEAD", path)[0] == 200
        assert without_key(fleet, "POST", path, {})[0] == 401
    assert without_key(fleet, "GET", "/web/none.js")[0] == 401


@pytest.mark.parametrize("presented", [
    {}, bearer("wrong-key-1"), bearer(KEY[:-1]), bearer(KEY + "1"), bearer(KEY.upper()), bearer(""),
    bearer("x" * 4000), {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"},
    {"X-API-Key": KEY + "1"},
    {"X-API-Key": f"Bearer {KEY}"},
], ids=lambda headers: str(headers)[:40])
@pytest.mark.parametrize("method, path, body", CLOSED, ids=lambda value: str(value)[:20])
def test_everything_else_is_401_without_a_valid_key(fleet, method, path, body, presented):
    status, answer, headers = without_key(fleet, method, path, body, presented)
    assert status == 401
    assert headers["WWW-Authenticate"] == "Bearer" and headers["x-request-id"]
    assert "x-should-retry" not in headers and "Retry-After" not in headers
    if method != "HEAD":
        error = answer["error"]
        if path == "/":  # a route of TGI
            assert answer["error_type"] == "authentication" and answer["code"] == "invalid_api_key"
            return
        assert set(error) == {"message", "type", "param", "code"} and error["param"] is None
        assert error["type"] == "authentication_error" and error["code"] == "invalid_api_key"
        assert "Authorization: Bearer" in error["message"]
        assert not any(key in json.dumps(answer) for key in (KEY[:-1], "wrong-key", "xxxx"))


def test_a_valid_key_opens_every_endpoint(fleet):
    for key in (KEY, OTHER_KEY):
        for headers in (bearer(key), {"Authorization": f"bearer {key}"},
                        {"authorization": f"BEARER   {key}"}, {"x-api-key": key},
                        {"X-API-Key": key, "Authorization": "Basic abc"}):
            assert without_key(fleet, "GET", "/workers", headers=headers)[0] == 200
            assert without_key(fleet, "POST", "/generate", GENERATE, headers)[0] == 200
            assert without_key(fleet, "GET", "/no/such/path", headers=headers)[0] == 404
    text, last = fleet.stream(**GENERATE).text()
    assert text and last.name == "summary"


def test_a_stream_without_a_key_ends_before_it_begins(fleet):
    stream = Stream(fleet.port, GENERATE)
    assert stream.status == 401
    assert stream.response.getheader("Content-Type") == "application/json"
    assert json.load(stream.response)["error"]["code"] == "invalid_api_key"


def test_a_connection_survives_its_refusals(fleet):
    connection = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
    for headers, status in (({}, 401), (bearer(KEY), 200), (bearer("wrong-key-1"), 401),
                            (bearer(KEY), 200)):
        connection.request("GET", "/workers", headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status == status
    connection.close()


def test_refusals_are_counted(fleet):
    name = "baton_requests_unauthorized_total"
    before = fleet.metrics()[name]
    for _ in range(3):
        assert without_key(fleet, "GET", "/metrics")[0] == 401
    assert fleet.metrics()[name] == before + 3


def reload(fleet, event):
    """Sends SIGHUP and waits until the gateway has logged `event` once more."""
    before = fleet.gateway.text().count(f" ev={event} ")
    fleet.gateway.signal(signal.SIGHUP)
    wait_for(lambda: fleet.gateway.text().count(f" ev={event} ") > before, event)
    return [line for line in fleet.gateway.text().splitlines() if f" ev={event} " in line][-1]


def opens(fleet, key):
    return without_key(fleet, "GET", "/workers", headers=bearer(key))[0] == 200


def test_a_reload_replaces_the_keys(fleet, key_file):
    before = key_file.read_text()
    [stream] = fleet.hold()
    try:
        key_file.write_text(f"{NEW_KEY}\n")
        assert "keys=1" in reload(fleet, "api_keys_loaded")
        assert opens(fleet, NEW_KEY) and not opens(fleet, KEY) and not opens(fleet, OTHER_KEY)
        assert stream.text()[1].name == "summary"  # what was let in goes on
    finally:
        key_file.write_text(before)
        assert "keys=2" in reload(fleet, "api_keys_loaded")
    assert opens(fleet, KEY) and opens(fleet, OTHER_KEY) and not opens(fleet, NEW_KEY)


@pytest.mark.parametrize("broken, reason", [
    (f"{NEW_KEY}\nsome-key has a space\n", "line 2: after a key there may only be name=TEXT"),
    (f"{NEW_KEY}\n#\n\nshort\n", "line 4: a key has 8 to 256 characters"),
    (f"{NEW_KEY}\n" * 1025, "line 1025: more than 1024 keys"),
    ("# nothing\n", "holds no key"), ("", "holds no key"), (None, "No such file"),
])
def test_a_reload_that_fails_keeps_the_keys(fleet, key_file, broken, reason):
    before = key_file.read_text()
    try:
        if broken is None:
            key_file.unlink()
        else:
            key_file.write_text(broken)
        line = reload(fleet, "api_keys_kept")
        assert "lvl=error" in line and reason in line and str(key_file) in line
        assert opens(fleet, KEY) and not opens(fleet, NEW_KEY)
    finally:
        key_file.write_text(before)


@pytest.mark.parametrize("arguments, reason", [
    (["--api-keys", "/nowhere/keys"], "/nowhere/keys: No such file"),
    (["--api-keys", "EMPTY"], "EMPTY: holds no key"),
    (["--api-keys", "BAD"], "BAD: line 2: a key has 8 to 256 characters"),
    (["--cors-origins", "https://app.example/"], "'https://app.example/' is not an origin"),
    (["--max-head-bytes", "1000"], "max-head-bytes"),
    (["--max-batch", "0"], "max-batch"),
])
def test_a_bad_option_is_an_error_at_start(tmp_path, arguments, reason):
    (tmp_path / "EMPTY").write_text("# none\n")
    (tmp_path / "BAD").write_text("a-good-key\nsecret7\n")
    said = refusal("baton-gateway", "--port", 0, "--inbox", f"tcp://127.0.0.1:{free_port()}",
                   *arguments, cwd=tmp_path)
    assert reason in said and "secret7" not in said


def test_without_key_file_a_hangup_changes_nothing(plain):
    reload(plain, "nothing_to_reload")
    assert plain.generate(**GENERATE)["output_tokens"] == 4


# Pages of other origins


def cors_headers(headers):
    return {name.lower(): value for name, value in headers.items()
            if name.lower().startswith("access-control-") or name.lower() == "vary"}


EXPOSED = {
    "vary": "Origin", "access-control-allow-origin": APP,
    "access-control-expose-headers": "x-request-id, traceparent, Retry-After, x-should-retry, "
                                     "x-baton-ignored, x-baton-stream, request-id"}


def test_an_allowed_origin_is_told_so_in_every_answer(fleet):
    for method, path, body, status in [
            ("GET", "/health", None, 200), ("POST", "/generate", GENERATE, 200),
            ("POST", "/generate", "{", 400),
            ("GET", "/no/such/path", None, 404), ("GET", "/generate", None, 405),
            ("POST", "/generate", " " * (2 << 20), 413),
    ]:
        got, _, headers = fleet.request(method, path, body, {"Origin": APP})
        assert got == status and cors_headers(headers) == EXPOSED, (path, got)
    _, _, headers = without_key(fleet, "GET", "/workers", headers={"Origin": APP})
    assert cors_headers(headers) == EXPOSED


def test_an_allowed_origin_is_told_so_in_a_stream(fleet):
    stream = Stream(fleet.port, GENERATE, headers={**bearer(KEY), "Origin": APP})
    assert stream.status == 200 and cors_headers(stream.response.headers) == EXPOSED
    assert stream.text()[1].name == "summary"


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", APP + ".evil",
                                    APP.upper(), APP + ":443"])
def test_any_other_origin_learns_nothing_but_that_answers_vary(fleet, origin):
    headers = {"Origin": origin} if origin else {}
    status, _, answer = fleet.request("GET", "/workers", headers=headers)
    assert status == 200 and cors_headers(answer) == {"vary": "Origin"}
    status, _, answer = fleet.request("OPTIONS", "/generate", None,
                                      {**headers, "Access-Control-Request-Method": "POST"})
    assert status == (200 if origin else 405) and cors_headers(answer) == {"vary": "Origin"}


def preflight(fleet, asked="authorization, content-type", origin=APP, path="/generate"):
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    if asked is not None:
        headers["Access-Control-Request-Headers"] = asked
    status, body, headers = without_key(fleet, "OPTIONS", path, headers=headers)
    assert status == 200
    assert body == "" and headers["Content-Length"] == "0" and "Content-Type" not in headers
    return cors_headers(headers)


def test_a_preflight_needs_no_key_and_says_what_is_allowed(fleet):
    answer = preflight(fleet)
    assert answer == {**EXPOSED, "access-control-allow-methods": "GET, HEAD, POST, DELETE",
                      "access-control-allow-headers": "authorization, content-type",
                      "access-control-max-age": "7200"}
    assert (preflight(fleet, origin="http://localhost:3000")["access-control-allow-origin"]
            == "http://localhost:3000")
    assert preflight(fleet, path="/no/such/path") == answer


@pytest.mark.parametrize("asked, allowed", [
    (None, False), ("", False), ("x-a", True), ("x-" + "a" * 510, True), ("x-" + "a" * 511, False),
    ("x-a;x-b", False), ('x-a"', False), ("x-a:x-b", False), ("x-a\tx-b", False), ("x-\xe4", False),
], ids=lambda value: str(value)[:12])
def test_only_a_short_list_of_names_is_said_back(fleet, asked, allowed):
    assert (preflight(fleet, asked).get("access-control-allow-headers")
            == (asked if allowed else None))


def test_the_longest_origin_and_the_longest_list_fit():
    origin = ("https://" + "a" * 60 + ".b" * 200)[:256]
    with Fleet(prefill=0, decode=0, gateway_args=["--cors-origins", origin]) as alone:
        answer = preflight(alone, "x-" + "a" * 510, origin)
        assert answer["access-control-allow-origin"] == origin and answer["access-control-max-age"]
        assert answer["access-control-allow-headers"] == "x-" + "a" * 510
        assert " ev=header_left_out " not in alone.gateway.text()


def test_a_star_lets_every_page_in():
    with Fleet(prefill=0, decode=0, gateway_args=["--cors-origins", "*"]) as alone:
        for origin in (APP, "null"):
            headers = alone.request("GET", "/health", headers={"Origin": origin})[2]
            assert headers["Access-Control-Allow-Origin"] == "*"
            assert preflight(alone, origin=origin)["access-control-allow-origin"] == "*"


def test_without_the_option_nothing_is_said(plain):
    for method, path, body in [("GET", "/health", None), ("POST", "/generate", GENERATE),
                               ("GET", "/no", None)]:
        assert cors_headers(plain.request(method, path, body, {"Origin": APP})[2]) == {}
    asked = {"Origin": APP, "Access-Control-Request-Method": "POST"}
    for path, status in (("/generate", 405), ("/no", 404)):
        got, _, headers = plain.request("OPTIONS", path, headers=asked)
        assert got == status and cors_headers(headers) == {}


# Every answer


def test_every_answer_has_an_id_of_its_own(plain):
    ids = [plain.request(method, path, body)[2]["x-request-id"]
           for method, path, body in CLOSED * 3]
    stream = plain.stream(**GENERATE)
    ids.append(stream.response.getheader("x-request-id"))
    stream.text()
    assert len(set(ids)) == len(ids) and all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)


def test_a_client_is_told_whether_to_try_again():
    with Fleet(prefill=0, decode=0, gateway_args=["--head-timeout-s", "1"]) as alone:
        status, answer, headers = alone.request("POST", "/generate", GENERATE)
        assert status == 503
        assert headers["x-should-retry"] == "true" and headers["Retry-After"] == "1"
        status, _, headers = alone.request("POST", "/generate", "{")
        assert status == 400 and "x-should-retry" not in headers
        answer = raw(alone, b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        assert answer.startswith(b"HTTP/1.1 408 ") and b"\r\nx-should-retry: true\r\n" in answer


# Limits


def raw(fleet, request):
    """Everything that the gateway says to these bytes before it closes."""
    with socket.create_connection(("127.0.0.1", fleet.port), timeout=LONG_S) as sock:
        sock.sendall(request)
        answer = b""
        while part := sock.recv(65536):
            answer += part
        return answer


def head(n_bytes):
    """A request whose head is n_bytes long."""
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Filler: "
    return start + b"x" * (n_bytes - len(start) - 4) + b"\r\n\r\n"


@pytest.mark.parametrize("limit", [None, 1024, 65536])
def test_the_head_is_bounded(limit):
    arguments = ["--max-head-bytes", limit] if limit else []
    with Fleet(prefill=0, decode=0, gateway_args=arguments) as alone:
        assert raw(alone, head(limit or 16384)).startswith(b"HTTP/1.1 200 ")
        answer = raw(alone, head((limit or 16384) + 1))
        assert answer.startswith(b"HTTP/1.1 431 ") and b'"code":"head_too_large"' in answer
        assert re.search(rb"\r\nx-request-id: [0-9a-f]{16}\r\n", answer)


def test_the_body_is_bounded():
    with Fleet(gateway_args=["--max-body-bytes", "200"]) as small:
        assert small.request("POST", "/generate", json.dumps(GENERATE).ljust(200))[0] == 200
        status, answer, _ = small.request("POST", "/generate", json.dumps(GENERATE).ljust(201))
        assert status == 413 and answer["error"]["code"] == "body_too_large"


# Rates


SLOWLY = 0.001  # a second: no stall of the test is as long as one takes


def ask_from(port, address, path="/health", body=None, headers=None):
    """(status, error code, Retry-After) of a request from an address of this host."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S,
                                            source_address=(address, 0))
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None,
                           headers or {})
        response = connection.getresponse()
        data = response.read()
        code = json.loads(data)["error"]["code"] if response.status >= 400 else None
        return response.status, code, response.getheader("Retry-After")
    finally:
        connection.close()


@pytest.mark.parametrize("limit, code", [("requests", "request_rate"), ("tokens", "token_rate"),
                                         ("bytes", "byte_rate")])
def test_an_address_over_its_rate_is_told_and_others_are_served(limit, code):
    with Fleet(gateway_args=[f"--{limit}-per-s-per-address", SLOWLY], prefill=0, decode=0) as fleet:
        fleet.check_kv_accounts = lambda: None  # an address has one request
        fleet.start_worker("prefill", "p")
        fleet.start_worker("decode", "d")
        generate = dict(GENERATE, max_new_tokens=200, timeline=True)
        wait_for(lambda: " to=ready" in fleet.gateway.text()
                 and fleet.gateway.text().count(" to=ready") == 2, "workers")
        assert ask_from(fleet.port, "127.0.0.2", "/generate", generate)[0] == 200
        assert ask_from(fleet.port, "127.0.0.2", "/generate", generate) == (429, code, "60")
        assert ask_from(fleet.port, "127.0.0.3", "/generate", generate)[0] == 200
        metrics = ask_metrics(fleet.port, "127.0.0.4")
        assert metrics[f'baton_http_limited_total{{of="address",limit="{limit}"}}'] == 1


def ask_metrics(port, address):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S,
                                            source_address=(address, 0))
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
            if line[0] != "#"}


def test_a_key_over_its_rate_is_told_and_other_keys_are_served(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{KEY} requests_per_s=0 tokens_per_s=0\n{OTHER_KEY}\n"
                    f"{NEW_KEY} tokens_per_s=1 requests_per_s=0\n")
    with Fleet(gateway_args=["--api-keys", path,
                             "--requests-per-s-per-key", SLOWLY], key=KEY) as fleet:
        assert without_key(fleet, "GET", "/workers", headers=bearer(OTHER_KEY))[0] == 200
        status, answer, headers = without_key(fleet, "GET", "/workers", headers=bearer(OTHER_KEY))
        assert status == 429
        assert answer["error"]["code"] == "request_rate" and headers["Retry-After"] == "60"
        long = dict(GENERATE, max_new_tokens=480, ignore_eos=True)
        assert without_key(fleet, "POST", "/generate", long, bearer(NEW_KEY))[0] == 200
        status, answer, _ = without_key(fleet, "POST", "/generate", GENERATE, bearer(NEW_KEY))
        assert status == 429
        assert "this API key is limited to 1 tokens a second" in answer["error"]["message"]
        # This route takes no tokens.
        assert without_key(fleet, "GET", "/workers", headers=bearer(NEW_KEY))[0] == 200
        for _ in range(3):
            assert without_key(fleet, "POST", "/generate", GENERATE, bearer(KEY))[0] == 200
        metrics = fleet.metrics()
        assert metrics['baton_http_limited_total{of="key",limit="requests"}'] == 1
        assert metrics['baton_requests_rejected_total{reason="token_rate"}'] == 1
