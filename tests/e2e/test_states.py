"""Prompts of models whose layers keep a state begin where one was saved: at the ends of turns and
of the system prompt, and every so many tokens. The answers are those of prompts computed whole."""
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from fleet import ROOT, Fleet, wait_for
from test_migration import with_context

TEMPLATES = ROOT / "tests/fixtures/chat_templates"
BLOCK = 16
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks around.",
                                           "parameters": {"type": "object", "properties": {}}}}]
SYSTEM = {"role": "system", "content": "Answer with a tale of the forest. " * 6}


def fleet_of(tmp_path, template="reasoning_is_dropped.jinja", name="qwen35", **more):
    path = str(TEMPLATES / template) if template.endswith(".jinja") else template
    args = {"worker_args": ["--kv-tokens", 16384], **more}
    args["gateway_args"] = ["--chat-template", path, "--prefill-policy", "prefix-aware",
                            *more.get("gateway_args", [])]
    return Fleet(model=with_context("../hybrids/" + name, 4096, tmp_path), **args)


def n_tokens(fleet, text):
    return len(fleet.post("/tokenize", {"content": text})["tokens"])


def slack_of(fleet):
    """A prompt may begin so much before a turn's end: what opened the answer, and a block's rest.
    Tokenizers without tokens for the ends of turns have more for what opens it."""
    return BLOCK - 1 + n_tokens(fleet, "<|im_start|>assistant\n<think>\n")


def n_of_user(fleet, text):
    return n_tokens(fleet, f"<|im_start|>user\n{text}<|im_end|>\n")


def ask(fleet, messages, **more):
    answer = fleet.post("/v1/chat/completions",
                        {"messages": messages, "max_tokens": 24, "temperature": 0, **more})
    message = answer["choices"][0]["message"]
    usage = answer["usage"]
    return {"content": (message.get("reasoning_content") or "") + (message["content"] or ""),
            "said": message["content"] or "", "prompt": usage["prompt_tokens"],
            "cached": usage["prompt_tokens_details"]["cached_tokens"]}


def user(text):
    return {"role": "user", "content": text}


def words(rng, n):
    return " ".join(rng.choice(["fox", "tree", "dark", "river", "and", "who", "went"])
                    for _ in range(n))


@pytest.mark.parametrize("name, template, tools", [
    ("qwen35", "reasoning_is_dropped.jinja", None), ("qwen35", "chatml", None),
    ("qwen35", "reasoning_is_dropped.jinja", TOOLS), ("lfm2", "chatml", TOOLS),
    ("granitehybrid", "reasoning_is_dropped.jinja", TOOLS),
    ("nemotron-h-moe", "reasoning_is_dropped.jinja", None)])
def test_each_turn_of_a_conversation_computes_only_what_is_new(name, template, tools, tmp_path):
    """The gateway knows which of two workers has its states."""
    rng, messages, before = random.Random(5), [SYSTEM], 0
    more = {"tools": tools} if tools else {}
    with fleet_of(tmp_path, template, name, prefill=2) as fleet:
        slack = slack_of(fleet)
        for turn in range(20 if name == "qwen35" else 10):
            messages.append(user(words(rng, 12)))
            answer = ask(fleet, messages, **more)
            assert answer["cached"] >= before - slack, (turn, answer, before)
            if turn % 5 == 4:
                whole = ask(fleet, messages, cache_prompt=False, **more)
                assert (whole["cached"], whole["content"]) == (0, answer["content"])
            before = answer["prompt"]
            messages.append({"role": "assistant",
                             "content": f"<think>Hm, {words(rng, 9)}.</think>{answer['said']}."})
        # Another last message: all before it is there.
        before -= n_of_user(fleet, messages[-2]["content"])
        messages[-2]["content"] = "Another one?"
        assert ask(fleet, messages[:-1], **more)["cached"] >= before - slack
        wait_for(lambda: any(worker["kv_states_cached"] for worker in fleet.fleet()),
                 "saved states")


@pytest.mark.parametrize("name", ("qwen35", "granitehybrid"))
def test_users_share_the_state_behind_system_prompt_and_tools(name, tmp_path):
    with fleet_of(tmp_path, name=name) as fleet:
        first = ask(fleet, [SYSTEM, user("Who was the fox?")], tools=TOOLS)
        second = ask(fleet, [SYSTEM, user("Is a river there?")], tools=TOOLS)
        before = second["prompt"] - n_of_user(fleet, "Is a river there?")
        assert first["cached"] == 0 and second["cached"] >= before - slack_of(fleet)
        whole = ask(fleet, [SYSTEM, user("Is a river there?")], tools=TOOLS, cache_prompt=False)
        assert whole["content"] == second["content"]


@pytest.mark.parametrize("name", ("qwen35", "lfm2"))
def test_the_answer_tells_why_a_prompt_began_before_its_blocks(name, tmp_path):
    rng = random.Random(3)
    first = [rng.randrange(256) for _ in range(400)]
    n_common = 155
    with fleet_of(tmp_path, name=name) as fleet:
        whole = fleet.generate(prompt=first, max_new_tokens=2, temperature=0)
        again = fleet.generate(prompt=first, max_new_tokens=2, temperature=0)
        assert (whole["cached_tokens"], whole["cache_note"]) == (0, "")
        assert (again["cached_tokens"], again["cache_note"]) == (384, "")
        assert again["text"] == whole["text"]
        # The decode worker has K and V of the blocks before the last one, and gets the state.
        assert 0 < again["handoff"]["bytes"] < whole["handoff"]["bytes"]
        other = first[:n_common] + [rng.randrange(256) for _ in range(200)]
        answer = fleet.generate(prompt=other, max_new_tokens=2)
        cached, n_there = answer["cached_tokens"], n_common // BLOCK * BLOCK
        assert cached < n_there  # the second has no border there
        assert answer["cache_note"] == (f"blocks of {n_there} tokens were there, no state was "
                                        f"saved after {cached}: the prompt began at {cached}")
        for worker in fleet.fleet():
            assert worker["kv_limit"] in ("blocks", "states")
            assert worker["kv_tokens"] <= worker["kv_blocks_total"] * BLOCK
        held = fleet.hold(1)
        account = {worker["id"]: worker for worker in fleet.kv()}
        [owner] = account["decode-0"]["owners"]
        assert owner["states"] == 2 and owner["age_s"] >= 0
        saved = account["prefill-0"]
        assert saved["cached_states"] >= 2 and saved["oldest_cached_state_s"] > 0
        assert saved["states"] == saved["free_states"] + saved["cached_states"] + sum(
            owner["states"] for owner in saved["owners"])
        held[0].abandon()
        fleet.wait_all_free()


@pytest.mark.parametrize("name", ("qwen35", "nemotron-h-moe"))
def test_few_states_and_many_conversations_change_no_answer(name, tmp_path):
    """States are evicted all the time, some of them between the hit and its use."""
    def talk(i):
        rng, messages, answers = random.Random(i % 4), [SYSTEM], []
        for _ in range(4):
            messages.append(user(words(rng, 20)))
            answers.append((list(messages), ask(fleet, messages)["content"]))
            messages.append({"role": "assistant", "content": words(rng, 5)})
        return answers

    with fleet_of(tmp_path, name=name, worker_args=["--kv-bytes", 1 << 20]) as fleet:
        with ThreadPoolExecutor(6) as pool:
            talks = list(pool.map(talk, range(8)))
        for messages, content in talks[0] + talks[3]:
            assert ask(fleet, messages, cache_prompt=False)["content"] == content
        assert talks[:4] == talks[4:]


@pytest.mark.parametrize("name", ("qwen35", "granitehybrid"))
def test_a_conversation_goes_on_after_its_worker_is_killed(name, tmp_path):
    rng, messages = random.Random(7), [SYSTEM]
    with fleet_of(tmp_path, name=name) as fleet:
        for turn in range(6):
            messages.append(user(words(rng, 12)))
            if turn == 3:  # its states are gone
                fleet.workers["prefill-0"].kill()
                fleet.start_worker("prefill", "prefill-1", args=["--kv-tokens", 16384])
                fleet.wait_worker("prefill-1")
            answer = ask(fleet, messages)
            assert (answer["cached"] > 0) == (turn not in (0, 3))
            whole = ask(fleet, messages, cache_prompt=False)
            assert whole["content"] == answer["content"]
            messages.append({"role": "assistant", "content": answer["said"]})
        wait_for(lambda: fleet.worker("prefill-1")["kv_states_cached"] > 0, "saved states")


def complete(fleet, prompt, n, **more):
    answer = fleet.post("/completion", {"prompt": prompt, "n_predict": n, "temperature": 0,
                                        "ignore_eos": True, "return_tokens": True, **more})
    return answer["tokens"], answer["timings"]["cache_n"]


@pytest.mark.parametrize("name", ("qwen35", "granitehybrid", "lfm2", "../models/llama",
                                  "../models/gemma3", "../models/deepseek-v2-lite"))
def test_a_decode_worker_begins_the_next_turn_behind_its_own_answer(name, tmp_path):
    """It computes prompts itself. Of an answer it keeps a state every 64 tokens."""
    rng, before, n = random.Random(2), 0, 130

    def said(n):
        return [rng.randrange(3, 256) for _ in range(n)]

    prompt = said(50)
    with fleet_of(tmp_path, "chatml", name, prefill=0,
                  gateway_args=["--colocated-prefill-tokens", 4096]) as fleet:
        fleet.wait_worker("decode-0")
        kept = 64 if fleet.worker("decode-0")["kv_states_total"] else 0
        for turn in range(4):
            tokens, n_cached = complete(fleet, prompt, n)
            whole = complete(fleet, prompt, n, cache_prompt=False)
            assert (tokens, 0) == whole
            assert before - kept - BLOCK < n_cached + 1 <= len(prompt)
            before = len(prompt) + n  # of which the last was never computed
            prompt = prompt + tokens + said(9)


@pytest.mark.parametrize("name", ("qwen35", "../models/llama"))
def test_an_answer_does_not_travel_again_with_the_next_turn(name, tmp_path):
    """The prefill worker computes it again, and the decode worker has its K and V."""
    with fleet_of(tmp_path, "chatml", name) as fleet:
        prompt = [3 + i % 250 for i in range(40)]
        first = fleet.generate(prompt=prompt, max_new_tokens=100, temperature=0, ignore_eos=True)
        tokens, _ = complete(fleet, prompt, 100)
        both = prompt + tokens + [7] * 9
        second = fleet.generate(prompt=both, max_new_tokens=2, temperature=0)
        # Of 40 tokens three blocks travel; of 149 two, behind 8 that are there.
        assert second["handoff"]["bytes"] < first["handoff"]["bytes"]
        whole = fleet.generate(prompt=both, max_new_tokens=2, temperature=0, cache_prompt=False)
        assert whole["text"] == second["text"]
