"""Random requests: valid ones have one answer on any fleet, invalid ones name their field."""
import random
import re
from concurrent.futures import ThreadPoolExecutor

import random_requests
from fleet import SLOW, Fleet

N_VALID, N_INVALID = int(2000 / SLOW), int(5000 / SLOW)
N_CLIENTS = 16

SAME = ("generated_text", "finish_reason", "output_tokens", "prompt_tokens", "seed")


def in_parallel(ask, requests):
    with ThreadPoolExecutor(N_CLIENTS) as pool:
        return list(pool.map(ask, requests))


# ---- valid requests


def chosen(steps):
    return [step["token_id"] for step in steps]


def of_stream(fleet, body):
    events = list(fleet.stream(**body).events)
    text = "".join(event.text for event in events)
    answer = {**events[0].json(), **events[-1].json(), "generated_text": text}
    return [(*(answer[key] for key in SAME), chosen(e.json() for e in events if e.name == "step"))]


def of_whole(fleet, body):
    answer = fleet.generate(**body)
    return [(*(each[key] for key in SAME), chosen(each.get("steps", [])))
            for each in answer.get("results", [answer])]


def of_completion(fleet, body):
    answer = fleet.post("/v1/completions", body)
    usage = {name: answer["usage"][name] for name in ("prompt_tokens", "completion_tokens")}
    return [(choice["text"], choice["finish_reason"], usage, choice["logprobs"]["tokens"],
             chosen(choice.get("steps", []))) for choice in answer["choices"]]


OUTCOMES = {"/generate": of_whole, "/generate/stream": of_stream, "/v1/completions": of_completion}


def outcome(fleet, request):
    """The fields that no worker may change: each text of the answer, its tokens and its end."""
    path, body = request
    return OUTCOMES[path](fleet, body)


def outcomes(n_prefill, n_decode, requests):
    with Fleet(n_prefill, n_decode) as fleet:
        answers = in_parallel(lambda request: outcome(fleet, request), requests)
        fleet.wait_all_free()
    return answers


def test_random_requests_have_the_same_answer_from_fleets_of_any_size():
    rng = random.Random(3)
    requests = [random_requests.valid(rng) for _ in range(N_VALID)]
    small, large = outcomes(1, 1, requests), outcomes(2, 2, requests)
    different = [r for r in zip(requests, small, large) if r[1] != r[2]]
    assert not different, f"{len(different)} of {N_VALID}, such as {different[0]}"
    ends = [each[1] for answer in small for each in answer]
    assert set(ends) == {"length", "stop", "eos"}  # the requests were as varied as they should be


# ---- invalid requests


def complaint(fleet, request):
    """None when the answer is as documented."""
    path, body, name = request
    status, answer, _ = fleet.request("POST", path, body)
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    unknown_model = name == "model" and error.get("code") == "model_not_found"
    if status != (404 if unknown_model else 400):
        return f"status {status}"
    if set(error) - {"n_prompt_tokens", "n_ctx"} != {"message", "type", "param", "code"}:
        return f"keys {sorted(error)}"
    # A key that stands twice makes the text no JSON; the parser's words name it.
    is_named = re.fullmatch(re.escape(name) + r"([.\[].*)?", error["param"] or "")
    if not is_named and error["code"] != "invalid_json":
        return f"param {error['param']}"
    return None if name in error["message"] else f"message {error['message']}"


def prefills(fleet):
    return fleet.metrics()['baton_stage_duration_seconds_count{stage="prefill_compute"}']


def test_random_invalid_requests_get_a_4xx_that_names_the_field():
    rng = random.Random(4)
    requests = [random_requests.invalid(rng) for _ in range(N_INVALID)]
    with Fleet(gateway_args=["--chat-template", "chatml", "--unknown-fields", "refuse",
                             "--overlong", "refuse"]) as fleet:
        before = fleet.generate(prompt="The fox", temperature=0)["generated_text"], prefills(fleet)
        complaints = in_parallel(lambda request: complaint(fleet, request), requests)
        wrong = {(c, path, name): body[:400] for c, (path, body, name) in zip(complaints, requests)
                 if c}
        assert not wrong, "\n".join(map(str, wrong.items()))
        assert prefills(fleet) == before[1]  # no worker saw any of them
        fleet.wait_all_free()
        assert fleet.generate(prompt="The fox", temperature=0)["generated_text"] == before[0]
        assert all(worker["state"] == "ready" for worker in fleet.fleet())
