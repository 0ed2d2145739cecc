"""Workers that die, stall, lie or leave; clients that go away: nothing else is harmed, nothing leaks."""
import random
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import MODEL, SLOW, Fleet, wait_for

STORY = "Once upon a time"
# Long enough for something to happen in the middle of it.
LONG = dict(prompt=STORY, max_new_tokens=480 if SLOW == 1 else 200, temperature=0.8, ignore_eos=True)


def wait_tokens(stream, n):
    """Reads n token events of a stream."""
    for event in stream.events:
        assert event.name in ("meta", "token"), event
        n -= event.name == "token"
        if not n:
            return


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
    with Fleet(decode=2) as fleet:
        streams = [fleet.stream(**LONG, seed=i) for i in range(6)]
        for stream in streams:
            wait_tokens(stream, 3)
        victim = fleet.workers["decode-0"]
        killed = time.monotonic()
        victim.kill()
        with ThreadPoolExecutor(6) as pool:
            ends = list(pool.map(lambda s: (s.text()[1], time.monotonic()), streams))
        failed = [(last, at) for last, at in ends if last.name == "error"]
        assert failed and len(failed) < len(streams)
        for last, at in failed:
            error = last.json()["error"]
            assert "decode-0" in error["message"] and error["code"] == "worker_failed"
            assert at - killed < 1.0 * SLOW
        assert all(last.name in ("summary", "error") for last, _ in ends)
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
        fleet.workers["prefill-0"].signal(signal.SIGSTOP)
        with ThreadPoolExecutor(4) as pool:
            pending = [pool.submit(fleet.generate, prompt=STORY, max_new_tokens=5, temperature=0)
                       for _ in range(4)]
            time.sleep(0.2)
            fleet.workers["prefill-0"].kill()
            answers = [p.result() for p in pending]
        assert {a["served_by"]["prefill"] for a in answers} == {"prefill-1"}
        assert max(a["served_by"]["attempts"] for a in answers) == 2
        assert len({a["generated_text"] for a in answers}) == 1
        assert fleet.metrics()["baton_retries_total"] >= 1
        fleet.wait_all_free()


def test_a_whole_answer_survives_the_death_of_its_decode_worker():
    with Fleet(decode=2) as fleet:
        expected = fleet.generate(**LONG, seed=5)["generated_text"]
        with ThreadPoolExecutor(8) as pool:
            pending = [pool.submit(fleet.generate, **LONG, seed=5) for _ in range(8)]
            wait_for(lambda: (fleet.worker("decode-0") or {}).get("running"), "decode-0 to be busy")
            fleet.workers["decode-0"].kill()
            answers = [p.result() for p in pending]
        assert {a["generated_text"] for a in answers} == {expected}
        assert max(a["served_by"]["attempts"] for a in answers) > 1
        fleet.wait_all_free()


def test_a_client_that_leaves_frees_everything_at_once():
    with Fleet() as fleet:
        before = fleet.metrics()['baton_requests_total{outcome="canceled"}']
        streams = [fleet.stream(**LONG, seed=i) for i in range(5)]
        for stream in streams:
            wait_tokens(stream, 2)
        for stream in streams:
            stream.abandon()
        fleet.wait_all_free()
        metrics = fleet.metrics()
        assert metrics['baton_requests_total{outcome="canceled"}'] == before + 5
        assert metrics['baton_worker_kv_blocks_reserved{role="decode",worker="decode-0"}'] == 0
        assert metrics['baton_worker_running_requests{role="decode",worker="decode-0"}'] == 0


def test_a_client_of_the_naive_loop_that_leaves_stops_it():
    with Fleet() as fleet:
        stream = fleet.stream(**LONG, kv_cache=False)
        wait_tokens(stream, 2)
        stream.abandon()
        fleet.wait_all_free()


def test_a_stopped_worker_is_suspected_then_lost_and_comes_back():
    with Fleet(decode=2) as fleet:
        fleet.workers["decode-0"].signal(signal.SIGSTOP)
        wait_for(lambda: (fleet.worker("decode-0") or {"state": "lost"})["state"] in ("suspect", "lost"),
                 3, "decode-0 to be suspected")
        assert fleet.generate(prompt=STORY)["served_by"]["decode"] == "decode-1"
        wait_for(lambda: fleet.worker("decode-0") is None, "decode-0 to be lost")
        fleet.workers["decode-0"].signal(signal.SIGCONT)
        fleet.wait_ready(3)
        fleet.wait_all_free()
        with ThreadPoolExecutor(4) as pool:
            used = {a["served_by"]["decode"] for a in
                    pool.map(lambda i: fleet.generate(**LONG, seed=i), range(4))}
        assert used == {"decode-0", "decode-1"}


def test_a_stalled_worker_fails_its_streams_with_a_clear_error():
    with Fleet() as fleet:
        stream = fleet.stream(**LONG)
        wait_tokens(stream, 2)
        fleet.workers["decode-0"].signal(signal.SIGSTOP)
        _, last = stream.text()
        assert last.name == "error" and "decode-0" in last.json()["error"]["message"]
        fleet.workers["decode-0"].signal(signal.SIGCONT)
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
        wait_for(lambda: "wrong cluster token" in wrong.text(), "the refusal")
        wrong.stop()
        twin = fleet.start_worker("decode", "twin", args=["--id", "decode-0"])
        wait_for(lambda: 'another worker called' in twin.text(), "the refusal")
        twin.stop()
        assert len(fleet.fleet()) == 2
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20


def test_workers_join_a_gateway_that_starts_again():
    with Fleet() as fleet:
        expected = fleet.generate(**LONG, seed=1)["generated_text"]
        stream = fleet.stream(**LONG)
        wait_tokens(stream, 2)
        fleet.gateway.kill()
        fleet.start_gateway()
        fleet.wait_ready(2)
        fleet.wait_all_free()
        assert fleet.generate(**LONG, seed=1)["generated_text"] == expected


def test_a_worker_told_to_stop_finishes_its_streams():
    with Fleet(decode=2) as fleet:
        streams = [fleet.stream(**LONG, seed=i) for i in range(4)]
        for stream in streams:
            wait_tokens(stream, 2)
        fleet.workers["decode-0"].signal(signal.SIGTERM)
        ends = [stream.text()[1] for stream in streams]
        assert [last.name for last in ends] == ["summary"] * 4
        assert fleet.workers["decode-0"].popen.wait(20 * SLOW) == 0
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
    with Fleet(decode_args=["--kv-tokens", "512"], gateway_args=["--max-queued", "2"]) as fleet:
        with ThreadPoolExecutor(12) as pool:
            statuses = [r[0] for r in pool.map(lambda i: fleet.request("POST", "/generate", LONG), range(12))]
        assert statuses.count(429) >= 1 and statuses.count(200) >= 3
        assert set(statuses) == {200, 429}
        fleet.wait_all_free()


def test_a_request_past_its_time_gets_504():
    with Fleet(gateway_args=["--timeout-s", "0.05"]) as fleet:
        status, answer, _ = fleet.request("POST", "/generate", {**LONG, "kv_cache": False})
        assert status == 504 and answer["error"]["code"] == "deadline_exceeded"
        fleet.wait_all_free()


def test_a_gateway_told_to_stop_finishes_what_is_open():
    with Fleet() as fleet:
        stream = fleet.stream(**LONG)
        wait_tokens(stream, 2)
        fleet.gateway.signal(signal.SIGTERM)
        assert stream.text()[1].name == "summary"
        assert fleet.gateway.popen.wait(20 * SLOW) == 0




def test_two_gateways_share_one_fleet():
    with Fleet(prefill=0, decode=0) as one, Fleet(prefill=0, decode=0) as two:
        for role in "prefill", "decode":
            one.start_worker(role, f"{role}-0", args=["--gateway", f"{one.inbox},{two.inbox}"])
        one.wait_ready(2)
        two.wait_ready(2)
        with ThreadPoolExecutor(8) as pool:
            texts = set(pool.map(lambda i: (one, two)[i % 2].generate(**LONG, seed=4)["generated_text"],
                                 range(8)))
        assert len(texts) == 1
        streams = [gateway.stream(**LONG, seed=4) for gateway in (one, two)]
        for stream in streams:
            wait_tokens(stream, 2)
        two.gateway.kill()
        text, last = streams[0].text()
        assert last.name == "summary" and texts.pop().endswith(text)
        one.wait_all_free()
