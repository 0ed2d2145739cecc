"""The image is built once, by the Dockerfile as it is; fleets start from it."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/support")]

from fleet import BIN  # noqa: E402
from readers import in_peace  # noqa: E402
from stack import IMAGE, PROMETHEUS, Stack, docker, seconds  # noqa: E402

# Where no registry can be reached: Debian's Prometheus, under the name that the compose file gives.
DEBIANS_PROMETHEUS = """FROM debian:12-slim
RUN apt-get update -qq && apt-get install -yqq --no-install-recommends prometheus >/dev/null
RUN mkdir -p /prometheus && chown 65534:65534 /prometheus
USER 65534:65534
VOLUME /prometheus
ENTRYPOINT ["/usr/bin/prometheus"]
"""


WHOLE = "BATON_WHOLE" in os.environ


def pytest_configure(config):
    config.addinivalue_line("markers", "essential: also runs without BATON_WHOLE")


def pytest_collection_modifyitems(config, items):
    """All of them take a quarter of an hour: tests/run --containers."""
    left_out = [item for item in items if not WHOLE and not item.get_closest_marker("essential")]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@contextlib.contextmanager
def recipe():
    """(Dockerfile, context): the project's own, whole. Where this machine's programs run in the
    image, and not all tests do, its last stage around the programs that are built already."""
    release = Path("/etc/os-release").read_text()
    if WHOLE or "VERSION_CODENAME=bookworm" not in release or not (BIN / "baton").exists():
        yield ROOT / "deploy/Dockerfile", ROOT
        return
    with tempfile.TemporaryDirectory(prefix="baton-image-") as folder:
        context = Path(folder)
        for file in ("deploy/packages.sh", "deploy/healthcheck"):
            (context / "deploy").mkdir(exist_ok=True)
            shutil.copy(ROOT / file, context / file)
        shutil.copytree(ROOT / "models/tale", context / "models/tale",
                        ignore=shutil.ignore_patterns(".baton"))
        (context / "bin").mkdir()
        for program in ("baton", "baton-gateway", "baton-prefill", "baton-decode"):
            subprocess.run(["strip", "-o", context / "bin" / program, BIN / program], check=True)
        text = (ROOT / "deploy/Dockerfile").read_text()
        last_stage = text[text.index("FROM debian:12-slim AS run"):]
        (context / "Dockerfile").write_text(
            f"FROM scratch AS build\nCOPY bin /src/build/release/bin\n{last_stage}")
        yield context / "Dockerfile", context


@pytest.fixture(scope="session")
def built():
    """The build's output. With BATON_TESTED_IMAGE the image of an earlier run serves, and stays."""
    if "BATON_TESTED_IMAGE" in os.environ:
        yield ""
        return

    def build():
        with recipe() as (file, context):
            return subprocess.run(["docker", "build", *(["--no-cache"] if WHOLE else []), "-f",
                                   file, "-t", IMAGE, context], capture_output=True, text=True)
    done, took_s = seconds(build)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    print(f"\nimage built in {took_s:.0f} s")
    yield done.stdout + done.stderr
    subprocess.run(["docker", "rmi", "-f", IMAGE], capture_output=True)


@pytest.fixture(scope="module")
def fleet(built):
    """Two prefill and two decode workers behind a gateway, and the stories' texts."""
    with Stack("fleet", BATON_KV_DISK="/var/cache/baton/kv") as stack:
        _, took_s = seconds(lambda: stack.scale(prefill=2, decode=2))
        print(f"\nfour workers ready {took_s:.1f} s after `up`")
        stack.texts = in_peace(stack.port)
        yield stack


@pytest.fixture(scope="session")
def prometheus_image():
    """The image of the compose file's Prometheus is here."""
    if subprocess.run(["docker", "image", "inspect", PROMETHEUS],
                      capture_output=True).returncode == 0:
        yield
    elif subprocess.run(["docker", "pull", PROMETHEUS], capture_output=True).returncode == 0:
        yield
    else:
        docker("build", "-t", PROMETHEUS, "-", input=DEBIANS_PROMETHEUS)
        print(f"\n{PROMETHEUS} cannot be pulled: it is made from Debian's Prometheus")
        yield
        docker("rmi", PROMETHEUS)
