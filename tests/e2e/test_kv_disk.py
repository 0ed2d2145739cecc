"""Prefill workers with KV blocks on disk: whatever happens to the file, the tokens are the same."""
import os
import random
import threading
from pathlib import Path

import programs
import pytest
from fleet import Fleet, wait_for
from kinds import ids
from test_migration import with_context

LONG, CACHED = 480, 464  # the last token's block is always computed
POOL = 512  # tokens: room for one of these prompts
MANY = 6


def body(i):
    return {"prompt": ids(LONG, i), "max_new_tokens": 6, "ignore_eos": True, "seed": i,
            "temperature": 0.8 if i % 2 else 0}


@pytest.fixture(scope="module")
def expected():
    with Fleet(prefill_args=["--prefix-cache", "off"],
               decode_args=["--prefix-cache", "off"]) as fleet:
        return [fleet.generate(**body(i))["text"] for i in range(MANY)]


def on_disk(directory, n=1, args=(), **more):
    """A fleet whose decode worker caches nothing, so that the prefill worker runs every prompt."""
    return Fleet(n, prefill_args=["--kv-disk", directory, "--kv-disk-bytes", 64 << 20,
                                  "--kv-tokens", POOL, *args],
                 decode_args=["--prefix-cache", "off"], **more)


def total(fleet, name, worker="prefill-0"):
    return fleet.metrics()[f'baton_worker_kv_disk_{name}_total{{role="prefill",worker="{worker}"}}']


def restart(fleet, name="prefill-0", **how):
    process = fleet.workers[name]
    if process.popen.poll() is None:
        assert process.stop() == 0
    wait_for(lambda: (fleet.worker(name) or {}).get("state") != "ready", "the worker to be gone")
    fleet.start_worker("prefill", name, **how)
    fleet.wait_worker(name)


def test_prompts_come_back_from_disk_also_after_a_restart(expected, tmp_path):
    with on_disk(tmp_path / "kv") as fleet:
        first = [fleet.generate(**body(i)) for i in range(MANY)]
        assert [answer["text"] for answer in first] == expected
        assert all(answer["disk_tokens"] == 0 for answer in first)
        fleet.wait_all_free()  # what was computed is written
        wait_for(lambda: total(fleet, "written_bytes") > 0, "the metrics")
        restart(fleet)
        answer = fleet.generate(**body(0))  # nothing is known of rates: all that is there is read
        assert answer["text"] == expected[0]
        assert answer["cached_tokens"] == answer["disk_tokens"] == CACHED
        again = [fleet.generate(**body(i)) for i in range(MANY)]
        assert [answer["text"] for answer in again] == expected
        assert again[0]["disk_tokens"] == 0  # in memory by now
        wait_for(lambda: total(fleet, "hit_tokens") >= CACHED and total(fleet, "read_bytes") > 0,
                 "the metrics")
        assert total(fleet, "errors") == 0
        assert fleet.metrics()["baton_disk_prompt_tokens_total"] >= CACHED
        assert os.stat(tmp_path / "kv").st_mode & 0o777 == 0o700
        restart(fleet)
        answer = fleet.post("/v1/completions", {"prompt": ids(LONG, 1), "max_tokens": 2})
        assert answer["timings"]["disk_n"] == CACHED == answer["timings"]["cache_n"]
        told = answer["usage"]["prompt_tokens_details"]
        assert (told["cached_tokens"], told["disk_tokens"]) == (CACHED, CACHED)
        skipped = fleet.generate(**body(2), cache_prompt=False)
        assert skipped["text"] == expected[2]
        assert skipped["disk_tokens"] == skipped["cached_tokens"] == 0


def test_two_workers_write_and_read_one_directory_at_once(expected, tmp_path):
    with on_disk(tmp_path / "kv", 2) as fleet:
        def ask(i):
            for _ in range(3):
                answers[i].append(fleet.generate(**body(i))["text"])
        answers = [[] for _ in range(MANY)]
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(MANY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [[text] * 3 for text in expected]
        fleet.wait_all_free()
        assert all(process.stop() == 0
                   for process in (fleet.workers["prefill-0"], fleet.workers["prefill-1"]))
        fleet.start_worker("prefill", "another")  # finds what both have written
        fleet.wait_worker("another")
        answer = fleet.generate(**body(0))
        assert answer["text"] == expected[0] and answer["disk_tokens"] > 0


def test_a_worker_that_is_killed_while_it_writes_leaves_no_wrong_token(expected, tmp_path):
    chance = random.Random(1)
    with on_disk(tmp_path / "kv") as fleet:
        for turn in range(5):
            # The worker is writing its blocks now.
            assert fleet.generate(**body(turn))["text"] == expected[turn]
            for _ in range(chance.randrange(8)):
                fleet.metrics()
            fleet.workers["prefill-0"].kill()
            restart(fleet)
            for i in range(turn + 1):
                assert fleet.generate(**body(i))["text"] == expected[i]


def damage(directory, every=50000):
    for file in directory.iterdir():
        with open(file, "r+b") as f:
            for at in range(1 << 16, file.stat().st_size, every):
                f.seek(at)
                f.write(b"damaged")


def test_damaged_blocks_are_computed(expected, tmp_path):
    with on_disk(tmp_path / "kv") as fleet:
        for turn in range(2):
            assert [fleet.generate(**body(i))["text"] for i in range(MANY)] == expected
            fleet.wait_all_free()
            restart(fleet)
            if turn == 0:
                damage(tmp_path / "kv")  # while it is open
        logs = list(Path(fleet.dir.name).glob("prefill-0*.log"))
        wait_for(lambda: any("ev=kv_disk_not_read" in log.read_text() for log in logs), "the log")
        (tmp_path / "kv").joinpath("notes.txt").write_text("of somebody else")  # and stays
        restart(fleet)
        assert (tmp_path / "kv" / "notes.txt").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_costs_hits_and_nothing_else(expected, tmp_path):
    (tmp_path / "kv").mkdir(mode=0o700)
    mounted = ["unshare", "--mount", "sh",
               "-c", 'mount -t tmpfs -o size=1m,mode=700 tmpfs "$0" && exec "$@"', tmp_path / "kv"]
    with on_disk(tmp_path / "kv") as fleet:
        restart(fleet, command=mounted)
        for _ in range(2):
            assert [fleet.generate(**body(i))["text"] for i in range(MANY)] == expected
        wait_for(lambda: total(fleet, "errors") > 0 and total(fleet, "dropped_blocks") > 0,
                 "the metrics")
        told = fleet.workers["prefill-0"].text().count("ev=kv_disk_not_written")
        assert told == 1 and 'reason="the disk is full"' in fleet.workers["prefill-0"].text()


def refusal(directory, *args):
    return programs.refusal("baton-prefill", "--lease-dir", "", "--kv-disk", directory, *args)


def test_directories_and_files_that_others_could_write_are_refused(tmp_path):
    kv, other = tmp_path / "kv", tmp_path / "other"
    kv.mkdir(mode=0o755)
    assert f"--kv-disk: {kv}: mode 755 lets others in; must be 700" in refusal(kv)
    kv.chmod(0o700)
    other.symlink_to(kv)
    for name in (str(other), f"{other}/", f"{other}/."):
        assert f"--kv-disk: {name}: a link or a file; must be a directory" in refusal(name)
    planted, mine = kv / f"{'0' * 32}.kv", kv / "main.kv"
    planted.symlink_to("/etc/passwd")
    assert f"--kv-disk: {planted}: not a plain file" in refusal(kv)
    planted.unlink()
    planted.write_text("planted")
    planted.chmod(0o600)
    assert f"--kv-disk: {planted}: not a file of Baton's" in refusal(kv)
    assert planted.read_text() == "planted"
    planted.unlink()
    mine.write_text("#:kivy 1.0")
    assert "--kv-disk-bytes: must be " in refusal(kv, "--kv-disk-bytes", "4096")
    assert "--kv-disk: needs a prefix cache" in refusal(kv, "--prefix-cache", "off")
    assert mine.read_text() == "#:kivy 1.0"


def told(n, first=0):
    return [(first * 31 + 7 * i * i + 3 * i) % 250 + 3 for i in range(n)]


@pytest.mark.parametrize("name", ("qwen35", "lfm2", "nemotron-h-moe"))
def test_states_come_back_with_their_blocks(name, tmp_path):
    """They are in a file of their own; a prompt begins behind a state whose blocks are there."""
    def body(i, **more):
        return {"prompt": told(LONG, i), "max_new_tokens": 6, "temperature": 0, **more}

    def ask(i):
        answer = fleet.generate(**body(i))
        assert answer["text"] == expected[i]
        return answer["disk_tokens"]

    kv, model = tmp_path / "kv", with_context("../hybrids/" + name, 1024, tmp_path)
    # No prompt waits for the blocks of another that are written.
    with on_disk(kv, args=["--kv-tokens", 8 * POOL], model=model) as fleet:
        expected = [fleet.generate(**body(i, cache_prompt=False))["text"] for i in range(3)]
        assert not any(ask(i) for i in range(3))
        fleet.wait_all_free()
        (kv / "notes.txt").write_text("of somebody else")
        restart(fleet)
        assert ask(0) == CACHED
        # The first 300 tokens of a prompt are blocks without a state.
        other = {**body(0), "prompt": told(LONG)[:300] + told(180, 9)}
        answer = fleet.generate(**other)
        assert answer["disk_tokens"] == 0
        assert answer["text"] == fleet.generate(**other, cache_prompt=False)["text"]
        for gone in sorted(kv.glob("*.kv")):
            restart(fleet)
            assert ask(0) == CACHED
            fleet.wait_all_free()
            fleet.workers["prefill-0"].stop()
            gone.unlink()
            restart(fleet)
            assert [ask(i) for i in range(3)] == [0, 0, 0]
            fleet.wait_all_free()
        damage(kv, 4096)
        restart(fleet)
        assert [ask(i) for i in range(3)] == [0, 0, 0]
        wait_for(lambda: total(fleet, "errors") > 0, "the metrics")
        assert len(list(kv.glob("*.kv"))) == 2 and (kv / "notes.txt").exists()


def test_a_hybrid_killed_while_it_writes_leaves_no_wrong_token(tmp_path):
    def ask(i, **more):
        return fleet.generate(prompt=told(LONG, i), max_new_tokens=6, temperature=0, **more)["text"]

    chance, model = random.Random(3), with_context("../hybrids/qwen35", 1024, tmp_path)
    with on_disk(tmp_path / "kv", model=model) as fleet:
        expected = [ask(i, cache_prompt=False) for i in range(4)]
        for turn in range(4):
            assert ask(turn) == expected[turn]
            for _ in range(chance.randrange(6)):
                fleet.metrics()
            fleet.workers["prefill-0"].kill()
            restart(fleet)
            assert [ask(i) for i in range(turn + 1)] == expected[:turn + 1]
