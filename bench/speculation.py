#!/usr/bin/env python3
"""Sends the same requests to a running fleet with drafts and without, in turn, and compares them.

    deploy/local up --model MODEL --detach
    bench/speculation.py --url http://127.0.0.1:8000 --rounds 7

--mode draft_model needs decode workers with one (draft_pair.py makes a pair of known cost).

Three texts: the same token again and again (its logit is raised: the most that drafts can bring), a
text that the model copies from its prompt as well as it can (greedy, after its own continuation of
the same beginning), and one that it makes up (temperature 1). For each and for each number of
requests at once: output tokens per second after the first token, without and with drafts, and what
share of the drafts was right. Figures are medians over rounds, ratios are medians of the rounds'
ratios. The answers are compared: they must be equal.
"""
import argparse
import json
import statistics
import urllib.request
from concurrent.futures import ThreadPoolExecutor

BEGIN = "Once upon a time"


def texts(options):
    """{name: the body of its requests}"""
    copied = ask(options.url, {"prompt": BEGIN, "temperature": 0, "max_new_tokens": options.new,
                               "ignore_eos": True})
    return {"one word": {"prompt": BEGIN, "temperature": 0, "logit_bias": {"5": 100}},
            "copied": {"prompt": f"{copied['text']} {BEGIN}", "temperature": 0},
            "made up": {"prompt": BEGIN, "temperature": 1}}


def ask(url, body):
    request = urllib.request.Request(f"{url}/generate", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def tokens_per_s(options, body, mode, n):
    """(rate over all requests, their texts, drafted, accepted)"""
    bodies = [{**body, "seed": seed, "ignore_eos": True, "max_new_tokens": options.new,
               "speculation": {"mode": mode, "max_tokens": options.drafts}} for seed in range(n)]
    with ThreadPoolExecutor(n) as pool:
        answers = list(pool.map(lambda body: ask(options.url, body), bodies))
    rate = sum((answer["output_tokens"] - 1) / answer["token_generation_s"] for answer in answers)
    told = [answer["speculation"] for answer in answers]
    return (rate, [answer["generated_text"] for answer in answers],
            sum(each["drafted_tokens"] for each in told),
            sum(each["accepted_tokens"] for each in told))


def compare(options, body, n):
    rounds = []
    for i in range(options.rounds):
        order = ["none", options.mode][:: 1 if i % 2 else -1]
        found = {mode: tokens_per_s(options, body, mode, n) for mode in order}
        plain, drafted = found["none"], found[options.mode]
        if plain[1] != drafted[1]:
            raise SystemExit("the texts differ")
        rounds.append((plain[0], drafted[0], drafted[0] / plain[0], drafted[2], drafted[3]))
    return [statistics.median(column) for column in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--at-once", default="1,4,16", help="requests")
    parser.add_argument("--new", type=int, default=120, help="tokens of each")
    parser.add_argument("--drafts", type=int, default=8, help="max_tokens of the speculation")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mode", choices=["prompt_lookup", "draft_model"], default="prompt_lookup")
    options = parser.parse_args()
    print("| text | at once | tokens/s without | with | ratio | drafts a request | right |")
    print("|---" * 7 + "|")
    for name, body in texts(options).items():
        for n in map(int, options.at_once.split(",")):
            plain, drafted, ratio, n_drafted, n_accepted = compare(options, body, n)
            right = f"{100 * n_accepted / n_drafted:.0f} %" if n_drafted else "-"
            print(f"| {name} | {n} | {plain:.0f} | {drafted:.0f} | {ratio:.2f} "
                  f"| {n_drafted / n:.0f} | {right} |", flush=True)


if __name__ == "__main__":
    main()
