"""A web page of another origin, open on the gateway's host, posts without a pause."""
import http.client
import itertools
import json

from fleet import Clients

FROM_A_PAGE = [{"Origin": "http://evil.example"}, {"Origin": "null"},
               {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
               {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}]
# What a browser sends to any origin without asking: the type is one of a form's, or missing.
SIMPLE = [{}, {"Content-Type": "text/plain"}]
BODY = b'{"prompt":"Once","max_new_tokens":2}'
ATTACKS = [("/workers/decode-0/drain", b""), ("/workers/prefill-0/drain", b""),
           ("/generate", BODY), ("/v1/completions", BODY), ("/api/generate", BODY),
           ("/tokenize", b'{"text":"a"}')]


def post(port, path, body, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest("POST", path)
    for name, value in {"Content-Length": len(body), **headers}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_page_drains_nothing_and_generates_nothing(fleet, sized):
    """Bound: every post is refused, every request of others is served, both workers stay."""
    n, served, statuses = sized(200, 5000), [], []

    def innocent(_):
        served.append(fleet.generate(prompt="Once", max_new_tokens=2)["output_tokens"])

    posts = itertools.cycle(itertools.product(ATTACKS, FROM_A_PAGE, SIMPLE))
    before = [worker["pid"] for worker in fleet.fleet()]
    with Clients(2, innocent):
        while len(statuses) < n or len(served) < 20:
            (path, body), page, kind = next(posts)
            statuses.append(post(fleet.port, path, body, {**page, **kind}))
    assert set(statuses) == {403}
    assert set(served) == {2}
    assert [worker["pid"] for worker in fleet.fleet()] == before
    assert all("ev=draining" not in process.text() for process in fleet.workers.values())


def test_a_rebound_name_reads_nothing(fleet):
    """Bound: each route answers 421, whatever the page calls itself."""
    for method, path in ("GET", "/workers"), ("GET", "/metrics"), ("GET", "/debug/kv"), (
            "GET", "/"), ("POST", "/generate"):
        host = {"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}
        status, answer, _ = fleet.request(method, path, BODY if method == "POST" else None, host)
        assert status == 421 and "--allowed-hosts" in json.dumps(answer), path
