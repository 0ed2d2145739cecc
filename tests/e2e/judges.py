"""Programs of others by which tests judge: without one its tests are skipped, and say so."""
import shutil

import pytest


def judge(program):
    """The path of a program, or the end of the test."""
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path
