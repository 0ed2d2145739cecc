"""The image: how it is built, what is in it, what it leaves behind."""
import json

import pytest
from fleet import free_port, wait_for
from stack import IMAGE, ask, docker, is_ready

MEGABYTE = 1e6


def size(image):
    return json.loads(docker("image", "inspect", image))[0]["Size"]


@pytest.mark.essential
def test_it_is_built_without_a_warning_and_small(built):
    of_ours = [line for line in built.splitlines() if "warning" in line.lower()
               and "debconf" not in line]
    assert not of_ours, of_ours
    over = (size(IMAGE) - size("debian:12-slim")) / MEGABYTE
    print(f"\n{size(IMAGE) / MEGABYTE:.0f} MB, {over:.1f} MB over its base")
    assert over <= 67


@pytest.mark.essential
def test_it_runs_as_nobody_in_particular(built):
    assert docker("run", "--rm", IMAGE, "id", "-u") == "10001"
    found = docker("run", "--rm", IMAGE, "sh", "-c", "command -v gcc curl wget || echo none")
    assert found == "none"


@pytest.mark.essential
def test_a_run_leaves_no_volume_behind(built):
    before = docker("volume", "ls", "-q")
    docker("run", "--rm", IMAGE, "true")
    container = docker("create", IMAGE, "true")
    docker("rm", container)
    assert docker("volume", "ls", "-q") == before


@pytest.mark.essential
def test_one_container_serves_by_itself(built):
    port = free_port()
    container = docker("run", "-d", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
                       "-p", f"127.0.0.1:{port}:8000", IMAGE)
    try:
        wait_for(lambda: is_ready(port), "the fleet in one container")
        status, body = ask(port, "/generate",
                           {"prompt": "Once upon a time", "max_new_tokens": 8, "temperature": 0})
        assert status == 200 and json.loads(body)["text"].startswith("Once upon a time")
        wait_for(lambda: docker("inspect", "-f", "{{.State.Health.Status}}", container)
                 == "healthy", "the health check")
        docker("stop", "-t", 30, container)
        assert docker("inspect", "-f", "{{.State.ExitCode}}", container) == "0"
    except BaseException:
        print(docker("logs", "--tail", 60, container))
        raise
    finally:
        docker("rm", "-f", "-v", container)
