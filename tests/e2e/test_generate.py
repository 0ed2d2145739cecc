"""One fleet, one of each role: the answers, their fields, and their equality in every mode."""
import json
import math
import random
import re
from concurrent.futures import ThreadPoolExecutor

import kinds
import pytest
from conftest import written
from fleet import BIN, MODEL, ROOT, Fleet, wait_for
from programs import run

GOLDEN = json.loads((ROOT / "tests/golden/tale.json").read_text())
STORY = "Once upon a time"


def prompts(n):
    """n different token prompts, cut from the golden ones at various lengths."""
    rng = random.Random(7)
    sources = [p["ids"] + p["greedy_ids"] for p in GOLDEN["prompts"]]
    return [source[:rng.randint(1, min(len(source), 60))]
            for source in (sources[i % len(sources)] for i in range(n))]


def single_process(ids, n_new, *extra):
    """The same model in one process, without gateway, wire or hand-off."""
    out = run(BIN / "baton-bench", "generate", "--model", MODEL,
              "--tokens", ",".join(map(str, ids)), "--max-new", n_new, *extra, check=True, cwd=ROOT)
    return json.loads(out.stdout)["text"]


def test_a_stream_is_meta_then_tokens_then_summary(fleet):
    events = list(fleet.stream(prompt=STORY, max_new_tokens=60, temperature=0).events)
    names = [e.name for e in events]
    assert names[0] == "meta" and names[-1] == "summary" and set(names[1:-1]) == {"token"}
    meta, summary = events[0].json(), events[-1].json()
    assert set(meta) >= {"id", "ttft_s", "prompt_tokens", "seed"}
    assert set(summary) >= {"e2el_s", "token_generation_s", "output_tokens", "tpot_s", "mean_itl_s",
                            "finish_reason", "cached_tokens"}
    assert summary["output_tokens"] == 60 and summary["finish_reason"] == "length"
    assert 0 < meta["ttft_s"] < summary["e2el_s"]


def test_generate_returns_every_field(fleet):
    answer = fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)
    assert answer["text"] == STORY + answer["generated_text"]
    assert answer["model"] == "tale" and answer["finish_reason"] == "length"
    n = answer["prompt_tokens"]
    assert answer["output_tokens"] == 20 and n > 0
    assert answer["logits_shape"] == [1, n, 2560]
    assert answer["input"] == {"batch_size": 1, "tokens_per_sequence": [n], "total_tokens": n,
                               "padding_tokens": 0}
    assert answer["served_by"] == fleet.served_at_once("prefill-0", "decode-0")
    assert answer["tpot_s"] == pytest.approx(answer["token_generation_s"] / 19)
    assert answer["token_generation_s"] == pytest.approx(answer["e2el_s"] - answer["ttft_s"])
    assert {"id", "cached_tokens", "seed", "cold", "mean_itl_s"} <= set(answer)


def test_the_stream_shows_the_text_that_generate_returns(fleet):
    for prompt in GOLDEN["prompts"]:
        body = dict(prompt=prompt["prompt"], max_new_tokens=50, temperature=0.8, top_p=0.95,
                    seed=11)
        text, last = fleet.stream(**body).text()
        assert last.name == "summary"
        assert text == fleet.generate(**body)["generated_text"]


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "a\n\rb", "\r\r\n\n\r", "a\n\nb\r",
                                  "\r", "\n\n"])
def test_a_stream_keeps_every_kind_of_line_end(fleet, text):
    body = dict(prompt=STORY, max_new_tokens=40, **written(text))
    assert fleet.generate(**body)["generated_text"] == text
    streamed, last = fleet.stream(**body).text()
    assert (streamed, last.name) == (text, "summary")
    body = dict(prompt=STORY, max_tokens=40, stream=True, **written(text))
    events = list(fleet.stream("/v1/completions", **body).events)
    assert kinds.texts("/v1/completions", events) == {0: text}


def test_greedy_continuations_are_the_golden_ones(fleet):
    for prompt in GOLDEN["prompts"]:
        n = len(prompt["greedy_ids"])
        answer = fleet.generate(prompt=prompt["prompt"], max_new_tokens=n, temperature=0,
                                ignore_eos=True)
        assert answer["prompt_tokens"] == len(prompt["ids"])  # an empty prompt is the begin of text
        expected = prompt["greedy_text"].replace("<|endoftext|>", "")
        assert answer["generated_text"] == expected, prompt["prompt"]


def test_distributed_single_process_and_naive_agree_over_50_prompts(fleet):
    for i, ids in enumerate(prompts(50)):
        sampled = i % 2
        extra = ["--temperature", "0"] if not sampled else [
            "--temperature", "0.9", "--top-k", "50", "--top-p", "0.9", "--seed", str(i)]
        body = dict(prompt=ids, max_new_tokens=24, seed=i)
        body |= dict(temperature=0.9, top_k=50, top_p=0.9) if sampled else dict(temperature=0)
        distributed = fleet.generate(**body)["generated_text"]
        naive = fleet.generate(**body, kv_cache=False)
        assert naive["served_by"]["decode"] is None
        assert distributed == naive["generated_text"], ids
        assert distributed == single_process(ids, 24, *extra), ids


def test_a_seed_fixes_the_text_and_is_echoed(fleet):
    body = dict(prompt=STORY, max_new_tokens=30, temperature=1.0)
    first = fleet.generate(**body)
    again = fleet.generate(**body, seed=first["seed"])
    assert again["generated_text"] == first["generated_text"] and again["seed"] == first["seed"]
    assert (fleet.generate(**body, seed=first["seed"] + 1)["generated_text"]
            != first["generated_text"])


def test_a_stop_string_ends_the_text_before_itself(fleet):
    whole = fleet.generate(prompt=STORY, max_new_tokens=60, temperature=0)["generated_text"]
    stop = whole[20:26]
    for kv_cache in True, False:
        answer = fleet.generate(prompt=STORY, max_new_tokens=60, temperature=0, stop=["@@", stop],
                                kv_cache=kv_cache)
        assert answer["finish_reason"] == "stop"
        assert answer["generated_text"] == whole[:whole.index(stop)]
    text, last = fleet.stream(prompt=STORY, max_new_tokens=60, temperature=0, stop=stop).text()
    assert text == whole[:whole.index(stop)] and last.json()["finish_reason"] == "stop"
    fleet.wait_all_free()


def test_a_stop_token_ends_generation(fleet):
    ids = fleet.request("POST", "/tokenize", {"text": STORY})[1]["tokens"]
    whole = fleet.generate(prompt=ids, max_new_tokens=10, temperature=0)["generated_text"]
    tokens = fleet.request("POST", "/tokenize", {"text": STORY + whole})[1]["tokens"][len(ids):]
    answer = fleet.generate(prompt=ids, max_new_tokens=10, temperature=0,
                            stop_token_ids=[tokens[3]])
    assert answer["finish_reason"] == "stop" and whole.startswith(answer["generated_text"])
    assert answer["output_tokens"] <= 4
    fleet.wait_all_free()


def test_one_token_needs_no_decode_worker(fleet):
    answer = fleet.generate(prompt=STORY, max_new_tokens=1, temperature=0)
    assert answer["output_tokens"] == 1 and answer["served_by"]["decode"] is None
    assert answer["tpot_s"] is None and answer["mean_itl_s"] is None


def test_the_stages_up_to_the_first_token_add_up_to_ttft(fleet):
    upto = ["parse", "tokenize", "queue", "prefill_queue", "prefill_compute", "first_token"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: fleet.generate(
            prompt=STORY, max_new_tokens=8, timeline=True, kv_cache=i % 5 != 0), range(60)))
    for answer in answers:
        stages = {s["name"]: s for s in answer["timeline"]["stages"]}
        assert abs(sum(stages[name]["duration_s"] for name in upto) - answer["ttft_s"]) < 1e-3
        for name in upto:
            assert stages[name]["duration_s"] >= 0, (name, answer["timeline"])
        for earlier, later in zip(upto, upto[1:]):
            end = stages[earlier]["start_s"] + stages[earlier]["duration_s"]
            assert math.isclose(end, stages[later]["start_s"], abs_tol=1e-6)
        if answer["served_by"]["decode"]:
            assert {"kv_transfer", "decode_queue", "decode", "detokenize", "flush"} <= set(stages)
            assert stages["kv_transfer"]["worker"] == "decode-0"


def test_a_prompt_that_fills_the_context_leaves_no_position(fleet):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": [5] * 512})
    assert status == 400 and "512" in answer["error"]["message"]
    answer = fleet.generate(prompt=[5] * 511, temperature=0)
    assert answer["output_tokens"] == 1
    answer = fleet.generate(prompt=[5] * 10, max_new_tokens=502, temperature=0, ignore_eos=True)
    assert answer["output_tokens"] == 502
    fleet.wait_all_free()


def test_tokenize_and_detokenize_are_each_others_inverse(fleet):
    for vector in GOLDEN["tokenizer"][:40]:
        answer = fleet.post("/tokenize", {"text": vector["text"]})
        assert answer["tokens"] == vector["ids"] and answer["count"] == len(vector["ids"])
        assert len(answer["pieces"]) == answer["count"]
        text = fleet.post("/detokenize", {"tokens": vector["ids"]})
        assert text == dict.fromkeys(("text", "content", "prompt"), vector["text"])


def test_only_the_first_answer_of_a_worker_is_cold():
    with Fleet() as fleet:
        assert fleet.generate(prompt=STORY)["cold"] is True
        assert fleet.generate(prompt=STORY)["cold"] is False
        metrics = fleet.metrics()
        assert metrics["baton_cold_first_token_seconds_count"] == 1
        assert metrics['baton_worker_start_to_ready_seconds{role="prefill",worker="prefill-0"}'] > 0
        assert " ev=cold_start " in fleet.workers["prefill-0"].text()


def lines_of(process, *parts):
    return lambda: [line for line in process.text().splitlines()
                    if all(p in line + " " for p in parts)]


def test_every_stage_is_logged_and_counted(fleet):
    before = fleet.metrics()
    answer = fleet.generate(prompt=STORY, max_new_tokens=12, timeline=True)
    after = fleet.metrics()
    request = "req=" + answer["id"].removeprefix("gen-")
    stages = answer["timeline"]["stages"]
    assert len(stages) == 14
    line = wait_for(lines_of(fleet.gateway, request, " ev=request "), "the request's line")[0]
    for stage in stages:
        key = f'baton_stage_duration_seconds_count{{stage="{stage["name"]}"}}'
        assert after[key] == before[key] + 1
        logged = float(re.search(rf" {stage['name']}_s=(\S+)", line)[1])
        assert math.isclose(logged, stage["duration_s"], rel_tol=1e-4, abs_tol=1e-9), stage
    for worker, events in {"prefill-0": ("prompt", "handoff"),
                           "decode-0": ("context_received", "sequence")}.items():
        for event in events:  # workers log after they have answered
            lines = lines_of(fleet.workers[worker], request, f" ev={event} ")
            wait_for(lines, f"{worker} to tell of its {event}")
            assert len(lines()) == 1, event


def adds_up(stages_s, overlap_s, e2el_s):
    return math.isclose(sum(stages_s) - overlap_s, e2el_s, rel_tol=0.02, abs_tol=1e-6)


KINDS = ({}, {"explain": 20}, {"kv_cache": False}, {"max_new_tokens": 1}, {"max_new_tokens": 2},
         {"stop": ["e"]}, {"cache_prompt": False})


def test_the_stages_of_every_answer_add_up_to_its_time(fleet):
    def ask(i):
        body = {"prompt": 12 * STORY, "max_new_tokens": 24, "timeline": True,
                **KINDS[i % len(KINDS)]}
        if i % 2:
            return fleet.generate(**body)
        stream = fleet.stream(**body)
        return stream.text()[1].json()
    with ThreadPoolExecutor(6) as pool:  # of equal prompts, so most of them hit the prefix cache
        answers = list(pool.map(ask, range(42)))
    for i, answer in enumerate(answers):
        durations = [stage["duration_s"] for stage in answer["timeline"]["stages"]]
        assert (adds_up(durations, answer["timeline"]["overlap_s"], answer["e2el_s"])
                and min(durations) >= 0), (KINDS[i % len(KINDS)], answer)
    assert sum(answer["cached_tokens"] > 0 for answer in answers) > 10
    for answer in answers[1::2]:  # a stream's summary has no id
        check_workers_words(fleet, answer)


def check_workers_words(fleet, answer):
    """The decode worker logged the very times that the answer tells."""
    stages = {stage["name"]: stage["duration_s"] for stage in answer["timeline"]["stages"]}
    if "sample" not in stages or answer["finish_reason"] == "stop":
        return  # no decode worker made it, or the worker went on until it was told of the end
    request = "req=" + answer["id"].removeprefix("gen-")
    line = wait_for(lines_of(fleet.workers["decode-0"], request, " ev=sequence "),
                    "the worker's line")[0]
    for stage in ("decode", "sample"):
        logged = float(re.search(rf" {stage}_s=(\S+)", line)[1])
        assert math.isclose(logged, stages[stage], rel_tol=1e-3, abs_tol=1e-8), (stages, line)


def test_the_timings_of_every_completion_add_up(fleet):
    for body in ({}, {"n": 3}, {"prompt": [STORY, "The old dog"]}, {"logprobs": 5},
                 {"explain": 5, "n": 2}):
        answer = fleet.post("/v1/completions", {"prompt": STORY, "max_tokens": 16, **body})
        timings = answer["timings"]
        stages = [s for name, s in timings.items() if name.endswith("_s")
                  and name not in ("e2el_s", "migration_gap_s", "overlap_s", "preempted_s")]
        assert len(stages) == 15, timings
        assert adds_up(stages, timings["overlap_s"], timings["e2el_s"]), (body, timings)


def test_metrics_are_well_formed(fleet):
    fleet.generate(prompt=STORY)
    text = fleet.request("GET", "/metrics")[1]
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    for line in text.splitlines():
        name = line.split()[2] if line.startswith("#") else line.split("{")[0].split(" ")[0]
        assert any(name.startswith(family) for family in families), line
    metrics = fleet.metrics()
    assert metrics['baton_requests_total{outcome="ok"}'] > 0
    assert metrics["baton_time_to_first_token_seconds_count"] > 0
    assert metrics["baton_inter_token_latency_seconds_count"] > 0


def test_health_ready_and_workers_tell_the_state(fleet):
    assert fleet.request("GET", "/health")[0] == 200
    assert fleet.request("GET", "/ready")[0] == 200
    for worker in fleet.fleet():
        assert set(worker) >= {"id", "role", "state", "pid", "address", "model", "fingerprint",
                               "cores", "queued", "running", "kv_blocks_total", "kv_blocks_free",
                               "kv_blocks_reserved", "last_step_s"}
        assert worker["pid"] == fleet.workers[worker["id"]].pid
