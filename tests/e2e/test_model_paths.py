"""A model is served under the name that its path shows, whatever links lie behind it."""
import json
import sys
import urllib.request

import pytest
from baton_program import Up, baton
from fleet import ROOT

sys.path.insert(0, str(ROOT / "tests/reference"))
import gguf  # noqa: E402
import gguf_tokenizer  # noqa: E402
import model  # noqa: E402

FIXTURE = ROOT / "tests/fixtures/models/qwen3"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def keys():
    tokenizer = json.loads((FIXTURE / "tokenizer.json").read_text())
    return gguf_tokenizer.keys(tokenizer, "qwen2", None, "<|im_end|>")


def as_in_the_hub(tmp_path, files, name="models--Acme--Tale-1B"):
    """The layout of Hugging Face's cache: links to blobs whose names are sums."""
    blobs, snapshot = tmp_path / name / "blobs", tmp_path / name / "snapshots" / COMMIT
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for i, file in enumerate(files):
        blob = blobs / f"{i:064x}"
        blob.write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(f"../../blobs/{blob.name}")
    return snapshot


def split_in_the_hub(tmp_path):
    first = gguf.split(model.Model(FIXTURE), tmp_path, "Tale-Q8", keys(), n=3)
    parts = sorted(tmp_path.glob("*.gguf"))
    return as_in_the_hub(tmp_path / "hub", parts) / first.name


def one_file_in_the_hub(tmp_path):
    """A folder of one GGUF model; the projector for images beside it is none."""
    gguf.convert(model.Model(FIXTURE), tmp_path / "Tale-F32.gguf", more=keys())
    (tmp_path / "mmproj-Tale-F32.gguf").write_bytes(b"GGUF")
    return as_in_the_hub(tmp_path / "hub", sorted(tmp_path.glob("*.gguf")))


def directory_in_the_hub(tmp_path):
    return as_in_the_hub(tmp_path / "hub", [f for f in FIXTURE.iterdir() if f.is_file()])


def linked_directory(tmp_path):
    (tmp_path / "mine").symlink_to(FIXTURE)
    return tmp_path / "mine"


def relative_link(tmp_path):
    linked_directory(tmp_path)
    return "mine"


@pytest.mark.parametrize("make, name", [(split_in_the_hub, "Tale-Q8"),
                                        (one_file_in_the_hub, "Tale-F32"),
                                        (directory_in_the_hub, "Tale-1B"),
                                        (linked_directory, "mine"), (relative_link, "mine")])
def test_a_linked_model_serves_under_the_name_of_its_path(tmp_path, make, name):
    path = make(tmp_path)
    words = ["--model", path, "--draft-model", path]
    with Up(tmp_path / "state", *words, command=("env", "-C", tmp_path)) as up:
        up.wait_ready()
        up.wait_line(f"model {name}\\. Try")
        with urllib.request.urlopen(f"http://127.0.0.1:{up.port}/v1/models") as answer:
            assert [served["id"] for served in json.load(answer)["data"]] == [name]


@pytest.mark.parametrize("config", [
    dict(model_type="mamba", hidden_size=64, vocab_size=100),
    dict(model_type="kimi_linear", vocab_size=100, max_position_embeddings=64)])
def test_a_family_that_is_not_served_is_named_first(tmp_path, config):
    """Whatever else is wrong with the directory: sizes, a tokenizer, weights."""
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = baton("up", "--state", tmp_path / "state", "--model", tmp_path)
    assert done.returncode == 1
    assert f'model_type: "{config["model_type"]}" is not supported: it needs ' in done.stderr


def test_a_mistyped_model_is_told_what_may_be_meant(tmp_path):
    (tmp_path / "Tale-1B").symlink_to(FIXTURE)
    done = baton("up", "--state", tmp_path / "state", "--models", tmp_path, "--model", "tale1b")
    assert 'no such directory or file; did you mean "Tale-1B"?; baton pull tale1b' in done.stderr
