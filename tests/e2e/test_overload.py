"""More than the fleet can do: every request ends in tokens, a 429 that says when to come back, or a 504 in time."""
import collections
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import SLOW, Fleet, Stream, wait_for
from load import Crowd, Exchange, allow_files, open_loop, post

STORY = "Once upon a time"
LONG = dict(prompt=STORY, max_new_tokens=480, temperature=0.8, ignore_eos=True)
SMALL = ["--kv-tokens", "512"]  # room for one LONG request
KEY, OTHER_KEY = "alpha-key-0001", "beta-key-00022"


def rejected(fleet, reason):
    return fleet.metrics()[f'baton_requests_rejected_total{{reason="{reason}"}}']


def queued(fleet):
    return fleet.metrics()["baton_queue_requests"]


def crowd_of(fleet, n, **body):
    crowd = Crowd()
    for _ in range(n):
        crowd.add(Exchange(fleet.port, post("/generate/stream", {**LONG, **body})))
    return crowd


# Deadlines


@pytest.mark.parametrize("path, body", [
    ("/generate", {**LONG, "kv_cache": False}), ("/v1/completions", {"prompt": STORY, "max_tokens": 500, "ignore_eos": True, "n": 32}),
])  # fmt: skip
def test_an_answer_whose_time_is_up_says_how_far_it_came(path, body):
    with Fleet() as fleet:
        status, answer, headers = fleet.request("POST", path, {**body, "timeout_s": 0.3 * SLOW})
        assert status == 504 and headers["x-should-retry"] == "false"
        error = answer["error"]
        assert error["code"] == "deadline_exceeded" and error["usage"]["prompt_tokens"] == 4
        made = error["usage"].get("output_tokens", error["usage"].get("completion_tokens"))
        assert 0 < made < 32 * 500
        fleet.wait_all_free()


def test_a_stream_whose_time_is_up_ends_with_what_it_came_to():
    with Fleet() as fleet:
        stream = fleet.stream(**LONG, kv_cache=False, timeout_s=0.2)
        events = list(stream.events)
        error = events[-1].json()["error"]
        assert events[-1].name == "error" and error["code"] == "deadline_exceeded"
        assert error["usage"]["output_tokens"] >= sum(event.name == "token" for event in events) > 0
        fleet.wait_all_free()


def test_a_queued_request_is_answered_when_its_time_is_up():
    with Fleet(decode_args=SMALL) as fleet:
        crowd = crowd_of(fleet, 8)
        begin = time.monotonic()
        status, answer, _ = fleet.request("POST", "/generate", {**LONG, "timeout_s": 0.15})
        assert status == 504 and time.monotonic() - begin < 0.15 + 0.1 * SLOW
        assert answer["error"]["usage"] == {"prompt_tokens": 4, "output_tokens": 0}
        crowd.finish(30 * SLOW)
        assert {exchange.outcome() for exchange in crowd.over} == {"ok"}
        fleet.wait_all_free()


def test_the_gateways_own_limit_holds_for_those_who_ask_for_more():
    with Fleet(gateway_args=["--timeout-s", "0.1"]) as fleet:
        assert fleet.request("POST", "/generate", {**LONG, "kv_cache": False, "timeout_s": 60})[0] == 504
        for bad in 0, -1, 1e9, "1":
            status, answer, _ = fleet.request("POST", "/generate", {**LONG, "timeout_s": bad})
            assert status == 400 and answer["error"]["param"] == "timeout_s"


# Refusals


def retry_after(exchange):
    """Its Retry-After, the same in header and body."""
    seconds = int(exchange.headers["retry-after"])
    assert seconds == exchange.error()["retry_after_s"] and 1 <= seconds <= 60
    return seconds


def test_a_full_queue_says_when_there_will_be_room():
    with Fleet(decode_args=SMALL, gateway_args=["--max-queued", "4"]) as fleet:
        crowd = crowd_of(fleet, 40)
        crowd.finish(30 * SLOW)
        outcomes = collections.Counter(exchange.outcome() for exchange in crowd.over)
        assert set(outcomes) == {"ok", "queue_full"} and outcomes["ok"] >= 4
        assert all(retry_after(e) for e in crowd.over if e.status == 429)
        assert rejected(fleet, "queue_full") == outcomes["queue_full"]
        fleet.wait_all_free()


def test_what_could_never_wait_is_no_429():
    with Fleet(gateway_args=["--max-queued", "4", "--max-queued-tokens", "30"]) as fleet:
        for body in dict(prompt=[[1, 2]] * 5), dict(prompt=[1] * 31):
            status, answer, headers = fleet.request("POST", "/generate", body)
            assert status == 400 and answer["error"]["code"] == "too_large"
            assert "Retry-After" not in headers
        assert fleet.request("POST", "/generate", dict(prompt=[[1, 2]] * 4, max_new_tokens=4))[0] == 200


def test_whoever_would_come_too_late_is_told_at_once():
    with Fleet(decode_args=SMALL) as fleet:
        crowd = crowd_of(fleet, 4)
        crowd.finish(30 * SLOW)  # the pace is known
        one = max(e.ended - e.sent for e in crowd.over) / 4
        crowd = crowd_of(fleet, 40)
        wait_for(lambda: fleet.metrics()["baton_queue_wait_seconds"] > 10 * one, "the queue to be noticed")
        begin = time.monotonic()
        status, answer, headers = fleet.request("POST", "/generate", {**LONG, "timeout_s": 5 * one})
        assert status == 429 and answer["error"]["code"] == "too_late", answer
        assert time.monotonic() - begin < 0.5 * SLOW and int(headers["Retry-After"]) >= 1
        assert rejected(fleet, "too_late") == 1
        assert fleet.metrics()["baton_queue_wait_seconds"] > 5 * one
        crowd.leave()
        wait_for(lambda: queued(fleet) == 0, "the queue to empty")
        fleet.wait_all_free()


def test_the_wait_itself_has_a_bound():
    with Fleet(decode_args=SMALL, gateway_args=["--max-wait-s", 1 * SLOW]) as fleet:
        crowd = Crowd()
        n = open_loop(crowd, fleet.port, post("/generate/stream", LONG), 60 / SLOW, 4 * SLOW)
        crowd.finish(30 * SLOW)
        outcomes = collections.Counter(exchange.outcome() for exchange in crowd.over)
        assert sum(outcomes.values()) == n and set(outcomes) == {"ok", "too_late"}, outcomes
        waits = sorted(e.arrivals[0] - e.sent for e in crowd.over if e.outcome() == "ok")
        assert waits[-1] < 8 * SLOW, waits  # 20 s and more without it
        fleet.wait_all_free()


# Keys


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{KEY}\n{OTHER_KEY} max=3\n")
    return path


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def test_a_key_has_so_many_generations_at_once(keys):
    with Fleet(gateway_args=["--api-keys", keys, "--max-per-key", "2"], key=KEY) as fleet:
        def status(key, **body):
            return fleet.request("POST", "/generate", dict(prompt=STORY, max_new_tokens=2, **body), bearer(key))

        streams = [Stream(fleet.port, LONG, headers=bearer(KEY)) for _ in range(2)]
        code, answer, headers = status(KEY)
        assert code == 429 and answer["error"]["code"] == "too_many_requests"
        assert "may have 2" in answer["error"]["message"] and int(headers["Retry-After"]) >= 1
        assert status(OTHER_KEY)[0] == 200  # somebody else's
        assert rejected(fleet, "per_key") == 1
        code, answer, _ = fleet.request("POST", "/generate", dict(prompt=[[1, 2]] * 4), bearer(OTHER_KEY))
        assert code == 400 and answer["error"]["code"] == "too_large"  # each generation counts
        assert all(stream.text()[1].name == "summary" for stream in streams)
        assert status(KEY)[0] == 200
        stream = Stream(fleet.port, LONG, headers=bearer(KEY))
        stream.abandon()
        wait_for(lambda: status(KEY)[0] == 200, "the place of the client that left")


def test_without_keys_nobody_is_counted():
    with Fleet(gateway_args=["--max-per-key", "1"]) as fleet, ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: fleet.request("POST", "/generate", dict(prompt=STORY))[0], range(16))
        assert set(answers) == {200}


# Overload


def count(crowd):
    return collections.Counter(exchange.outcome() for exchange in crowd.over)


def test_little_of_what_is_computed_under_overload_is_in_vain():
    """Far more than the fleet can do, from clients with little time: few answers come too late, and none is lost."""
    body = dict(prompt=[5] * 100, max_new_tokens=60, temperature=0, ignore_eos=True)
    with Fleet(decode_args=["--kv-tokens", "1024"]) as fleet:
        closed = Crowd()
        for _ in range(16):
            closed.add(Exchange(fleet.port, post("/generate/stream", body)))
        closed.finish(30 * SLOW)
        usual = max(e.ended - e.sent for e in closed.over)
        before = fleet.metrics()["baton_output_tokens_total"]
        crowd = Crowd()
        request = post("/generate/stream", {**body, "timeout_s": max(1.0, 3 * usual)})
        n = open_loop(crowd, fleet.port, request, 4 * 16 / usual, max(3.0, 4 * usual))
        crowd.finish(30 * SLOW)
        outcomes = count(crowd)
        assert sum(outcomes.values()) == n
        assert set(outcomes) <= {"ok", "too_late", "queue_full", "deadline_exceeded"}, outcomes
        assert all(retry_after(e) for e in crowd.over if e.status == 429)
        made = fleet.metrics()["baton_output_tokens_total"] - before
        assert 60 * outcomes["ok"] >= 0.6 * made > 0, (outcomes, made)
        assert outcomes["ok"] < n
        fleet.wait_all_free()
        assert queued(fleet) == 0


# Slow readers


def gaps(crowd):
    return sorted(b - a for e in crowd.over for a, b in zip(e.arrivals, e.arrivals[1:]))


def test_a_slow_reader_pauses_only_itself():
    """It reads a kilobyte a second of what is made much faster; others stream on, and in the end it has everything."""
    wordy = dict(prompt=[7] * 4, max_new_tokens=150, temperature=0, ignore_eos=True, explain=20)
    with Fleet() as fleet:
        expected = fleet.generate(**wordy)["generated_text"]
        quick = Crowd()
        for _ in range(4):
            quick.add(Exchange(fleet.port, post("/generate/stream", LONG)))
        quick.finish(30 * SLOW)
        alone = gaps(quick)
        slow = Exchange(fleet.port, post("/generate/stream", wordy), 4096)
        begin, beside, made = time.monotonic(), Crowd(), []
        while time.monotonic() < begin + 4:
            while len(beside) < 4:
                beside.add(Exchange(fleet.port, post("/generate/stream", LONG)))
            beside.read(0.1)
            slow.read(100)
        beside.finish(30 * SLOW)
        assert count(beside) == {"ok": len(beside.over)}
        made = [fleet.metrics()["baton_output_tokens_total"] for _ in range(2) if not time.sleep(0.2)]
        assert made[0] == made[1]  # it is paused
        assert fleet.worker("decode-0")["kv_blocks_reserved"] > 0 and not slow.ended
        p99 = [sorted_gaps[len(sorted_gaps) * 99 // 100] for sorted_gaps in (alone, gaps(beside))]
        print(f"p99 gap {p99[0] * 1e3:.2f} ms alone, {p99[1] * 1e3:.2f} ms beside a slow reader")
        assert p99[1] < 3 * p99[0] + 0.1 * SLOW
        crowd = Crowd()
        crowd.add(slow)
        crowd.finish(30 * SLOW)
        assert slow.outcome() == "ok" and slow.text() == expected
        fleet.wait_all_free()


def test_who_reads_nothing_at_all_is_cut_off():
    with Fleet(gateway_args=["--stall-timeout-s", "1"]) as fleet:
        wordy = dict(prompt=[7] * 4, max_new_tokens=400, ignore_eos=True, explain=20)
        stopped = Exchange(fleet.port, post("/generate/stream", wordy), 4096)
        wait_for(lambda: "client reads nothing" in fleet.gateway.text(), "the client to be cut off")
        fleet.wait_all_free()
        stopped.socket.close()


# Many


def rss_kib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


MANY = 2000


@pytest.mark.skipif(not allow_files(2 * MANY + 200), reason="too few open files are allowed")
def test_2000_streams_wait_in_64_mib():
    with Fleet(decode_args=["--kv-tokens", "512"], gateway_args=["--max-queued", MANY, "--max-wait-s", 0, "--timeout-s", 0]) as fleet:
        crowd = crowd_of(fleet, MANY, prompt=[7] * 30)
        wait_for(lambda: queued(fleet) > MANY - 100, "everybody to be queued")
        if SLOW == 1:  # sanitizers have memory of their own
            assert rss_kib(fleet.gateway) <= 64 << 10
        crowd.read(0.5)
        crowd.leave()
        wait_for(lambda: queued(fleet) == 0, "the queue to empty")
        fleet.wait_all_free()
        metrics = fleet.metrics()
        assert metrics['baton_requests_total{outcome="canceled"}'] + metrics['baton_requests_total{outcome="ok"}'] == MANY
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20


@pytest.mark.skipif(not allow_files(2 * MANY + 200), reason="too few open files are allowed")
def test_2000_idle_connections_wait_in_64_mib():
    with Fleet() as fleet:
        crowd = Crowd()
        for _ in range(MANY):
            crowd.add(Exchange(fleet.port, b"GET /health HTTP/1.1\r\nHost: test\r\n\r\n"))
        wait_for(lambda: fleet.metrics()["baton_http_connections"] > MANY, "everybody to be connected")
        crowd.read(0.5)
        if SLOW == 1:
            assert rss_kib(fleet.gateway) <= 64 << 10
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20
        crowd.leave()
        wait_for(lambda: fleet.metrics()["baton_http_connections"] < 10, "everybody to have left")
