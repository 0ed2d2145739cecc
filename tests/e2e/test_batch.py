"""baton batch: a file of requests, answered once each, whatever comes between."""
import json
import os
import signal
import subprocess

import pytest
from fleet import BIN, LONG_S, Fleet, free_port, wait_for

BATON = BIN / "baton"
STORY = "Once upon a time"
WITH_ERRORS = 3


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "api-keys"
    path.write_text("batch-key-0001\nlimited-key-03 max=3\nother-key-0002\n"
                    "slow-key-00004 requests_per_s=1\n")
    return path


@pytest.fixture
def slow_key_file(tmp_path):
    """A key with which a run is under way for as long as it has lines: a second for each beyond the
    first ten, however fast the machine is."""
    path = tmp_path / "slow"
    path.write_text("slow-key-00004\n")
    return path


@pytest.fixture(scope="module")
def fleet(key_file):
    with Fleet(key="other-key-0002", gateway_args=["--api-keys", key_file]) as started:
        yield started
        started.wait_all_free()


def request(name, url="/v1/completions", **body):
    body = {"prompt": STORY, "max_tokens": 4, "temperature": 0, **body}
    return {"custom_id": name, "method": "POST", "url": url, "body": body}


def write(path, requests):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests))
    return path


def command(fleet, key_file, source, out, *more):
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    return dict(args=[BATON, "batch", source, "--out", out, "--url",
                      f"http://127.0.0.1:{fleet.port}", "--api-keys", key_file, *map(str, more)],
                env=env, stderr=subprocess.PIPE, text=True)


def batch(*arguments):
    done = subprocess.run(**command(*arguments), timeout=LONG_S)
    return done.returncode, done.stderr


def answers(out):
    """{custom_id: answer}; every line is whole and none is there twice."""
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    found = {line["custom_id"]: line for line in lines}
    assert len(found) == len(lines)
    return found


def n_done(fleet):
    return fleet.metrics()['baton_priority_requests_total{priority="batch",outcome="ok"}']


def test_every_line_is_answered_in_openais_format(fleet, key_file, tmp_path):
    source = write(tmp_path / "in", [
        request("a \"quoted\" id"),
        request("native", "/generate", max_tokens=None, max_new_tokens=3, prompt="The cat"), "",
        request("chat", "/v1/embeddings/none"), request("seven", max_tokens=7, ignore_eos=True)])
    lines = source.read_text().replace('"max_tokens": null, ', "")
    source.write_text(lines)
    before = n_done(fleet)
    status, told = batch(fleet, key_file, source, tmp_path / "out")
    assert status == WITH_ERRORS and "4 answered" in told and "1 of them with an error" in told
    found = answers(tmp_path / "out")
    assert set(found) == {'a "quoted" id', "native", "chat", "seven"}
    for answer in found.values():
        assert set(answer) == {"id", "custom_id", "response", "error"} and answer["error"] is None
        assert set(answer["response"]) == {"status_code", "request_id", "body"}
    seven = found["seven"]
    assert seven["id"] == "batch_req_5" and seven["response"]["status_code"] == 200
    assert seven["response"]["request_id"].endswith("-5")
    assert seven["response"]["body"]["id"] == f"cmpl-{seven['response']['request_id']}"
    assert seven["response"]["body"]["usage"]["completion_tokens"] == 7
    assert seven["response"]["body"]["timings"]["priority"] == "batch"
    assert found["native"]["response"]["body"]["priority"] == "batch"
    assert found["chat"]["response"]["status_code"] == 404
    assert n_done(fleet) - before == 3


def test_bad_lines_are_told_by_number_and_stop_nothing(fleet, key_file, tmp_path):
    bad = [
        ("no JSON", "column"), ("[]", "must be an object"),
        ({**request("x"), "method": "GET"}, "method: "),
        ({**request("x"), "custom_id": 7}, "custom_id: "),
        ({**request("x"), "url": "http://x"}, "url: "),
        ({**request("x"), "body": []}, "body: "), (request("x", stream=True), "body.stream: "),
        ('{"custom_id": "x", "custom_id": "y"}', "duplicate"),
        ("x" * (17 << 20), "longer than 16 MiB"),
    ]
    source = write(tmp_path / "in", [request("first"), *(line for line, _ in bad), request("last")])
    for n_answered in 2, 0:  # they are told each time
        status, told = batch(fleet, key_file, source, tmp_path / "out")
        assert status == WITH_ERRORS
        assert f"{n_answered} answered" in told and f"{len(bad)} bad lines" in told
        for number, (_, reason) in enumerate(bad, 2):
            assert any(line.startswith(f"{source}: line {number}: ") and reason in line
                       for line in told.splitlines()), (number, told)
    assert set(answers(tmp_path / "out")) == {"first", "last"}


def test_a_run_that_is_killed_goes_on_where_it_was(fleet, key_file, slow_key_file, tmp_path):
    source = write(tmp_path / "in",
                   [request(f"line {i}", max_tokens=40, ignore_eos=True) for i in range(60)])
    out = tmp_path / "out"
    before = n_done(fleet)
    with subprocess.Popen(**command(fleet, slow_key_file, source, out)) as run:
        wait_for(lambda: out.exists() and out.read_bytes().count(b"\n") >= 10, "the first answers")
        run.send_signal(signal.SIGKILL)
    wait_for(lambda: not fleet.open(), "what was under way to end")
    fleet.wait_all_free()
    had = out.read_bytes()
    assert had.endswith(b"\n") and 10 <= had.count(b"\n") < 60
    asked = n_done(fleet) - before
    with out.open("ab") as file:  # as a crash of the machine may leave it
        file.write(b'{"id":"batch_req_60","custom_id":"line 59","resp')
    status, told = batch(fleet, key_file, source, out)
    assert status == 0 and f"{60 - had.count(b'%c' % 10)} answered" in told
    assert out.read_bytes().startswith(had)
    assert set(answers(out)) == {f"line {i}" for i in range(60)}
    assert n_done(fleet) - before == asked + 60 - had.count(b"\n")
    status, told = batch(fleet, key_file, source, out)
    assert status == 0
    assert told.startswith("0 answered") and n_done(fleet) - before == asked + 60 - had.count(b"\n")


def test_as_many_are_in_flight_as_the_server_takes(fleet, key_file, tmp_path):
    source = write(tmp_path / "in",
                   [request(f"{i}", max_tokens=60, ignore_eos=True) for i in range(24)])
    refused = 'baton_requests_rejected_total{reason="per_key"}'
    before = fleet.metrics()[refused]
    limited = tmp_path / "limited"
    limited.write_text("limited-key-03\n")
    status, told = batch(fleet, limited, source, tmp_path / "out", "--max-in-flight", 8)
    assert status == 0, told  # the key may have three at once
    assert {a["response"]["status_code"] for a in answers(tmp_path / "out").values()} == {200}
    assert fleet.metrics()[refused] > before


def test_a_file_of_something_else_is_not_touched(fleet, key_file, tmp_path):
    source, out = write(tmp_path / "in", [request("a"), request("b")]), tmp_path / "out"
    out.write_text("my diary\n")
    status, told = batch(fleet, key_file, source, out)
    assert status == 1
    assert "line 1: not an answer of a batch" in told and out.read_text() == "my diary\n"
    out.unlink()
    assert batch(fleet, key_file, source, out)[0] == 0
    had = out.read_text()
    write(source, [request("b"), request("a")])
    status, told = batch(fleet, key_file, source, out)
    assert status == 1 and "has another custom_id" in told and out.read_text() == had


def test_a_run_ends_when_it_cannot_go_on(fleet, key_file, tmp_path):
    source, out = write(tmp_path / "in", [request("a")]), tmp_path / "out"
    wrong = tmp_path / "wrong"
    wrong.write_text("not-the-key-1\n")
    status, told = batch(fleet, wrong, source, out)
    assert status == 1 and "HTTP 401" in told and "run the same command again" in told
    status, told = batch(fleet, key_file, source, out, "--url", f"http://127.0.0.1:{free_port()}",
                         "--patience-s", 0)
    assert status == 1 and "nothing was answered" in told
    assert batch(fleet, key_file, tmp_path / "none", out)[0] == 1
    assert batch(fleet, key_file, source, out)[0] == 0 and set(answers(out)) == {"a"}


def test_two_runs_do_not_write_to_one_file(fleet, key_file, slow_key_file, tmp_path):
    out = tmp_path / "out"
    source = write(tmp_path / "in", [request(f"{i}") for i in range(60)])
    with subprocess.Popen(**command(fleet, slow_key_file, source, out)) as run:
        wait_for(lambda: out.exists() and out.stat().st_size, "the first answers")
        status, told = batch(fleet, key_file, source, out)
        assert status == 1 and "another run writes to it" in told
        run.kill()
    fleet.wait_all_free()
