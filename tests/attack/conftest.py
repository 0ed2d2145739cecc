"""Attacks on real fleets. `BATON_WHOLE=1` runs them in the sizes in which the faults were found."""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from fleet import Fleet  # noqa: E402

WHOLE = "BATON_WHOLE" in os.environ


@pytest.fixture(scope="session")
def sized():
    """sized(small, whole): how much of an attack this run makes."""
    return lambda small, whole: whole if WHOLE else small


@pytest.fixture(scope="module")
def fleet(request):
    """One fleet for all attacks of a file, as its FLEET describes it."""
    with Fleet(**getattr(request.module, "FLEET", {})) as started:
        yield started
        started.wait_all_free()
