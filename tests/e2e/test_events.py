"""GET /events tells operators what happens in the fleet: requests, hand-offs, workers, steps."""
import http.client
import re
import socket

import pytest
from fleet import LONG_S, ROOT, Fleet, read_events, wait_for

MAX_READERS = 16
LONG = dict(prompt="Once upon a time", max_new_tokens=400, temperature=0, ignore_eos=True)


DOCUMENTED = set(re.findall(r"`(\w+)`", re.search(
    r"^### GET /events\n(.*?)^### ", (ROOT / "docs/http-api.md").read_text(), re.M | re.S)[1]))


class Reader:
    """A client of /events that keeps all it has read."""

    def __init__(self, fleet):
        self.connection = http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=LONG_S)
        self.connection.sock = socket.socket()  # the kernel hides little of what is not read
        self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        self.connection.sock.settimeout(LONG_S)
        self.connection.sock.connect(("127.0.0.1", fleet.port))
        self.connection.request("GET", "/events", headers=fleet.operator)
        self.response = self.connection.getresponse()
        self.seen = []

    def __enter__(self):
        assert self.response.status == 200
        assert self.response.getheader("Content-Type") == "text/event-stream"
        self.events = read_events(self.response)
        self.until(lambda event: event.name == "fleet")
        return self

    def __exit__(self, *_):
        self.response.close()
        self.connection.close()

    def until(self, is_last):
        """Reads up to the event; returns it, with its members."""
        for event in self.events:
            event.members = event.json()
            assert {event.name, *event.members} <= DOCUMENTED
            self.seen.append(event)
            if is_last(event):
                return event.members
        raise AssertionError("the stream has ended")

    def until_request(self, state):
        return self.until(lambda e: e.name == "request" and e.members["state"] == state)

    def of(self, name):
        return [event.members for event in self.seen if event.name == name]


@pytest.fixture
def fleet():
    with Fleet(decode=2) as fleet:
        yield fleet


def test_a_request_is_followed_from_the_queue_to_its_end(fleet):
    with Reader(fleet) as reader:
        first = reader.seen[0].members
        assert {w["id"]: w["state"] for w in first["workers"]} == dict.fromkeys(
            ["prefill-0", "decode-0", "decode-1"], "ready")
        answer = fleet.generate(prompt="Once upon a time", max_new_tokens=8, temperature=0,
                                ignore_eos=True)
        end = reader.until_request("done")
        reader.until(lambda e: e.name == "steps")
    steps = [event for event in reader.of("request")]
    assert [step["state"] for step in steps] == ["queued", "reserving", "prefilling", "decoding",
                                                 "done"]
    assert len({step["request"] for step in steps}) == 1
    assert (end["prefill"], end["decode"]) == ("prefill-0", answer["served_by"]["decode"])
    assert (end["output_tokens"], end["max_tokens"], end["migrations"]) == (8, 8, 0)
    assert end["prompt_tokens"] == answer["prompt_tokens"]
    [handoff] = reader.of("handoff")
    assert (handoff["from"], handoff["to"]) == (end["prefill"], end["decode"])
    assert handoff["bytes"] > 0 and handoff["transfer_s"] >= 0
    times = [event.members["t_us"] for event in reader.seen]
    assert times == sorted(times)
    by_worker = [worker for event in reader.of("steps") for worker in event["workers"]]
    assert {worker["id"] for worker in by_worker} == {end["decode"]}
    assert sum(worker["tokens"] for worker in by_worker) == 7  # the first one is of the prefill


def test_a_killed_worker_and_the_migration_are_told(fleet):
    with Reader(fleet) as reader:
        stream = fleet.stream(**LONG)
        decoding = reader.until_request("decoding")
        victim = decoding["decode"]
        reader.until(lambda e: e.name == "steps")
        fleet.workers[victim].kill()
        gone = reader.until(lambda e: e.name == "worker_gone")
        assert (gone["id"], gone["role"]) == (victim, "decode") and gone["reason"]
        stream.text()
        end = reader.until_request("done")
    if end["migrations"]:  # it was not over before
        states = [e["state"] for e in reader.of("request")]
        assert states.count("queued") == 2 and states[-2:] == ["decoding", "done"]
        assert end["decode"] != victim


def test_a_reader_that_lags_gets_the_whole_fleet_in_place_of_what_it_missed(fleet):
    with Reader(fleet) as reader:
        while not fleet.metrics()["baton_event_batches_missed_total"]:
            fleet.post("/generate", dict(prompt=[[5, 6, 7]] * 64, max_new_tokens=1))
        again = reader.until(lambda e: e.name == "fleet")
        assert len(again["workers"]) == 3
        fleet.post("/generate", dict(prompt=[5, 6, 7], max_new_tokens=1))
        reader.until_request("done")


def test_a_stream_ends_after_the_seconds_that_it_is_asked_for(fleet):
    status, text, _ = fleet.request("GET", "/events?seconds=1", headers=fleet.operator)
    assert status == 200 and text.startswith("event: fleet\n") and text.endswith("\n\n")
    for query in "seconds=0", "seconds=86401", "seconds=x", "second=1":
        status, answer, _ = fleet.request("GET", f"/events?{query}", headers=fleet.operator)
        assert (status, answer["error"]["param"]) == (400, "seconds"), answer


def test_readers_are_bounded_and_leave_with_the_gateway(fleet):
    readers = [Reader(fleet) for _ in range(MAX_READERS)]
    status, answer, _ = fleet.request("GET", "/events", headers=fleet.operator)
    assert (status, answer["error"]["code"]) == (429, "too_many_requests")
    readers.pop().__exit__()

    def has_room():
        reader = Reader(fleet)
        readers.append(reader)
        return reader.response.status == 200
    wait_for(has_room, "the place of one that left")
    assert fleet.gateway.stop() == 0
    for reader in readers:
        reader.response.read()  # to a proper end
    fleet.start_gateway()
    fleet.wait_ready(3)
