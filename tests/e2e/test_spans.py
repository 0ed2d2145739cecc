"""The spans of --otlp-file follow the JSON form of OTLP's protobuf definitions.

Names are lowerCamelCase, trace and span ids hex, 64-bit integers strings, and enums numbers
(opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding").
"""
import json
import re

import pytest
from fleet import Fleet, wait_for

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-Id": "order-66"}


def is_trace_id(value):
    return re.fullmatch(r"[0-9a-f]{32}", value) and int(value, 16)


def is_span_id(value):
    return re.fullmatch(r"[0-9a-f]{16}", value) and int(value, 16)


def is_int64(value):
    return isinstance(value, str) and str(int(value)) == value


def is_text(value):
    return isinstance(value, str) and value


def is_attribute(value):
    kinds = {"stringValue": is_text, "intValue": is_int64}
    (kind, inner), = value["value"].items()
    return set(value) == {"key", "value"} and is_text(value["key"]) and kinds[kind](inner)


def each(check):
    return lambda values: isinstance(values, list) and all(map(check, values))


def message(**fields):
    """A check of a message: only these fields, each as it must be."""
    return lambda value: (set(value) <= set(fields)
                          and all(fields[name](inner) for name, inner in value.items()))


SPAN = message(traceId=is_trace_id, spanId=is_span_id, parentSpanId=is_span_id,
               flags=lambda n: n in (0, 1), name=is_text, kind=lambda n: n in range(6),
               startTimeUnixNano=is_int64, endTimeUnixNano=is_int64, attributes=each(is_attribute),
               status=message(code=lambda n: n in range(3), message=is_text))
REQUEST = message(resourceSpans=each(message(
    resource=message(attributes=each(is_attribute)),
    scopeSpans=each(message(scope=message(name=is_text, version=is_text), spans=each(SPAN))))))


def spans_of(path):
    spans = []
    for line in path.read_text().splitlines():
        request = json.loads(line)
        assert REQUEST(request), line
        spans += [span for resource in request["resourceSpans"] for scope in resource["scopeSpans"]
                  for span in scope["spans"]]
    return spans


def time_of(span):
    return int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])


def attributes(span):
    return {a["key"]: a["value"].get("stringValue") or int(a["value"]["intValue"])
            for a in span["attributes"]}


@pytest.fixture
def traced(tmp_path):
    path = tmp_path / "spans.jsonl"
    with Fleet(gateway_args=["--otlp-file", str(path), "--access-log", "all"]) as fleet:
        fleet.spans = path
        yield fleet


def test_a_request_is_a_tree_of_spans_below_its_clients(traced):
    body = {"prompt": "Once upon a time", "max_tokens": 8, "n": 2}
    status, answer, headers = traced.request("POST", "/v1/completions", body, SAMPLED)
    assert status == 200
    wait_for(lambda: len(traced.spans.read_text().splitlines()) == 3, "the line of the answer")
    spans = spans_of(traced.spans)
    server, = [span for span in spans if span["name"] == "POST /v1/completions"]
    assert {span["traceId"] for span in spans} == {TRACE}
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert server["parentSpanId"] == PARENT and server["kind"] == 2
    assert headers["traceparent"] == f"00-{TRACE}-{server['spanId']}-01"
    told = attributes(server)
    assert told["http.response.status_code"] == 200 and told["baton.request.id"] == "order-66"
    generations = [span for span in spans if span["name"] == "generation"]
    assert len(generations) == 2
    assert {span["parentSpanId"] for span in generations} == {server["spanId"]}
    for generation in generations:
        stages = [span for span in spans if span.get("parentSpanId") == generation["spanId"]]
        assert [span["name"] for span in stages][:3] == ["parse", "tokenize", "queue"]
        assert len(stages) == 14
        assert {attributes(span)["baton.worker"] for span in stages} == {"gateway", "prefill-0",
                                                                         "decode-0"}
        begin, end = time_of(generation)
        assert attributes(generation)["gen_ai.usage.output_tokens"] == 8
        assert abs(time_of(stages[0])[0] - begin) < 1000
        names = [span["name"] for span in stages]
        first = names.index("first_token")
        for i, after in enumerate(stages[1:]):
            # The gateway's work on tokens lies beside the workers', from the first token on.
            before = stages[first if after["name"] == "detokenize" else i]
            assert abs(time_of(before)[1] - time_of(after)[0]) < 1000
        assert end > time_of(stages[-1])[1]
    metrics = traced.metrics()
    assert metrics['baton_span_lines_total{outcome="written"}'] == 3
    assert metrics['baton_span_lines_total{outcome="dropped"}'] == 0


def test_who_is_traced(traced):
    def n_lines(headers, path="/generate", body={"prompt": "A", "max_new_tokens": 2}):
        before = traced.spans.read_text().count("\n")
        status, _, answered = traced.request("POST" if body else "GET", path, body, headers)
        line = re.compile(rf" ev=access .*\bid={answered['x-request-id']} ")
        wait_for(lambda: line.search(traced.gateway.text()), "the access line")
        traced.metrics()  # this answer comes after the spans that follow the line
        return traced.spans.read_text().count("\n") - before, answered
    assert n_lines({"traceparent": f"00-{TRACE}-{PARENT}-00"})[0] == 0  # 00: not recorded
    n, headers = n_lines({})
    assert n == 1 + 1 and re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", headers["traceparent"])
    assert "parentSpanId" not in spans_of(traced.spans)[-1]
    assert n_lines({}, "/health", None)[0] == 0
    assert n_lines(SAMPLED, "/generate", {"prompt": 7})[0] == 1
    assert attributes(spans_of(traced.spans)[-1])["http.response.status_code"] == 400
