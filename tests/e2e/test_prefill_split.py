"""Prefill workers share a long prompt: the bits are one worker's, whatever fails."""
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import NO_STALL, NO_SUSPICION, ROOT, Fleet, wait_for
from test_families import steps_of

FIXTURES = ROOT / "tests/fixtures/models"
SPLIT = ["--prefill-split", 2, "--prefill-split-min-tokens", 64]
CHUNK = ["--chunk", 32]
SAMPLED = dict(temperature=0.9, seed=5, top_p=0.95)


def ids(n, step=7, n_vocab=2000):
    return [5 + step * i % n_vocab for i in range(n)]


def body(prompt, **more):
    return dict(prompt=prompt, max_new_tokens=4, ignore_eos=True, explain=5,
                **{"temperature": 0, "cache_prompt": False, **more})


def n_split(fleet):
    return fleet.metrics()["baton_split_prefills_total"]


def alone(fleet, **body):
    """The answer, once all workers said that they are idle, so that they help with the next."""
    answer = fleet.generate(**body)
    fleet.wait_all_free()
    return answer


def answers(bodies, **of_fleet):
    """The steps of the answers, and how many of them were divided."""
    with Fleet(**of_fleet) as fleet:
        found = [steps_of(alone(fleet, **body)) for body in bodies]
        assert fleet.metrics()["baton_retries_total"] == 0
        return found, n_split(fleet)


# Ends of a stripe, of a block and of neither; greedy, sampled.
BODIES = [body(ids(n), **how) for n in (256, 300, 321, 448, 449, 500) for how in ({}, SAMPLED)]


@pytest.mark.parametrize("kv, path", (("f32", "auto"), ("f16", "wire"), ("q8", "auto")))
def test_the_bits_are_those_of_one_worker(kv, path):
    args = dict(worker_args=["--kv-dtype", kv, "--kv-path", path])
    wanted, _ = answers(BODIES, **args)
    found, n = answers(BODIES, prefill=2, prefill_args=CHUNK, gateway_args=SPLIT, **args)
    assert n == len(BODIES) and found == wanted


def test_three_and_four_workers():
    wanted, _ = answers(BODIES)
    for n_workers in (3, 4):
        found, n = answers(BODIES, prefill=n_workers,
                           prefill_args=["--chunk", 48, "--overlap", "off"],
                           gateway_args=["--prefill-split", n_workers, *SPLIT[2:]])
        assert n == len(BODIES) and found == wanted


@pytest.mark.parametrize("name", ("gemma3", "gemma4-e2b", "gpt-oss", "qwen3", "glm4-moe-lite"))
def test_windows_and_heads_of_all_kinds(name):
    bodies = [body(ids(n, 11, 500), **how) for n in (64, 100, 113) for how in ({}, SAMPLED)]
    wanted, _ = answers(bodies, model=FIXTURES / name)
    found, n = answers(bodies, model=FIXTURES / name, prefill=2, prefill_args=["--chunk", 16],
                       gateway_args=SPLIT)
    assert n == len(bodies) and found == wanted


def test_prefixes_that_one_of_them_has():
    """Prompts that begin alike come to workers that have more, less or none of it."""
    bodies = [body(ids(n, step), cache_prompt=True) for step in (7, 11, 13)
              for n in (40, 200, 330, 330, 470, 480, 500)]
    wanted, _ = answers(bodies)
    with Fleet(prefill=2, prefill_args=CHUNK, gateway_args=SPLIT) as fleet:
        cached = []
        for request, steps in zip(bodies, wanted):
            answer = fleet.generate(**request)
            assert steps_of(answer) == steps
            cached.append(answer["cached_tokens"])
        assert n_split(fleet) and max(cached) >= 320


def test_it_is_told():
    with Fleet(prefill=2, prefill_args=CHUNK, gateway_args=SPLIT) as fleet:
        assert alone(fleet, **body(ids(40)))["served_by"]["prefill_parts"] == 0
        assert fleet.generate(**body(ids(400)))["served_by"]["prefill_parts"] == 2
        wait_for(lambda: sum(" parts=2 " in worker.text()
                             for worker in fleet.workers.values()) == 2, "both to tell of it")


def test_a_worker_that_is_busy_helps_nobody():
    with Fleet(prefill=2, prefill_args=[*CHUNK, "--threads", 1], gateway_args=SPLIT) as fleet:
        with ThreadPoolExecutor(16) as pool:
            wanted = steps_of(fleet.generate(**BODIES[-2]))
            assert all(steps_of(answer) == wanted
                       for answer in pool.map(lambda _: fleet.generate(**BODIES[-2]), range(32)))
        fleet.generate(**BODIES[0])


def at_work(fleet, name, pool):
    """A prompt that is divided, while that part of it is computed, and the part stopped."""
    n = 0

    def ask():
        nonlocal n
        n = n_split(fleet)
        return [pool.submit(fleet.generate, **body(ids(500)))]
    return fleet.pause_at_work(name, ask,
                               lambda: fleet.open("PREFILLING") == 1 and n_split(fleet) > n)


@pytest.mark.parametrize("name", ("prefill-0", "prefill-1"))
def test_a_part_that_is_killed_costs_no_token(name):
    wanted, _ = answers([body(ids(500))])
    with Fleet(prefill=2, prefill_args=["--chunk", 16, *NO_STALL], worker_args=NO_SUSPICION,
               gateway_args=[*SPLIT, *NO_SUSPICION]) as fleet, ThreadPoolExecutor(1) as pool:
        for _ in range(3):  # at several stages: whichever it is in
            pending = at_work(fleet, name, pool)
            fleet.workers[name].kill()
            assert [steps_of(future.result()) for future in pending] == wanted
            wait_for(lambda: not fleet.worker(name), "the gateway to miss it")
            fleet.start_worker("prefill", name)
            fleet.wait_ready(3)
        assert fleet.metrics()["baton_retries_total"] >= 1


@pytest.mark.parametrize("name", ("prefill-0", "prefill-1"))
def test_a_part_that_stands_still_for_a_while_loses_nothing(name):
    """The other one gives way to what else is to be computed, and both go on."""
    wanted, _ = answers([body(ids(500)), body(ids(50))])
    with Fleet(prefill=2, prefill_args=["--chunk", 16, *NO_STALL], worker_args=NO_SUSPICION,
               gateway_args=[*SPLIT, *NO_SUSPICION]) as fleet, ThreadPoolExecutor(1) as pool:
        pending = at_work(fleet, name, pool)
        fleet.workers[name].resume()
        assert [steps_of(future.result()) for future in pending] == wanted[:1]
        assert steps_of(fleet.generate(**body(ids(50)))) == wanted[1]


def test_a_client_that_leaves_frees_all_parts():
    with Fleet(prefill=2, prefill_args=["--chunk", 16, "--prefix-cache", "off"], gateway_args=SPLIT,
               decode_args=["--prefix-cache", "off"]) as fleet:
        for _ in range(10):
            stream = fleet.stream(**body(ids(500)))
            stream.abandon()
        fleet.wait_all_free()


def test_a_drain_waits_for_its_part():
    wanted, _ = answers([body(ids(500))])
    with (Fleet(prefill=2, prefill_args=["--chunk", 16], gateway_args=SPLIT) as fleet,
          ThreadPoolExecutor(1) as pool):
        pending = pool.submit(fleet.generate, **body(ids(500)))
        fleet.workers["prefill-1"].signal(signal.SIGTERM)
        assert steps_of(pending.result()) == wanted[0]
        fleet.workers["prefill-1"].popen.wait()
        assert steps_of(fleet.generate(**body(ids(500)))) == wanted[0]
