"""A stranger tries to take over streams and responses by every name that a fleet shows him."""
import re

from fleet import Stream

FLEET = dict(gateway_args=["--resume-s", 3600, "--chat-template", "chatml"])
LONG = dict(prompt="Once upon a time", max_new_tokens=400, temperature=0, ignore_eos=True)


def shown(fleet, stream):
    """Names in the answers, metrics and logs of all processes that may be a request's."""
    texts = [process.text() for process in [fleet.gateway, *fleet.workers.values()]]
    texts += [str(fleet.request("GET", path)[1]) for path in ("/debug/kv", "/workers", "/metrics")]
    texts.append(stream.response.getheader("x-request-id"))
    return set(re.findall(r"[0-9A-Za-z_-]{8,64}", " ".join(texts)))


def test_no_shown_name_resumes_a_stream_or_continues_a_response(fleet):
    """Bound: 0 of all shown names open anything, and the owner's stream is whole."""
    expected = fleet.generate(**LONG)["generated_text"]
    response = fleet.post("/v1/responses", {"input": "Hello", "max_output_tokens": 4})
    stream = Stream(fleet.port, LONG, headers={"x-baton-resumable": "true"})
    secret = stream.response.getheader("x-baton-stream")
    names = shown(fleet, stream)
    assert len(names) > 20 and len(secret) == 32
    assert secret not in names and response["id"] not in names
    for name in names:
        for path in (f"/v1/streams/{name}", f"/v1/responses/{name}", f"/v1/responses/resp-{name}",
                     f"/v1/responses/resp_{name}"):
            assert fleet.request("GET", path)[0] == 404, path
            assert fleet.request("DELETE", path)[0] == 404, path
    assert stream.text()[0] == expected


def test_guesses_of_a_stream_are_refused(fleet):
    """Bound: a name that differs in one place from the true one is no stream."""
    stream = Stream(fleet.port, LONG, headers={"x-baton-resumable": "true"})
    secret = stream.response.getheader("x-baton-stream")
    for i, digit in enumerate(secret):
        guess = secret[:i] + ("0" if digit != "0" else "1") + secret[i + 1:]
        assert fleet.request("GET", f"/v1/streams/{guess}")[0] == 404
    assert fleet.request("HEAD", f"/v1/streams/{secret}")[0] == 200
    assert stream.text()[1].name == "summary"
