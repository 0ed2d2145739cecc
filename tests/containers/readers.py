"""Clients stream a few stories again and again, and compare each with its text in peace."""
import collections
import http.client
import threading
import time

from fleet import Stream

# Longer than two blocks of the KV cache, so that the stories share what was computed for them.
BEGINNING = (
    "Once upon a time there was a little dog who lived in a big house with a girl named Ann and a "
    "boy named Tom. They liked to play in the park all day, and the dog liked to run after the red "
    "ball. One day ")
STORIES = [dict(prompt=BEGINNING + prompt, max_new_tokens=160, ignore_eos=True, **sampling)
           for prompt in ("the dog", "Ann saw", "Tom and Ann went to")
           for sampling in (dict(temperature=0), dict(temperature=0.8, seed=7))]


def read(port, story, **options):
    """(outcome, text, longest gap in seconds). options: Stream's.

    The outcome is done, an error's code, refused (before the first token; an engine that forwards
    the port may accept for nobody) or cut.
    """
    text, gap, last = "", 0.0, time.monotonic()
    try:
        stream = Stream(port, story, **options)
        if stream.status != 200:
            return f"HTTP {stream.status}", text, gap
        for event in stream.events:
            now = time.monotonic()
            last, gap = now, max(gap, now - last)
            text += event.text
            if event.name == "error":
                return f"error {event.json()['error']['code']}", text, gap
            elif event.name == "summary":
                return "done", text, gap
    except (OSError, http.client.HTTPException):
        pass
    return "cut" if text else "refused", text, gap


class Proxy:
    """Asks the gateways in turn. One that failed is asked last for some seconds."""

    def __init__(self, addresses, key):
        self.addresses, self.headers = list(addresses), {"Authorization": f"Bearer {key}"}
        self.turn, self.failed_s = 0, {}

    def order(self):
        self.turn += 1
        turned = [self.addresses[(self.turn + i) % len(self.addresses)]
                  for i in range(len(self.addresses))]
        return sorted(turned,
                      key=lambda address: time.monotonic() - self.failed_s.get(address, -9) < 5)

    def read(self, port, story):
        begun_s = time.monotonic()
        for address in self.order() * 2:
            tried_s = time.monotonic()
            outcome, text, gap = read(port, story, host=address, headers=self.headers)
            if outcome not in ("refused", "HTTP 503"):
                break
            self.failed_s[address] = time.monotonic()
        return outcome, text, gap + tried_s - begun_s


class Readers:
    """A client per story; each begins anew when it is done, until the context ends."""

    def __init__(self, port, texts, read=read):
        self.port, self.texts, self.read = port, texts, read
        self.changed = threading.Condition()
        self.outcomes, self.gaps, self.is_over, self.n_open = collections.Counter(), [], False, 0
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(len(STORIES))]

    def run(self, i):
        while not self.is_over:
            outcome, text, gap = self.read(self.port, STORIES[i])
            if not self.texts[i].startswith(text) or (outcome == "done" and text != self.texts[i]):
                outcome = "wrong"
            with self.changed:
                self.outcomes[outcome] += 1
                self.gaps.append(gap)
                self.changed.notify_all()
            if outcome == "refused":
                time.sleep(0.02)  # nobody listens: to ask at once would only burn the processor

    def wait_for_more(self, n):
        """Waits until n more have been read to the end."""
        with self.changed:
            goal = self.outcomes["done"] + n
            assert self.changed.wait_for(lambda: self.outcomes["done"] >= goal, 120), self.outcomes

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def in_peace(port, read=read):
    """The text of each story."""
    answers = [read(port, story) for story in STORIES]
    assert {outcome for outcome, _, _ in answers} == {"done"}, answers
    return [text for _, text, _ in answers]


def row(name, readers):
    others = {k: n for k, n in sorted(readers.outcomes.items()) if k != "done"}
    return (f"{name:32} {readers.outcomes['done']:5} exact, {others or 'nothing else'}, "
            f"longest gap {max(readers.gaps):.2f} s")
