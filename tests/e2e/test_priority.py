"""Interactive requests overtake batch requests in every queue, and batch never starves."""
import json

import pytest
from fleet import KEEPING, Fleet, wait_for
from load import Crowd, Exchange, post

STORY = "Once upon a time"
BATCH_KEY, OTHER_KEY = "nightly-key-01", "people-key-002"
SMALL = ["--kv-tokens", "512"]  # capacity for one stream that is held
LOGGED = ["--log-format", "json", "--log-level", "debug"]


def waiting(fleet, priority):
    return fleet.metrics()[f'baton_priority_queue_requests{{priority="{priority}"}}']


def count(fleet, priority, outcome):
    return fleet.metrics()[
        f'baton_priority_requests_total{{priority="{priority}",outcome="{outcome}"}}']


def add(crowd, fleet, n, **body):
    for _ in range(n):
        crowd.add(Exchange(fleet.port, post("/generate/stream",
                                            {"prompt": STORY, "max_new_tokens": 16, **body})))


def events(fleet, name):
    lines = [json.loads(line) for line in fleet.gateway.text().splitlines() if line.startswith("{")]
    return [line for line in lines if line["ev"] == name]


def order_routed(fleet):
    """The classes of all requests that are over, by when each was first routed."""
    classes = {line["req"]: line["priority"] for line in events(fleet, "request")}
    first = dict.fromkeys(one["req"] for one in events(fleet, "state") if one["from"] == "QUEUED")
    return [classes[req] for req in first]


def test_interactive_requests_overtake_a_backlog_of_batch():
    with Fleet(decode_args=SMALL, gateway_args=[*LOGGED, *KEEPING]) as fleet:
        [stream] = fleet.hold()
        crowd = Crowd()
        add(crowd, fleet, 20, priority="batch")
        wait_for(lambda: waiting(fleet, "batch") == 20, "the backlog to form")
        add(crowd, fleet, 3)
        wait_for(lambda: waiting(fleet, "interactive") == 3, "the others to wait as well")
        stream.abandon()
        crowd.finish()
        assert {exchange.outcome() for exchange in crowd.over} == {"ok"} and len(crowd.over) == 23
        # The held request is the first.
        assert order_routed(fleet) == ["interactive"] * 4 + ["batch"] * 20
        assert count(fleet, "batch", "ok") == 20 and count(fleet, "interactive", "ok") == 3
        assert fleet.metrics()['baton_priority_queue_seconds_count{priority="batch"}'] == 20
        fleet.wait_all_free()


def test_batch_goes_on_under_interactive_load():
    with Fleet(decode_args=SMALL, gateway_args=[*LOGGED, *KEEPING]) as fleet:
        [stream] = fleet.hold()
        crowd = Crowd()
        add(crowd, fleet, 1, priority=7)
        add(crowd, fleet, 100)
        wait_for(lambda: (waiting(fleet, "batch"), waiting(fleet, "interactive")) == (1, 100),
                 "all to wait")
        stream.abandon()
        crowd.finish()
        order = order_routed(fleet)[1:]
        # It is due after 7, and passed over 64 times while it finds no room.
        assert 7 <= order.index("batch") <= 7 + 64, order
        fleet.wait_all_free()


def overtakes(fleet):
    """Whether the interactive request ended first; None: the batch was over before it came."""
    of = {line["priority"]: line["req"] for line in events(fleet, "request")}
    steps = [(line["req"], line["to"]) for line in events(fleet, "state")]
    over = steps.index((of["batch"], "DONE"))
    if over < steps.index((of["interactive"], "QUEUED")):
        return None
    return steps.index((of["interactive"], "DONE")) < over


def test_an_interactive_request_takes_the_slot_of_a_batch_sequence():
    with Fleet(decode_args=["--max-batch", "1"], gateway_args=LOGGED) as fleet:
        overtook = None
        while overtook is None:
            stream = fleet.stream(prompt=STORY, max_new_tokens=500, ignore_eos=True,
                                  priority="batch")
            assert stream.status == 200  # its first token is there
            answer = fleet.generate(prompt=STORY, max_new_tokens=4, ignore_eos=True)
            summary = stream.text()[1].json()
            overtook = overtakes(fleet)
        assert overtook
        assert answer["priority"] == "interactive" and 0 <= answer["queue_s"] <= answer["ttft_s"]
        assert summary["priority"] == "batch" and summary["output_tokens"] == 500


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "api-keys"
    path.write_text(f"{BATCH_KEY} priority=batch\n{OTHER_KEY} name=people\n")
    with Fleet(key=OTHER_KEY, gateway_args=["--api-keys", path]) as started:
        yield started


@pytest.mark.parametrize("asked, told", [
    ({}, "interactive"), ({"priority": "batch"}, "batch"),
    ({"priority": "interactive"}, "interactive"),
    ({"priority": 0}, "interactive"), ({"priority": -3}, "interactive"), ({"priority": 1}, "batch"),
    ({"priority": None}, "interactive"),
])
def test_a_request_says_its_class(fleet, asked, told):
    assert fleet.generate(prompt=STORY, max_new_tokens=2, **asked)["priority"] == told
    answer = fleet.request("POST", "/v1/completions",
                           {"prompt": STORY, "max_tokens": 2, **asked})[1]
    assert answer["timings"]["priority"] == told


@pytest.mark.parametrize("asked, told", [
    ({"service_tier": "flex"}, "batch"), ({"service_tier": "auto"}, "interactive"),
    ({"service_tier": "priority"}, "interactive"),
    ({"service_tier": "flex", "priority": 0}, "interactive"),
])
def test_openais_service_tier_is_understood(fleet, asked, told):
    body = {"prompt": STORY, "max_tokens": 2, **asked}
    assert fleet.request("POST", "/v1/completions", body)[1]["timings"]["priority"] == told


def test_a_key_of_batch_has_batch_requests_only(fleet):
    for asked in {}, {"priority": "interactive"}:
        answer = fleet.request("POST", "/generate", {"prompt": STORY, "max_new_tokens": 2, **asked},
                               {"Authorization": f"Bearer {BATCH_KEY}"})[1]
        assert answer["priority"] == "batch"


@pytest.mark.parametrize("bad", ["low", 1.5, True, ["batch"]])
def test_what_is_no_class_is_refused(fleet, bad):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": STORY, "priority": bad})
    assert status == 400 and answer["error"]["param"] == "priority", answer
    assert '"interactive", "batch" or an integer' in answer["error"]["message"]
