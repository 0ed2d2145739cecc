"""Models whose layers keep a state, against numbers of an independent float64 reference: the same
bits in every mode, with any chunks, alone and in a batch, by any number of threads."""
import json
from pathlib import Path

import numpy as np
import pytest

from test_families import engine

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/hybrids"
MODELS = sorted(path.name for path in FIXTURES.iterdir()
                if path.is_dir() or path.suffix == ".gguf")
# In standard deviations of the logits. In a mixture a row may get another expert from q8.
TOLERANCE = {"f32": 2e-3, "native": 2e-3, "bf16": 0.1, "q8": 0.5}
N_VOCAB = 500


def cases(name):
    path = FIXTURES / name
    beside = path.parent / f"{path.stem}.expected.json"
    return json.loads((path / "expected.json" if path.is_dir() else beside).read_text())["cases"]


def run(name, requests, *options):
    return engine.ask(FIXTURES / name, requests, N_VOCAB, *options)


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_the_references_in_every_mode(name):
    for case in cases(name):
        n = len(case["prompt"])
        ids = case["prompt"] + case["greedy"][:-1]
        wanted = np.asarray(case["logits"])
        for dtype in ["f32", "bf16", "q8"] + ["native"] * name.endswith(".gguf"):
            rows = engine.all_ways(FIXTURES / name, ids, N_VOCAB, "--dtype", dtype,
                                   "--kv-dtype", "f32")
            error = np.abs(rows[n - 1] - wanted)
            assert np.sqrt((error ** 2).mean()) <= TOLERANCE[dtype] * wanted.std(), dtype
        rows = engine.all_ways(FIXTURES / name, ids, N_VOCAB, "--dtype", "f32")
        assert np.abs(rows[n - 1] - wanted).max() <= TOLERANCE["f32"] * max(1, wanted.std())
        for row, token, gap in zip(rows[n - 1:], case["greedy"], case["gaps"]):
            assert gap < 1e-2 or row.argmax() == token


@pytest.mark.parametrize("kernels", ["auto", "portable", "avx2"])
@pytest.mark.parametrize("name", MODELS)
def test_any_chunks_and_threads_give_the_same_bits(name, kernels):
    ids = cases(name)[-1]["prompt"]
    modes = ["prefill", "chunks1", "chunks15", "chunks16", "chunks17", "chunks48"]
    try:
        answers = [run(name, [(mode, ids) for mode in modes], "--kernels", kernels, "--threads",
                       str(threads)) for threads in (1, 3)]
    except engine.Refused:
        pytest.skip("this CPU does not run them")
    for found in sum(answers, []):
        assert np.array_equal(found.view(np.uint32), answers[0][0].view(np.uint32))


@pytest.mark.parametrize("name", MODELS)
def test_a_slot_that_is_used_again_holds_nothing_of_its_last_text(name):
    [long, *_, last] = sorted((case["prompt"] for case in cases(name)), key=len, reverse=True)
    [alone] = run(name, [("prefill", last)])
    [_, after] = run(name, [("prefill", long), ("prefill", last)])
    assert np.array_equal(alone.view(np.uint32), after.view(np.uint32))
