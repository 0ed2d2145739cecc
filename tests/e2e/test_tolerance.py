"""Requests in the words of other servers' clients on OpenAI's routes: fields that are understood,
ignored with a notice, or refused with a next step."""
import pytest
from fleet import Fleet

PATHS = {"/v1/completions": {"prompt": "Once upon a time"},
         "/v1/chat/completions": {"messages": [{"role": "user", "content": "Once"}]}}
MEANT = {"max_tokens": 6, "repetition_penalty": 1.3, "seed": 7, "stop": ["zebra"],
         "temperature": 0.8}
SAID = [{"n_predict": 6, "repeat_penalty": 1.3, "random_seed": 7, "stop_sequences": ["zebra"],
         "temperature": 0.8},
        {"num_predict": 6, "repeat_penalty": 1.3, "seed": 7, "stop": "zebra", "temperature": 0.8,
         "top_k": -1},
        {"max_new_tokens": 6, "repetition_penalty": 1.3, "seed": 7, "stop": ["zebra"],
         "temperature": 0.8}]
OFF = {"typical_p": 1, "tfs_z": 1.0, "top_n_sigma": -1, "xtc_probability": 0, "xtc_threshold": 0.1,
       "dry_multiplier": 0.0, "dry_base": 1.75, "dry_sequence_breakers": ["\n"], "mirostat": 0,
       "mirostat_tau": 5, "use_beam_search": False}
FLEET = dict(gateway_args=["--chat-template", "chatml", "--served-model-name", "story,gpt-4o-mini"])


def text(answer):
    return answer["choices"][0].get("text") or answer["choices"][0]["message"]["content"]


def ask(fleet, path, **body):
    return fleet.request("POST", path, {**PATHS[path], **body})


@pytest.mark.parametrize("path", PATHS)
def test_other_names_mean_the_same(fleet, path):
    expected = text(ask(fleet, path, **MEANT)[1])
    for said in SAID:
        status, answer, headers = ask(fleet, path, **said, **OFF)
        assert (status == 200 and text(answer) == expected
                and "x-baton-ignored" not in headers), (said, answer)


def test_an_error_has_the_name_that_the_client_wrote(fleet):
    for body, message in (
            ({"repeat_penalty": 0}, "must be a number above 0, not 0"),
            ({"n_predict": "many"}, "must be an integer from 0 to 2147483647, not string"),
            ({"n_predict": 5, "max_tokens": 5},
             "is another name of max_tokens, which is given too")):
        status, answer, _ = ask(fleet, "/v1/completions", **body)
        name = next(iter(body))
        assert status == 400 and answer["error"]["param"] == name
        assert answer["error"]["message"].startswith(f"{name}: {message}"), answer


@pytest.mark.parametrize("path", PATHS)
def test_unknown_fields_are_ignored_and_told(fleet, path):
    status, _, headers = ask(fleet, path, max_tokens=1, num_ctx=4096, **{"a b,\r\nc": 1})
    assert status == 200 and headers["x-baton-ignored"] == "num_ctx, a?b???c"
    assert ask(fleet, path, max_tokens=1, **{"": 1, "b": 2})[2]["x-baton-ignored"] == "?, b"
    status, _, headers = ask(fleet, path, max_tokens=1, **{f"field_{i:03}": 1 for i in range(100)})
    assert status == 200
    assert headers["x-baton-ignored"].endswith(", ...") and len(headers["x-baton-ignored"]) < 512


@pytest.mark.parametrize("name,value",
                         [("tfs_z", 0.9), ("xtc_probability", 1), ("mirostat", 2), ("num_beams", 4),
                          ("use_beam_search", True), ("dry_multiplier", "much")])
def test_a_sampler_that_is_not_here_is_refused_with_what_there_is(fleet, name, value):
    for path, body in (*PATHS.items(), ("/generate", {"prompt": "a"})):
        status, answer, _ = fleet.request("POST", path, {**body, name: value})
        assert status == 400
        assert answer["error"]["param"] == name and answer["error"]["code"] == "unsupported_field"
        message = answer["error"]["message"]
        assert "use temperature, top_n_sigma, top_k, typical_p, top_p" in message


def test_more_tokens_than_the_context_has_are_cut(fleet):
    context = fleet.request("GET", "/v1/models")[1]["data"][0]["context_length"]
    prompt = [5] * (context - 3)
    status, answer, _ = ask(fleet, "/v1/completions", prompt=prompt, max_tokens=4096,
                            ignore_eos=True)
    assert status == 200 and answer["usage"]["completion_tokens"] == 3
    assert answer["choices"][0]["finish_reason"] == "length"
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": prompt, "max_new_tokens": 4})
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
    status, answer, _ = ask(fleet, "/v1/completions", prompt=[5] * context)
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
    assert f"{context} tokens > {context - 1} maximum" in answer["error"]["message"]


def test_a_model_has_the_names_it_is_given(fleet):
    assert fleet.request("GET", "/v1/models")[1]["data"][0]["id"] == "story"
    for name in ("story", "gpt-4o-mini"):
        status, answer, _ = ask(fleet, "/v1/completions", model=name, max_tokens=1)
        assert status == 200 and answer["model"] == "story"
        assert fleet.request("GET", f"/v1/models/{name}")[0] == 200
    status, answer, _ = ask(fleet, "/v1/completions", model="tale", max_tokens=1)
    assert status == 404 and answer["error"]["code"] == "model_not_found"
    assert '"story" is served' in answer["error"]["message"]


def test_a_gateway_may_refuse_all_that():
    with Fleet(gateway_args=["--unknown-fields", "refuse", "--overlong", "refuse"]) as strict:
        context = strict.request("GET", "/v1/models")[1]["data"][0]["context_length"]
        for param, value, code in (("num_ctx", 1, "unknown_field"),
                                   ("max_tokens", context, "context_length_exceeded"),
                                   ("max_tokens", context + 1, "out_of_range")):
            status, answer, _ = ask(strict, "/v1/completions", **{param: value})
            assert status == 400 and answer["error"]["param"] == param, answer
            assert answer["error"]["code"] == code
