"""A fleet of containers under faults, restarts and scaling; clients compare every text."""
import json
import re

import pytest
from readers import Readers, row
from stack import ask, docker, left_behind, wait_for

PROMISED = {"done"}  # with two workers of a role, one may go and nobody notices
# To who comes while a gateway leaves or is gone, or had begun to wait for a worker.
TOLD = {"refused", "HTTP 503", "error no_worker"}
ROWS = []


@pytest.fixture(scope="module", autouse=True)
def table():
    yield
    print("\n" + "\n".join(ROWS))


def whole(fleet):
    return wait_for(lambda: fleet.roles() == {"prefill": 2, "decode": 2},
                    f"the whole fleet: {fleet.workers()}")


def kill(container, network):
    docker("kill", container)
    yield
    docker("start", container)


def stop(container, network):
    docker("stop", "-t", 20, container)
    yield
    docker("start", container)


def pause(container, network):
    docker("pause", container)
    yield
    docker("unpause", container)


def disconnect(container, network):
    docker("network", "disconnect", network, container)
    yield
    docker("network", "connect", network, container)


ESSENTIAL = [(kill, "decode"), (stop, "prefill")]


@pytest.mark.parametrize("fault, role", [
    pytest.param(fault, role, marks=[pytest.mark.essential] if (fault, role) in ESSENTIAL else [])
    for fault in (kill, stop, pause, disconnect) for role in ("decode", "prefill")])
def test_one_of_two_workers_goes_and_no_client_is_told(fleet, fault, role):
    whole(fleet)
    with Readers(fleet.port, fleet.texts) as readers:
        readers.wait_for_more(12)
        steps = fault(fleet.containers(role)[0], f"{fleet.project}_fleet")
        next(steps)
        readers.wait_for_more(24)
        assert next(steps, "over") == "over"
        whole(fleet)
        readers.wait_for_more(12)
    ROWS.append(row(f"{fault.__name__} {role}", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes


@pytest.mark.essential
def test_every_worker_is_restarted_in_turn(fleet):
    whole(fleet)
    with Readers(fleet.port, fleet.texts) as readers:
        for container in fleet.containers("prefill") + fleet.containers("decode"):
            readers.wait_for_more(6)
            docker("restart", "-t", 20, container)
            whole(fleet)
        readers.wait_for_more(6)
    ROWS.append(row("rolling restart", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes


def test_it_is_scaled_up_and_down(fleet):
    whole(fleet)
    with Readers(fleet.port, fleet.texts) as readers:
        readers.wait_for_more(6)
        fleet.scale(prefill=1, decode=4)
        readers.wait_for_more(12)
        fleet.scale(prefill=2, decode=2)
        readers.wait_for_more(6)
    ROWS.append(row("1P4D and back", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes


def test_the_gateway_comes_back_with_another_address(fleet):
    """Requests without a listening gateway are refused; those that had begun are finished."""
    whole(fleet)
    network = f"{fleet.project}_fleet"
    where = "{{(index .NetworkSettings.Networks \"%s\").IPAddress}}" % network
    [gateway] = fleet.containers("gateway")
    before = docker("inspect", "-f", where, gateway)
    with Readers(fleet.port, fleet.texts) as readers:
        readers.wait_for_more(6)
        docker("stop", "-t", 30, gateway)
        docker("rm", gateway)
        squatter = docker("run", "-d", "--rm", "--network", network, "debian:12-slim", "sleep",
                          "3600")
        try:
            assert docker("inspect", "-f", where, squatter) == before
            fleet.scale(prefill=2, decode=2)
            readers.wait_for_more(12)
            assert docker("inspect", "-f", where, fleet.containers("gateway")[0]) != before
        finally:
            docker("rm", "-f", squatter)
    ROWS.append(row("gateway elsewhere", readers))
    assert set(readers.outcomes) <= PROMISED | TOLD, readers.outcomes


def written_bytes(port):
    samples = re.findall(r"^baton_worker_kv_disk_written_bytes_total.* (\S+)$",
                         ask(port, "/metrics")[1], re.M)
    return sum(map(float, samples))


@pytest.mark.essential
def test_a_prompt_outlives_the_prefill_workers_on_their_volume(fleet):
    whole(fleet)
    body = {"prompt": "A bear and a bird who lived in the forest " * 12, "max_new_tokens": 1,
            "temperature": 0}
    status, first = ask(fleet.port, "/generate", body)
    assert status == 200, first
    wait_for(lambda: written_bytes(fleet.port) > 0, "blocks of the prompt on disk")
    for container in fleet.containers("prefill"):
        docker("restart", "-t", 20, container)
    whole(fleet)
    again, first = (json.loads(text) for text in (ask(fleet.port, "/generate", body)[1], first))
    assert again["disk_tokens"] >= 16 and again["generated_text"] == first["generated_text"], again


@pytest.mark.essential
def test_down_under_load_leaves_nothing(fleet):
    whole(fleet)
    with Readers(fleet.port, fleet.texts) as readers:
        readers.wait_for_more(6)
        containers = {service: fleet.containers(service)
                      for service in ("gateway", "prefill", "decode")}
        fleet.compose("stop", "-t", 30)
        codes = {c: docker("inspect", "-f", "{{.State.ExitCode}}", c)
                 for group in containers.values() for c in group}
        fleet.compose("down", "-v")
    ROWS.append(row("down under load", readers))
    assert set(codes.values()) == {"0"}, codes
    assert set(readers.outcomes) <= PROMISED | TOLD, readers.outcomes
    assert not left_behind(fleet.project)
