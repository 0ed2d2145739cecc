"""Workers use the cores and the memory that their control groups leave them."""
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from cgroup import Group
from fleet import Fleet
from programs import refusal

MINE = sorted(os.sched_getaffinity(0))
STORY = dict(prompt="Once upon a time", max_new_tokens=40, temperature=0.8, seed=5)


def told(process):
    """The log line of a worker about its cores."""
    line = re.search(r"ev=cores_allowed .*", process.text()).group()
    return dict(pair.split("=") for pair in line.split())


@pytest.fixture(scope="module")
def story():
    with Fleet() as fleet:
        return fleet.generate(**STORY)["generated_text"]


@pytest.mark.parametrize("how", [["--cores", "auto"], ["--cores", "all"]], ids=" ".join)
def test_a_cpu_quota_bounds_the_threads(story, how):
    """Half a core less than all is rounded down, so that the quota stops no thread."""
    quota_us = 100000 * len(MINE) - 50000
    with Group("cpu", {1: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(quota_us)},
                       2: {"cpu.max": f"{quota_us} 100000"}}):
        with Fleet(worker_args=[*how, "--log-level", "debug"]) as fleet:
            assert fleet.generate(**STORY)["generated_text"] == story
            n = max(1, len(MINE) - 1)
            for process in fleet.workers.values():
                line = told(process)
                assert (line["cores"], line["threads"]) == (str(n), str(n)), line
                assert (line["cpu_quota"] == f"{quota_us / 100000:.2f}"
                        and line["affinity"] == str(len(MINE))), line
                if how[-1] == "auto" and len(MINE) > 1:
                    assert f"ev=cores use=any n={n} of={n}" in process.text()
            assert {worker["cores"] for worker in fleet.fleet()} == {n}


def test_a_cpuset_bounds_them_too(story):
    mems = {"cpuset.mems": "0", "cpuset.cpus": str(MINE[0])}
    with Group("cpuset", {1: mems, 2: mems}):
        with Fleet() as fleet:
            assert fleet.generate(**STORY)["generated_text"] == story
            for process in fleet.workers.values():
                line = told(process)
                assert (line["cores"], line["threads"], line["affinity"]) == ("1", "1", "1"), line


def limited(mib):
    return Group("memory",
                 {1: {"memory.limit_in_bytes": str(mib << 20)}, 2: {"memory.max": str(mib << 20)}})


def test_a_pool_fits_the_memory_limit_and_the_log_says_whose(story):
    with limited(256) as group, Fleet(worker_args=["--dtype", "f32"]) as fleet:
        assert fleet.generate(**STORY)["output_tokens"] == STORY["max_new_tokens"]
        for process in fleet.workers.values():
            line = re.search(r"ev=kv_cache .*", process.text()).group()
            assert f'bound_by="256 MiB of {group.dir}"' in line, line
            assert float(re.search(r" mib_left=([\d.]+)", line).group(1)) < 256, line


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_too_little_memory_is_an_error_before_the_model_is_loaded(role):
    with limited(128) as group:
        said = refusal(f"baton-{role}", "--lease-dir", "", "--dtype", "f32", "--kv-bytes", 1 << 30)
    assert "ev=model_loaded" not in said, said
    assert "kv-bytes: 131072 tokens take 1024 MiB, but only" in said, said
    assert f"MiB of memory are left (bound by 128 MiB of {group.dir})" in said, said


def caps(fleet):
    return sum(worker["kv_cap_bytes"] for worker in fleet.fleet())


def test_the_caps_of_two_fleets_fit_into_one_limit(story, tmp_path):
    """As in a container, or on one host: the second fleet sees what the first may still take."""
    args = ["--dtype", "f32", "--lease-dir", tmp_path]
    with limited(512), Fleet(worker_args=args) as first, Fleet(worker_args=args) as second:
        assert 0 < caps(second) and caps(first) + caps(second) < 512 << 20
        for fleet in (first, second):
            assert fleet.generate(**STORY)["generated_text"] == story


def used_bytes(group):
    """Page cache is no use: the kernel takes it back."""
    name = "memory.current" if group.version == 2 else "memory.usage_in_bytes"
    prefix = "" if group.version == 2 else "total_"
    stat = dict(line.split() for line in (group.dir / "memory.stat").read_text().splitlines())
    return int((group.dir / name).read_text()) - sum(int(stat[f"{prefix}{kind}_file"])
                                                     for kind in ("active", "inactive"))


def test_memory_that_others_took_is_not_touched():
    """A pool that may not grow serves with what it has: nobody is killed, and all are answered."""
    mib = 640
    args = ["--kv-dtype", "f32", "--kv-bytes", 128 << 20]
    with limited(mib) as group, Fleet(worker_args=args) as fleet:
        took = bytearray(max((mib << 20) - used_bytes(group) - (36 << 20), 0))
        took[::4096] = bytes([1]) * len(took[::4096])
        with ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda i: fleet.generate(
                prompt=[3 + i] * 20, max_new_tokens=480, ignore_eos=True), range(24)))
        assert all(answer["output_tokens"] == 480 for answer in answers)
        assert any(worker["kv_backing_failures"] for worker in fleet.fleet())
        assert "ev=kv_not_backed" in fleet.workers["decode-0"].text()
        took.clear()
        fleet.wait_all_free()  # the pools may grow again, and say so
