"""The image is built once, by the Dockerfile as it is; fleets start from it."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/support")]

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


@pytest.fixture(scope="session")
def built():
    """The words of the build. BATON_TESTED_IMAGE: the tests' image is there from an earlier run, and stays."""
    if "BATON_TESTED_IMAGE" in os.environ:
        yield ""
        return
    def build():
        return subprocess.run(["docker", "build", "--no-cache", "-f", ROOT / "deploy/Dockerfile", "-t", IMAGE, ROOT],
                              capture_output=True, text=True)
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
    if subprocess.run(["docker", "image", "inspect", PROMETHEUS], capture_output=True).returncode == 0:
        yield
    elif subprocess.run(["docker", "pull", PROMETHEUS], capture_output=True).returncode == 0:
        yield
    else:
        docker("build", "-t", PROMETHEUS, "-", input=DEBIANS_PROMETHEUS)
        print(f"\n{PROMETHEUS} cannot be pulled: it is made from Debian's Prometheus")
        yield
        docker("rmi", PROMETHEUS)
