"""A model's files make a short text long: in the normalizer, and in the decoder."""
import json
import re
import shutil
from pathlib import Path

import pytest
from fleet import ROOT, Fleet, free_port
from programs import refusal

MOST_MIB = 64  # more than before


@pytest.fixture
def grown(tmp_path):
    """grown(part, chain): a model in which eight steps each replace a by a thousand a."""
    def make(part, chain):
        model = tmp_path / "model"
        shutil.copytree(ROOT / "tests/fixtures/models/llama", model)
        tokenizer = json.loads((model / "tokenizer.json").read_text())
        step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
        tokenizer[part] = {"type": "Sequence", chain: [step] * 8}
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
        return model
    return make


def peak_mib(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def test_a_normalizer_costs_its_request_a_bounded_text(grown):
    """Bound: 400 for each, 64 MiB more at the peak, and other texts are served."""
    with Fleet(prefill=0, decode=0, model=grown("normalizer", "normalizers")) as fleet:
        before = peak_mib(fleet.gateway)
        for path, field in ("/tokenize", "text"), ("/generate", "prompt"):
            assert fleet.request("POST", path, {field: "a"})[0] == 400
        assert peak_mib(fleet.gateway) - before < MOST_MIB
        assert fleet.post("/tokenize", {"text": "b"})["count"] >= 1


def test_a_decoder_is_refused_at_the_start(grown):
    """Bound: the gateway ends with the reason, instead of memory without end."""
    told = refusal("baton-gateway", "--port", 0, "--inbox", f"tcp://127.0.0.1:{free_port()}",
                   model=grown("decoder", "decoders"))
    assert "decoder" in told
