"""Busy workers borrow cores of idle or dead ones, or keep a list; the tokens stay the same."""
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fleet import SUSPICION, Clients, Fleet, wait_for
from programs import refusal

STORY = "Once upon a time"
MINE = sorted(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(len(MINE) < 2, reason="with one core there is nothing to lend")
# A prompt again and again: keeps a prefill worker busy.
NAIVE = dict(prompt=STORY, max_new_tokens=100, temperature=0, ignore_eos=True, kv_cache=False)


def uses(process):
    """The sets of processors that a worker computed on, one after the other."""
    return [list(map(int, use.split(",")))
            for use in re.findall(r"ev=cores use=([\d,]+)", process.text())]


def use(process):
    return (uses(process) or [None])[-1]


class Load(Clients):
    """Endless generations: the decode worker is always busy, the prefill worker on demand."""

    def __init__(self, fleet):
        super().__init__(3, self.asking(prompt=[[5, 6, 7, 8]] * 8, max_new_tokens=200,
                                        temperature=0.9, ignore_eos=True))
        self.fleet = fleet

    def asking(self, **body):
        def ask(_):
            status, answer, _ = self.fleet.request("POST", "/generate", body)
            assert status in (200, 502, 503), answer  # a worker may be gone
        return ask

    def busy_prefill(self):
        self.add(3, self.asking(**NAIVE))  # while one of them asks, another one is served


def elastic(*gateway_args):
    return Fleet(worker_args=["--log-level", "debug"], gateway_args=gateway_args)


@pytest.mark.parametrize("arguments", [
    ["--cores", "auto"], ["--cores", "all"], ["--cores", str(MINE[0])], ["--lease-dir", ""],
    ["--cores", f"{MINE[0]}-{MINE[0]}", "--threads", "3"], ["--threads", "1"]], ids=" ".join)
def test_the_tokens_do_not_depend_on_the_cores(arguments):
    bodies = [dict(prompt=STORY, max_new_tokens=60, temperature=0.8, seed=i) for i in range(6)]
    with Fleet(worker_args=["--cores", "all", "--threads", "1"]) as fleet:
        expected = [fleet.generate(**body)["generated_text"] for body in bodies]
    with Fleet(worker_args=arguments) as fleet, ThreadPoolExecutor(6) as pool:
        assert [a["generated_text"]
                for a in pool.map(lambda b: fleet.generate(**b), bodies)] == expected


@two_cores
def test_a_worker_busy_alone_has_every_core():
    with elastic() as fleet:
        def all_use_all():
            fleet.generate(prompt=STORY, max_new_tokens=60)
            return all(use(process) and sorted(use(process)) == MINE
                       for process in fleet.workers.values())
        # One may begin before the other has ended.
        wait_for(all_use_all, "each worker to have every core")
        # Homes differ: the first processor of a share is where the engine thread runs.
        assert use(fleet.workers["prefill-0"])[0] != use(fleet.workers["decode-0"])[0]


@two_cores
def test_two_busy_workers_have_their_own_cores():
    with elastic() as fleet:
        prefill, decode = fleet.workers["prefill-0"], fleet.workers["decode-0"]
        with Load(fleet) as load:
            load.busy_prefill()
            wait_for(lambda: sorted((use(prefill) or []) + (use(decode) or [])) == MINE,
                     "cores to be shared out")


def affinities(process):
    """The processors that each thread of a process may run on."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return [re.search(r"Cpus_allowed_list:\s*(\S+)", (task / "status").read_text()).group(1)
            for task in tasks]


@two_cores
@pytest.mark.parametrize("number, returned", [(signal.SIGKILL, "dead"), (signal.SIGSTOP, "silent")],
                         ids=["killed", "stopped"])
def test_a_busy_worker_that_is_gone_gives_its_cores_back(number, returned):
    # The decode worker goes on alone.
    with elastic("--colocated-prefill-tokens", 64, *SUSPICION) as fleet:
        prefill, decode = fleet.workers["prefill-0"], fleet.workers["decode-0"]
        with Load(fleet) as load:
            load.busy_prefill()
            wait_for(lambda: use(prefill) and use(decode)
                     and set(use(prefill)).isdisjoint(use(decode)), "cores to be shared out")
            prefill.signal(number)
            wait_for(lambda: f"ev=cores_of_{returned}_worker" in decode.text(), "cores to return")
            wait_for(lambda: sorted(use(decode)) == MINE, "the engine to use them")
            prefill.kill()
        again = fleet.start_worker("prefill", "prefill-1")
        fleet.wait_worker("prefill-1")
        wait_for(lambda: fleet.generate(**{**NAIVE, "max_new_tokens": 5})
                 and sorted(use(again)) == MINE, "it to have every core")


@two_cores
def test_a_fixed_list_pins_every_compute_thread():
    with Fleet(worker_args=["--cores", f"{MINE[0]},{MINE[1]}"]) as fleet:
        fleet.generate(prompt=STORY, max_new_tokens=20)
        for process in fleet.workers.values():
            assert {str(cpu) for cpu in MINE[:2]} <= set(affinities(process))


def test_a_table_that_is_not_ours_alone_is_not_used():
    with Fleet(prefill=0, decode=0) as fleet:
        table = Path(fleet.dir.name) / f"baton-cores-{os.geteuid()}"
        table.touch()
        table.chmod(0o622)
        workers = [fleet.start_worker(role, f"{role}-0") for role in ("prefill", "decode")]
        fleet.wait_ready(2)
        assert fleet.generate(prompt=STORY, max_new_tokens=20)["output_tokens"] == 20
        for worker in workers:
            assert re.search(
                r"lvl=warn .*ev=no_core_lease why=\"?\S+baton-cores-\d+: mode 622 lets others in",
                worker.text())
        assert table.stat().st_size == 0


def test_a_worker_bound_to_a_node_says_so_and_computes_the_same():
    body = dict(prompt=STORY, max_new_tokens=20, temperature=0)
    with Fleet() as fleet:
        expected = fleet.generate(**body)["generated_text"]
        assert {worker["numa"] for worker in fleet.fleet()} == {""}
    with Fleet(prefill=0, decode=0) as fleet:
        workers = [fleet.start_worker(role, f"{role}-0", ["--numa", "node:0"])
                   for role in ("prefill", "decode")]
        wait_for(lambda: len(fleet.fleet()) == 2
                 or any(w.popen.poll() is not None for w in workers), "an answer")
        # Not every container may set a memory policy.
        if any(worker.popen.poll() is not None for worker in workers):
            assert all("numa: memory of node 0:" in worker.text() for worker in workers)
            return
        fleet.wait_ready(2)
        assert {worker["numa"] for worker in fleet.fleet()} == {"node:0"}
        assert all("ev=numa_bound node=0" in worker.text() for worker in workers)
        assert fleet.generate(**body)["generated_text"] == expected


def test_a_node_that_is_not_there_ends_a_worker_with_the_reason():
    assert "numa: node 1023 does not exist" in refusal("baton-decode", "--numa", "node:1023")
