"""Packed weights: one copy for all workers of a host, in every dtype, and its options."""
import re

import pytest
from fleet import MODEL, Fleet, wait_for
from programs import refusal

STORY = "Once upon a time"
ROLES = ("prefill", "decode")


def packs(fleet):
    return sorted(fleet.packs.glob("*.pack"))


def mapped_bytes(pid, path):
    """(resident, proportional) bytes of that file's mappings in a process."""
    sums, inside = {"Rss": 0, "Pss": 0}, False
    for line in open(f"/proc/{pid}/smaps"):
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.rstrip().endswith(str(path))
        elif inside and line.split(":")[0] in sums:
            sums[line.split(":")[0]] += int(line.split()[1]) * 1024
    return sums["Rss"], sums["Pss"]


def test_four_workers_share_one_copy():
    with Fleet(prefill=2, decode=2) as fleet:
        fleet.generate(prompt=STORY, max_new_tokens=4, temperature=0)
        [pack] = packs(fleet)
        size = pack.stat().st_size
        assert size > (MODEL / "model.safetensors").stat().st_size * 0.9
        mapped = [mapped_bytes(worker.pid, pack) for worker in fleet.workers.values()]
        for resident, _ in mapped:
            assert resident >= size  # it was brought in whole before the first request
        assert sum(shared for _, shared in mapped) == pytest.approx(size, rel=0.02)
        made = [w for w in fleet.workers.values() if "ev=weights_packed" in w.text()]
        assert len(made) == 1
        assert sum("ev=weights_mapped" in w.text() for w in fleet.workers.values()) == 3
        assert not list(fleet.packs.glob("*.tmp"))


def test_a_restarted_worker_maps_what_is_there():
    with Fleet() as fleet:
        before = fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)["text"]
        [pack] = packs(fleet)
        inode = pack.stat().st_ino
        assert fleet.workers["decode-0"].stop() == 0
        again = fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(2)
        assert "ev=weights_mapped" in again.text() and pack.stat().st_ino == inode
        assert fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)["text"] == before


def test_a_damaged_file_is_packed_again():
    with Fleet() as fleet:
        before = fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)["text"]
        [pack] = packs(fleet)
        damaged = bytearray(pack.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        pack.unlink()  # the fleet's own mapping stays whole
        pack.write_bytes(damaged)
        assert fleet.workers["decode-0"].stop() == 0
        again = fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(2)
        assert "ev=weights_unusable" in again.text() and "ev=weights_packed" in again.text()
        assert fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)["text"] == before


def test_a_file_that_others_may_have_written_is_packed_again():
    with Fleet() as fleet:
        before = fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)["text"]
        [pack] = packs(fleet)
        pack.chmod(0o666)
        assert fleet.workers["decode-0"].stop() == 0
        again = fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(2)
        assert re.search("ev=weights_unusable reason=.*mode 666 lets others in", again.text())
        assert "ev=weights_packed" in again.text()
        assert packs(fleet)[0].stat().st_mode & 0o777 == 0o644
        assert fleet.generate(prompt=STORY, max_new_tokens=20, temperature=0)["text"] == before


def test_without_a_directory_for_the_file_a_worker_keeps_its_own_copy():
    with Fleet(worker_args=["--pack-dir", "/proc"]) as fleet:
        answer = fleet.generate(prompt=STORY, max_new_tokens=5, temperature=0)
        assert answer["output_tokens"] == 5
        for worker in fleet.workers.values():
            assert worker.text().count("ev=weights_not_shared") == 1
    with Fleet(worker_args=["--pack-dir", ""]) as fleet:
        assert fleet.generate(prompt=STORY, max_new_tokens=5,
                              temperature=0)["text"] == answer["text"]
        for worker in fleet.workers.values():
            assert "weights_not_shared" not in worker.text()
        assert not packs(fleet)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "q8", "q4"])
def test_every_dtype_serves(dtype):
    with Fleet(worker_args=["--dtype", dtype]) as fleet:
        answer = fleet.generate(prompt=STORY, max_new_tokens=30, temperature=0)
        assert answer["output_tokens"] == 30
        again = fleet.generate(prompt=STORY, max_new_tokens=30, temperature=0)
        assert again["text"] == answer["text"]
        [pack] = packs(fleet)
        assert f"-{dtype}-" in pack.name
        for worker in fleet.workers.values():
            assert f" dtype={dtype} " in worker.text()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("option, value, reason", [
    ("--dtype", "f31", 'dtype: "f31" is none of auto, f32, bf16, q8'),
    ("--kernels", "abacus", 'kernels: this CPU cannot run "abacus"; it runs: auto, '),
])
def test_a_value_that_does_not_exist_is_answered_with_those_that_do(role, option, value, reason):
    said = refusal(f"baton-{role}", option, value)
    assert reason in said
    if option == "--kernels":
        assert "portable" in said and "openblas" in said


def test_a_worker_of_another_dtype_is_refused():
    with Fleet() as fleet:
        other = fleet.start_worker("decode", "decode-q8", args=["--dtype", "q8"])
        wait_for(lambda: "dtype q8 with KV in" in fleet.gateway.text(), "the refusal")
        assert fleet.worker("decode-q8") is None
        wait_for(lambda: "this fleet has f32 with" in other.text(), "the worker to learn of it")
        assert fleet.generate(prompt=STORY, max_new_tokens=5, temperature=0)["output_tokens"] == 5
        other.stop()
