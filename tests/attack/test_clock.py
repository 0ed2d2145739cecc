"""The wall clock is set while a fleet serves: nothing that waits or measures notices."""
import email.utils
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import BIN, Fleet, wait_for

DAY_S = 86400
LONG = dict(max_new_tokens=400, temperature=0.8, ignore_eos=True)
N_STREAMS = 4
# Far less than a jump, and more than a busy machine stops a worker for.
SUSPICION = ["--silence-s", 60]


class Clock:
    """The wall clock of processes that start after this one was made."""

    def __init__(self, directory, environment):
        self.file = directory / "jump"
        self.set(0)
        preload = BIN / "clock_jump.so"
        if not preload.exists():
            pytest.skip("nothing can be preloaded into a program with a sanitizer")
        environment.setenv("LD_PRELOAD", str(preload))
        environment.setenv("BATON_CLOCK_JUMP", str(self.file))

    def set(self, days):
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("<q", int(days * DAY_S * 1e9)))


@pytest.fixture
def clock(tmp_path, monkeypatch):
    return Clock(tmp_path, monkeypatch)


def days_ahead(fleet):
    date = fleet.request("GET", "/live")[2]["Date"]
    return (email.utils.parsedate_to_datetime(date).timestamp() - time.time()) / DAY_S


def canaries(fleet):
    return sum(n for name, n in fleet.metrics().items()
               if name.startswith("baton_worker_canaries_total{"))


def test_a_fleet_serves_through_jumps_of_a_day(clock):
    watchful = [*SUSPICION, "--stall-s", 60, "--canary-s", 1]
    with Fleet(gateway_args=[*SUSPICION, "--resume-s", 3600], worker_args=watchful) as fleet:
        bodies = [dict(LONG, prompt=f"Once upon {i}", seed=i) for i in range(N_STREAMS)]
        expected = [fleet.generate(**body)["generated_text"] for body in bodies]
        for days in 1, -1, 0, -30, 30, 0:
            streams = [fleet.stream(**body, timeout_s=3600) for body in bodies]
            clock.set(days)
            wait_for(lambda: abs(days_ahead(fleet) - days) < 0.01, "the clock of the gateway")
            with ThreadPoolExecutor(N_STREAMS) as pool:
                told = list(pool.map(lambda stream: stream.text(), streams))
            assert [text for text, _ in told] == expected
            assert all(0 < last.json()["e2el_s"] < DAY_S / 2 for _, last in told)
            # What waits for a time of the wall clock would wait for a day.
            before = canaries(fleet)
            wait_for(lambda: canaries(fleet) >= before + 2, "canaries after the jump")
        log = fleet.gateway.text()
        assert "ev=worker_lost" not in log and "ev=worker_suspect" not in log
        metrics = fleet.metrics()
        assert metrics['baton_requests_total{outcome="ok"}'] >= 7 * N_STREAMS


def test_workers_that_start_in_another_century_join(clock):
    with Fleet(gateway_args=SUSPICION, worker_args=SUSPICION) as fleet:
        clock.set(36500)
        fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(3)
        clock.set(-7000)
        fleet.start_worker("prefill", "prefill-1")
        fleet.wait_ready(4)
        assert fleet.generate(prompt="Once", max_new_tokens=20)["output_tokens"] == 20
