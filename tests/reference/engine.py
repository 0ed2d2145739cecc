"""Asks the engine for logits through golden_logits, and compares them with the reference's."""
import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("BATON_BIN", ROOT / "build/release/bin")) / "golden_logits"


EVERY_ROW = ("score", "decode", "among")  # modes that give each position's logits


class Refused(Exception):
    """The engine does not take the model; the text says why."""


def ask(directory, requests, n_vocab, *options):
    """requests: [(mode, ids)]. The rows of each: [T][V] for EVERY_ROW, else [1][V]."""
    text = "".join(f"{mode} {' '.join(map(str, ids))}\n" for mode, ids in requests)
    done = subprocess.run([TOOL, *options, directory], input=text.encode(), capture_output=True)
    if done.returncode:
        raise Refused(done.stderr.decode(errors="replace").strip())
    rows = np.frombuffer(done.stdout, "<f4").reshape(-1, n_vocab)
    counts = [len(ids) if mode in EVERY_ROW else 1 for mode, ids in requests]
    assert len(rows) == sum(counts), (len(rows), counts)
    return np.split(rows, np.cumsum(counts)[:-1])


def all_ways(directory, ids, n_vocab, *options):
    """[T][V] of one prompt, which has the same bits in every mode."""
    modes = (*EVERY_ROW, "prefill", "chunks7", "chunks15", "chunks16", "chunks17", "naive")
    rows, *others = ask(directory, [(mode, ids) for mode in modes], n_vocab, *options)
    for mode, found in zip(modes[1:], others):
        assert np.array_equal(rows[-len(found):].view(np.uint32),
                              found.view(np.uint32)), f"{mode} differs from score"
    return rows
