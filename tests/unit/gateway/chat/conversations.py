#!/usr/bin/python3
"""Random conversations through chat templates: each marker word comes out once, in order.

    CHAT_RENDER=build/release/bin/chat_render conversations.py [--count N] [--seed N] DIR...

renders N conversations with each template (*.jinja) of the folders and prints what goes wrong.
Jinja2 renders what the template was given a second time, and must write the same.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "jinja"))
from jinja2_oracle import expected  # noqa: E402

MARKER = re.compile(r"w\d{6}w")


class Ours:
    """The program chat_render, one conversation a line."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["CHAT_RENDER"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __call__(self, job):
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


class Words:
    """Marker words."""

    def __init__(self, rng):
        self.rng, self.n = rng, 0

    def word(self):
        self.n += 1
        return f"w{self.n:06d}w"

    def text(self):
        shapes = ["{}", " {} ", "{}\n", "Say {} now.", "\"{}\" & <b>", "\u00e9\n\n{}\u3000",
                  "{{{{ {} }}}}"]
        return self.rng.choice(shapes).format(self.word())

    def content(self):
        if self.rng.random() < .6:
            return self.text()
        return [{"type": "text", "text": self.text()} for _ in range(self.rng.randint(1, 3))]


def call_of(words, rng, identity):
    arguments = {"key": words.word()} if rng.random() < .8 else {}
    call = {"type": "function",
            "function": {"name": rng.choice(["look_up", "run"]),
                         "arguments": rng.choice([json.dumps, lambda x: x])(arguments)}}
    return call if identity is None else {"id": identity, **call}


def add_calls(messages, words, rng):
    """A message with calls, and results of most of them."""
    kind = rng.choice(["call_", "toolu_01", "chatcmpl-tool-", "", None])
    ids = [None if kind is None else f"{kind}{rng.randrange(10 ** 8, 10 ** 9)}"
           for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    content = words.content() if rng.random() < .4 else rng.choice([None, ""])
    messages.append({"role": "assistant", "content": content,
                     "tool_calls": [call_of(words, rng, identity) for identity in ids]})
    for identity in ids:
        if rng.random() < .9:
            result = {"role": "tool", "content": words.content()}
            if identity is not None:
                result["tool_call_id"] = identity
            messages.append(result)


def conversation(rng, tame):
    """Messages. Tame ones have the order of an agent's."""
    words, messages = Words(rng), []
    for _ in range(rng.choice([0, 1, 1, 2] if not tame else [0, 1])):
        messages.append({"role": rng.choice(["system", "system", "developer"]),
                         "content": words.content()})
    turns = rng.randint(1, 4)
    for turn in range(turns):
        if tame or rng.random() < .85:
            messages.append({"role": "user", "content": words.content()})
        if not tame and rng.random() < .2:
            messages.append({"role": rng.choice(["user", "system", "developer", "assistant"]),
                             "content": words.content()})
        while rng.random() < .35:
            add_calls(messages, words, rng)
        if not tame and rng.random() < .05:
            messages.append({"role": "tool", "content": words.content(), "tool_call_id": "lost"})
        if turn < turns - 1 and (tame or rng.random() < .85):
            messages.append({"role": "assistant", "content": words.content()})
    return messages or [{"role": "user", "content": words.content()}]


def places_of(messages):
    """Each marker word's place in the order. Systems at the head may stand anywhere, and so may
    several calls of one message, each of which may be followed by its result."""
    places, is_head = {}, True
    for i, message in enumerate(messages):
        is_head = is_head and message["role"] in ("system", "developer")
        calls = message.get("tool_calls", [])
        for word in MARKER.findall(json.dumps(message["content"])):
            places[word] = -1 if is_head else i
        for word in MARKER.findall(json.dumps(calls)):
            places[word] = i if len(calls) == 1 else -1
    return places


def tools_of(rng):
    key = rng.choice([{"type": "string"}, {"type": "string", "description": "A key."}, {},
                      {"type": ["string", "null"]}, {"enum": ["a", "b"]},
                      {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                      {"type": "array", "items": {"type": "string"}}])
    parameters = {"type": "object", "properties": {"key": key}}
    more = rng.choice([{"description": "Looks up.", "parameters": parameters}, {},
                       {"description": "Looks up."}, {"parameters": parameters},
                       {"description": None, "parameters": None},
                       {"description": "", "parameters": {}}])
    return [{"type": "function", "function": {"name": "look_up", **more}}]


def wrong_words(text, places):
    """What is wrong with the words of a text: "" if each is there once, in order."""
    met = MARKER.findall(text)
    if set(met) != set(places):
        return "lost"
    if len(met) > len(places):
        return "doubled"
    order = [places[word] for word in met if places[word] >= 0]
    return "" if order == sorted(order) else "disordered"


def reference(source, messages, tools):
    """What Jinja2 writes: (text, None) or (None, reason)."""
    return expected(source, {"messages": messages, "tools": tools, "documents": None,
                             "add_generation_prompt": True, "bos_token": "<s>",
                             "eos_token": "</s>"})


def judge(ours, job, source):
    """(what is wrong or "", the answer). A template that cannot write even two questions and an
    answer in Jinja2 may refuse."""
    answer = ours(job)
    if "error" in answer:
        plain = [{"role": role, "content": "word"} for role in ("user", "assistant", "user")]
        return "refused" if reference(source, plain, job["tools"])[0] else "none", answer
    wrong = wrong_words(answer["text"], places_of(job["messages"]))
    if not wrong:
        messages = [{"role": m["role"], "content": m.get("content"), **m}
                    for m in answer["messages"]]
        text, reason = reference(source, messages, answer["tools"])
        wrong = "" if text == answer["text"] else f"unlike Jinja2: {reason}"
    return wrong, answer


def check_template(ours, path, count, seed):
    """Renders count conversations. Returns a counter of what is wrong, and the first of each."""
    source = path.read_text()
    rng, wrongs, firsts = random.Random(seed), collections.Counter(), {}
    for i in range(count):
        job = {"messages": conversation(rng, tame=i % 2 == 0),
               "tools": tools_of(rng) if rng.random() < .5 else []}
        wrong, answer = judge(ours, {**job, "template": source} if not i else job, source)
        kind = wrong.split(":")[0]
        wrongs[kind] += 1
        if wrong and wrong != "none":
            firsts.setdefault(kind, (job, wrong, answer))
    return wrongs, firsts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the first failing input")
    options = parser.parse_args()
    total, n_templates = collections.Counter(), 0
    for path in sorted(p for folder in options.folders for p in folder.glob("*.jinja")):
        ours = Ours()
        wrongs, firsts = check_template(ours, path, options.count, options.seed)
        ours.close()
        n_templates += 1
        total += wrongs
        bad = {kind: n for kind, n in wrongs.items() if kind and kind != "none"}
        if bad:
            print(f"{path.stem}: {bad}")
        for job, wrong, answer in firsts.values() if options.show else ():
            print(f"  {wrong}: {json.dumps(job)}\n    {answer.get('error', answer.get('text'))!r}")
    n_wrong = sum(n for kind, n in total.items() if kind and kind != "none")
    print(f"{n_templates} templates, {sum(total.values())} conversations: {total['']} whole, "
          f"{total['none']} refused that Jinja2 refuses, {n_wrong} wrong")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
