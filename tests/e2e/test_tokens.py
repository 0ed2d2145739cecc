"""The cluster token's file: a whole fleet changes it while requests run, and nobody shows it."""
import signal
from pathlib import Path

import pytest
from fleet import Clients, Fleet, free_port, wait_for
from programs import refusal

OLD, NEW = "old-token-of-the-fleet", "new-token-of-the-fleet"
STORY = dict(prompt="Once upon a time", max_new_tokens=24, temperature=0)


def everybody(fleet):
    return [fleet.gateway, *fleet.workers.values()]


def reload(process, event="cluster_token_loaded"):
    """Sends SIGHUP and waits until the process has logged `event` once more; that line."""
    before = process.text().count(f" ev={event} ")
    process.signal(signal.SIGHUP)
    wait_for(lambda: process.text().count(f" ev={event} ") > before, f"{process.name}: {event}")
    return [line for line in process.text().splitlines() if f" ev={event} " in line][-1]


def put(path, *tokens):
    path.write_text("".join(f"{token}\n" for token in tokens))


class Load(Clients):
    """Clients that ask without a pause until the block ends; what came back."""

    def __init__(self, fleet, n=4):
        super().__init__(n, self.ask)
        self.fleet, self.answers = fleet, []

    def ask(self, _):
        status, answer, _ = self.fleet.request("POST", "/generate", STORY)
        self.answers.append((status, answer["text"] if status == 200 else answer))


def join_anew(fleet, name):
    """Restarts a worker and waits until it serves."""
    assert fleet.workers[name].stop() == 0
    wait_for(lambda: not fleet.worker(name), f"{name} to be gone")
    fleet.start_worker(name.split("-")[0], name)
    fleet.wait_worker(name)


def is_refused(fleet, role, token):
    stranger = fleet.start_worker(role, f"{role}-stranger", token=token)
    wait_for(lambda: "is the cluster token the gateway's?" in stranger.text(), "a refusal")
    stranger.kill()
    del fleet.workers[stranger.name]


def test_a_fleet_changes_its_token_under_load_and_loses_no_request(tmp_path):
    path = tmp_path / "cluster-token"
    put(path, OLD)
    with Fleet(prefill=2, decode=2, token_file=path) as fleet:
        expected = fleet.generate(**STORY)["text"]
        with Load(fleet) as load:
            for tokens, comes_back in [((OLD, NEW), "decode-0"), ((NEW, OLD), "prefill-1"),
                                       ((NEW,), "decode-1")]:
                put(path, *tokens)
                for process in everybody(fleet):
                    assert f"tokens={len(tokens)}" in reload(process)
                if tokens == (NEW, OLD):
                    wait_for(lambda: fleet.gateway.text().count("ev=token_shown") == 4,
                             "the new token to be shown")
                join_anew(fleet, comes_back)  # with the token that is first now
            n = len(load.answers)
            wait_for(lambda: len(load.answers) >= n + 8, "more answers")
        assert {answer for answer in load.answers} == {(200, expected)}
        assert "token was withdrawn" not in fleet.gateway.text()  # who took part lost no link
        is_refused(fleet, "decode", OLD)
        for process in everybody(fleet):
            assert OLD not in process.text() and NEW not in process.text()
            assert NEW.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert OLD not in fleet.request("GET", "/workers")[1]
        assert NEW not in fleet.request("GET", "/metrics")[1]


def test_a_worker_that_shows_no_new_token_is_expelled_when_the_old_one_goes(tmp_path):
    path, theirs = tmp_path / "cluster-token", tmp_path / "theirs"
    put(path, OLD)
    put(theirs, OLD)
    with Fleet(decode=2, token_file=path) as fleet:
        fleet.workers["decode-1"].stop()
        wait_for(lambda: not fleet.worker("decode-1"), "it to be gone")
        # The last one of an option counts.
        stays = fleet.start_worker("decode", "decode-1", ["--cluster-token-file", theirs])
        fleet.wait_ready(3)
        for tokens in (OLD, NEW), (NEW, OLD), (NEW,):
            put(path, *tokens)
            for process in everybody(fleet):
                if process is not stays:
                    reload(process)
            shown = tokens[0] == NEW
            wait_for(lambda: all(f"ev=token_shown worker={name}" in fleet.gateway.text()
                                 for name in ("prefill-0", "decode-0") if shown),
                     "the token to be shown")
        wait_for(lambda: not fleet.worker("decode-1"), "the worker to be expelled")
        assert 'worker=decode-1 reason="its cluster token was withdrawn"' in fleet.gateway.text()
        wait_for(lambda: "is the cluster token the gateway's?" in stays.text(), "it to be told")
        assert fleet.gateway.text().count("token was withdrawn") == 1
        assert fleet.generate(**STORY)["output_tokens"]
        put(theirs, NEW)
        reload(stays)
        fleet.wait_ready(3)


def test_a_file_with_a_mistake_leaves_the_token_as_it_was(tmp_path):
    path = tmp_path / "cluster-token"
    put(path, OLD)
    with Fleet(token_file=path) as fleet:
        put(path, "short")
        for process in everybody(fleet):
            line = reload(process, "cluster_token_kept")
            assert "line 1: a token has 8 to 256 characters" in line
            assert "short" not in line.partition("reason=")[2]
        is_refused(fleet, "decode", "short")
        put(path, OLD)
        join_anew(fleet, "decode-0")
        assert fleet.generate(**STORY)["output_tokens"]


def test_a_worker_without_a_file_survives_a_hangup():
    with Fleet() as fleet:
        for process in everybody(fleet):
            reload(process, "nothing_to_reload")
        assert fleet.generate(**STORY)["output_tokens"]


@pytest.mark.parametrize("program", ["baton-gateway", "baton-prefill", "baton-decode"])
@pytest.mark.parametrize("text, more, reason", [
    (None, [], "No such file"), ("# none\n", [], "holds no token"),
    ("secret7\n", [], "line 1: a token has 8 to 256"),
    (f"{OLD}\n{NEW}\nthird-token\n", [], "line 3: a file holds at most two"),
    (OLD, ["--cluster-token", NEW], "both given"),
])
def test_a_bad_file_is_an_error_at_start(tmp_path, program, text, more, reason):
    path = tmp_path / "cluster-token"
    if text is not None:
        path.write_text(text)
    said = refusal(program, "--inbox", f"tcp://127.0.0.1:{free_port()}", "--cluster-token-file",
                   path, *more, cwd=tmp_path)
    assert reason in said
    assert not any(secret in said for secret in (OLD, NEW, "secret7", "third"))
