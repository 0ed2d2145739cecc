"""What the APIs tell of the served model: every name, its size, format, family and template."""
import json
import re

import pytest
from fleet import ROOT, Fleet

TALE = ROOT / "models/tale"
FLEET = dict(gateway_args=["--chat-template", "chatml", "--served-model-name", "story,a:4m"])
ANTHROPIC = {"anthropic-version": "2023-06-01"}


def get(fleet, path, **headers):
    status, answer, _ = fleet.request("GET", path, headers=headers)
    assert status == 200, answer
    return answer


def tensors():
    """The tensors of the model's file, as its header has them."""
    data = (TALE / "model.safetensors").read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return [tensor for name, tensor in header.items() if name != "__metadata__"]


def product(numbers):
    total = 1
    for number in numbers:
        total *= number
    return total


def n_parameters():
    return sum(product(tensor["shape"]) for tensor in tensors())


def n_bytes():
    return sum(end - begin for begin, end in (tensor["data_offsets"] for tensor in tensors()))


def test_every_name_of_the_model_is_listed(fleet):
    models = get(fleet, "/v1/models")["data"]
    assert [model["id"] for model in models] == ["story", "a:4m"]
    assert all(model["aliases"] == ["story", "a:4m"] and model["root"] == "tale"
               for model in models)
    assert get(fleet, "/v1/models/story") == models[0]
    for path in ("/api/tags", "/api/ps"):
        assert [m["name"] for m in get(fleet, path)["models"]] == ["story:latest", "a:4m"]


def test_an_unknown_model_is_refused_with_the_members_of_an_error_and_no_others(fleet):
    status, answer, _ = fleet.request("GET", "/v1/models/other")
    assert status == 404 and set(answer["error"]) == {"message", "type", "code", "param"}


def test_the_size_and_the_format_are_those_of_the_files(fleet):
    model = get(fleet, "/v1/models")["data"][0]
    assert (model["family"], model["quantization"], model["dtype"]) == ("gpt2", "F16", "f32")
    assert model["parameters"] == model["meta"]["n_params"] == n_parameters()
    assert model["meta"]["size"] == n_bytes()
    assert model["meta"]["n_ctx"] == model["max_model_len"] == 512
    for path in ("/api/tags", "/api/ps"):
        told = get(fleet, path)["models"][0]
        assert told["size"] == n_bytes() and re.fullmatch("[0-9a-f]{64}", told["digest"])
        assert told["details"]["parameter_size"] == f"{n_parameters() / 1e6:.2f}M"
        assert told["details"]["quantization_level"] == "F16"


def test_anthropics_clients_get_their_shape(fleet):
    page = get(fleet, "/v1/models", **ANTHROPIC)
    assert (page["first_id"], page["last_id"], page["has_more"]) == ("story", "a:4m", False)
    model = page["data"][0]
    assert (model["type"], model["display_name"]) == ("model", "story")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", model["created_at"])
    assert get(fleet, "/v1/models/story", **ANTHROPIC) == model


def test_show_is_complete(fleet):
    shown = fleet.request("POST", "/api/show", {"model": "story"})[1]
    assert "<|im_start|>" in shown["template"] and shown["template"] in shown["modelfile"]
    assert shown["modelfile"].startswith("FROM story\n")
    assert re.search(r"^temperature +0\.8$", shown["parameters"], re.M)
    assert re.search(r'^stop +"<\|endoftext\|>"$', shown["parameters"], re.M)
    info = shown["model_info"]
    assert info["general.parameter_count"] == n_parameters()
    assert (info["gpt2.block_count"], info["gpt2.attention.head_count"]) == (4, 8)


def test_numbers_of_a_llama_have_their_keys():
    with Fleet(model=ROOT / "tests/fixtures/models/llama") as fleet:
        info = fleet.request("POST", "/api/show", {})[1]["model_info"]
        config = json.loads((ROOT / "tests/fixtures/models/llama/config.json").read_text())
        assert info["llama.attention.head_count_kv"] == config["num_key_value_heads"]
        assert info["llama.feed_forward_length"] == config["intermediate_size"]
        assert info["llama.attention.layer_norm_rms_epsilon"] == config["rms_norm_eps"]
        assert info["llama.block_count"] == config["num_hidden_layers"]


@pytest.mark.parametrize("body", [{"model": "story"}, {"name": "story:latest"}, {}])
def test_a_pull_of_the_served_model_succeeds(fleet, body):
    lines = fleet.request("POST", "/api/pull", body)[1].splitlines()
    statuses = [json.loads(line) for line in lines]
    assert statuses[0] == {"status": "pulling manifest"}
    assert statuses[1]["total"] == statuses[1]["completed"] == n_bytes()
    assert statuses[-1] == {"status": "success"}
    whole = fleet.request("POST", "/api/pull", {**body, "stream": False})[1]
    assert whole == {"status": "success"}


def test_a_pull_of_another_model_fails(fleet):
    status, answer, _ = fleet.request("POST", "/api/pull", {"model": "llama3.2"})
    assert status == 404 and "llama3.2" in answer["error"]


def ask(fleet, **fields):
    status, answer, _ = fleet.request("POST", "/api/generate", {
        "stream": False, "options": {"num_predict": 6, "temperature": 0}, **fields})
    return status, answer


def test_a_context_goes_on_where_its_answer_ended(fleet):
    first = ask(fleet, prompt="Once")[1]
    assert len(first["context"]) == first["prompt_eval_count"] + first["eval_count"]
    second = ask(fleet, prompt="And", context=first["context"])[1]
    alone = ask(fleet, prompt="And")[1]
    assert second["context"][:len(first["context"])] == first["context"]
    assert second["context"][len(first["context"]):][:3] == alone["context"][:3]
    assert (second["prompt_eval_count"]
            == len(first["context"]) + alone["prompt_eval_count"])
    assert "context" not in ask(fleet, prompt="Once", raw=True)[1]


@pytest.mark.parametrize("fields, message", [
    ({"context": [1], "raw": True}, "context: not together with raw"),
    ({"context": [2560]}, "context"),
    ({"context": "x"}, "context: must be an array of token ids"),
    ({"context": [7] * 600, "truncate": False}, "prompt"),
])
def test_a_bad_context_is_refused(fleet, fields, message):
    status, answer = ask(fleet, prompt="a", **fields)
    assert status == 400 and message in answer["error"]


def test_a_context_that_is_too_long_loses_its_begin(fleet):
    status, answer = ask(fleet, prompt="a", context=[7] * 600)
    assert status == 200 and answer["dropped"]["tokens"] and answer["prompt_eval_count"] < 512


def test_openais_objects_have_their_members(fleet):
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    for tier, told in (("flex", "flex"), ("auto", "default")):
        answer = fleet.request("POST", "/v1/chat/completions", {**body, "service_tier": tier})[1]
        assert answer["service_tier"] == told
    assert answer["choices"][0]["message"]["annotations"] == []
    answer = fleet.request("POST", "/v1/responses", {"input": "Hi", "max_output_tokens": 1})[1]
    assert answer["usage"]["input_tokens_details"]["cache_write_tokens"] == 0
    assert answer["access_programs"] is None and "user" not in answer
