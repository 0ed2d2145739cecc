"""Overload: every request ends in tokens, a 429 with a time to come back, or a 504 in time."""
import collections
import itertools
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import wire
from fleet import KEEPING, LONG_S, SLOW, Fleet, Stream, run_out_of_time, wait_for
from load import Crowd, Exchange, allow_files, open_loop, post

STORY = "Once upon a time"
LONG = dict(prompt=STORY, max_new_tokens=480, temperature=0.8, ignore_eos=True)
SMALL = ["--kv-tokens", "512"]  # capacity for one LONG request
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


def count(crowd):
    return collections.Counter(exchange.outcome() for exchange in crowd.over)


# Deadlines


@pytest.mark.parametrize("path, body", [
    ("/generate", {**LONG, "kv_cache": False}),
    ("/v1/completions", {"prompt": STORY, "max_tokens": 500, "ignore_eos": True, "n": 32}),
])
def test_an_answer_whose_time_is_up_says_how_far_it_came(path, body):
    with Fleet() as fleet:
        def ask(timeout_s):
            status, answer, headers = fleet.request("POST", path, {**body, "timeout_s": timeout_s})
            fleet.wait_all_free()
            if status == 200:
                return "late"
            assert status == 504 and headers["x-should-retry"] == "false", answer
            error = answer["error"]
            assert error["code"] == "deadline_exceeded" and error["usage"]["prompt_tokens"] == 4
            return (error["usage"].get("output_tokens", error["usage"].get("completion_tokens"))
                    or "early")
        assert 0 < run_out_of_time(ask) < 32 * 500


def test_a_stream_whose_time_is_up_ends_with_what_it_came_to():
    with Fleet() as fleet:
        def ask(timeout_s):
            stream = Stream(fleet.port, {**LONG, "kv_cache": False, "timeout_s": timeout_s})
            events = list(stream.events)
            fleet.wait_all_free()
            n_tokens = sum(event.name == "token" for event in events)
            if n_tokens and events[-1].name == "summary":
                return "late"
            return (events[-1], n_tokens) if n_tokens else "early"
        last, n_tokens = run_out_of_time(ask)
        error = last.json()["error"]
        assert last.name == "error" and error["code"] == "deadline_exceeded"
        assert error["usage"]["output_tokens"] >= n_tokens


def test_a_queued_request_is_answered_when_its_time_is_up():
    with Fleet(decode_args=SMALL, gateway_args=KEEPING) as fleet:
        [stream] = fleet.hold()  # no other request has a turn before it is gone
        status, answer, _ = fleet.request("POST", "/generate", {**LONG, "timeout_s": 0.15})
        assert status == 504
        assert answer["error"]["usage"] == {"prompt_tokens": 4, "output_tokens": 0}
        assert stream.text()[1].name == "summary"
        fleet.wait_all_free()


def test_the_gateways_own_limit_holds_for_requests_that_ask_for_more():
    with Fleet(gateway_args=["--timeout-s", "0.1"]) as fleet:
        fleet.workers["prefill-0"].pause()
        assert fleet.request("POST", "/generate",
                             {**LONG, "kv_cache": False, "timeout_s": 3600})[0] == 504
        fleet.workers["prefill-0"].resume()
        for bad in 0, -1, 1e9, "1":
            status, answer, _ = fleet.request("POST", "/generate", {**LONG, "timeout_s": bad})
            assert status == 400 and answer["error"]["param"] == "timeout_s"


# Refusals


def retry_after(exchange):
    """Its Retry-After, the same in header and body."""
    seconds = int(exchange.headers["retry-after"])
    assert seconds == exchange.error()["retry_after_s"] and 1 <= seconds <= 60
    return seconds


def test_a_full_queue_says_when_to_come_back():
    with Fleet(decode_args=SMALL, gateway_args=["--max-queued", "4", *KEEPING]) as fleet:
        [stream] = fleet.hold()
        crowd = crowd_of(fleet, 40, max_new_tokens=16)
        wait_for(lambda: rejected(fleet, "queue_full") == 36 and queued(fleet) == 4,
                 "all but four to be refused")
        stream.abandon()
        crowd.finish()
        assert count(crowd) == {"ok": 4, "queue_full": 36}
        assert all(retry_after(e) for e in crowd.over if e.status == 429)
        fleet.wait_all_free()


def test_a_request_that_could_never_wait_is_no_429():
    with Fleet(gateway_args=["--max-queued", "4", "--max-queued-tokens", "30"]) as fleet:
        for body in dict(prompt=[[1, 2]] * 5), dict(prompt=[1] * 31):
            status, answer, headers = fleet.request("POST", "/generate", body)
            assert status == 400 and answer["error"]["code"] == "too_large"
            assert "Retry-After" not in headers
        assert fleet.request("POST", "/generate",
                             dict(prompt=[[1, 2]] * 4, max_new_tokens=4))[0] == 200


def predicted_wait_s(fleet):
    return fleet.metrics()["baton_queue_wait_seconds"]


def make_a_queue(fleet, n):
    """The throughput is known, an unread stream has the only slot, and n requests wait."""
    crowd = crowd_of(fleet, 4)
    crowd.finish()
    [stream] = fleet.hold()
    crowd = crowd_of(fleet, n)
    wait_for(lambda: queued(fleet) == n, "the queue to form")
    return stream, crowd


def test_a_request_that_would_miss_its_deadline_is_told_at_once():
    with Fleet(decode_args=SMALL, gateway_args=KEEPING) as fleet:
        stream, crowd = make_a_queue(fleet, 40)
        wait_s = wait_for(lambda: predicted_wait_s(fleet), "the queue to be noticed")
        status, answer, headers = fleet.request("POST", "/generate",
                                                {**LONG, "timeout_s": wait_s / 2})
        assert status == 429 and answer["error"]["code"] == "too_late", answer
        assert int(headers["Retry-After"]) >= 1
        assert rejected(fleet, "too_late") == 1
        assert predicted_wait_s(fleet) > wait_s / 2
        crowd.leave()
        wait_for(lambda: queued(fleet) == 0, "the queue to empty")
        stream.abandon()
        fleet.wait_all_free()


def test_the_wait_itself_has_a_bound():
    with Fleet(decode_args=SMALL, gateway_args=["--max-wait-s", 1, *KEEPING]) as fleet:
        stream, crowd = make_a_queue(fleet, 0)
        while not rejected(fleet, "too_late"):  # each one that waits makes the wait longer
            assert not rejected(fleet, "queue_full")
            crowd.add(Exchange(fleet.port, post("/generate/stream", LONG)))
            crowd.read(0.001)
        assert predicted_wait_s(fleet) > 1
        stream.abandon()
        crowd.finish()
        outcomes = count(crowd)
        assert set(outcomes) == {"ok", "too_late"}, outcomes
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
            return fleet.request("POST", "/generate", dict(prompt=STORY, max_new_tokens=2, **body),
                                 bearer(key))

        streams = fleet.hold(2)
        code, answer, headers = status(KEY)
        assert code == 429 and answer["error"]["code"] == "too_many_requests"
        assert "may have 2" in answer["error"]["message"] and int(headers["Retry-After"]) >= 1
        assert status(OTHER_KEY)[0] == 200  # another client's
        assert rejected(fleet, "per_key") == 1
        code, answer, _ = fleet.request("POST", "/generate", dict(prompt=[[1, 2]] * 4),
                                        bearer(OTHER_KEY))
        assert code == 400 and answer["error"]["code"] == "too_large"  # each generation counts
        assert all(stream.text()[1].name == "summary" for stream in streams)
        assert status(KEY)[0] == 200
        for stream in fleet.hold(2):
            assert status(KEY)[0] == 429
        stream.abandon()
        wait_for(lambda: status(KEY)[0] == 200, "the slot of the client that left")


def test_without_keys_no_client_is_counted():
    with Fleet(gateway_args=["--max-per-key", "1"]) as fleet, ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: fleet.request("POST", "/generate", dict(prompt=STORY))[0],
                           range(16))
        assert set(answers) == {200}


# Overload


def test_no_request_is_lost_under_overload():
    """Far more than the fleet can do, from clients with little time."""
    body = dict(prompt=[5] * 100, max_new_tokens=60, temperature=0, ignore_eos=True)
    with Fleet(decode_args=["--kv-tokens", "1024"]) as fleet:
        closed = Crowd()
        for _ in range(16):
            closed.add(Exchange(fleet.port, post("/generate/stream", body)))
        closed.finish()
        usual = max(e.ended - e.sent for e in closed.over)
        before = fleet.metrics()["baton_output_tokens_total"]
        crowd = Crowd()
        request = post("/generate/stream", {**body, "timeout_s": max(1.0, 3 * usual)})
        n = open_loop(crowd, fleet.port, request, 4 * 16 / usual, max(3.0, 4 * usual))
        crowd.finish()
        outcomes = count(crowd)
        assert sum(outcomes.values()) == n
        assert set(outcomes) <= {"ok", "too_late", "queue_full", "deadline_exceeded"}, outcomes
        assert all(retry_after(e) for e in crowd.over if e.status == 429)
        made = fleet.metrics()["baton_output_tokens_total"] - before
        assert made >= 60 * outcomes["ok"], (outcomes, made)
        fleet.wait_all_free()
        assert queued(fleet) == 0


# Slow readers


def tokens_made(fleet):
    return fleet.metrics()["baton_output_tokens_total"]


def test_a_slow_reader_pauses_only_itself():
    """A slow reader of a fast stream: others stream on, and in the end it has everything."""
    wordy = dict(prompt=[7] * 4, max_new_tokens=150, temperature=0, ignore_eos=True, explain=20)
    with Fleet() as fleet:
        expected = fleet.generate(**wordy)["generated_text"]
        [slow] = fleet.hold(**wordy)

        def made_beside():
            """The tokens that the slow reader gets while four other streams run from end to end."""
            before, beside = tokens_made(fleet), crowd_of(fleet, 4)
            beside.finish()
            assert count(beside) == {"ok": 4}
            return tokens_made(fleet) - before - 4 * LONG["max_new_tokens"]
        # The worker may still make the tokens that it has credit for.
        assert wait_for(lambda: not made_beside(), "the slow reader to be paused")
        text = ""
        for _ in range(3):  # it reads a little, and is paused again
            text += "".join(event.data for event in itertools.islice(slow.events, 20)
                            if event.name == "token")
            wait_for(lambda: not made_beside(), "the slow reader to be paused again")
        assert fleet.open("DECODING") == 1
        rest, last = slow.text()
        assert last.name == "summary" and text + rest == expected
        fleet.wait_all_free()


def test_a_client_that_reads_nothing_at_all_is_cut_off():
    with Fleet(gateway_args=["--stall-timeout-s", "1"]) as fleet:
        wordy = dict(prompt=[7] * 4, max_new_tokens=400, ignore_eos=True, explain=20)
        stopped = Exchange(fleet.port, post("/generate/stream", wordy), 4096)
        wait_for(lambda: "client reads nothing" in fleet.gateway.text(), "the client to be cut off")
        fleet.wait_all_free()
        stopped.socket.close()


# Clients that begin and do not go on

HALVES = {"head": b"GET /health HT",
          "body": b"POST /generate HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"}


@pytest.mark.parametrize("part", HALVES)
def test_half_heads_keep_nobody_out(part):
    """60 of one address fill all 40 places; a slow client of another address keeps its own."""
    def begin(host):
        client = socket.create_connection(("127.0.0.1", fleet.port), LONG_S, (host, 0))
        client.sendall(HALVES[part])
        return client

    def gave_way():
        return fleet.metrics()["baton_http_gave_way_total"]

    with Fleet(prefill=0, decode=0, gateway_args=["--max-connections", 40, "--head-timeout-s", 3600,
                                                  "--body-timeout-s", 3600]) as fleet:
        slow = begin("127.0.0.2")
        half = [begin("127.0.0.1") for _ in range(60)]
        for _ in range(20):
            assert fleet.request("GET", "/health")[0] == 200
        assert gave_way() >= 20
        half += [begin("127.0.0.1") for _ in range(60)]
        wait_for(lambda: gave_way() >= 60, "the older ones to give way")
        assert wire.is_open(slow)
        for client in slow, *half:
            client.close()


# Many


def rss_kib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


MANY = 2000
STREAM_KIB = 6.5  # of one that waits: 10,000 of them in 64 MiB


@pytest.mark.parametrize("path, body", [("/generate", {}), ("/generate/stream", {}),
                                        ("/v1/completions", {"n": 3})])
def test_a_client_that_closes_its_sending_side_gets_its_answer(path, body):
    with Fleet() as fleet:
        data = json.dumps({"prompt": STORY, **body}).encode()
        with socket.create_connection(("127.0.0.1", fleet.port)) as client:
            client.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                           % (path.encode(), len(data), data))
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert b"HTTP/1.1 200 OK" in answer and (b"finish_reason" in answer)
        fleet.wait_all_free()
        assert fleet.metrics()['baton_requests_total{outcome="canceled"}'] == 0


def test_a_client_that_closes_for_good_is_noticed_before_any_token():
    with Fleet() as fleet:
        fleet.workers["prefill-0"].pause()
        data = json.dumps({"prompt": STORY}).encode()
        with socket.create_connection(("127.0.0.1", fleet.port)) as client:
            client.sendall(b"POST /generate HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: %d\r\n\r\n%s"
                           % (len(data), data))
            wait_for(lambda: fleet.open() == 1, "the request to be open")
        wait_for(lambda: fleet.metrics()['baton_requests_total{outcome="canceled"}'] == 1,
                 "the client to be missed")
        fleet.workers["prefill-0"].resume()
        fleet.wait_all_free()


@pytest.mark.skipif(not allow_files(2 * MANY + 200), reason="too few open files are allowed")
def test_2000_streams_wait_in_little_memory():
    with Fleet(decode_args=SMALL, gateway_args=["--max-queued", MANY, *KEEPING]) as fleet:
        [stream] = fleet.hold()
        before_kib = rss_kib(fleet.gateway)
        crowd = crowd_of(fleet, MANY, prompt=[7] * 30)
        wait_for(lambda: queued(fleet) == MANY, "all requests to be queued")
        if SLOW == 1:  # sanitizers have memory of their own
            assert rss_kib(fleet.gateway) - before_kib <= MANY * STREAM_KIB
        crowd.leave()
        wait_for(lambda: queued(fleet) == 0, "the queue to empty")
        stream.abandon()
        fleet.wait_all_free()
        assert fleet.metrics()['baton_requests_total{outcome="canceled"}'] == MANY + 1
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20


@pytest.mark.skipif(not allow_files(2 * MANY + 200), reason="too few open files are allowed")
def test_2000_idle_connections_wait_in_64_mib():
    with Fleet(gateway_args=["--idle-timeout-s", 3600]) as fleet:
        crowd = Crowd()
        request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        exchanges = [crowd.add(Exchange(fleet.port, request))
                     for _ in range(MANY)]
        wait_for(lambda: crowd.read(0.05) or all(exchange.data for exchange in exchanges),
                 "all requests to be answered")
        assert fleet.metrics()["baton_http_connections"] > MANY
        if SLOW == 1:
            assert rss_kib(fleet.gateway) <= 64 << 10
        assert fleet.generate(prompt=STORY)["output_tokens"] == 20
        crowd.leave()
        wait_for(lambda: fleet.metrics()["baton_http_connections"] < 10, "all clients to have left")
