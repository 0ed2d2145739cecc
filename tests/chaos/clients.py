"""Clients ask once, read in their own way, and compare what they get with the answer in peace."""
import http.client
import json
import threading
import time

import kinds
from fleet import SLOW, abandon, read_events

N_AT_ONCE = 8
# The errors a client may get under faults. Any other one fails the run.
FRAMED = {"worker_failed", "no_worker", "deadline_exceeded", "too_late", "queue_full", "draining",
          "overloaded", "too_many_connections", "not_ready", "out_of_memory"}


class Clock:
    """Counts what clients read. A waiter wakes at the count, or when nothing moves any more."""

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


class Answer:
    """The end of a request: "exact", "wrong", "left", "cut", "refused" or "error:<code>";
    "whole" before it is judged."""

    def __init__(self, outcome, essence=None, texts=None, gap_s=0.0):
        self.outcome, self.essence, self.texts, self.gap_s = outcome, essence, texts or {}, gap_s
        self.migrations, self.migration_gap_s, self.detail = 0, 0.0, ""

    def note_migrations(self, told):
        """Finds the migrations in any shape of answer."""
        if isinstance(told, list):
            for part in told:
                self.note_migrations(part)
        if isinstance(told, dict):
            self.migrations += told.get("migrations", 0)
            self.migration_gap_s = max(self.migration_gap_s, told.get("migration_gap_s", 0))
            for part in told.values():
                self.note_migrations(part)
        return self

    def judge(self, request, expected):
        if self.outcome == "whole":
            self.outcome = "exact" if self.essence == expected.essence else "wrong"
        elif any(not expected.texts.get(choice, "").startswith(text)
                 for choice, text in self.texts.items()):
            self.outcome = "wrong"
        if self.outcome == "wrong":
            self.detail = (f"{self.essence or self.texts!r} is not, or does not begin, "
                           f"{expected.essence!r}")
        return self


def failed(data, **read):
    """The Answer that an error is; its detail is what the client was told."""
    try:
        error = json.loads(data)["error"]
        answer = Answer("error:" + error["code"], **read)
        answer.detail = error["message"]
    except (ValueError, KeyError, TypeError):
        answer = Answer("unframed", **read)
    return answer


def is_end(event):
    return event.name == "summary" or event.data == "[DONE]"


def read_stream(request, connection, response, clock):
    events, gap_s, heard, path = [], 0.0, None, request["path"]
    for event in read_events(response):
        events.append(event)
        now = time.monotonic()
        gap_s, heard = max(gap_s, now - heard if heard else 0), now
        clock.tick()
        if request["client"] == "leaves" and len(events) > request["leaves_after"]:
            abandon(connection, response)
            return Answer("left", texts=kinds.texts(path, events), gap_s=gap_s)
        if request["client"] == "slow":
            clock.wait(clock.count + 3, 0.02)
    texts = kinds.texts(path, events)
    if not events or not is_end(events[-1]):
        is_told = events and (events[-1].name == "error" or '"error"' in events[-1].data[:10])
        read = {"texts": texts, "gap_s": gap_s}
        return failed(events[-1].data, **read) if is_told else Answer("cut", **read)
    answer = Answer("whole", kinds.of_stream(path, events), texts, gap_s)
    return answer.note_migrations([event.json() for event in events if event.data.startswith("{")
                                   and event.name != "token"])


def ask(host, port, request, clock):
    """An Answer that is not judged yet."""
    connection = http.client.HTTPConnection(host, port, timeout=300 * SLOW)
    try:
        connection.request("POST", request["path"], json.dumps(request["body"]),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return failed(response.read())
        if kinds.is_stream(request["path"], request["body"]):
            return read_stream(request, connection, response, clock)
        answer = json.loads(response.read())
        clock.tick()
        return Answer("whole", kinds.essence(answer)).note_migrations(answer)
    except ConnectionRefusedError:
        return Answer("refused")
    except TimeoutError:
        return Answer("hung")
    except (OSError, http.client.HTTPException, ValueError):
        return Answer("cut")
    finally:
        connection.close()


def run_all(requests, addresses, clock, expected=None):
    """Asks all, some at a time, in order; their Answers, judged if something is expected."""
    answers, lock, rest = [None] * len(requests), threading.Lock(), iter(range(len(requests)))

    def work():
        while True:
            with lock:
                i = next(rest, None)
            if i is None:
                return
            answers[i] = ask(*addresses[requests[i]["gateway"] % len(addresses)], requests[i],
                             clock)
            if expected:
                answers[i].judge(requests[i], expected[i])
    threads = [threading.Thread(target=work) for _ in range(N_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.end()
    return answers
