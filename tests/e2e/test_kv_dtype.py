"""The KV cache in 32, 16 or 8 bits: bytes on the wire, workers that match, and the options."""
import re

import pytest
from fleet import Fleet, wait_for
from programs import refusal

STORY = "Once upon a time there was a little fox who lived at the edge of a deep forest"


def handed_over(args):
    """Bytes of one prompt's context on their way from prefill to decode, and the text."""
    with Fleet(worker_args=args) as fleet:
        text = fleet.generate(prompt=STORY, max_new_tokens=12, temperature=0)["text"]
        prefill = fleet.workers["prefill-0"]
        wait_for(lambda: "ev=handoff" in prefill.text(), "the hand-off to be logged")
        return int(re.search(r"ev=handoff .*?bytes=(\d+)", prefill.text())[1]), text


def test_half_the_bytes_travel_in_f16():
    wide, text = handed_over(["--kv-dtype", "f32"])
    narrow, same_text = handed_over(["--kv-dtype", "f16"])
    assert wide == 2 * narrow
    assert same_text == text


def test_about_half_of_that_travels_in_q8():
    """The model's heads are 32 wide: 64 bytes and two scales a position instead of 128."""
    narrow, text = handed_over(["--dtype", "f32", "--kv-dtype", "f16"])
    bytes_, found = handed_over(["--dtype", "f32", "--kv-dtype", "q8"])
    assert bytes_ * 128 == narrow * 68
    assert found and len(found) > 10 and text


def test_auto_is_f16_beside_narrow_weights():
    wide, _ = handed_over(["--dtype", "f32"])
    narrow, _ = handed_over(["--dtype", "bf16"])
    assert wide == 2 * narrow


def test_a_worker_of_another_kv_dtype_is_refused():
    with Fleet(worker_args=["--dtype", "f32"]) as fleet:
        other = fleet.start_worker("decode", "decode-f16", args=["--kv-dtype", "f16"])
        wait_for(lambda: "dtype f32 with KV in f16" in fleet.gateway.text(), "the refusal")
        assert fleet.worker("decode-f16") is None
        wait_for(lambda: "this fleet has f32 with f32" in other.text(), "the worker to learn of it")
        assert fleet.generate(prompt=STORY, max_new_tokens=5, temperature=0)["output_tokens"] == 5
        other.stop()


@pytest.mark.parametrize("role", ("prefill", "decode"))
def test_an_unknown_kv_dtype_is_answered_with_those_there_are(role):
    said = refusal(f"baton-{role}", "--kv-dtype", "f8")
    assert 'kv-dtype: "f8" is none of auto, f32, f16, q8' in said
