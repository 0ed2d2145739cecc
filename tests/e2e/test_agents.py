"""What coding agents and proxies rely on: the words of errors, the first bytes of a stream."""
import json
import re

import pytest

FLEET = dict(gateway_args=["--chat-template", "chatml"])
# Agents shorten a conversation when an error's text matches one of their patterns.
PATTERNS = {
    "Anthropic's clients": r"prompt is too long: (\d+) tokens > (\d+) maximum",
    "Claude Code": r"prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)",
    "pi": r"maximum context length is \d+ tokens",
    "pi, of llama.cpp": r"exceeds the available context size",
    "pi, of Groq": r"reduce the length of the messages",
    "pi, of others": r"context[_ ]length[_ ]exceeded",
    "OpenClaw": r"maximum context length",
    "maki": r"exceeds the available context size",
    "OpenCode": r"context_length_exceeded",
    "Codex": r"context_length_exceeded",
    "Cline": r"\bmaximum\s*context\b",
    "Cline, of OpenRouter": r"\bcontext\s*(?:length|window)\b",
    "OpenHands": r"prompt is too long",
    "LangChain": r"maximum context length",
    "LiteLLM": r"model's maximum context length|maximum context length is",
    "VS Code, of llama.cpp": r"request \((\d+) tokens\)",
    "VS Code, its size": r"context size \((\d+) tokens\)",
}
WORDS = "the fox " * 1000
SAY = [{"role": "user", "content": WORDS}]
OVERLONG = {
    "/v1/chat/completions": {"messages": SAY},
    "/v1/completions": {"prompt": WORDS},
    "/v1/responses": {"input": WORDS},
    "/v1/messages": {"messages": SAY, "max_tokens": 1},
    "/api/chat": {"model": "tale", "messages": SAY, "truncate": False},
    "/api/generate": {"model": "tale", "prompt": WORDS, "truncate": False},
    "/completion": {"prompt": WORDS},
    "/generate": {"prompt": WORDS},
    "/generate_stream": {"inputs": WORDS},
    "/v1/embeddings": {"input": WORDS},
    "/embedding": {"content": WORDS},
}


def error_of(answer):
    error = answer["error"]
    return {**answer, "message": error} if isinstance(error, str) else error


@pytest.mark.parametrize("path", OVERLONG)
def test_agents_see_that_a_prompt_is_too_long(fleet, path):
    stream = {} if path.startswith("/generate") or "embedding" in path else {"stream": True}
    status, answer, _ = fleet.request("POST", path, {**OVERLONG[path], **stream})
    error = error_of(answer)
    assert status == 400 and error["code"] == "context_length_exceeded", answer
    for agent, pattern in PATTERNS.items():
        assert re.search(pattern, error["message"], re.IGNORECASE), (agent, error["message"])
    n_prompt, n_most = map(int, re.search(PATTERNS["Claude Code"], error["message"]).groups())
    assert (error["n_prompt_tokens"], error["n_ctx"]) == (n_prompt, n_most)
    assert n_most == 512 and 2000 <= n_prompt <= 2100
    if path in ("/completion", "/embedding"):
        assert error["type"] == "exceed_context_size_error"


def test_a_length_is_counted_exactly_up_to_a_bound(fleet):
    def n_tokens(prompt):
        return error_of(fleet.request("POST", "/v1/completions", {"prompt": prompt})[1])[
            "n_prompt_tokens"]

    assert n_tokens([5] * 513) == 513 and n_tokens([5] * 512) == 512
    text = "a fox " * 5000
    count = fleet.request("POST", "/tokenize", {"text": text})[1]["count"]
    assert n_tokens(text) == count
    assert n_tokens("1 " * 200_000) == 4 * 512 + 65536 + 1


def test_an_output_that_does_not_fit_is_told_with_its_sum(fleet):
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": [5] * 12,
                                                            "max_new_tokens": 501})
    message = answer["error"]["message"]
    assert status == 400 and "exceed context limit: 12 + 501 > 512" in message, message
    assert answer["error"]["param"] == "max_new_tokens"
    assert (answer["error"]["n_prompt_tokens"], answer["error"]["n_ctx"]) == (12, 512)
