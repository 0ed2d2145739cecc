"""Clients of other servers, as they come from npm, against a fleet: one test per row of docs/clients.md."""
import pytest
from fleet import Fleet
from javascript import Client

KEY = "sk-a-key-of-this-test"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(KEY + "\n")
    keys.chmod(0o600)
    with Fleet(key=KEY, gateway_args=["--api-keys", keys, "--chat-template", "chatml"]) as started:
        yield started
        started.wait_all_free()


@pytest.mark.parametrize("name", ["ai", "langchain", "llamaindex", "huggingface"])
def test_the_client_is_served(fleet, name):
    Client("clients").drive(fleet, f"{name}.test.mjs", API_KEY=KEY)
