"""The choice of workers: policies, shared prefixes, and prompts that a decode worker runs."""
import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import ROOT, Fleet, wait_for

GOLDEN = json.loads((ROOT / "tests/golden/tale.json").read_text())
IDS = [token for prompt in GOLDEN["prompts"] for token in prompt["ids"] + prompt["greedy_ids"]]


def ids(n, seed=0):
    """A prompt of n tokens, another one for each seed."""
    rng = random.Random(seed)
    return [rng.choice(IDS) for _ in range(n)]


def policies(name):
    return ["--prefill-policy", name, "--decode-policy", name]


def tokens_of(answer):
    """The generated tokens, without where and when."""
    return answer["generated_text"], answer["output_tokens"], answer["finish_reason"]


def token_ids(answer):
    return [step["token_id"] for step in answer.get("steps", [])]


def test_round_robin_alternates():
    with Fleet(prefill=2, decode=2, gateway_args=policies("round-robin")) as fleet:
        served = [fleet.generate(prompt=ids(20, i), max_new_tokens=3)["served_by"]
                  for i in range(12)]
        for role in ("prefill", "decode"):
            workers = [by[role] for by in served]
            assert set(workers) == {f"{role}-0", f"{role}-1"}
            assert all(a != b for a, b in zip(workers, workers[1:])), workers
        assert {w["id"]: w["routed"] for w in fleet.fleet()} == dict.fromkeys(
            ["prefill-0", "prefill-1", "decode-0", "decode-1"], 6)


def test_the_least_loaded_workers_are_chosen():
    with Fleet(prefill=2, decode=2) as fleet:
        def busy(role):
            return next((w["id"] for w in fleet.fleet() if w["role"] == role and w["active"]), None)

        # A decode worker with a stream that does not end is avoided.
        [stream] = fleet.hold()
        avoided = busy("decode")
        served = [fleet.generate(prompt=ids(20, i), max_new_tokens=4)["served_by"]["decode"]
                  for i in range(5)]
        assert avoided not in served
        assert stream.text()[1].name == "summary"
        # A prefill worker with a prompt that does not end gets no other one.
        prefills = {name: fleet.workers[name] for name in ("prefill-0", "prefill-1")}
        for worker in prefills.values():
            worker.pause()
        with ThreadPoolExecutor(1) as pool:
            long = pool.submit(fleet.generate, prompt=ids(500), max_new_tokens=2)
            avoided = wait_for(lambda: busy("prefill"), "the long prompt to be routed")
            for name in prefills.keys() - {avoided}:
                prefills[name].resume()
            served = [fleet.generate(prompt=ids(20, i), max_new_tokens=2)["served_by"]["prefill"]
                      for i in range(5)]
            prefills[avoided].resume()
            assert long.result()["served_by"]["prefill"] == avoided
        assert avoided not in served
        fleet.wait_all_free()


@pytest.fixture(scope="module")
def aware():
    with Fleet(prefill=2, decode=2, gateway_args=policies("prefix-aware")) as started:
        yield started


class Conversation:
    """Each turn's prompt is the one before, its answer, and something new."""

    def __init__(self, fleet, seed):
        self.fleet, self.seed, self.prompt = fleet, seed, ids(70, seed)

    def turn(self):
        answer = self.fleet.generate(prompt=self.prompt, max_new_tokens=8, ignore_eos=True,
                                     temperature=0)
        self.prompt = self.prompt + ids(30, self.seed + len(self.prompt))
        return answer


def test_the_next_turn_of_a_conversation_goes_to_the_same_workers(aware):
    conversations = [Conversation(aware, 100 + i) for i in range(6)]
    first = [conversation.turn() for conversation in conversations]
    assert {answer["served_by"]["prefill"] for answer in first} == {"prefill-0", "prefill-1"}
    assert all(answer["cached_tokens"] == 0 for answer in first)
    for turn in range(1, 4):
        for conversation, before in zip(conversations, first):
            answer = conversation.turn()
            assert answer["served_by"] == before["served_by"]
            # Whole blocks of 16 of the turn before.
            assert answer["cached_tokens"] >= (70 + 30 * (turn - 1)) // 16 * 16 - 16
    aware.wait_all_free()
    wait_for(lambda: all(w["prefix_hit_rate"] for w in aware.fleet()), "all workers to have hits")


def test_a_conversation_goes_on_elsewhere_when_its_worker_dies(aware):
    conversation = Conversation(aware, 300)
    expected = [conversation.turn() for _ in range(3)]
    again = Conversation(aware, 300)
    for turn in range(3):
        answer = again.turn()
        assert tokens_of(answer) == tokens_of(expected[turn])
        assert answer["cached_tokens"] > 0
    for role in ("prefill", "decode"):
        died = aware.generate(prompt=again.prompt, max_new_tokens=2)["served_by"][role]
        other = f"{role}-{1 - int(died[-1])}"
        aware.workers[died].kill()
        answer = aware.generate(prompt=again.prompt, max_new_tokens=2)
        assert answer["served_by"][role] == other
        assert (answer["cached_tokens"] == 0) == (role == "prefill")
        answer = aware.generate(prompt=again.prompt, max_new_tokens=2)
        assert answer["served_by"][role] == other and answer["cached_tokens"] > 0
        aware.start_worker(role, died)
        aware.wait_ready(4)
        # The one that came back knows nothing, and is not taken for the one that died.
        assert aware.generate(prompt=again.prompt, max_new_tokens=2)["served_by"][role] == other


def test_cache_prompt_switches_the_cache_off_for_one_request(aware):
    prompt = ids(120, 400)
    runs = [aware.generate(prompt=prompt, max_new_tokens=6, seed=3, cache_prompt=cache)
            for cache in (False, False, True, False, True)]
    assert [run["cached_tokens"] > 0 for run in runs] == [False] * 4 + [True]
    assert len({tokens_of(run) for run in runs}) == 1
    for cache, cached in ((False, False), (True, True)):
        answer = aware.post("/v1/completions", {"model": "tale", "prompt": prompt, "max_tokens": 6,
                                                "seed": 3, "cache_prompt": cache})
        assert (answer["usage"]["prompt_tokens_details"]["cached_tokens"] > 0) == cached
        assert (answer["timings"]["cache_n"] > 0) == cached


def test_the_cache_can_be_off_for_every_request():
    with Fleet(gateway_args=["--prefix-cache", "off"]) as fleet:
        runs = [fleet.generate(prompt=ids(120), max_new_tokens=4, cache_prompt=True)
                for _ in range(3)]
        assert all(run["cached_tokens"] == 0 for run in runs)
        assert all(w["kv_blocks_cached"] == 0 for w in fleet.fleet())


def wants(**more):
    return {"max_new_tokens": 12, "ignore_eos": True, **more}


REQUESTS = [wants(temperature=0), wants(seed=5, temperature=0.9),
            wants(seed=6, explain=2, repetition_penalty=1.3),
            wants(temperature=0, max_new_tokens=1), wants(temperature=0, cache_prompt=False)]


def test_a_short_prompt_may_be_run_by_the_decode_worker():
    prompts = [ids(n, n) for n in (1, 5, 16, 17, 40, 48)]
    with Fleet(gateway_args=["--colocated-prefill-tokens", 48]) as fleet:
        # Before and after the prefill worker's death, and wherever the prediction sent them before.
        remote = [[fleet.generate(prompt=prompt, **request) for request in REQUESTS]
                  for prompt in prompts]
        fleet.workers["prefill-0"].kill()
        wait_for(lambda: fleet.worker("prefill-0") is None, "the prefill worker to be gone")
        before = fleet.metrics()["baton_colocated_prefills_total"]
        local = [[fleet.generate(prompt=prompt, **request) for request in REQUESTS]
                 for prompt in prompts]
        gained = fleet.metrics()["baton_colocated_prefills_total"] - before
        assert gained == len(prompts) * len(REQUESTS)
        for far, near in zip(sum(remote, []), sum(local, [])):
            assert near["served_by"] == fleet.served_at_once("decode-0", "decode-0")
            assert tokens_of(near) == tokens_of(far)
            assert token_ids(near) == token_ids(far)
        stream = fleet.stream(prompt=prompts[-1], **REQUESTS[0])
        assert stream.text()[0] == local[-1][0]["generated_text"]
        # Prompts that a decode worker may not or cannot run fail at once without a prefill worker.
        for path, body in (("/generate", {"prompt": ids(49)}),
                           ("/generate", {"prompt": ids(5), "kv_cache": False}),
                           ("/v1/completions", {"prompt": ids(5), "echo": True, "logprobs": 1})):
            status, answer, _ = fleet.request("POST", path, body)
            assert status == 503 and answer["error"]["code"] == "no_worker", answer
        fleet.wait_all_free()


def test_a_short_prompt_is_run_where_it_is_predicted_to_be_faster():
    with Fleet(gateway_args=["--colocated-prefill-tokens", 32]) as fleet:
        for i in range(6):  # rates and hand-off become known
            fleet.generate(prompt=ids(32, i), max_new_tokens=2)
        fleet.workers["prefill-0"].pause()
        with ThreadPoolExecutor(8) as pool:
            # So much that no error of the estimates tips the scales.
            long = [pool.submit(fleet.generate, prompt=ids(400, i), max_new_tokens=2)
                    for i in range(8)]
            wait_for(lambda: fleet.open("PREFILLING") == 8, "the long prompts to be routed")
            answer = fleet.generate(prompt=ids(32, 99), max_new_tokens=4, temperature=0)
            assert fleet.worker("prefill-0")["predicted_wait_s"] > 0
            fleet.workers["prefill-0"].resume()
            assert {one.result()["served_by"]["prefill"] for one in long} == {"prefill-0"}
        assert answer["served_by"]["prefill"] == "decode-0"
        assert (fleet.generate(prompt=ids(200, 77), max_new_tokens=2)["served_by"]["prefill"]
                == "prefill-0")


def test_more_requests_than_fit_wait_their_turn():
    with Fleet(decode_args=["--kv-tokens", 512]) as fleet:
        def one(i):
            return fleet.generate(prompt=ids(100, i), max_new_tokens=30, ignore_eos=True,
                                  temperature=0)

        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(one, range(24)))
        assert all(answer["served_by"]["attempts"] == 1 for answer in answers)
        assert list(map(tokens_of, answers[:3])) == [tokens_of(one(i)) for i in range(3)]
        fleet.wait_all_free()
        # The gateway sends a Reserve only to a worker with capacity: a rejection is an accident.
        assert fleet.gateway.text().count("no free blocks") == 0


def test_workers_and_metrics_say_what_decisions_go_by(aware):
    aware.wait_ready(4)
    aware.generate(prompt=ids(100, 500), max_new_tokens=4)
    for worker in aware.fleet():
        assert {"queued", "queued_tokens", "running", "routed", "active", "kv_blocks_total",
                "kv_blocks_free", "kv_blocks_cached", "kv_blocks_reserved", "last_step_s",
                "tokens_per_s", "prompt_tokens_per_s", "predicted_wait_s",
                "prefix_hit_rate"} <= set(worker)
        assert worker["active"] == 0 and worker["predicted_wait_s"] == 0
    metrics = aware.metrics()
    assert metrics["baton_cached_prompt_tokens_total"] > 0
    for name in ("queued_tokens", "routed_requests_total", "kv_blocks_cached", "tokens_per_second",
                 "prompt_tokens_per_second", "predicted_wait_seconds", "prefix_tokens_total",
                 "prefix_hit_tokens_total"):
        for role in ("prefill", "decode"):
            assert f'baton_worker_{name}{{role="{role}",worker="{role}-0"}}' in metrics


@pytest.mark.parametrize("arguments,message", [
    (["--prefill-policy", "best"],
     'prefill-policy must be round-robin, least-loaded or prefix-aware, not "best"'),
    (["--decode-policy", ""],
     'decode-policy must be round-robin, least-loaded or prefix-aware, not ""'),
    (["--prefix-cache", "yes"], 'prefix-cache must be off or on, not "yes"'),
    (["--prefix-blocks", "0"],
     "--prefix-blocks: prefix-blocks must be an integer from 1 to 67108864 blocks"),
    (["--colocated-prefill-tokens", "-1"], "must be an integer from 0 to 1048576 tokens"),
])
def test_a_bad_option_is_named(arguments, message):
    fleet = Fleet(prefill=0, decode=0, gateway_args=arguments)
    with pytest.raises(AssertionError):
        fleet.start_gateway()
    assert fleet.gateway.popen.wait(20) != 0
    assert message in fleet.gateway.text()
    fleet.dir.cleanup()
