"""Full batches, paused readers, shared prefixes and local prompts change times, never tokens."""
import random
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from fleet import LONG_S, Fleet, wait_for
from kinds import ids
from load import Crowd, Exchange, allow_files, post
from programs import refusal

BLOCK = 16


def some_requests(n, seed, longest=200):
    rng = random.Random(seed)
    return [dict(prompt=ids(rng.randint(1, longest), rng.randrange(6)),
                 max_new_tokens=rng.randint(1, 100), temperature=rng.choice([0, 0.9]),
                 top_k=rng.choice([0, 40]), seed=i, presence_penalty=rng.choice([0, 0.5]))
            for i in range(n)]


def texts(answers):
    return [answer["generated_text"] for answer in answers]


def together(fleet, bodies):
    with ThreadPoolExecutor(len(bodies)) as pool:
        return texts(pool.map(lambda body: fleet.generate(**body), bodies))


def one_by_one(fleet, bodies):
    return texts(fleet.generate(**body) for body in bodies)


def read(fleet, i, body, quick_ones_are_through):
    """The text of a stream. Every fourth client leaves, another fourth waits for the rest."""
    stream = fleet.stream(**body)
    text = ""
    if i % 4 == 1:
        assert quick_ones_are_through.wait(LONG_S)
    for n, event in enumerate(stream.events):
        assert event.name in ("meta", "token", "token_json", "summary"), event
        text += event.text
        if i % 4 == 0 and n == 3 + i % 7:
            stream.abandon()
            return None
    return text


def read_all(fleet, bodies):
    """The results of read() for each, all at once."""
    quick_ones_are_through = threading.Event()
    with ThreadPoolExecutor(len(bodies)) as pool:
        reads = [pool.submit(read, fleet, i, body, quick_ones_are_through)
                 for i, body in enumerate(bodies)]
        wait([a_read for i, a_read in enumerate(reads) if i % 4 != 1], LONG_S)
        quick_ones_are_through.set()
    return [a_read.result() for a_read in reads]


@pytest.mark.parametrize("max_batch", (1, 5, 64))
def test_64_streams_with_leavers_and_slow_readers_equal_their_single_runs(max_batch):
    with Fleet(decode_args=["--max-batch", max_batch, "--kv-tokens", 16384]) as fleet:
        bodies = some_requests(64, max_batch)
        results = read_all(fleet, bodies)
        fleet.wait_all_free()
        for body, text in zip(bodies, results):
            assert text is None or text == fleet.generate(**body)["generated_text"], body
        fleet.wait_all_free()


def test_a_request_without_a_slot_in_the_batch_waits_before_its_prompt():
    """Prompts would otherwise delay steps, and readers would wait for their second token."""
    with Fleet(decode_args=["--max-batch", 4, "--kv-tokens", 16384]) as fleet:
        bodies = [dict(prompt=ids(20, i), max_new_tokens=60, ignore_eos=True, temperature=0)
                  for i in range(40)]
        fleet.workers["prefill-0"].pause()  # so that each request keeps its slot
        with ThreadPoolExecutor(40) as pool:
            answers = [pool.submit(fleet.generate, **body) for body in bodies]
            wait_for(lambda: fleet.open() == 40 and fleet.open("PREFILLING") == 4 + 2,
                     "all slots to be taken")
            rejected = 'baton_reservations_rejected_total{reason="batch_full"}'
            wait_for(lambda: fleet.metrics()[rejected] > 2, "the others to be turned away")
            n_most = 'baton_worker_requests_max{role="decode",worker="decode-0"}'
            wait_for(lambda: fleet.metrics()[n_most] == 4 + 2, "the worker to tell of them")
            assert fleet.open("PREFILLING") == 4 + 2
            fleet.workers["prefill-0"].resume()
        assert all(answer.result()["output_tokens"] == 60 for answer in answers)
        assert fleet.metrics()[n_most] == 4 + 2


def kv_bytes(fleet):
    return fleet.metrics()["baton_kv_transfer_bytes_total"]


def test_a_shared_prefix_travels_once():
    with Fleet() as fleet:
        sizes = []
        for prompt in (ids(100), ids(100), ids(140), ids(16), [9, *ids(99)]):
            before = kv_bytes(fleet)
            fleet.generate(prompt=prompt, max_new_tokens=3, temperature=0, ignore_eos=True)
            sizes.append(kv_bytes(fleet) - before)
            fleet.wait_all_free()
        block = sizes[3]
        assert [size / block for size in sizes] == [7, 1, 3, 1, 7]
        # 6 whole blocks of 100 tokens, 2 more of 140, none of 16, and 6 others
        wait_for(lambda: fleet.worker("decode-0")["kv_blocks_cached"] == 6 + 2 + 6,
                 "the cache to be told of")


def test_nothing_is_shared_when_it_is_off():
    with Fleet(decode_args=["--prefix-cache", "off"]) as fleet:
        sizes = []
        for _ in range(2):
            before = kv_bytes(fleet)
            fleet.generate(prompt=ids(100), max_new_tokens=3, temperature=0, ignore_eos=True)
            sizes.append(kv_bytes(fleet) - before)
        assert sizes[0] == sizes[1] > 0
        fleet.wait_all_free()
        assert fleet.worker("decode-0")["kv_blocks_cached"] == 0


@pytest.fixture(scope="module")
def expected():
    """The texts of prompts that prefill workers ran, one by one."""
    with Fleet() as fleet:
        return one_by_one(fleet, some_requests(48, 5))


@pytest.mark.parametrize("args", (["--colocated-prefill-chunk", 1],
                                  ["--colocated-prefill-chunk", 7, "--max-batch", 3],
                                  ["--prefix-cache", "off"], []), ids=str)
def test_prompts_run_here_give_the_same_tokens(expected, args):
    with Fleet(prefill=0, gateway_args=["--colocated-prefill-tokens", 512],
               decode_args=args) as fleet:
        fleet.wait_ready(1)
        bodies = some_requests(48, 5)
        expected_by = fleet.served_at_once("decode-0", "decode-0")
        assert fleet.generate(**bodies[0])["served_by"] == expected_by
        assert together(fleet, bodies) == expected
        assert one_by_one(fleet, bodies) == expected
        fleet.wait_all_free()


def explained(fleet):
    """Answers that say all there is to say about their tokens."""
    steps = fleet.generate(prompt=ids(50), max_new_tokens=4, temperature=0.7, seed=3, explain=5)
    body = dict(prompt=ids(50), max_tokens=4, temperature=0.7, seed=3, logprobs=3)
    return [steps["generated_text"], steps["steps"],
            fleet.request("POST", "/v1/completions", body)[1]["choices"]]


def test_prompts_run_here_show_what_prefill_workers_show():
    with Fleet() as fleet:
        there = explained(fleet)
    with Fleet(prefill=0, gateway_args=["--colocated-prefill-tokens", 512]) as fleet:
        fleet.wait_ready(1)
        assert explained(fleet) == there
        assert fleet.generate(prompt=ids(50), max_new_tokens=4)["cached_tokens"] == 48
        assert fleet.generate(prompt=ids(50), max_new_tokens=1)["output_tokens"] == 1
        fleet.wait_all_free()


def test_leaving_while_prompts_run_here_frees_everything():
    with Fleet(prefill=0, gateway_args=["--colocated-prefill-tokens", 512],
               decode_args=["--colocated-prefill-chunk", 1]) as fleet:
        fleet.wait_ready(1)
        reader = fleet.stream(prompt=ids(5), max_new_tokens=400, temperature=0, ignore_eos=True)

        def leave(i):
            stream = fleet.stream(prompt=ids(400, i), max_new_tokens=20)
            for _ in range(i % 3):  # nothing, or what is said before the prompt, or a token
                next(stream.events)
            stream.abandon()
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(leave, range(36)))
        text, last = reader.text()
        assert last.name == "summary" and last.json()["output_tokens"] == 400
        assert text == fleet.generate(prompt=ids(5), max_new_tokens=400, temperature=0,
                                      ignore_eos=True)["generated_text"]
        fleet.wait_all_free()


def test_a_worker_killed_while_it_runs_prompts():
    with Fleet(prefill=0, decode=2, gateway_args=["--colocated-prefill-tokens", 512],
               decode_args=["--colocated-prefill-chunk", 1]) as fleet:
        fleet.wait_ready(2)
        bodies = [dict(prompt=ids(300, i), max_new_tokens=150, temperature=0.8, seed=i,
                       ignore_eos=True) for i in range(24)]
        alone = one_by_one(fleet, bodies[:3])
        with ThreadPoolExecutor(24) as pool:
            def ask():
                return [pool.submit(fleet.request, "POST", "/generate", body) for body in bodies]

            pending = fleet.pause_at_work("decode-0", ask, lambda: fleet.open("PREFILLING"))
            fleet.workers["decode-0"].kill()
            answers = [p.result() for p in pending]
        assert all(status in (200, 502) for status, _, _ in answers)
        assert any(status == 502 or answer["served_by"]["attempts"] > 1
                   for status, answer, _ in answers)
        assert one_by_one(fleet, bodies[:3]) == alone
        wait_for(lambda: len(fleet.fleet()) == 1, "the killed worker to be missed")
        fleet.wait_all_free()


def test_an_unknown_choice_is_answered_with_those_there_are():
    said = refusal("baton-decode", "--prefix-cache", "maybe")
    assert 'prefix-cache must be off or on, not "maybe"' in said


def test_a_thousand_sequences_take_their_steps_together():
    n, n_new = 1000, 60
    body = dict(prompt=ids(20), max_new_tokens=n_new, ignore_eos=True, temperature=0)
    allow_files(n + 100)
    with Fleet(worker_args=["--kv-tokens", "90000"], decode_args=["--max-batch", "1024"]) as fleet:
        expected = fleet.generate(**body)["generated_text"]
        crowd = Crowd()
        prefill, decode = fleet.workers["prefill-0"], fleet.workers["decode-0"]
        prefill.pause()
        for _ in range(n):
            crowd.add(Exchange(fleet.port, post("/generate/stream", body)))
        wait_for(lambda: fleet.open("PREFILLING") == n, "a place for every context")
        decode.pause()
        prefill.resume()
        wait_for(lambda: fleet.open("DECODING") == n, "every first token")
        decode.resume()
        crowd.finish()
        assert {(each.outcome(), each.text()) for each in crowd.over} == {("ok", expected)}
        fleet.wait_all_free()
