"""GET /debug/kv names the owners of KV blocks. Requests that end at any moment leave none."""
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import random_requests
from fleet import SLOW, SUSPICION, Fleet, Stream, wait_for

REASONS = ["reserved", "receiving", "running", "sending", "cached"]
N_ABORTS = 400 if SLOW == 1 else 60


def account(fleet, name, query=""):
    return next(worker for worker in fleet.kv(query) if worker["id"] == name)


def assert_adds_up(worker):
    assert [entry["reason"] for entry in worker["held"]] == REASONS
    assert worker["free"] + sum(entry["blocks"] for entry in worker["held"]) == worker["blocks"]
    assert worker["n_owners"] == sum(entry["owners"] for entry in worker["held"])
    assert worker["faults"] == 0


FLEET = dict(decode=2)


def test_every_block_has_an_owner_a_reason_and_an_age(fleet):
    streams = fleet.hold(4)
    workers = {worker["id"]: worker for worker in fleet.kv()}
    assert {name: worker["role"] for name, worker in workers.items()} == {
        "prefill-0": "prefill", "decode-0": "decode", "decode-1": "decode"}
    for worker in workers.values():
        assert worker["answered"]
        assert_adds_up(worker)
    owners = [owner for name in ("decode-0", "decode-1") for owner in workers[name]["owners"]]
    assert len(owners) == 4
    assert all(owner["open"] and owner["reason"] == "running" for owner in owners)
    # 4 + 480 tokens without the last, which is no input; prompts shorter than a block share none.
    assert all(owner["blocks"] + owner["shared_blocks"] == 31 for owner in owners)
    assert all(0 <= owner["reason_s"] <= owner["age_s"] for owner in owners)
    for stream in streams:
        stream.abandon()
    fleet.wait_all_free()


def test_shared_blocks_belong_to_the_first_owner(fleet):
    prompt = [5 + i for i in range(64)]
    fleet.generate(prompt=prompt, max_new_tokens=2)
    streams = fleet.hold(4, prompt=prompt, max_new_tokens=400)
    for worker in fleet.kv():
        assert_adds_up(worker)
        assert [owner["shared_blocks"] for owner in worker["owners"]][:1] in ([], [0])
    for stream in streams:
        stream.abandon()


def test_the_list_is_bounded_and_pages(fleet):
    streams = fleet.hold(6)
    whole = [owner["request"] for owner in account(fleet, "decode-0")["owners"]]
    assert len(whole) == account(fleet, "decode-0")["n_owners"] >= 2
    page = account(fleet, "decode-0", "?limit=1&first=1")
    assert [owner["request"] for owner in page["owners"]] == whole[1:2]
    assert page["n_owners"] == len(whole)
    assert_adds_up(page)
    assert [worker["id"] for worker in fleet.kv("?worker=decode-1&limit=0")] == ["decode-1"]
    assert fleet.kv("?worker=decode-9") == []
    for stream in streams:
        stream.abandon()


@pytest.mark.parametrize("query, code, param", [
    ("limit=257", "out_of_range", "limit"), ("limit=", "out_of_range", "limit"),
    ("first=-1", "out_of_range", "first"), ("first=4294967296", "out_of_range", "first"),
    ("blocks=1", "unknown_field", None), ("x" * 300, "invalid_value", None)])
def test_a_query_that_makes_no_sense_is_refused(fleet, query, code, param):
    status, answer, _ = fleet.request("GET", f"/debug/kv?{query}")
    assert status == 400 and answer["error"]["code"] == code and answer["error"]["param"] == param


def test_a_worker_that_stands_still_has_not_answered():
    with Fleet(worker_args=SUSPICION) as fleet:
        fleet.workers["decode-0"].pause()
        workers = {worker["id"]: worker["answered"] for worker in fleet.kv()}
        fleet.workers["decode-0"].resume()
        assert workers == {"prefill-0": True, "decode-0": False}


def test_few_questions_are_open_at_once(fleet):
    fleet.workers["decode-0"].pause()

    def statuses():
        """Nine requests wait together, unless one comes so late that another's time is up."""
        with ThreadPoolExecutor(9) as pool:
            return sorted(pool.map(lambda _: fleet.request("GET", "/debug/kv")[0], range(9)))
    wait_for(lambda: statuses() == [200] * 8 + [429], "eight answers and a refusal")
    fleet.workers["decode-0"].resume()


def test_requests_given_up_at_any_moment_leave_no_block(fleet):
    rng = random.Random(7)

    def abort(seed):
        """A stream, read so far and then left."""
        own = random.Random(seed)
        body = {"prompt": random_requests.prompt_ids(own), "max_new_tokens": own.randint(1, 200),
                "seed": seed, "ignore_eos": True, "cache_prompt": own.random() < 0.7}
        stream = Stream(fleet.port, body)
        for _ in range(own.choice([0, 0, 1, 2, 5, 20])):
            if next(stream.events, None) is None:
                break
        stream.abandon()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(abort, [rng.randrange(2**32) for _ in range(N_ABORTS)]))
    wait_for(lambda: not fleet.open(), "the gateway to see them leave")
    fleet.wait_all_free()
    fleet.check_kv_accounts()
