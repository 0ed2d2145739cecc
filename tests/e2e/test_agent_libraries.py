"""Agents from npm as their users run them: a call of a tool, its result, and the answer."""
import json
import re
import shutil

import pytest
from conftest import KEY, TEMPLATE
from fleet import ROOT, Fleet
from javascript import Client

CONTEXT = 8192
CALM, _, _ = TEMPLATE.partition("{% if enable_thinking %}")  # answers begin at once


@pytest.fixture(scope="module")
def agents():
    return Client("agents")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Of a model whose context holds an agent's tools, called in Hermes' format."""
    model = tmp_path_factory.mktemp("models") / "llama"
    shutil.copytree(ROOT / "tests/fixtures/models/llama", model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": CONTEXT}))
    (model / "chat_template.jinja").write_text(CALM)
    with Fleet(model=model) as started:
        yield started
        started.wait_all_free()


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    template = tmp_path_factory.mktemp("template") / "tools.jinja"
    template.write_text(CALM)
    with Fleet(gateway_args=["--chat-template", template]) as started:
        yield started
        started.wait_all_free()


def test_pi_reads_a_file_by_its_tool_and_answers(agents, fleet, tmp_path):
    home = tmp_path / "agent"
    home.mkdir()
    (tmp_path / "note.txt").write_text("The fox sleeps.\n")
    (home / "models.json").write_text(json.dumps({"providers": {"baton": {
        "baseUrl": f"http://127.0.0.1:{fleet.port}/v1", "api": "openai-completions",
        "apiKey": KEY, "models": [{"id": "llama", "contextWindow": CONTEXT, "maxTokens": 400}]}}}))
    call = '<tool_call>{"name": "read", "arguments": {"path": "note.txt"}}</tool_call>'
    told = agents.run(
        agents.node, agents.dir / "node_modules/.bin/pi", "--provider", "baton", "--model", "llama",
        "--mode", "json", "--print", "--no-session", "--no-extensions", "--no-skills",
        "--no-prompt-templates", "--no-context-files", "--no-mcp", "--tools", "read",
        "--system-prompt", "Be brief.", "--extension", agents.dir / "call_once.mjs",
        "What does note.txt say?", cwd=tmp_path, PI_CODING_AGENT_DIR=home, PI_OFFLINE="1",
        CALL=re.escape(call), ANSWER="It sleeps\\.")
    events = [json.loads(line) for line in told.splitlines()]
    [result] = [event for event in events if event["type"] == "tool_execution_end"]
    assert "The fox sleeps." in json.dumps(result["result"]) and not result["isError"]
    turns = [event["message"] for event in events if event["type"] == "turn_end"]
    assert [turn["stopReason"] for turn in turns] == ["toolUse", "stop"]
    assert turns[1]["content"] == [{"type": "text", "text": "It sleeps."}]
    assert turns[1]["usage"]["cacheRead"] > turns[1]["usage"]["input"]  # the first turn's prompt


@pytest.mark.parametrize("name", ["openai_agents", "mastra", "mistral"])
def test_the_library_is_served(agents, calm, name):
    agents.drive(calm, f"{name}.test.mjs")
