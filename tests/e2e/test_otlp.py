"""--otlp-endpoint: spans reach a collector, whatever it does, and no request waits for it."""
import json
import threading
from pathlib import Path

import certificates
import pytest
from collector import Collector, answer, endless, hold, nobody, raw
from fleet import Fleet, wait_for
from programs import refusal
from test_spans import REQUEST, SAMPLED, TRACE

BODY = {"prompt": "Once upon a time", "max_new_tokens": 4, "temperature": 0}
SECRET = "lpt-7f2c9e"


def spans_in(body):
    assert REQUEST(body), body
    resource, = body["resourceSpans"]
    scope, = resource["scopeSpans"]
    return scope["spans"]


def spans_of(posts):
    return [span for _, _, body in posts for span in spans_in(body)]


class Traced(Fleet):
    def __init__(self, url, *args, **more):
        super().__init__(gateway_args=["--otlp-endpoint", url, *args], **more)

    def ask(self, n=1):
        for _ in range(n):
            answered = self.post("/generate", BODY, headers=SAMPLED)
        return answered

    def counts(self):
        metrics = self.metrics()
        return {outcome: int(metrics[f'baton_otlp_spans_total{{outcome="{outcome}"}}'])
                for outcome in ("sent", "rejected", "refused", "queue_full", "unreachable",
                                "stopped")}

    def wait_sent(self, n):
        wait_for(lambda: self.counts()["sent"] == n, f"{n} spans to be sent")
        others = {name: count for name, count in self.counts().items() if name != "sent" and count}
        assert not others


def test_spans_arrive_as_they_are_in_the_file(tmp_path):
    headers, lines = tmp_path / "headers", tmp_path / "spans.jsonl"
    headers.write_text("# of the tracing backend, a secret\n"
                       f"authorization=Bearer%20{SECRET}, x-tenant=a,\nX-B=c d\n")
    with Collector() as collector, Traced(collector.url + "/base/", "--otlp-headers-file", headers,
                                          "--otlp-file", lines) as fleet:
        fleet.ask(3)
        wait_for(lambda: lines.read_text().count("\n") == 6, "the file's lines")
        written = [span for line in lines.read_text().splitlines()
                   for span in spans_in(json.loads(line))]
        fleet.wait_sent(len(written))
        sent = spans_of(collector.posts)
        assert sorted(sent, key=lambda s: s["spanId"]) == sorted(written, key=lambda s: s["spanId"])
        assert {span["traceId"] for span in sent} == {TRACE}
        for path, headers, _ in collector.posts:
            assert path == "/base/v1/traces" and headers["Content-Type"] == "application/json"
            assert headers["authorization"] == f"Bearer {SECRET}"
            assert headers["x-tenant"] == "a" and headers["X-B"] == "c d"
            assert headers["User-Agent"].startswith("baton/")
        assert SECRET not in fleet.gateway.text()
        assert SECRET not in Path(f"/proc/{fleet.gateway.pid}/cmdline").read_text()
        assert fleet.metrics()["baton_otlp_queue_bytes"] == 0


def test_many_spans_share_a_post():
    """Spans that come during a POST leave with the next one."""
    go = threading.Event()
    with Collector(hold(go)) as collector, Traced(collector.url) as fleet:
        fleet.ask()
        wait_for(lambda: collector.posts, "the first POST")
        fleet.ask(20)
        go.set()
        wait_for(lambda: len({s["spanId"] for s in spans_of(collector.posts)})
                 == 21 * len(spans_of(collector.posts[:1])), "all spans")
        assert len(collector.posts) <= 4


def test_no_request_waits_for_an_endpoint_that_never_answers():
    """All of this happens while no POST is answered; on a slow machine one is tried again."""
    go = threading.Event()
    with Collector(*[hold(go)] * 99) as collector, Traced(collector.url) as fleet:
        fleet.ask()
        wait_for(lambda: collector.posts, "the first POST")
        fleet.ask(50)
        assert fleet.counts()["sent"] == 0
        assert fleet.metrics()["baton_otlp_queue_bytes"] > 0
        go.set()
        wait_for(lambda: len({s["spanId"] for s in spans_of(collector.posts)
                              if s["name"] == "POST /generate"}) == 51, "the spans of all requests")


RETRIED = [answer(429, Retry_After="0"), answer(502),
           answer(503, b'{"message":"busy"}', Retry_After="0"), answer(504, Retry_After="0")]
LIES = [raw(b""), raw(b"HTTP/1.1 2"), raw(b"220 smtp.example ESMTP\r\n"),
        endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 999)]


def test_what_may_be_sent_again_is():
    with Collector(*RETRIED) as collector, Traced(collector.url) as fleet:
        fleet.ask()
        wait_for(lambda: len(collector.posts) > 4, "another try")
        fleet.wait_sent(len(spans_of(collector.posts[4:])))
        first = spans_in(collector.posts[0][2])
        assert all(spans_in(body) == first for _, _, body in collector.posts[:5])
        log = fleet.gateway.text()
        assert "ev=spans_not_sent" in log and 'reason="status 503: busy"' in log
        assert "ev=spans_sent_again" in log and "failures=4" in log


def test_an_endpoint_that_lies_costs_nothing_but_tries():
    """It closes without an answer, breaks off, speaks another protocol, or never ends its head."""
    with Collector() as collector, Traced(collector.url) as fleet:
        for lie in LIES:
            n_posts = len(collector.posts)
            collector.will(lie)
            fleet.ask()
            wait_for(lambda n=n_posts: len(collector.posts) > n + 1, "another try")
            lied_to, taken = collector.posts[n_posts:n_posts + 2]
            assert lied_to[2] == taken[2]
            wait_for(lambda: fleet.counts()["sent"]
                     == len({s["spanId"] for s in spans_of(collector.posts)}),
                     "all spans to be sent")
        assert fleet.counts()["sent"] == sum(fleet.counts().values())


def test_an_answer_counts_from_its_head_on():
    """A body without an end, or without sense, changes nothing and is not kept."""
    acts = [endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                    b"1000\r\n" + b"x" * 4096 + b"\r\n"),
            endless(b"HTTP/1.1 200 OK\r\n\r\n", b"[" * 4096), answer(200, b"\xff\x00{"),
            answer(200, b'{"partialSuccess":[7]}'), answer(202, b"[" * 60000)]
    with Collector(*acts) as collector, Traced(collector.url) as fleet:
        for i in range(len(acts)):
            fleet.ask()
            wait_for(lambda n=i: len(collector.posts) > n, "the POST")
            wait_for(lambda: fleet.counts()["sent"] == len(spans_of(collector.posts)), "its answer")
        assert (len({s["spanId"] for s in spans_of(collector.posts)})
                == len(spans_of(collector.posts)))


@pytest.mark.parametrize("act", [answer(400, b'{"code":3,"message":"no such tenant"}'), answer(401),
                                 answer(500), answer(501),
                                 answer(302, Location="http://127.0.0.1:1/"), answer(404)],
                         ids=["400", "401", "500", "501", "302", "404"])
def test_what_is_refused_is_not_sent_again(act):
    with Collector(act) as collector, Traced(collector.url) as fleet:
        fleet.ask()
        wait_for(lambda: fleet.counts()["refused"], "the refusal")
        refused = fleet.counts()["refused"]
        assert refused == len(spans_of(collector.posts[:1]))
        fleet.ask()
        wait_for(lambda: len(collector.posts) > 1, "the next spans")
        wait_for(lambda: fleet.counts()
                 == dict(sent=len(spans_of(collector.posts[1:])), refused=refused, rejected=0,
                         queue_full=0, unreachable=0, stopped=0), "them to be taken")
        told = [span["spanId"] for span in spans_of(collector.posts)]
        assert len(set(told)) == len(told)
        assert "ev=spans_dropped" in fleet.gateway.text()


def test_rejected_spans_are_counted():
    partial = b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old\\nreally"}}'
    with Collector(answer(200, partial)) as collector, Traced(collector.url) as fleet:
        fleet.ask()
        wait_for(lambda: fleet.counts()["rejected"] == 2, "the rejected spans")
        wait_for(lambda: fleet.counts()["sent"] == len(spans_of(collector.posts)) - 2, "the others")
        wait_for(lambda: r"status 200: too old\nreally" in fleet.gateway.text(), "the reason")


def test_what_is_left_is_sent_at_the_end():
    with Collector() as collector, Traced(collector.url) as fleet:
        fleet.ask()
        fleet.gateway.stop()
        assert any(span["name"] == "POST /generate" for span in spans_of(collector.posts))


def test_the_gateway_ends_though_nobody_takes_its_spans():
    """The endpoint refuses connections, or takes one and says nothing."""
    sock, url = nobody()
    with Traced(url) as fleet:
        fleet.ask()
        wait_for(lambda: "ev=spans_not_sent" in fleet.gateway.text(), "a try")
        assert fleet.gateway.stop() == 0
        assert 'reason="the gateway ends"' in fleet.gateway.text()
    sock.listen()
    with Traced(url) as fleet:
        fleet.ask()
        assert fleet.gateway.stop() == 0
        assert 'reason="the gateway ends"' in fleet.gateway.text()
    sock.close()


def test_over_tls_only_to_whom_is_trusted(tmp_path):
    ours, theirs = certificates.make(tmp_path, "ours"), certificates.make(tmp_path, "theirs")
    with Collector(certificate=ours) as collector:
        with Traced(collector.url, "--otlp-cafile", ours[0]) as fleet:
            fleet.ask()
            wait_for(lambda: collector.posts, "the POST")
            fleet.wait_sent(len(spans_of(collector.posts)))
        n_posts = len(collector.posts)
        for trust in (["--otlp-cafile", theirs[0]], []):
            with Traced(collector.url, *trust) as fleet:
                fleet.ask()
                wait_for(lambda: "certificate" in fleet.gateway.text(), "the refusal")
                assert fleet.counts()["sent"] == 0
        assert len(collector.posts) == n_posts


@pytest.mark.parametrize("arguments, said", [
    (["--otlp-endpoint", "collector:4318"],
     "otlp-endpoint: must be https:// or http://HOST[:PORT][/PATH]"),
    (["--otlp-endpoint", "http://user:pw@collector"], "otlp-endpoint: must be"),
    (["--otlp-headers-file", "x"], "otlp-headers-file: is of no use without otlp-endpoint"),
    (["--otlp-endpoint", "http://c", "--otlp-headers-file", "/no/such"],
     "otlp-headers-file: /no/such: "),
    (["--otlp-endpoint", "http://c", "--otlp-cafile", "x"],
     "otlp-cafile: is of no use without https://"),
])
def test_bad_options_are_named(arguments, said):
    assert said in refusal("baton-gateway", "--port", 0, *arguments)


def test_a_bad_header_is_named_and_not_shown(tmp_path):
    headers = tmp_path / "headers"
    headers.write_text(f"authorization={SECRET}%0d%0aX: y")
    said = refusal("baton-gateway", "--port", 0, "--otlp-endpoint", "http://c",
                   "--otlp-headers-file", headers)
    assert f"otlp-headers-file: {headers}: header 1: the value contains" in said
    assert SECRET not in said
