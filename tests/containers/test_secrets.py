"""docker-compose.secrets.yml lets nobody in without a key, and needs its files to start."""
import shutil
import subprocess

import pytest
from stack import FILE, ROOT, Stack, ask, docker, is_ready, wait_for


@pytest.fixture
def folder(tmp_path):
    """The directory deploy/ of a user, whose image and models are the tests'."""
    (tmp_path / "deploy").mkdir()
    for name in (FILE.name, "docker-compose.secrets.yml", "make-secrets"):
        shutil.copy(ROOT / "deploy" / name, tmp_path / "deploy")
    (tmp_path / "models").mkdir()
    return tmp_path / "deploy"


def secured(folder):
    return Stack("secrets", [folder / FILE.name, folder / "docker-compose.secrets.yml"])


@pytest.mark.essential
def test_a_key_is_needed_and_a_new_one_counts_after_a_hangup(built, folder):
    subprocess.run([folder / "make-secrets"], check=True, capture_output=True)
    key = (folder / "secrets/api-keys").read_text()
    with secured(folder) as stack:
        stack.compose("up", "-d", "--no-build", "gateway", "prefill", "decode")
        wait_for(lambda: is_ready(stack.port), "the fleet")
        for path, body in (("/workers", None), ("/metrics", None), ("/generate", {"prompt": "a"}),
                           ("/v1/chat/completions", {"messages": []})):
            assert ask(stack.port, path, body)[0] == 401
        assert ask(stack.port, "/workers", headers={"Authorization": f"Bearer {key}"})[0] == 200
        admin = (folder / "secrets/admin-keys").read_text()
        for sent, status in ((key, 403), (admin, 200)):
            assert ask(stack.port, "/debug/kv",
                       headers={"Authorization": f"Bearer {sent}"})[0] == status
        (folder / "secrets/api-keys").write_text("another-key-of-24-letters\n")
        stack.compose("kill", "-s", "HUP", "gateway")
        wait_for(lambda: ask(stack.port, "/workers", headers={"Authorization": f"Bearer {key}"})[0]
                 == 401, "the change")
        assert ask(stack.port, "/workers",
                   headers={"Authorization": "Bearer another-key-of-24-letters"})[0] == 200
        # Neither is an argument or in what an engine tells of a container.
        for service in ("gateway", "prefill", "decode"):
            told = (docker("inspect", stack.containers(service)[0])
                    + docker("top", stack.containers(service)[0]))
            assert key not in told and admin not in told
            assert (folder / "secrets/cluster-token").read_text() not in told


def test_nothing_starts_without_the_files(built, folder):
    with secured(folder) as stack:
        assert stack.compose("up", "-d", "--no-build", "gateway", "prefill", "decode",
                             check=False).returncode
        assert not stack.workers()
