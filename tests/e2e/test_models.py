"""A fleet serves its models, and explains its refusals of others."""
import json
import shutil

import pytest
from fleet import ROOT, Fleet, wait_for
from programs import refusal

LONGROPE = ROOT / "tests/fixtures/models/phi3-longrope"


def config_of(model):
    return json.loads((model / "config.json").read_text())


@pytest.mark.parametrize("change, message", [
    ({"quantization_config": {"quant_method": "gptq", "bits": 3}},
     "config.json: quantization_config: \"gptq, bits 3\" is not supported in a phi3 model"),
    ({"attn_logit_softcapping": 50.0},
     "config.json: attn_logit_softcapping: 50 is not supported in a phi3 model"),
    ({"hidden_act": "mish"},
     "config.json: hidden_act: \"mish\" is not supported (supported: silu, gelu"),
    ({"model_type": "opt"}, "config.json: model_type: \"opt\" is not supported (supported: gpt2, "),
])
@pytest.mark.parametrize("program", ["gateway", "prefill", "decode"])
def test_a_model_that_is_not_computed_is_refused_by_every_process_at_its_start(tmp_path, program,
                                                                               change, message):
    model = tmp_path / "model"
    shutil.copytree(LONGROPE, model)
    (model / "config.json").write_text(json.dumps({**config_of(model), **change}))
    assert message in refusal(f"baton-{program}", model=model)


def test_more_context_than_the_model_knows_is_refused():
    for program in ("gateway", "prefill", "decode"):
        said = refusal(f"baton-{program}", "--context-tokens", "129", model=LONGROPE)
        assert "context: must be in 1..128, which the model knows, not 129" in said


def test_the_context_that_is_served_bounds_requests_and_is_agreed_on():
    args = ["--context-tokens", "60"]
    with Fleet(model=LONGROPE, gateway_args=args, worker_args=args) as fleet:
        assert fleet.request("GET", "/v1/models")[1]["data"][0]["context_length"] == 60
        answer = fleet.generate(prompt=[5] * 50, max_new_tokens=10, temperature=0, ignore_eos=True)
        assert answer["output_tokens"] == 10, answer
        status, answer, _ = fleet.request("POST", "/generate",
                                          dict(prompt=[5] * 50, max_new_tokens=11))
        assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
        stranger = fleet.start_worker("decode", "stranger", ["--context-tokens", "61"])
        wait_for(lambda: "the worker's context is 61 tokens, this fleet's 60"
                 in fleet.gateway.text(), "the refusal")
        stranger.kill()


def test_prompts_of_a_model_with_states_are_not_split():
    for name in "qwen35", "lfm2", "nemotron-h":
        hybrid = ROOT / "tests/fixtures/hybrids" / name
        said = refusal("baton-gateway", "--prefill-split", "2", model=hybrid)
        assert "--prefill-split: must be 1, because layers of this model keep a state" in said
