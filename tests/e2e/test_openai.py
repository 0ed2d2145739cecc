"""The official OpenAI client for JavaScript against a fleet, and the wire that it hides."""
import json

import pytest
from fleet import ROOT, Fleet, wait_for
from javascript import Client

KEY = "sk-a-key-of-this-test"
STORY = "Once upon a time"


@pytest.fixture(scope="module")
def client():
    return Client("openai")


def drive(client, fleet, test, **env):
    return client.drive(fleet, test, "/v1", **env)


FLEET = dict(gateway_args=["--chat-template", "chatml"])


@pytest.mark.parametrize("name", ["openai", "clients"])
def test_the_lock_files_name_no_host(name):
    for file in "package.json", "package-lock.json":
        assert "://" not in (ROOT / "tests/e2e" / name / file).read_text()


def test_the_official_client_is_served(client, fleet):
    drive(client, fleet, "client.test.mjs")
    fleet.wait_all_free()


def test_streams_that_the_client_aborts_leave_nothing_behind(client, fleet):
    key = 'baton_requests_total{outcome="canceled"}'
    before = fleet.metrics()[key]
    drive(client, fleet, "abort.test.mjs")
    fleet.wait_all_free()
    wait_for(lambda: fleet.metrics()[key] > before, "canceled requests to be counted")


def test_every_refusal_is_the_clients_own_error_class(client, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(KEY + " max=1\n")
    keys.chmod(0o600)
    args = ["--api-keys", keys, "--chat-template", "chatml", "--unknown-fields", "refuse"]
    with Fleet(key=KEY, gateway_args=args) as fleet:
        drive(client, fleet, "errors.test.mjs", API_KEY=KEY)
        fleet.wait_all_free()


# The wire, which the client does not show.


@pytest.mark.parametrize("path,prompt", [
    ("/v1/completions", {"prompt": STORY}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": STORY}]}),
])
def test_a_stream_is_unnamed_events_and_ends_with_done(fleet, path, prompt):
    stream = fleet.stream(path, **prompt, max_tokens=8, stream=True, temperature=0)
    assert stream.response.getheader("Content-Type").startswith("text/event-stream")
    events = list(stream.events)
    assert {event.name for event in events} == {"message"}
    assert events[-1].data == "[DONE]"
    assert all(json.loads(event.data)["choices"] for event in events[:-1])


def test_chat_needs_a_template():
    with Fleet() as fleet:
        status, answer, _ = fleet.request("POST", "/v1/chat/completions",
                                          {"messages": [{"role": "user", "content": "Hello"}]})
        assert status == 400 and answer["error"]["code"] == "no_chat_template"


def test_a_stream_whose_worker_dies_says_so_and_is_not_done():
    with Fleet() as fleet:
        stream = fleet.stream("/v1/completions", prompt=STORY, max_tokens=500, n=16,
                              ignore_eos=True, stream=True)
        events = [next(stream.events)]
        fleet.workers["decode-0"].kill()
        events += stream.events
        assert [event.data for event in events].count("[DONE]") == 0
        error = events[-1].json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["type"] == "server_error"
