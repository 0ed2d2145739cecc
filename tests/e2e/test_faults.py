"""Workers die, stall, lie or leave and clients go away: nothing else fails, nothing leaks."""
import os
import random
import re
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import wire
from fleet import KEEPING, LONG_S, MODEL, SLOW, SUSPICION, WORDY, Fleet, wait_for

STORY = "Once upon a time"
# Long enough for something to happen in the middle of it.
LONG = dict(prompt=STORY, max_new_tokens=480 if SLOW == 1 else 200, temperature=0.8,
            ignore_eos=True)


def test_64_streams_over_two_and_two_equal_their_single_runs():
    with Fleet(prefill=2, decode=2) as fleet:
        rng = random.Random(3)
        bodies = [dict(prompt=[rng.randrange(2500) for _ in range(rng.randint(1, 200))],
                       max_new_tokens=rng.randint(2, 100), temperature=rng.choice([0, 0.9]), seed=i)
                  for i in range(64)]
        with ThreadPoolExecutor(64) as pool:
            results = list(pool.map(lambda body: fleet.stream(**body).text(), bodies))
        workers = {last.json()["served_by"]["decode"] for _, last in results}
        workers |= {last.json()["served_by"]["prefill"] for _, last in results}
        assert workers == {"prefill-0", "prefill-1", "decode-0", "decode-1"}
        for body, (text, last) in zip(bodies, results):
            assert last.name == "summary", last
            assert text == fleet.generate(**body)["generated_text"], body
        fleet.wait_all_free()


def test_kill_of_a_decode_worker_fails_its_streams_and_no_others():
    with Fleet(decode=2, gateway_args=["--migration-limit", 0]) as fleet:
        streams = fleet.hold(6)
        n_there = fleet.active("decode-0")
        assert 0 < n_there < 6
        fleet.workers["decode-0"].kill()
        # No other stream is read meanwhile.
        wait_for(lambda: fleet.open() == 6 - n_there, "its streams to fail")
        with ThreadPoolExecutor(6) as pool:
            ends = list(pool.map(lambda stream: stream.text()[1], streams))
        failed = [last.json()["error"] for last in ends if last.name == "error"]
        assert len(failed) == n_there
        assert [last.name for last in ends].count("summary") == 6 - n_there
        assert all("decode-0" in error["message"] and error["code"] == "worker_failed"
                   for error in failed)
        fleet.start_worker("decode", "decode-2")
        fleet.wait_ready(3)
        fleet.wait_all_free()
        with ThreadPoolExecutor(8) as pool:
            used = {answer["served_by"]["decode"] for answer in
                    pool.map(lambda i: fleet.generate(**LONG, seed=i), range(8))}
        assert used == {"decode-1", "decode-2"}
        fleet.wait_all_free()


def test_kill_of_a_worker_before_the_first_token_is_a_retry():
    with Fleet(prefill=2, decode=1) as fleet:
        fleet.workers["prefill-0"].pause()
        with ThreadPoolExecutor(4) as pool:
            pending = [pool.submit(fleet.generate, prompt=STORY, max_new_tokens=5, temperature=0)
                       for _ in range(4)]
            wait_for(lambda: fleet.active("prefill-0"), "a prompt to be routed there")
            fleet.workers["prefill-0"].kill()
            answers = [p.result() for p in pending]
        assert {a["served_by"]["prefill"] for a in answers} == {"prefill-1"}
        assert max(a["served_by"]["attempts"] for a in answers) == 2
        assert len({a["generated_text"] for a in answers}) == 1
        assert fleet.metrics()["baton_retries_total"] >= 1
        fleet.wait_all_free()


def test_a_whole_answer_begins_again_where_none_migrates():
    with Fleet(decode=2, gateway_args=["--migration-limit", 0]) as fleet:
        expected = fleet.generate(**LONG, seed=5)["generated_text"]
        with ThreadPoolExecutor(8) as pool:
            pending = fleet.pause_at_work(
                "decode-0", lambda: [pool.submit(fleet.generate, **LONG, seed=5) for _ in range(8)],
                lambda: fleet.open("DECODING") == fleet.open() > 0)
            fleet.workers["decode-0"].kill()
            answers = [p.result() for p in pending]
        assert {a["generated_text"] for a in answers} == {expected}
        assert max(a["served_by"]["attempts"] for a in answers) > 1
        assert max(map(int, re.findall(r"ev=retry .*lost_tokens=(\d+)", fleet.gateway.text()))) > 0
        fleet.wait_all_free()


def test_a_client_that_leaves_frees_everything_at_once():
    with Fleet() as fleet:
        before = fleet.metrics()['baton_requests_total{outcome="canceled"}']
        streams = fleet.hold(5)
        for stream in streams:
            stream.abandon()
        fleet.wait_all_free()
        metrics = fleet.metrics()
        assert metrics['baton_requests_total{outcome="canceled"}'] == before + 5
        assert metrics['baton_worker_kv_blocks_reserved{role="decode",worker="decode-0"}'] == 0
        assert metrics['baton_worker_running_requests{role="decode",worker="decode-0"}'] == 0


def test_a_client_of_the_naive_loop_that_leaves_stops_it():
    with Fleet() as fleet:
        [stream] = fleet.hold(kv_cache=False)
        stream.abandon()
        fleet.wait_all_free()
        assert fleet.metrics()['baton_requests_total{outcome="canceled"}'] == 1


def test_a_stopped_worker_is_suspected_then_lost_and_comes_back():
    with Fleet(decode=2, gateway_args=SUSPICION) as fleet:
        fleet.workers["decode-0"].pause()
        # A gateway that had to wait for the processor itself may lose a worker without suspicion.
        wait_for(lambda: re.search(
            r"ev=worker_(lost worker=decode-0|state worker=decode-0 .*to=suspect)",
            fleet.gateway.text()), "the suspicion")
        assert fleet.generate(prompt=STORY)["served_by"]["decode"] == "decode-1"
        wait_for(lambda: fleet.worker("decode-0") is None, "decode-0 to be lost")
        told = len(re.findall(r"ev=worker_state worker=decode-\d .*to=suspect",
                              fleet.gateway.text()))
        assert fleet.metrics()['baton_workers_suspected_total{role="decode"}'] >= told
        fleet.workers["decode-0"].resume()
        fleet.wait_ready(3)
        fleet.wait_all_free()
        with ThreadPoolExecutor(4) as pool:
            used = {a["served_by"]["decode"] for a in
                    pool.map(lambda i: fleet.generate(**LONG, seed=i), range(4))}
        assert used == {"decode-0", "decode-1"}


def test_a_stalled_worker_fails_its_streams_with_a_clear_error():
    with Fleet(gateway_args=SUSPICION) as fleet:
        [stream] = fleet.hold()
        fleet.workers["decode-0"].pause()
        _, last = stream.text()
        assert last.name == "error" and "decode-0" in last.json()["error"]["message"]
        fleet.workers["decode-0"].resume()
        fleet.wait_ready(2)
        fleet.wait_all_free()


def test_without_workers_the_answer_is_503_with_the_reason():
    with Fleet(decode=0) as fleet:
        wait_for(lambda: any(w["state"] == "ready" for w in fleet.fleet()), "prefill-0")
        status, answer, headers = fleet.request("POST", "/generate", {"prompt": STORY})
        assert status == 503 and "decode" in answer["error"]["message"] and headers["Retry-After"]
        status, answer, _ = fleet.request("GET", "/ready")
        assert status == 503 and "decode" in answer["error"]["message"]
        assert fleet.request("GET", "/health")[0] == 200


def test_a_worker_with_another_model_is_refused_on_both_sides(tmp_path):
    other = tmp_path / "tale"
    shutil.copytree(MODEL, other)
    weights = bytearray((other / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (other / "model.safetensors").write_bytes(weights)
    with Fleet() as fleet:
        worker = fleet.start_worker("decode", "decode-9", model=other)
        for process in worker, fleet.gateway:
            wait_for(lambda: "the weights differs" in process.text(), f"{process.name} to say why")
        assert fleet.worker("decode-9") is None
        worker.stop()


def test_a_worker_with_a_wrong_token_or_a_taken_name_is_refused():
    with Fleet() as fleet:
        wrong = fleet.start_worker("decode", "decode-9", token="guess")
        wait_for(lambda: "is the cluster token the gateway's?" in wrong.text(), "the hint")
        wait_for(lambda: "wrong cluster token" in fleet.gateway.text(), "the refusal")
        wrong.stop()
        twin = fleet.start_worker("decode", "twin", args=["--id", "decode-0"])
        wait_for(lambda: 'is in use by another worker' in twin.text(), "the refusal")
        twin.stop()
        assert len(fleet.fleet()) == 2
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20


def test_a_worker_of_another_wire_version_is_refused_on_both_sides():
    with Fleet() as fleet, wire.another_version(fleet.inbox, wire.VERSION + 1) as newer:
        stranger = fleet.start_worker("decode", "decode-9", args=["--gateway", newer])
        said = (f"the peer speaks wire version {wire.VERSION + 1}, "
                f"this process speaks {wire.VERSION}")
        wait_for(lambda: said in fleet.gateway.text(), "the reason")
        wait_for(lambda: "is its wire version? its log tells" in stranger.text(), "the hint")
        stranger.stop()
        assert fleet.metrics()["baton_inbox_rejected_total"] and len(fleet.fleet()) == 2
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20


def test_workers_join_a_gateway_that_starts_again():
    with Fleet() as fleet:
        expected = fleet.generate(**LONG, seed=1)["generated_text"]
        fleet.hold()
        fleet.gateway.kill()
        fleet.start_gateway()
        fleet.wait_ready(2)
        fleet.wait_all_free()
        assert fleet.generate(**LONG, seed=1)["generated_text"] == expected


def test_a_worker_told_to_stop_finishes_its_streams():
    with Fleet(decode=2) as fleet:
        streams = fleet.hold(4)
        assert 0 < fleet.active("decode-0") < 4
        fleet.workers["decode-0"].signal(signal.SIGTERM)
        wait_for(lambda: "ev=draining" in fleet.workers["decode-0"].text(), "decode-0 to drain")
        ends = [stream.text()[1] for stream in streams]
        assert [last.name for last in ends] == ["summary"] * 4
        assert fleet.workers["decode-0"].popen.wait(LONG_S) == 0
        wait_for(lambda: fleet.worker("decode-0") is None, "decode-0 to be gone")
        assert fleet.generate(prompt=STORY)["served_by"]["decode"] == "decode-1"


def test_requests_wait_for_blocks_and_none_is_lost():
    with Fleet(decode_args=["--kv-tokens", "1024"]) as fleet:
        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda i: fleet.generate(**LONG, seed=i % 3), range(24)))
        assert all(a["output_tokens"] == LONG["max_new_tokens"] for a in answers)
        assert len({a["generated_text"] for a in answers}) == 3
        fleet.wait_all_free()


def test_a_full_queue_answers_429():
    with Fleet(decode_args=["--kv-tokens", "512"],
               gateway_args=["--max-queued", "2", *KEEPING]) as fleet:
        [stream] = fleet.hold()
        with ThreadPoolExecutor(12) as pool:
            answers = [pool.submit(fleet.request, "POST", "/generate", LONG) for _ in range(12)]
            wait_for(lambda: sum(answer.done() for answer in answers) == 10,
                     "all but two to be refused")
            assert fleet.open("QUEUED") == 2
            stream.abandon()
        statuses = [answer.result()[0] for answer in answers]
        assert statuses.count(429) == 10 and statuses.count(200) == 2
        fleet.wait_all_free()


def test_a_request_past_its_time_gets_504():
    with Fleet(gateway_args=["--timeout-s", "0.05"]) as fleet:
        fleet.workers["prefill-0"].pause()
        status, answer, _ = fleet.request("POST", "/generate", {**LONG, "kv_cache": False})
        fleet.workers["prefill-0"].resume()
        assert status == 504 and answer["error"]["code"] == "deadline_exceeded"
        fleet.wait_all_free()


def test_a_gateway_told_to_stop_finishes_what_is_open():
    with Fleet() as fleet:
        [stream] = fleet.hold()
        fleet.gateway.signal(signal.SIGTERM)
        wait_for(lambda: "ev=draining" in fleet.gateway.text(), "the gateway to hear of it")
        assert stream.text()[1].name == "summary"
        assert fleet.gateway.popen.wait(LONG_S) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a process names of its own")
def test_a_gateway_that_a_name_lists_later_is_joined_while_another_serves(tmp_path):
    """One of two gateways is replaced, as in a cluster: the new one has another address."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 gateways.test\n")
    named = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    with Fleet(prefill=0, decode=0) as one:
        port = one.inbox.rpartition(":")[2]
        for role in "prefill", "decode":
            one.start_worker(role, f"{role}-0", ["--gateway", f"tcp://gateways.test:{port}"],
                             command=named)
        one.wait_ready(2)
        two = Fleet(prefill=0, decode=0)
        two.inbox, two.port = f"tcp://127.0.0.2:{port}", None
        with two:
            hosts.write_text("127.0.0.1 gateways.test\n127.0.0.2 gateways.test\n")
            two.wait_ready(2)
            assert (two.generate(**WORDY)["generated_text"]
                    == one.generate(**WORDY)["generated_text"])


def test_two_gateways_share_one_fleet():
    with Fleet(prefill=0, decode=0) as one, Fleet(prefill=0, decode=0) as two:
        for role in "prefill", "decode":
            one.start_worker(role, f"{role}-0", args=["--gateway", f"{one.inbox},{two.inbox}"])
        one.wait_ready(2)
        two.wait_ready(2)
        with ThreadPoolExecutor(8) as pool:
            texts = set(pool.map(
                lambda i: (one, two)[i % 2].generate(**LONG, seed=4)["generated_text"], range(8)))
        assert len(texts) == 1
        expected, _ = one.stream(**WORDY).text()
        [stream], _ = [gateway.hold() for gateway in (one, two)]
        two.gateway.kill()
        text, last = stream.text()
        assert last.name == "summary" and text == expected
        one.wait_all_free()
