"""Every alert of deploy/prometheus, provoked on a fleet of containers by a real cause, and its end.

Prometheus evaluates the shipped rules: their expressions stay, only their patience (`for`) and the
pauses between scrapes are shorter. Alerts that look back over minutes end minutes later.
"""
import os
import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import wire
from freeze import Frozen
from fleet import PATIENCE_S, Clients, wait_for
from prometheus import CONFIG, RULES, Api, alerts
from stack import FILE, Stack, ask, docker, free_port
from test_progress import change_weights

NO_WAY = {"BatonKvAccountWrong"}  # an error of the program's own: no fault from outside makes it
# Most of them look back as far; longer ones end because good requests outweigh the bad ones.
WINDOW_S = 300
LONG_S = 3600  # longer than the test
CONTEXT = 512
OVERRIDE = """services:
  gateway:
    environment: {{BATON_GATEWAY_ABSENCE_S: "{long}", BATON_GATEWAY_TIMEOUT_S: "{long}",
                   BATON_GATEWAY_MAX_QUEUED: "24",
                   BATON_GATEWAY_SLO_TTFT_S: "1", BATON_GATEWAY_SLO_ITL_S: "1"}}
  prefill:
    environment: {{BATON_PREFILL_CANARY_S: "1"}}
  decode: # room for two whole contexts
    environment: {{BATON_DECODE_CANARY_S: "1", BATON_DECODE_KV_TOKENS: "1024"}}
  prometheus:
    volumes: ["{rules}:/etc/prometheus:ro"]
"""


class Alarmed(Stack):
    """A fleet, and what Prometheus says of it."""

    def watch(self):
        self.compose("--profile", "dashboards", "up", "-d", "--no-build", "prometheus")
        wait_for(self.prometheus.is_up, "the gateway to be scraped")

    def alerts_in(self, state):
        return {a["labels"]["alertname"] for a in self.prometheus.get("alerts")["alerts"]
                if a["state"] == state}

    def wait_until_firing(self, *names):
        wait_for(lambda: self.alerts_in("firing") >= set(names),
                 f"{names}: {self.alerts_in('firing')} fire")
        for name in names:
            if name in PATIENT:
                assert self.prometheus.has_figures(
                    f'max_over_time(ALERTS{{alertname="{name}",alertstate="pending"}}[1h])')
        print(f"\nfiring: {', '.join(names)}")

    def wait_until_over(self, *names, patience_s=PATIENCE_S):
        wait_for(lambda: not self.alerts_in("firing") & set(names),
                 f"{names} to be over: {self.alerts_in('firing')} fire", patience_s)

    def metric(self, name):
        """The sum of its samples in the gateway's page."""
        page = ask(self.port, "/metrics")[1]
        return sum(float(v) for v in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE))

    def pid(self, container):
        return int(docker("inspect", "-f", "{{.State.Pid}}", container))

    def address(self, container):
        return docker("inspect", "-f",
                      f'{{{{(index .NetworkSettings.Networks "{self.project}_fleet").IPAddress}}}}',
                      container)

    def packs(self):
        """Where this machine has the volume of packed weights."""
        return Path(docker("volume", "inspect", "-f", "{{.Mountpoint}}", f"{self.project}_packs"))

    def is_whole(self):
        return self.roles() == {"prefill": 2, "decode": 2}

    @contextmanager
    def small_talk(self):
        """Four clients send tiny requests while the block runs; their answers do not matter."""
        def ask_one(i):
            with suppress(OSError):
                ask(self.port, "/generate", {"prompt": f"Story {i}", "max_new_tokens": 2})
        with Clients(4, ask_one):
            yield


def impatient(folder):
    """The files of deploy/prometheus, with shorter pauses."""
    folder.chmod(0o755)
    (folder / CONFIG.name).write_text(re.sub(r"_interval: \w+", "_interval: 1s",
                                             CONFIG.read_text()))
    for rules in RULES:
        (folder / rules.name).write_text(re.sub(r"for: \w+", "for: 2s", rules.read_text()))


PATIENT = set(re.findall(r"alert: (\w+)\n(?:(?!alert:)[\s\S])*?\n        for:",
                         RULES[1].read_text()))


@pytest.fixture(scope="module")
def fleet(built, prometheus_image, tmp_path_factory):
    if os.geteuid():
        pytest.skip("only root can stop a thread and cut a path of a container")
    folder = tmp_path_factory.mktemp("prometheus")
    impatient(folder)
    override = tmp_path_factory.mktemp("compose") / "override.yml"
    override.write_text(OVERRIDE.format(rules=folder, long=LONG_S))
    port = free_port()
    with Alarmed("alarmed", [FILE, override], BATON_PROMETHEUS_PORT=str(port)) as stack:
        stack.prometheus, stack.provoked = Api(port), set()
        stack.scale(prefill=2, decode=2)
        yield stack


@contextmanager
def provoked(fleet, *names):
    """Leave it when the cause is there: the alerts fire."""
    yield
    fleet.wait_until_firing(*names)
    fleet.provoked |= set(names)


def test_without_decode_workers_requests_wait_and_fail(fleet):
    """Prometheus starts after the fault, so its two minutes without a token need not pass."""
    assert ask(fleet.port, "/generate", {"prompt": "Once", "max_new_tokens": 2})[0] == 200
    decode = fleet.containers("decode")
    docker("stop", *decode)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, fleet.port, "/generate", {"prompt": "Once", "max_new_tokens": 2},
                              patience_s=LONG_S)
        wait_for(lambda: fleet.metric("baton_requests_open"), "the request")
        with provoked(fleet, "BatonRoleMissing", "BatonNoProgress"):
            fleet.watch()
        with provoked(fleet, "BatonErrorBudgetBurnsFast", "BatonErrorBudgetBurns"):
            for _ in range(3):
                assert ask(fleet.port, "/generate",
                           {"prompt": "Once", "timeout_s": 0.2})[0] in (503, 504)
        docker("start", *decode)
        assert waiting.result()[0] == 200
    wait_for(fleet.is_whole, "the whole fleet")
    fleet.wait_until_over("BatonRoleMissing", "BatonNoProgress")


def test_a_starved_gateway_is_late(fleet):
    [gateway] = fleet.containers("gateway")
    with fleet.small_talk(), provoked(fleet, "BatonLoopLag"):
        docker("update", "--cpu-period", 500000, "--cpu-quota", 10000, gateway)
    docker("update", "--cpu-quota", -1, gateway)
    wait_for(fleet.is_whole, "the whole fleet")


def test_strangers_knock(fleet):
    with provoked(fleet, "BatonStrangers", "BatonWorkerStrangers"):
        for container, port in ((fleet.containers("gateway")[0], 7100),
                                (fleet.containers("decode")[0], 7101)):
            with wire.connect(f"tcp://{fleet.address(container)}:{port}") as pipe:
                pipe.sendall(wire.frame(b"no message"))
                wait_for(lambda: not wire.is_open(pipe), "the connection to be closed")


def test_more_long_streams_come_than_fit(fleet):
    n_served, served = 0, threading.Condition()

    def tell(i):
        nonlocal n_served
        before = n_served
        status, _ = ask(fleet.port, "/generate", {
            "prompt": [5 + i % 40] * 32, "max_new_tokens": CONTEXT - 32, "ignore_eos": True})
        assert status in (200, 429)
        with served:
            if status == 429:  # it comes again when another was served
                served.wait_for(lambda: n_served > before, PATIENCE_S)
            else:
                n_served += 1
                served.notify_all()
    with Clients(40, tell), provoked(fleet, "BatonKvExhausted", "BatonRefusing", "BatonGoodputLow"):
        pass
    fleet.wait_until_over("BatonKvExhausted")


def test_a_worker_misses_its_beats(fleet):
    container = fleet.containers("decode")[0]
    with provoked(fleet, "BatonWorkerSilent"):
        for _ in range(3):
            before = fleet.metric("baton_workers_suspected_total")
            docker("pause", container)
            wait_for(lambda: fleet.metric("baton_workers_suspected_total") > before, "suspicion")
            docker("unpause", container)
            wait_for(fleet.is_whole, "the worker")


def test_an_engine_stands_still(fleet):
    with Frozen(fleet.pid(fleet.containers("decode")[0])), provoked(fleet, "BatonWorkerStalled"):
        pass
    fleet.wait_until_over("BatonWorkerStalled")


def test_a_path_is_cut(fleet):
    far, near = fleet.containers("prefill")[0], fleet.containers("decode")[0]

    def rule(change):
        subprocess.run(["nsenter", "-t", str(fleet.pid(near)), "-n", "iptables", "-w", change,
                        "INPUT", "-s", fleet.address(far), "-j", "DROP"], check=True)
    with fleet.small_talk():
        rule("-A")
        with provoked(fleet, "BatonPathCut"):
            pass
        rule("-D")
        fleet.wait_until_over("BatonPathCut")


def test_weights_change_in_memory(fleet):
    """All workers of the host map them: afterwards they are packed again."""
    workers = fleet.containers("prefill") + fleet.containers("decode")
    packs = fleet.packs()
    with provoked(fleet, "BatonWorkerUnhealthy"):
        change_weights(packs)
    for pack in packs.glob("*.pack"):
        pack.unlink()
    docker("restart", *workers)
    wait_for(fleet.is_whole, "the whole fleet")
    fleet.wait_until_over("BatonWorkerUnhealthy", "BatonRoleMissing")


def test_the_gateway_is_gone(fleet):
    with provoked(fleet, "BatonGatewayDown"):
        fleet.compose("kill", "gateway")
    fleet.compose("start", "gateway")
    wait_for(fleet.is_whole, "the whole fleet")
    fleet.wait_until_over("BatonGatewayDown")


def test_each_was_provoked(fleet):
    assert fleet.provoked == set(alerts()) - NO_WAY
    others = "|".join(NO_WAY)
    assert not fleet.prometheus.query(f'max_over_time(ALERTS{{alertname=~"{others}"}}[1h])')


def test_each_is_over(fleet):
    with fleet.small_talk():
        fleet.wait_until_over(*alerts(), patience_s=WINDOW_S + PATIENCE_S)
