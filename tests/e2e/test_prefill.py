"""Chunks, shared steps, overlapped hand-offs and the prefix cache change times, never tokens."""
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import Fleet, run_out_of_time, wait_for
from kinds import ids
from load import Exchange, post
from programs import refusal

LENGTHS = (1, 15, 16, 17, 33, 64, 70, 129, 250, 480)
LONG = 480


def requests():
    """One of every length, some sampled, some greedy."""
    return [{"prompt": ids(n, n), "max_new_tokens": 4, "ignore_eos": True, "seed": n,
             "temperature": 0.8 if i % 2 else 0} for i, n in enumerate(LENGTHS)]


def together(fleet, bodies):
    """The answers of requests that are sent at once."""
    answers = [None] * len(bodies)

    def ask(i):
        answers[i] = fleet.request("POST", "/generate", bodies[i])
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(status == 200 for status, _, _ in answers), answers
    return [answer for _, answer, _ in answers]


def texts(answers):
    return [answer["text"] for answer in answers]


@pytest.fixture(scope="module")
def expected():
    """The texts of prompts that run alone, whole and uncached."""
    with Fleet(prefill_args=["--chunk", "512", "--prefix-cache", "off",
                             "--overlap", "off"]) as fleet:
        alone = texts([fleet.generate(**body) for body in requests()])
        naive = [fleet.generate(kv_cache=False, **body) for body in requests()
                 if len(body["prompt"]) < 100]
        assert texts(naive) == alone[:len(naive)]
        return alone


@pytest.mark.parametrize("n,args,decode_cache", (
    (1, ["--chunk", "16", "--overlap", "on"], "on"),
    (1, ["--chunk", "16", "--overlap", "off"], "off"),
    (1, ["--chunk", "64", "--overlap", "on", "--prefix-cache", "off"], "on"),
    # only the receiver has blocks
    (1, ["--chunk", "512", "--overlap", "on"], "off"),  # only the sender has
    (2, ["--chunk", "32", "--overlap", "auto"], "on"),
), ids=lambda value: " ".join(value) if isinstance(value, list) else str(value))
def test_the_same_tokens_whatever_the_chunk_company_and_cache(expected, n, args, decode_cache):
    with Fleet(n, n, prefill_args=args, decode_args=["--prefix-cache", decode_cache]) as fleet:
        assert texts(fleet.generate(**body) for body in requests()) == expected
        assert texts(together(fleet, requests())) == expected  # found in the cache, and packed
        fresh = [{**body, "prompt": [9, *body["prompt"]]} for body in requests()[:-1]]
        assert texts(together(fleet, fresh)) == texts(fleet.generate(**body) for body in fresh)
        fleet.wait_all_free()


def test_cached_tokens_are_exact():
    with Fleet(prefill_args=["--chunk", "64"]) as fleet:
        def cached(prompt, new=1, **body):
            answer = fleet.generate(prompt=prompt, max_new_tokens=new, temperature=0, **body)
            fleet.wait_all_free()  # it is over, so all its blocks are named
            return answer["cached_tokens"]
        prompt = ids(511)
        assert cached(prompt) == 0
        assert cached(prompt) == 496  # the last token is always computed, and its block with it
        assert cached(prompt[:480] + ids(31, 1)) == 480
        assert cached(prompt[:481]) == 480
        assert cached(prompt[:480]) == 464
        assert cached(prompt[:479] + [7, 8], new=4) == 464
        assert cached(prompt[:16]) == 0
        assert cached(prompt[:17]) == 16
        assert cached([9, *prompt[1:]]) == 0  # a block's hash also covers every token before it
        assert cached(prompt[:100], kv_cache=False) == 0


def test_no_cache_when_it_is_off():
    with Fleet(prefill_args=["--prefix-cache", "off"]) as fleet:
        answers = [fleet.generate(prompt=ids(200), max_new_tokens=4, temperature=0)
                   for _ in range(2)]
        assert [answer["cached_tokens"] for answer in answers] == [0, 0]
        fleet.wait_all_free()


def test_logprobs_of_a_prompt_are_those_of_one_pass():
    def scored(args):
        with Fleet(prefill_args=args) as fleet:
            body = {"prompt": ids(300), "max_tokens": 3, "temperature": 0, "echo": True,
                    "logprobs": 2}
            answers = [fleet.request("POST", "/v1/completions", body)[1] for _ in range(2)]
            fleet.wait_all_free()
            assert answers[1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
            return [answer["choices"][0] for answer in answers]
    whole, chunked = scored(["--chunk", "512"]), scored(["--chunk", "48"])
    assert whole[0] == whole[1] == chunked[0] == chunked[1]


def all_at_once(fleet, **body):
    """The answer to a batch whose prompts all arrive before the prefill worker sees the first."""
    fleet.workers["prefill-0"].pause()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(fleet.generate, **body)
        wait_for(lambda: fleet.open("PREFILLING") == len(body["prompt"]), "all prompts to be sent")
        fleet.workers["prefill-0"].resume()
    return answer.result()


def prompts_in_order(fleet):
    """The lengths of the prompts that ran, in the order in which they were done."""
    lengths = dict(re.findall(r"ev=request req=(\S+) .*?prompt_tokens=(\d+)", fleet.gateway.text()))
    done = re.findall(r"ev=prompt req=(\S+) ", fleet.workers["prefill-0"].text())
    return [int(lengths[request]) for request in done]


def test_a_short_prompt_does_not_wait_for_long_ones():
    with Fleet(prefill_args=["--chunk", "16", "--prefix-cache", "off"]) as fleet:
        all_at_once(fleet, prompt=[*(ids(LONG, i) for i in range(6)), ids(8)], max_new_tokens=2)
        assert 8 in prompts_in_order(fleet)[:3]
        assert fleet.generate(prompt=ids(LONG), max_new_tokens=2)["output_tokens"] == 2


def compute_times(fleet):
    return re.findall(r"ev=prompt .* compute_s=(\S+)", fleet.workers["prefill-0"].text())


def test_short_prompts_share_a_pass():
    with Fleet(prefill_args=["--chunk", "512", "--prefix-cache", "off"]) as fleet:
        all_at_once(fleet, prompt=[ids(LONG), *(ids(8, i) for i in range(24))], max_new_tokens=1)
        spans = wait_for(lambda: len(compute_times(fleet)) == 25 and compute_times(fleet),
                         "the log")
        assert len(set(spans)) < 25, spans  # those of one step begin and end together


def test_prompts_that_are_not_wanted_any_more_leave_nothing_behind():
    """Half of the clients leave while their prompts wait, the others while they run."""
    with Fleet(prefill_args=["--chunk", "16", "--overlap", "on"]) as fleet:
        worker = fleet.workers["prefill-0"]
        worker.pause()
        clients = [
            Exchange(fleet.port, post("/generate", {"prompt": ids(LONG, i), "max_new_tokens": 16}))
            for i in range(40)]
        wait_for(lambda: fleet.open() == 40 and fleet.open("PREFILLING") > 1,
                 "all prompts to be there")
        for client in clients[::2]:
            client.reset()
        wait_for(lambda: fleet.metrics()['baton_requests_total{outcome="canceled"}'] == 20,
                 "half of them to leave")
        worker.resume()
        wait_for(lambda: "ev=prompt " in worker.text(), "a prompt to be through")
        for client in clients[1::2]:
            client.reset()
        wait_for(lambda: "ev=canceled" in worker.text(), "the worker to hear of it")
        fleet.wait_all_free()
        assert fleet.generate(prompt=ids(LONG), max_new_tokens=5,
                              ignore_eos=True)["output_tokens"] == 5


def test_a_prompt_whose_time_is_up_stops_between_chunks():
    """The worker is paused after its first prompt, within a later one, until the time is up."""
    with Fleet(prefill_args=["--chunk", "16", "--prefix-cache", "off"]) as fleet:
        worker = fleet.workers["prefill-0"]

        def ask(timeout_s):
            n_through = worker.text().count("ev=prompt ")
            body = {"prompt": [ids(LONG, i) for i in range(16)], "max_new_tokens": 2,
                    "timeout_s": timeout_s}
            with ThreadPoolExecutor() as pool:
                asked = pool.submit(fleet.request, "POST", "/generate", body)
                wait_for(lambda: asked.done() or worker.text().count("ev=prompt ") > n_through,
                         "a prompt")
                worker.pause()
                status, answer, _ = asked.result()
                worker.resume()
            fleet.wait_all_free()
            if status == 200:
                return "late"
            assert (status == 504
                    and answer["error"]["code"] == "deadline_exceeded"), (status, answer)
            stopped = re.findall(r"ev=prompt_stopped .*computed_tokens=(\d+)", worker.text())
            if worker.text().count("ev=prompt ") == n_through:
                return "early"
            return [n for n in map(int, stopped) if 0 < n < LONG] or "late"
        assert all(n % 16 == 0 for n in run_out_of_time(ask, 2))


def test_a_decode_worker_killed_during_hand_offs():
    with Fleet(1, 2, prefill_args=["--chunk", "16", "--overlap", "on"]) as fleet:
        bodies = [{"prompt": ids(LONG, i), "max_new_tokens": 8, "ignore_eos": True,
                   "temperature": 0} for i in range(16)]
        alone = texts(fleet.generate(**body) for body in bodies[:2])
        answers = [None] * len(bodies)

        def ask(i):
            answers[i] = fleet.request("POST", "/generate", bodies[i])
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        fleet.workers["prefill-0"].pause()
        for thread in threads:
            thread.start()
        wait_for(lambda: fleet.open("PREFILLING") == 16 and fleet.active("decode-0"),
                 "slots for all contexts")
        fleet.workers["decode-0"].pause()  # so that what is sent there does not arrive
        n_through = fleet.workers["prefill-0"].text().count("ev=prompt ") + 6
        fleet.workers["prefill-0"].resume()
        wait_for(lambda: fleet.workers["prefill-0"].text().count("ev=prompt ") > n_through,
                 "the first prompts to be through")
        fleet.workers["decode-0"].kill()
        for thread in threads:
            thread.join()
        assert all(status in (200, 502) for status, _, _ in answers), answers
        assert any(status == 502 or answer["served_by"]["attempts"] > 1
                   for status, answer, _ in answers)
        del fleet.workers["decode-0"]
        wait_for(lambda: fleet.worker("decode-0") is None
                 or fleet.worker("decode-0")["state"] != "ready", "the killed worker to be missed")
        assert texts(fleet.generate(**body) for body in bodies[:2]) == alone
        fleet.wait_all_free()


@pytest.mark.parametrize("option,value,choices", (("overlap", "perhaps", "on, off or auto"),
                                                  ("prefix-cache", "auto", "off or on")))
def test_an_unknown_choice_is_answered_with_those_there_are(option, value, choices):
    said = refusal("baton-prefill", f"--{option}", value)
    assert f'{option} must be {choices}, not "{value}"' in said
