"""Clients of other servers, as they come from npm, against a fleet: one test per row of docs/clients.md."""
import pytest
from conftest import KEY
from javascript import Client


@pytest.mark.parametrize("name", ["ai", "langchain", "llamaindex", "huggingface"])
def test_the_client_is_served(keyed, name):
    Client("clients").drive(keyed, f"{name}.test.mjs", API_KEY=KEY)
