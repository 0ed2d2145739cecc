"""Clients: each asks once, reads as its nature is, and holds what it got against what the request gives in peace."""
import http.client
import json
import threading
import time

from fleet import SLOW, abandon, read_events

N_AT_ONCE = 8
# What a client may be told when faults are about. Anything else is a failure of the run.
FRAMED = {"worker_failed", "no_worker", "deadline_exceeded", "too_late", "queue_full", "draining", "overloaded",
          "too_many_connections", "not_ready", "out_of_memory"}


class Clock:
    """Counts what clients read. Whoever waits for a count wakes when it is reached, or nothing moves any more."""

    def __init__(self):
        self.count, self.over, self.changed = 0, False, threading.Condition()

    def tick(self):
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def end(self):
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def wait(self, count, still_s=2):
        """False: the clients are through, or stand still."""
        with self.changed:
            while self.count < count and not self.over:
                before = self.count
                if not self.changed.wait(still_s * SLOW) and self.count == before:
                    return False
            return not self.over


def canonical(path, answer):
    """What of an answer is the same whoever served it."""
    if path == "/v1/completions":
        choices = sorted(answer["choices"], key=lambda choice: choice["index"])
        return [[choice["text"], choice["finish_reason"], choice["logprobs"]] for choice in choices]
    results = answer.get("results", [answer])
    return [[result["generated_text"], result["output_tokens"], result["finish_reason"]] for result in results]


class Answer:
    """How a request ended: "exact", "wrong", "left", "cut", "refused" or "error:<code>"."""

    def __init__(self, outcome, told=None, gap_s=0.0, detail=""):
        self.outcome, self.told, self.gap_s, self.detail = outcome, told, gap_s, detail


def failure(data):
    try:
        return "error:" + json.loads(data)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return "unframed"


def read_stream(request, connection, response, clock):
    """(outcome, told or the text so far, the longest pause between two events)"""
    text, last, gap_s, heard = "", None, 0.0, None
    for n, last in enumerate(read_events(response)):
        now = time.monotonic()
        gap_s, heard = max(gap_s, now - heard if heard else 0), now
        clock.tick()
        if last.name == "token":
            text += last.data
        if request["client"] == "leaves" and n >= request["leaves_after"]:
            abandon(connection, response)
            return "left", text, gap_s
        if request["client"] == "slow":
            clock.wait(clock.count + 3, 0.02)
    if last is not None and last.name == "summary":
        summary = last.json()
        return "whole", [[text, summary["output_tokens"], summary["finish_reason"]]], gap_s
    return (failure(last.data) if last is not None and last.name == "error" else "cut"), text, gap_s


def ask(host, port, request, clock):
    """(outcome, told, gap_s)"""
    connection = http.client.HTTPConnection(host, port, timeout=300 * SLOW)
    try:
        connection.request("POST", request["path"], json.dumps(request["body"]), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return failure(response.read()), "", 0.0
        if request["path"].endswith("/stream"):
            return read_stream(request, connection, response, clock)
        answer = json.loads(response.read())
        clock.tick()
        return "whole", canonical(request["path"], answer), 0.0
    except ConnectionRefusedError:
        return "refused", "", 0.0
    except TimeoutError:
        return "hung", "", 0.0
    except (OSError, http.client.HTTPException, ValueError):
        return "cut", "", 0.0
    finally:
        connection.close()


def judge(request, expected, outcome, told, gap_s):
    if outcome == "whole":
        right = told == expected
        return Answer("exact" if right else "wrong", told, gap_s, "" if right else f"{told!r} is not {expected!r}")
    if isinstance(told, str) and told and not expected[0][0].startswith(told):
        return Answer("wrong", told, gap_s, f"{told!r} does not begin {expected[0][0]!r}")
    return Answer(outcome, told, gap_s)


def run_all(requests, addresses, clock, expected=None):
    """Asks all, some at a time, in order; their Answers, or what they are told when nothing is expected."""
    answers, lock, rest = [None] * len(requests), threading.Lock(), iter(range(len(requests)))

    def work():
        while True:
            with lock:
                i = next(rest, None)
            if i is None:
                return
            got = ask(*addresses[requests[i]["gateway"] % len(addresses)], requests[i], clock)
            answers[i] = judge(requests[i], expected[i], *got) if expected else got
    threads = [threading.Thread(target=work) for _ in range(N_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.end()
    return answers
