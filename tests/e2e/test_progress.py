"""A stalled gateway, role, engine or path between workers is found before any deadline."""
import mmap
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fleet import LONG_S, WORDY, Fleet, wait_for
from freeze import Frozen
from netns import SpreadFleet

STORY = "Once upon a time"
AWAIT = ["--absence-s", LONG_S]  # a role that a test takes away comes back


def ask(fleet, **more):
    return fleet.generate(**{"prompt": STORY, "max_new_tokens": 8, "temperature": 0,
                             **more})["generated_text"]


def wait_for_log(process, text):
    wait_for(lambda: text in process.text(), f"{process.name} to log {text}")


# ---- a role without workers, a gateway that stands still ----

def test_requests_wait_for_a_role_whose_only_worker_is_restarted():
    with Fleet(gateway_args=AWAIT) as fleet, ThreadPoolExecutor(6) as pool:
        expected = ask(fleet)
        for role in "decode", "prefill":
            fleet.workers[f"{role}-0"].stop()
            wait_for(lambda: fleet.worker(f"{role}-0") is None, "the worker to be gone")
            pending = [pool.submit(ask, fleet) for _ in range(6)]
            wait_for(lambda: fleet.open("QUEUED") == 6, "the requests to be queued")
            fleet.start_worker(role, f"{role}-0")
            assert {p.result() for p in pending} == {expected}


def test_requests_wait_for_the_first_workers_of_a_gateway():
    with Fleet(prefill=0, decode=0, gateway_args=AWAIT) as fleet, ThreadPoolExecutor(2) as pool:
        pending = [pool.submit(ask, fleet) for _ in range(2)]
        wait_for(lambda: fleet.open("QUEUED") == 2, "the requests to be queued")
        assert fleet.request("GET", "/ready")[0] == 503
        for role in "decode", "prefill":
            fleet.start_worker(role, f"{role}-0")
        assert len({p.result() for p in pending}) == 1


def test_a_role_is_not_awaited_for_longer_than_told():
    with Fleet(decode=0, gateway_args=["--absence-s", 3600, "--max-wait-s", 0.5]) as fleet:
        status, answer, _ = fleet.request("POST", "/generate", {"prompt": STORY})
        assert status == 503 and answer["error"]["code"] == "no_worker"


def test_a_gateway_that_stood_still_keeps_its_workers_and_requests():
    with Fleet(gateway_args=["--silence-s", 0], worker_args=["--silence-s", 0.5]) as fleet:
        expected, _ = fleet.stream(**WORDY).text()
        [stream] = fleet.hold()
        fleet.gateway.pause()
        for worker in fleet.workers.values():
            wait_for_log(worker, "ev=gateway_stopped")
        fleet.gateway.resume()
        text, last = stream.text()
        assert last.name == "summary" and text == expected
        assert not any("ev=gateway_lost" in worker.text() for worker in fleet.workers.values())
        assert "ev=worker_lost" not in fleet.gateway.text()
        fleet.wait_all_free()


# ---- an engine that stands still, while its process beats on ----

QUICK = ["--stall-s", 1]  # the default: a busy machine seldom stops an engine for that long


def outcome(fleet, **more):
    """The text of an answer, or the code of its failure."""
    body = {"prompt": STORY, "max_new_tokens": 8, "temperature": 0, **more}
    status, answer, _ = fleet.request("POST", "/generate", body)
    return answer["generated_text"] if status == 200 else answer["error"]["code"]


def wait_for_state(fleet, name, state):
    wait_for(lambda: (fleet.worker(name) or {}).get("state") == state, f"{name} to be {state}")


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_a_frozen_engine_is_noticed_and_its_requests_go_elsewhere(role):
    name = f"{role}-0"
    with Fleet(prefill=2, decode=2, worker_args=QUICK) as fleet, ThreadPoolExecutor(8) as pool:
        expected = ask(fleet)
        n_before = fleet.worker(name)["routed"]
        with Frozen(fleet.workers[name].pid):
            pending = []
            while fleet.worker(name)["routed"] == n_before:
                pending += [pool.submit(outcome, fleet) for _ in range(4)]
            wait_for_state(fleet, name, "stalled")
            assert {p.result() for p in pending} == {expected}  # none is lost, none waits
            assert {outcome(fleet) for _ in range(4)} == {expected}
            assert fleet.worker(name)["stalled_s"] > 0 and fleet.worker(name)["active"] == 0
            assert fleet.metrics()[f'baton_workers{{role="{role}",state="stalled"}}'] == 1
        wait_for_state(fleet, name, "ready")
        assert fleet.metrics()[f'baton_worker_stalls_total{{role="{role}",worker="{name}"}}'] == 1
        assert len(re.findall(f"worker={name} .*to=stalled", fleet.gateway.text())) == 1
        fleet.wait_all_free()


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_requests_of_the_only_engine_of_a_role_fail_when_it_freezes_and_not_by_their_deadline(role):
    name = f"{role}-0"
    with Fleet(worker_args=QUICK) as fleet, ThreadPoolExecutor(8) as pool:
        expected = ask(fleet)
        with Frozen(fleet.workers[name].pid):
            pending = [pool.submit(outcome, fleet) for _ in range(8)]
            assert {p.result() for p in pending} <= {"worker_failed", "no_worker"}
            assert fleet.request("GET", "/ready")[0] == 503
            assert outcome(fleet) == "no_worker"
        wait_for_state(fleet, name, "ready")
        assert ask(fleet) == expected
        fleet.wait_all_free()


def test_a_stream_of_a_frozen_engine_ends_or_goes_on_elsewhere():
    with Fleet(decode=2, worker_args=QUICK) as fleet:
        expected, _ = fleet.stream(**WORDY).text()
        streams = fleet.hold(2)
        with Frozen(fleet.workers["decode-0"].pid):
            texts = [stream.text() for stream in streams]
        for text, last in texts:
            assert expected.startswith(text) and last.name in ("summary", "error")
            assert last.name == "summary" or "stalled" in last.json()["error"]["message"]
        fleet.wait_all_free()


# ---- canaries ----

def change_weights(packs):
    """Flips bits in each page of the mapped weights of this directory, as broken memory would."""
    [pack] = packs.glob("*.pack")
    with open(pack, "r+b") as file, mmap.mmap(file.fileno(), 0) as weights:
        for at in range(2 * 4096, len(weights), 512):  # behind the head
            weights[at + 3] ^= 0x40


def wait_for_canaries(fleet):
    before = {worker["id"]: worker["canaries"] for worker in fleet.fleet()}
    wait_for(lambda: all(worker["canaries"] > before[worker["id"]] + 1 for worker in fleet.fleet()),
             "a canary of each worker that began after this")


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_an_idle_worker_that_computes_other_results_gets_no_request(role):
    name = f"{role}-1"
    with (Fleet(**{role: 1}, worker_args=["--canary-s", 0.05]) as fleet,
          ThreadPoolExecutor(4) as pool):
        expected = ask(fleet)
        own = Path(fleet.dir.name, "own-packs")
        own.mkdir()
        worker = fleet.start_worker(role, name, ["--pack-dir", own])
        fleet.wait_ready(3)
        wait_for_canaries(fleet)
        assert [worker["canary_failures"] for worker in fleet.fleet()] == [0, 0, 0]
        change_weights(own)
        wait_for_state(fleet, name, "unhealthy")
        n_before = fleet.worker(name)["routed"]
        assert set(pool.map(lambda _: outcome(fleet), range(12))) == {expected}
        assert fleet.worker(name)["routed"] == n_before
        checks = fleet.request("GET", "/health?detail=1")[1]["checks"]
        assert [check["ok"] for check in checks if check["name"] == "workers"] == [False]
        metrics = fleet.metrics()
        assert metrics[f'baton_workers{{role="{role}",state="unhealthy"}}'] == 1
        assert metrics[f'baton_worker_canary_failures_total{{role="{role}",worker="{name}"}}'] > 0
        assert "ev=canary_failed" in worker.text() and "to=unhealthy" in fleet.gateway.text()
        worker.stop()
        fleet.start_worker(role, name)
        wait_for_state(fleet, name, "ready")


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_an_idle_engine_that_stands_still_is_noticed_before_a_request_comes(role):
    name = f"{role}-0"
    with Fleet(worker_args=[*QUICK, "--canary-s", 0.1]) as fleet:
        wait_for_canaries(fleet)
        with Frozen(fleet.workers[name].pid):
            wait_for_state(fleet, name, "stalled")
        wait_for_state(fleet, name, "ready")


def test_without_canaries_an_engine_computes_only_what_is_asked():
    with Fleet(worker_args=["--canary-s", 0]) as fleet:
        ask(fleet)
        assert {worker["canaries"] for worker in fleet.fleet()} == {0}


# ---- a path between two workers, of which the gateway reaches both ----

CUTS = {"both ways": ("prefill-0", "decode-0", True), "context": ("prefill-0", "decode-0", False),
        "acknowledgements": ("decode-0", "prefill-0", False)}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("used", [False, True], ids=["a new link", "a used link"])
def test_a_cut_path_is_noticed_and_other_pairs_serve(cut, used):
    with SpreadFleet(prefill=2, decode=2) as fleet, ThreadPoolExecutor(12) as pool:
        expected = ask(fleet) if used else None
        if used:
            assert set(pool.map(lambda _: outcome(fleet), range(24))) == {expected}
        fleet.net.cut(*cut)
        answers = []
        while "ev=path_cut" not in fleet.gateway.text():
            answers += pool.map(lambda _: outcome(fleet), range(12))
        assert {outcome(fleet), *answers} == {expected or outcome(fleet)}
        assert fleet.metrics()["baton_path_cuts_total"] == 1
        [path] = fleet.request("GET", "/workers")[1]["cut_paths"]
        assert (path["prefill"], path["decode"]) == ("prefill-0", "decode-0")
        fleet.net.mend(*cut)
        while "ev=path_mended" not in fleet.gateway.text():
            assert set(pool.map(lambda _: outcome(fleet), range(7))) == {outcome(fleet)}
        assert fleet.request("GET", "/workers")[1]["cut_paths"] == []
        fleet.wait_all_free()
        assert fleet.gateway.text().count("ev=path_cut") >= 1
        assert "ev=worker_lost" not in fleet.gateway.text()


def test_a_cut_between_the_only_two_workers_fails_requests_and_not_by_their_deadline():
    with SpreadFleet() as fleet, ThreadPoolExecutor(12) as pool:
        expected = ask(fleet)
        fleet.net.cut("prefill-0", "decode-0")
        answers = set(pool.map(lambda _: outcome(fleet), range(12)))
        assert answers <= {"worker_failed", "no_worker"}, answers
        fleet.net.mend("prefill-0", "decode-0")
        wait_for(lambda: outcome(fleet) == expected, "the pair to serve again")
        fleet.wait_all_free()


def test_a_worker_that_is_cut_off_dials_anew_and_is_back_when_the_path_is():
    with SpreadFleet(decode=2, gateway_args=["--silence-s", 1],
                     worker_args=["--silence-s", 1, "--log-level", "debug"]) as fleet:
        worker = fleet.workers["decode-0"]
        fleet.net.cut("gateway", "decode-0")
        wait_for(lambda: fleet.worker("decode-0") is None, "decode-0 to be lost")
        wait_for_log(worker, "ev=gateway_lost")
        wait_for(lambda: worker.text().count("to=dialling") >= 4, "the worker to dial anew")
        fleet.net.mend("gateway", "decode-0")
        wait_for_state(fleet, "decode-0", "ready")


# ---- what is said of it ----

def test_health_tells_each_check_and_readiness_tells_whether_to_send():
    with Fleet(worker_args=QUICK) as fleet:
        def failing():
            status, health, _ = fleet.request("GET", "/health?detail=1")
            assert status == 200
            assert health["all_ok"] == all(check["ok"] for check in health["checks"])
            return {check["name"] for check in health["checks"] if not check["ok"]} - {"loop"}
        assert failing() == set() and fleet.request("GET", "/live")[0] == 200
        ask(fleet)
        with Frozen(fleet.workers["decode-0"].pid):
            assert outcome(fleet) in ("worker_failed", "no_worker")
            assert failing() == {"decode", "workers"}
            assert fleet.request("GET", "/ready")[0] == 503
            assert fleet.request("GET", "/live")[0] == 200
        wait_for(lambda: not failing(), "all to be well")
        assert fleet.request("GET", "/ready")[0] == 200
