"""Directories for KV blocks that hold other people's files, links and files under our names."""
import pytest
from fleet import Fleet, free_port
from programs import refusal

TEXT = "#:kivy 1.0\n<Root>:\n"


@pytest.fixture
def directory(tmp_path):
    made = tmp_path / "kv"
    made.mkdir(mode=0o700)
    return made


def put(path):
    path.write_text(TEXT)
    path.chmod(0o600)
    return path


def test_files_of_others_stay(directory):
    """Bound: 0 of the files that Baton did not write are changed or removed."""
    files = [put(directory / name) for name in ("main.kv", "a.kv", "notes", f"{'g' * 32}.kv")]
    with Fleet(prefill_args=["--kv-disk", directory, "--kv-disk-bytes", 64 << 20]) as fleet:
        fleet.generate(prompt=list(range(5, 300)), max_new_tokens=2)
    assert all(file.read_text() == TEXT for file in files)


def test_a_file_under_a_name_of_ours_is_not_overwritten(directory):
    """Bound: the start fails and names the file, which stays."""
    file = put(directory / f"{'0' * 32}.kv")
    told = refusal("baton-prefill", "--gateway", f"tcp://127.0.0.1:{free_port()}", "--kv-disk",
                   directory, "--kv-disk-bytes", 64 << 20)
    assert file.name in told and file.read_text() == TEXT


@pytest.mark.parametrize("ending", ["", "/", "/."])
def test_a_link_is_not_followed(directory, ending):
    """Bound: the start fails however the link is spelled, and nothing is written behind it."""
    link = directory.parent / "link"
    link.symlink_to(directory)
    told = refusal("baton-prefill", "--gateway", f"tcp://127.0.0.1:{free_port()}", "--kv-disk",
                   f"{link}{ending}", "--kv-disk-bytes", 64 << 20)
    assert "link" in told and not list(directory.iterdir())
