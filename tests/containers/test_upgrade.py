"""deploy/upgrade moves a loaded fleet from one image to the next, as deploy/README.md documents."""
import os
import subprocess

import pytest
from fleet import wait_for
from readers import Readers, in_peace, row
from stack import FILE, IMAGE, ROOT, Stack, docker

NEXT = f"{IMAGE}-next"
SERVICES = ("prefill", "decode", "gateway")
AWAY = {"refused", "HTTP 503"}  # to who comes while the only gateway is replaced


@pytest.fixture(scope="module")
def next_image(built):
    docker("build", "-t", NEXT, "-", input=f"FROM {IMAGE}\nLABEL version=next\n")
    yield docker("image", "inspect", "-f", "{{.Id}}", NEXT)
    docker("rmi", "-f", NEXT)


@pytest.fixture(scope="module")
def old(built):
    with Stack("upgraded") as stack:
        stack.scale(prefill=2, decode=2)
        stack.texts = in_peace(stack.port)
        yield stack


def upgrade(stack, **settings):
    """The running script; its lines can be read as they come."""
    return subprocess.Popen([ROOT / "deploy/upgrade", "-p", stack.project, "-f", FILE], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env={**os.environ, **stack.settings, **settings})


def images(stack):
    return {c: docker("inspect", "-f", "{{.Image}}", c) for service in SERVICES
            for c in stack.containers(service)}


def test_workers_that_do_not_fit_are_not_let_in_and_cost_nothing(old, next_image):
    """The next image's workers are given another type of weights: no worker of theirs may join."""
    before = images(old)
    with Readers(old.port, old.texts) as readers:
        readers.wait_for_more(6)
        script = upgrade(old, BATON_IMAGE=NEXT, BATON_DTYPE="bf16")
        words = script.communicate()[0]
        readers.wait_for_more(6)
    assert (script.returncode == 1 and "dtype" in words
            and "the new worker is removed" in words), words
    assert images(old) == before and set(readers.outcomes) == {"done"}, readers.outcomes


def test_every_container_is_replaced_and_no_stream_fails(old, next_image):
    with Readers(old.port, old.texts) as readers:
        readers.wait_for_more(12)
        script, words = upgrade(old, BATON_IMAGE=NEXT), ""
        for line in script.stdout:
            words += line
            if "gateway: who comes is refused" in line:
                with readers.changed:
                    outcomes, gap = dict(readers.outcomes), max(readers.gaps)
        assert script.wait() == 0, words
        wait_for(lambda: old.roles() == {"prefill": 2, "decode": 2},
                 f"the whole fleet: {old.workers()}")
        readers.wait_for_more(12)
    print(f"\nworkers of the next image: {outcomes['done']} exact, longest gap {gap:.2f} s")
    print(row("and its gateway", readers))
    assert set(outcomes) == {"done"}, outcomes
    assert set(readers.outcomes) <= {"done"} | AWAY, readers.outcomes
    assert set(images(old).values()) == {next_image} and len(images(old)) == 5


def test_nothing_is_replaced_that_is_of_the_wanted_image(old, next_image):
    """After the test above; and the next `up` of compose finds nothing to do either."""
    before = images(old)
    script = upgrade(old, BATON_IMAGE=NEXT)
    assert "every container is of the image" in script.communicate()[0] and script.returncode == 0
    assert images(old) == before
    old.settings["BATON_IMAGE"] = NEXT
    old.scale(prefill=2, decode=2)
    assert images(old) == before
