"""Workers leave by request and by SIGTERM, in time and too late, one by one while streams run.

`python3 test_drain.py --streams N [--clients M] [--drain-s S]` restarts all workers until N streams
are over.
"""
import argparse
import http.client
import json
import math
import re
import shlex
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from balancer import Balancer
from fleet import LONG_S, WORDY, WORDY_BLOCKS, Clients, Fleet, wait_for
from test_migration import ARGS, DECODED, ask, n_generations, with_context

STORY = dict(prompt="Once upon a time", max_new_tokens=200, temperature=0, ignore_eos=True)
KEY = "alpha-key-0001"


def drain(fleet, name):
    return fleet.request("POST", f"/workers/{name}/drain")


def wait_gone(fleet, name):
    """Waits until its process has ended well and the gateway has forgotten it."""
    process = fleet.workers[name]
    wait_for(lambda: process.popen.poll() is not None, f"{name} to exit")
    assert process.popen.returncode == 0, process.tail()
    wait_for(lambda: not fleet.worker(name), f"{name} to be gone")


def test_a_worker_that_is_asked_to_drain_finishes_and_leaves():
    with Fleet(decode=2, gateway_args=["--migration-limit", 0]) as fleet:  # nothing moves
        expected = fleet.generate(**STORY)["text"]
        [held] = fleet.hold()
        name = next(w["id"] for w in fleet.fleet() if w["role"] == "decode" and w["active"])
        status, answer, _ = drain(fleet, name)
        assert status == 202 and answer["state"] == "draining" and answer["active"] == 1
        assert drain(fleet, name)[0] == 202
        wait_for(lambda: " ev=drain_requested " in fleet.workers[name].text(),
                 "the worker to hear of it")
        assert fleet.worker(name)["state"] == "draining"
        answers = [fleet.generate(**STORY) for _ in range(3)]  # by the other one
        assert {a["text"] for a in answers} == {expected}
        assert name not in {a["served_by"]["decode"] for a in answers}
        assert held.text()[1].name == "summary"  # it has finished what it had
        wait_gone(fleet, name)
        assert fleet.metrics()["baton_migrations_total"] == 0
        assert drain(fleet, name)[0] == 404


def moved(fleet):
    metrics = fleet.metrics()
    assert metrics["baton_migrations_total"] == metrics["baton_hand_overs_total"]
    return metrics["baton_hand_overs_total"]


@pytest.mark.parametrize("how", ["signal", "request"])
def test_streams_that_nobody_reads_move_with_their_context_and_their_worker_leaves(how):
    with Fleet(decode=1) as fleet:
        alone = [fleet.stream(**{**WORDY, "seed": i}).text()[0] for i in range(5)]
        held = fleet.hold(5)
        fleet.start_worker("decode", "decode-1")
        fleet.wait_worker("decode-1")
        if how == "signal":
            fleet.workers["decode-0"].signal(signal.SIGTERM)
        else:
            assert drain(fleet, "decode-0")[0] == 202
        wait_gone(fleet, "decode-0")
        assert moved(fleet) == 5 and fleet.active("decode-1") == 5
        for stream, text in zip(held, alone):
            read, last = stream.text()
            served = last.json()["served_by"]
            assert read == text and (served["attempts"], served["hand_overs"]) == (2, 1)
            assert (served["prefill"], served["decode"]) == ("prefill-0", "decode-1")
        assert fleet.worker("prefill-0")["routed"] == 10  # no prompt was computed twice
        fleet.wait_all_free()


# Layers with a window move only the window before the stream's end, which nobody knows before, and
# layers with a state the state there.
@pytest.mark.parametrize("name", ("gemma3", "gemma4-e2b", "phi3", "glm4-moe-lite",
                                  "../hybrids/qwen35", "../hybrids/granitehybrid-moe"))
def test_streams_of_a_model_with_windows_move_with_these(name, tmp_path):
    with Fleet(model=with_context(name, 1024, tmp_path),
               worker_args=["--kv-tokens", 4096]) as fleet:
        alone = [fleet.stream(**{**WORDY, "seed": i}).text()[0] for i in range(3)]
        held = fleet.hold(3)
        fleet.start_worker("decode", "decode-1", args=["--kv-tokens", 4096])
        fleet.wait_worker("decode-1")
        assert drain(fleet, "decode-0")[0] == 202
        wait_gone(fleet, "decode-0")
        assert moved(fleet) == 3 and fleet.active("decode-1") == 3
        assert [stream.text()[0] for stream in held] == alone
        fleet.wait_all_free()


def test_requests_of_every_kind_move_with_their_context():
    with Fleet(gateway_args=ARGS, decode_args=["--kv-tokens", 16384, "--max-batch", 64]) as fleet:
        expected = {name: ask(fleet, *request)[0] for name, request in DECODED.items()}
        n = sum(n_generations(*request) for request in DECODED.values())
        with ThreadPoolExecutor(len(DECODED)) as pool:
            pending = {}

            def ask_all():
                pending.update({name: pool.submit(ask, fleet, *request)
                                for name, request in DECODED.items()})
                return list(pending.values())
            fleet.pause_at_work("decode-0", ask_all, lambda: fleet.open("DECODING") == n)
            fleet.start_worker("decode", "decode-1")
            fleet.wait_worker("decode-1")
            assert drain(fleet, "decode-0")[0] == 202
            fleet.workers["decode-0"].resume()
            wait_gone(fleet, "decode-0")
            answers = {name: future.result() for name, future in pending.items()}
        for name, (answer, served) in answers.items():
            assert answer == expected[name], name
        print(f"{moved(fleet):.0f} of {n} moved before they were at their end")
        assert moved(fleet) > 0
        fleet.wait_all_free()


def test_without_room_elsewhere_streams_end_where_they_are():
    with Fleet(decode=1) as fleet:
        expected = fleet.stream(**{**WORDY, "seed": 0}).text()[0]
        [held] = fleet.hold()
        fleet.start_worker("decode", "decode-1", args=["--kv-tokens", 256])
        fleet.wait_worker("decode-1")
        fleet.workers["decode-0"].signal(signal.SIGTERM)
        wait_for(lambda: (fleet.worker("decode-0") or {}).get("state") == "draining", "the drain")
        assert held.text()[0] == expected
        wait_gone(fleet, "decode-0")
        assert moved(fleet) == 0


def test_who_has_no_key_drains_nobody(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(KEY + "\n")
    with Fleet(key=KEY, gateway_args=["--api-keys", keys]) as fleet:
        mine, fleet.headers = fleet.headers, {}
        assert drain(fleet, "decode-0")[0] == 401
        fleet.headers = mine
        assert drain(fleet, "decode-0")[0] == 403  # a client's key
        fleet.headers = fleet.operator
        assert drain(fleet, "decode-1")[0] == 404
        assert fleet.request("GET", "/workers/decode-0/drain")[0] == 405
        assert fleet.worker("decode-0")["state"] == "ready"


def test_a_stream_that_outlasts_the_drain_says_that_its_worker_left():
    with Fleet(worker_args=["--drain-s", 0.1], gateway_args=["--migration-limit", 0]) as fleet:
        [held] = fleet.hold()
        fleet.workers["decode-0"].signal(signal.SIGTERM)
        wait_gone(fleet, "decode-0")
        last = held.text()[1]
        assert last.name == "error"
        assert "decode worker decode-0 left after its drain time" in last.json()["error"]["message"]


def test_a_receiver_that_dies_while_streams_move_costs_them_nothing():
    with Fleet(decode=1) as fleet:
        alone = [fleet.stream(**{**WORDY, "seed": i}).text()[0] for i in range(3)]
        held = fleet.hold(3)
        fleet.start_worker("decode", "decode-1")
        fleet.wait_worker("decode-1")
        fleet.workers["decode-0"].pause()
        assert drain(fleet, "decode-0")[0] == 202
        wait_for(lambda: fleet.active("decode-1") == 3, "places to be asked for")
        n_blocks = fleet.worker("decode-1")["kv_blocks_total"]
        wait_for(lambda: fleet.worker("decode-1")["kv_blocks_free"] <= n_blocks - 3 * WORDY_BLOCKS,
                 "places to be reserved")
        fleet.workers["decode-1"].pause()  # it takes connections, and says nothing
        fleet.workers["decode-0"].resume()
        wait_for(lambda: fleet.workers["decode-0"].text().count(" ev=hand_over ") == 3,
                 "the order to move")
        fleet.workers["decode-1"].kill()
        wait_for(lambda: not fleet.worker("decode-1"), "the receiver to be gone")
        assert [stream.text()[0] for stream in held] == alone
        assert fleet.metrics()["baton_migrations_total"] == 0
        wait_gone(fleet, "decode-0")


class Streams(Clients):
    """Clients that read one stream after the other until the block ends."""

    def __init__(self, fleet, n, expected, **body):
        super().__init__(n, self.read)
        self.fleet, self.expected, self.body = fleet, expected, {**STORY, **body}
        self.n_whole, self.wrong, self.served, self.lasted_s = 0, [], [], []

    def read(self, _):
        began = time.monotonic()
        stream = self.fleet.stream(**self.body)
        text, last = stream.text()
        if last.name == "summary" and text == self.expected:
            self.served.append((stream.response.headers["X-Request-Id"], last.json()["served_by"]))
            self.lasted_s.append(time.monotonic() - began)
            self.n_whole += 1
        else:
            self.wrong.append((text, last))

    def all_well(self):
        return not self.wrong and not any(client.done() for client in self.running)


def restart(fleet, name, how):
    if how == "signal":
        fleet.workers[name].signal(signal.SIGTERM)
    else:
        assert drain(fleet, name)[0] == 202
    wait_gone(fleet, name)
    fleet.start_worker(name.split("-")[0], name)
    fleet.wait_worker(name)


@pytest.mark.parametrize("drain_s", [0.01, 5])  # the streams are computed again, and moved
def test_every_worker_is_restarted_under_streams_longer_than_the_drain_and_none_fails(drain_s):
    with Fleet(prefill=2, decode=2, worker_args=["--drain-s", drain_s],
               gateway_args=["--migration-limit", 100, "--max-attempts", 100]) as fleet:
        expected = fleet.stream(**STORY).text()[0]
        with Streams(fleet, 6, expected) as streams:
            for how in ("signal", "request"):
                for name in list(fleet.workers):
                    n = streams.n_whole
                    restart(fleet, name, how)
                    wait_for(lambda: streams.n_whole > n or streams.wrong, "streams to end")
        assert not streams.wrong and streams.n_whole > 8
        metrics = fleet.metrics()
        print(f"{streams.n_whole} streams, {metrics['baton_migrations_total']:.0f} migrations, "
              f"{metrics['baton_hand_overs_total']:.0f} of them hand-overs")
        assert metrics["baton_migrations_total" if drain_s < 1 else "baton_hand_overs_total"] > 0
        assert drain_s > 1 or outlasting(fleet.gateway, drain_s)
        fleet.wait_all_free()


def test_either_of_two_gateways_is_restarted_and_no_request_fails():
    patient = dict(prefill=0, decode=0, gateway_args=["--absence-s", 3600])
    with Fleet(**patient) as one, Fleet(**patient) as two:
        for role in "prefill", "decode":
            one.start_worker(role, f"{role}-0", args=["--gateway", f"{one.inbox},{two.inbox}"])
        one.wait_ready(2)
        two.wait_ready(2)
        expected = one.stream(**STORY).text()[0]
        with Balancer([one.port, two.port]) as balancer, Streams(balancer, 4, expected) as streams:
            for fleet in (one, two) * 2:
                n = streams.n_whole
                wait_for(lambda: fleet.open() or streams.wrong, "a stream there")
                fleet.gateway.signal(signal.SIGTERM)
                assert fleet.gateway.popen.wait(LONG_S) == 0
                fleet.start_gateway()
                fleet.wait_ready(2)
                wait_for(lambda: streams.n_whole > n + 4 or streams.wrong, "streams to end")
        assert not streams.wrong
        print(f"{streams.n_whole} streams, {balancer.n_next} requests had to ask the next gateway")
        one.wait_all_free()


def test_a_gateway_that_restarts_says_so_and_serves_at_once():
    with Fleet(gateway_args=["--absence-s", 3600]) as fleet:
        expected = fleet.generate(**STORY)["text"]
        [held] = fleet.hold()
        body = json.dumps(STORY).encode()
        late = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
        late.putrequest("POST", "/generate")
        late.putheader("Content-Type", "application/json")
        late.putheader("Content-Length", str(len(body)))
        late.endheaders(body[:5])
        wait_for(lambda: fleet.metrics()["baton_http_connections"] >= 3, "open connections")
        fleet.gateway.signal(signal.SIGTERM)
        wait_for(lambda: " ev=draining " in fleet.gateway.text(), "the gateway to hear of it")
        late.send(body[5:])
        response = late.getresponse()
        assert response.status == 503 and int(response.headers["Retry-After"]) >= 1
        assert response.headers["Connection"] == "close"
        assert json.load(response)["error"]["code"] == "draining"
        with pytest.raises(ConnectionRefusedError):  # so that a balancer asks the next gateway
            fleet.generate(**STORY)
        assert held.text()[1].name == "summary"
        assert fleet.gateway.popen.wait(LONG_S) == 0
        fleet.start_gateway()
        assert fleet.generate(**STORY)["text"] == expected  # waits for the workers to come back


def quantiles(values):
    values = sorted(values)
    return {f"p{q}": round(values[min(len(values) * q // 100, len(values) - 1)], 4)
            for q in (50, 99, 100)}


def log_lines(process, events):
    """(seconds, {key: value}) of each of these events in a process's log."""
    for line in process.text().splitlines():
        if re.search(rf" ev=({events}) ", line):
            fields = dict(word.split("=", 1) for word in shlex.split(line))
            yield datetime.fromisoformat(fields["ts"]).timestamp(), fields


def outlasting(gateway, drain_s):
    """Streams that left a draining decode worker and ran on for longer than its drain."""
    draining, left, outlasted = {}, {}, set()
    for at_s, line in log_lines(gateway, "worker_state|handed_over|migration|request"):
        if line["ev"] == "worker_state" and line["to"] == "draining":
            draining[line["worker"]] = at_s
        elif found := re.search(r"decode worker (\S+) (?:drains|left)", line.get("reason", "")):
            left.setdefault(line["req"], draining[found[1]])
        elif line["ev"] == "request" and at_s > left.get(line["req"], math.inf) + drain_s:
            outlasted.add(line["req"])
    return outlasted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=1000,
                        help="that outlast the drain of the worker they are on")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--drain-s", type=float, default=1)
    args = parser.parse_args()
    room = ["--kv-tokens", 32768, "--max-batch", 64]
    with Fleet(prefill=2, decode=2, worker_args=["--drain-s", args.drain_s],
               decode_args=room) as fleet:
        long = dict(max_new_tokens=500)
        expected = fleet.stream(**STORY | long).text()[0]
        n_restarts, began = 0, time.monotonic()
        with Streams(fleet, args.clients, expected, **long) as streams:
            outlasted = set()
            while streams.all_well() and len(outlasted) < args.streams:
                for name in list(fleet.workers):
                    restart(fleet, name, "signal")
                    n_restarts += 1
                outlasted = outlasting(fleet.gateway, args.drain_s)
                print(f"{streams.n_whole} streams whole, {len(outlasted)} longer than the drain",
                      flush=True)
        metrics, lasted_s = fleet.metrics(), time.monotonic() - began
        outlasted = outlasting(fleet.gateway, args.drain_s)
        fleet.wait_all_free()
    counted = [by for id, by in streams.served if id in outlasted]
    print(f"{streams.n_whole} streams whole, {len(streams.wrong)} not, "
          f"{n_restarts} restarts of workers in {lasted_s:.0f} s")
    print(f"{metrics['baton_migrations_total']:.0f} migrations, "
          f"{metrics['baton_hand_overs_total']:.0f} with the context")
    print(f"a stream took {quantiles(streams.lasted_s)} s")
    print(f"{len(counted)} of these outlasted the drain ({args.drain_s:g} s) of their worker; "
          f"longest gap of each: {quantiles([by['migration_gap_s'] for by in counted])} s")
    assert not streams.wrong and len(counted) == len(outlasted) >= args.streams


if __name__ == "__main__":
    main()
