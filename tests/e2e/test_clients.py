"""Clients of other servers, from npm, against a fleet: one test per row of docs/clients.md."""
import json
import os
import re
import subprocess

import pytest
from conftest import KEY
from fleet import BIN, LONG_S, ROOT
from javascript import Client
from npm import install, node


@pytest.mark.parametrize("name", ["ai", "langchain", "llamaindex", "huggingface"])
def test_the_client_is_served(keyed, name):
    Client("clients").drive(keyed, f"{name}.test.mjs", API_KEY=KEY)


def test_the_page_tells_the_versions_that_the_tests_run():
    page = (ROOT / "docs/clients.md").read_text()
    told = dict(re.findall(r"`(@?[\w/-]+)`\s(\d+\.\d+\.\d+)", page))
    run = {}
    for folder in ("clients", "openai", "agents", "promptfoo"):
        package = json.loads((ROOT / "tests/e2e" / folder / "package.json").read_text())
        run |= package["dependencies"]
    run["pi"] = run.pop("@earendil-works/pi-coding-agent")
    assert told == {name: run[name] for name in told} and len(told) > 15
    assert set(run) - set(told) == {"zod", "@libsql/linux-x64-gnu"}


def evaluated(keyed, folder):
    """{label: its results} of promptfoo's evaluation of the configuration."""
    packages = install(ROOT / "tests/e2e/promptfoo", BIN.parent / "promptfoo-client",
                       "--omit=optional")
    env = {**os.environ, "HOME": str(folder), "PROMPTFOO_CONFIG_DIR": str(folder),
           "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1",
           "BASE_URL": f"http://127.0.0.1:{keyed.port}", "API_KEY": KEY}
    program = [node(), "node_modules/promptfoo/dist/src/entrypoint.js"]
    done = subprocess.run([*program, "eval", "-c", "promptfooconfig.json",
                           "--no-cache", "--no-write", "-o", folder / "results.json"], cwd=packages,
                          env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=LONG_S)
    assert (folder / "results.json").exists(), done.stdout[-3000:]
    found = {}
    for result in json.loads((folder / "results.json").read_text())["results"]["results"]:
        found.setdefault(result["provider"]["label"], []).append(result)
    return found


def test_promptfoo_is_served(keyed, tmp_path):
    found = evaluated(keyed, tmp_path)
    assert all(len(found[label]) == 4 for label in ("chat", "completion", "schema", "refused"))
    for label in "chat", "completion":
        assert all(result["success"] and result["response"]["output"] for result in found[label])
        assert all(result["response"]["tokenUsage"]["completion"] == 12 for result in found[label])
    answers = [result["response"]["output"] for result in found["schema"]]
    assert all(0 <= (json.loads(answer) if isinstance(answer, str) else answer)["age"] <= 9
               for answer in answers)
    assert all("temperature: must be" in result["error"] for result in found["refused"])
