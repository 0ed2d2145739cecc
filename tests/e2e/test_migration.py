"""Workers die in the middle of requests of every kind: each goes on elsewhere, and its answer is that of an
undisturbed run. `python3 test_migration.py --trials N [--seed S]` kills N times at random."""
import argparse
import json
import random
from concurrent.futures import ThreadPoolExecutor

import random_requests
from fleet import SLOW, SUSPICION, WORDY, Event, Fleet, wait_for

STORY = "Once upon a time"
N_TOKENS = 440 if SLOW == 1 else 200
LONG = dict(prompt=STORY, max_new_tokens=N_TOKENS, temperature=0, seed=1, ignore_eos=True)
CHAT = dict(messages=[{"role": "user", "content": "Tell me a story."}], ignore_eos=True)

# Every kind of request whose tokens a decode worker makes: path, body.
DECODED = {
    "greedy": ("/generate", LONG),
    "sampled": ("/generate", {**LONG, "temperature": 0.9, "top_k": 40, "top_p": 0.95, "min_p": 0.01, "seed": 11}),
    "penalties": ("/generate", {**LONG, "temperature": 0.7, "presence_penalty": 0.6, "frequency_penalty": 0.4,
                                "repetition_penalty": 1.2, "seed": 12}),
    "output penalties alone": ("/generate", {**LONG, "presence_penalty": 1.5, "frequency_penalty": 0.9}),
    "stop text": ("/generate", {**LONG, "temperature": 0.8, "seed": 3, "stop": ["no such text", "zebra"]}),
    "stop token": ("/generate", {**LONG, "temperature": 0.3, "seed": 5, "stop_token_ids": [2558]}),
    "explained": ("/generate", {**LONG, "temperature": 0.8, "seed": 6, "explain": 3, "max_new_tokens": 200}),
    "batch": ("/generate", {**LONG, "prompt": [[7, 8, 9], [400, 11], [7, 8, 9, 10]], "temperature": 0.8, "seed": 7}),
    "uncached": ("/generate", {**LONG, "cache_prompt": False}),
    "stream": ("/generate/stream", {**LONG, "temperature": 0.8, "seed": 8}),
    "explained stream": ("/generate/stream", {**LONG, "temperature": 0.8, "seed": 9, "explain": 2, "max_new_tokens": 200}),
    "completion": ("/v1/completions", dict(prompt=STORY, max_tokens=N_TOKENS, temperature=0.8, seed=1, n=3,
                                           logprobs=3, ignore_eos=True)),
    "echo": ("/v1/completions", dict(prompt=STORY, max_tokens=N_TOKENS, temperature=0.8, seed=2, echo=True,
                                     logprobs=2, ignore_eos=True)),
    "completion stream": ("/v1/completions", dict(prompt=STORY, max_tokens=N_TOKENS, temperature=0.8, seed=3, n=2,
                                                  logprobs=1, stream=True, ignore_eos=True,
                                                  stream_options={"include_usage": True})),
    "chat": ("/v1/chat/completions", {**CHAT, "max_tokens": N_TOKENS, "seed": 4, "logprobs": True,
                                      "top_logprobs": 2}),
    "chat stream": ("/v1/chat/completions", {**CHAT, "max_tokens": N_TOKENS, "seed": 5, "stream": True}),
}
# Of one in the naive loop the prefill worker makes them.
NAIVE = {
    "naive": ("/generate", {**LONG, "max_new_tokens": 150, "kv_cache": False, "temperature": 0.8, "seed": 21,
                            "presence_penalty": 0.5}),
    "naive stream": ("/generate/stream", {**LONG, "max_new_tokens": 150, "kv_cache": False, "temperature": 0.8,
                                          "seed": 22}),
}
ARGS = ["--chat-template", "chatml"]

# What depends on the run and not on the request.
OF_THE_RUN = {"id", "created", "served_by", "handoff", "timings", "timeline", "cold", "cached_tokens",
              "prompt_tokens_details"}


def essence(value):
    """The parts of an answer that may not depend on the workers, nor on when anything happened."""
    if isinstance(value, dict):
        return {name: essence(part) for name, part in value.items()
                if name not in OF_THE_RUN and not name.endswith("_s")}
    return [essence(part) for part in value] if isinstance(value, list) else value


def of_native_stream(events):
    text = "".join(event.data for event in events if event.name == "token")
    steps = [event.json() for event in events if event.name == "step"]
    assert [events[0].name, events[-1].name] == ["meta", "summary"], events[-1]
    return essence([text, steps, events[0].json(), events[-1].json()])


def of_openai_stream(events):
    """By choice: its text, its logprobs, how it ended; then the usage."""
    assert events[-1].data == "[DONE]", events[-1]
    choices, usage = {}, None
    for chunk in (event.json() for event in events[:-1]):
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            text, logprobs, ends = choices.setdefault(choice["index"], ([], [], []))
            text.append(choice["text"] if "text" in choice else choice["delta"].get("content", ""))
            logprobs.extend((choice["logprobs"] or {}).get("token_logprobs", []))
            ends.append(choice["finish_reason"])
    return essence([{str(index): ("".join(text), logprobs, [end for end in ends if end])
                     for index, (text, logprobs, ends) in choices.items()}, usage])


def ask(fleet, path, body):
    """(essence, served_by of each generation): the latter is told by native answers alone."""
    if path == "/generate/stream" or body.get("stream"):
        events = list(fleet.stream(path=path, **body).events)
        if path != "/generate/stream":
            return of_openai_stream(events), []
        return of_native_stream(events), [events[-1].json()["served_by"]]
    status, answer, _ = fleet.request("POST", path, body)
    assert status == 200, (status, answer)
    return essence(answer), [each["served_by"] for each in answer.get("results", [answer]) if "served_by" in each]


def n_generations(path, body):
    is_batch = isinstance(body.get("prompt"), list) and isinstance(body["prompt"][0], list)
    return (len(body["prompt"]) if is_batch else 1) * body.get("n", 1)


def loses(fleet, victim, role, kinds):
    """Asks for all of them, and kills the only worker of the role while it works for every one."""
    expected = {name: ask(fleet, *request)[0] for name, request in kinds.items()}
    n = sum(n_generations(*request) for request in kinds.values())
    before = fleet.metrics()
    with ThreadPoolExecutor(len(kinds)) as pool:
        pending = {}

        def ask_all():
            pending.update({name: pool.submit(ask, fleet, *request) for name, request in kinds.items()})
            return list(pending.values())
        fleet.pause_at_work(victim, ask_all, lambda: fleet.open("DECODING") == n)
        fleet.start_worker(role, f"{role}-9")
        wait_for(lambda: (fleet.worker(f"{role}-9") or {}).get("state") == "ready", "the other worker")
        fleet.workers[victim].kill()
        answers = {name: future.result() for name, future in pending.items()}
    for name, (answer, served) in answers.items():
        assert answer == expected[name], name
        for by in served:
            assert by["migrations"] == 1 and by["attempts"] == 2 and by["migration_gap_s"] > 0, (name, by)
            assert by["decode" if role == "decode" else "prefill"] == f"{role}-9", (name, by)
    metrics = fleet.metrics()
    assert metrics["baton_migrations_total"] - before["baton_migrations_total"] == n
    assert metrics["baton_migration_gap_seconds_count"] - before["baton_migration_gap_seconds_count"] == n
    assert metrics["baton_retries_total"] == before["baton_retries_total"]
    fleet.wait_all_free()


def test_requests_of_every_kind_outlive_their_decode_worker():
    with Fleet(gateway_args=ARGS, decode_args=["--kv-tokens", 16384, "--max-batch", 64]) as fleet:
        loses(fleet, "decode-0", "decode", DECODED)


def test_requests_of_every_kind_outlive_a_decode_worker_that_ran_their_prompts():
    with Fleet(gateway_args=[*ARGS, "--colocated-prefill-tokens", 1024], prefill=0, decode=0,
               decode_args=["--kv-tokens", 16384, "--max-batch", 64]) as fleet:
        fleet.start_worker("decode", "decode-0")
        fleet.wait_ready(1)
        loses(fleet, "decode-0", "decode", {name: request for name, request in DECODED.items() if name != "echo"})


def test_naive_requests_outlive_their_prefill_worker():
    with Fleet() as fleet:
        loses(fleet, "prefill-0", "prefill", NAIVE)


def test_a_stream_that_is_not_read_outlives_its_worker_and_stays_paused():
    with Fleet(decode=2) as fleet:
        expected, _ = fleet.stream(**WORDY, seed=0).text()
        streams = fleet.hold(4)
        wait_for(lambda: fleet.active("decode-0"), "a stream there")
        n = fleet.active("decode-0")
        fleet.workers["decode-0"].kill()
        wait_for(lambda: fleet.metrics()["baton_migration_gap_seconds_count"] == n, "them to go on")
        for stream in streams:
            text, last = stream.text()
            assert last.name == "summary" and text == expected
        fleet.wait_all_free()


def test_a_request_migrates_as_often_as_it_may_and_then_says_why_it_ended():
    with Fleet(gateway_args=["--migration-limit", 2]) as fleet:
        [stream] = fleet.hold()
        for i in range(3):
            fleet.start_worker("decode", f"decode-{i + 1}")
            wait_for(lambda: (fleet.worker(f"decode-{i + 1}") or {}).get("state") == "ready", "the next worker")
            fleet.workers[f"decode-{i}"].kill()
            wait_for(lambda: fleet.metrics()["baton_migration_gap_seconds_count"] == min(i + 1, 2), "it to go on")
        _, last = stream.text()
        assert last.name == "error" and last.json()["error"]["code"] == "worker_failed"
        assert "decode-2" in last.json()["error"]["message"]
        fleet.wait_all_free()


def test_a_stream_that_no_worker_can_continue_says_what_broke_it():
    with Fleet() as fleet:
        [stream] = fleet.hold()
        fleet.workers["decode-0"].kill()
        _, last = stream.text()
        error = last.json()["error"]
        assert last.name == "error" and error["code"] == "worker_failed"
        assert "decode-0" in error["message"] and "no decode worker" in error["message"]


def test_a_stopped_worker_s_stream_goes_on_elsewhere_and_what_it_says_later_is_ignored():
    with Fleet(decode=2, gateway_args=SUSPICION) as fleet:
        expected, _ = fleet.stream(**LONG).text()
        with ThreadPoolExecutor(8) as pool:
            pending = fleet.pause_at_work(
                "decode-0", lambda: [pool.submit(fleet.stream(**LONG).text) for _ in range(8)],
                lambda: fleet.open("DECODING") == fleet.open() > 0)
            answers = [future.result() for future in pending]
        assert {text for text, _ in answers} == {expected}
        assert max(last.json()["served_by"]["migrations"] for _, last in answers) == 1
        fleet.workers["decode-0"].resume()
        fleet.wait_ready(3)
        fleet.wait_all_free()
        assert fleet.stream(**LONG).text()[0] == expected


def test_a_worker_that_may_not_finish_its_streams_hands_them_over():
    with Fleet(decode=2) as fleet:
        fleet.start_worker("decode", "decode-2", args=["--drain-s", 0])
        fleet.wait_ready(4)
        expected, _ = fleet.stream(**WORDY, seed=0).text()
        streams = fleet.hold(6)
        assert fleet.active("decode-2")
        assert fleet.workers["decode-2"].stop() == 0
        ends = [stream.text() for stream in streams]
        assert {text for text, _ in ends} == {expected}
        assert max(last.json()["served_by"]["migrations"] for _, last in ends) == 1
        fleet.wait_all_free()


# ---- random kills


def random_request(rng):
    path, body = random_requests.valid(rng)
    length = "max_tokens" if path == "/v1/completions" else "max_new_tokens"
    if body.get("kv_cache", True):
        body[length] = rng.randint(1, 400)
    return path, body


class Kills:
    """A fleet in which random workers die while random requests run; each that died is replaced."""

    def __init__(self, fleet, rng):
        self.fleet, self.rng, self.n_workers = fleet, rng, 0

    def replace(self, victim):
        role = victim.split("-")[0]
        self.fleet.workers[victim].kill()
        del self.fleet.workers[victim]
        self.n_workers += 1
        self.fleet.start_worker(role, f"{role}-{self.n_workers}r")

    def await_tokens(self, n, pending):
        """The moment of a kill: when so many tokens more were made, or all requests are over."""
        def n_made():
            return self.fleet.metrics()["baton_output_tokens_total"]
        end = n_made() + n
        wait_for(lambda: n_made() >= end or all(future.done() for future in pending), f"{n} tokens")

    def trial(self, n_requests=8):
        fleet, rng = self.fleet, self.rng
        requests = [random_request(rng) for _ in range(n_requests)]
        victim = rng.choice(sorted(fleet.workers))
        with ThreadPoolExecutor(n_requests) as pool:
            pending = [pool.submit(ask, fleet, *request) for request in requests]
            self.await_tokens(rng.randrange(40 * n_requests), pending)
            self.replace(victim)
            answers = [future.result()[0] for future in pending]
        fleet.wait_ready(4)
        for (path, body), answer in zip(requests, answers):
            assert answer == ask(fleet, path, body)[0], json.dumps([path, body])
        return n_requests


def kill_at_random(n_trials, seed):
    rng = random.Random(seed)
    with Fleet(prefill=2, decode=2, gateway_args=ARGS) as fleet:
        kills = Kills(fleet, rng)
        n = sum(kills.trial() for _ in range(n_trials))
        fleet.wait_all_free()
        metrics = fleet.metrics()
        assert metrics['baton_requests_total{outcome="failed"}'] == 0
        return n, metrics


def test_random_kills_change_no_answer():
    kill_at_random(6, seed=16)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    n, metrics = kill_at_random(options.trials, options.seed)
    gaps = {name.split('le="')[1][:-2]: int(value) for name, value in metrics.items()
            if name.startswith("baton_migration_gap_seconds_bucket")}
    print(f"{options.trials} kills, {n} requests, 0 wrong, 0 failed, {metrics['baton_migrations_total']:.0f} migrations, "
          f"{metrics['baton_retries_total']:.0f} retries; gaps up to s: {gaps}")


if __name__ == "__main__":
    main()
