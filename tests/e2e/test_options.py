"""Every numeric option works at both ends of its range, or refuses as documented."""
import http.client
import re
from pathlib import Path

import pytest

from fleet import BIN, Fleet, wait_for
from programs import run

ROLES = ("gateway", "prefill", "decode")
LEAST, MOST = 0, 1
# 64 bytes at most, as the least max-body-bytes is.
BODY = '{"prompt":"Once upon","max_new_tokens":6,"temperature":0}'
# These ends do not work: the words of the refusal to start, or of the answer.
CONTEXT = "context: must be in 1..512, which the model knows, not 16777216"
MEMORY = "MiB of memory are left"
REFUSED = {
    ("gateway", "context-tokens", MOST): CONTEXT,
    ("prefill", "context-tokens", MOST): CONTEXT,
    ("decode", "context-tokens", MOST): CONTEXT,
    ("prefill", "kv-tokens", MOST): MEMORY,
    ("prefill", "kv-bytes", MOST): MEMORY,
    ("decode", "kv-tokens", MOST): MEMORY,
    ("decode", "kv-bytes", MOST): MEMORY,
    ("gateway", "max-queued-tokens",
     LEAST): "2 prompt tokens exceed the whole queue: 1024 with 1",
}
# Zero is six of the process's own heartbeats: with the least of those, peers that beat as usual
# are always silent.
APART = {(role, "silence-s", LEAST) for role in ROLES}
# Another process of this machine may have that port.
NOT_TRIED = {("gateway", "port", MOST)}


def numeric_options(role):
    """{name: (least, most)}, of the process's own table as --help shows it."""
    text = run(BIN / f"baton-{role}", "--help", check=True).stdout
    rows = re.findall(r"^  --([a-z-]+) +(?:INT|NUMBER) .*\((-?[0-9.e+]+)\.\.([0-9.e+]+)[^()]*\) \[",
                      text, re.M)
    assert rows and len(rows) == len(re.findall(r"^  --[a-z-]+ +(?:INT|NUMBER) ", text, re.M)), text
    return {name: ends for name, *ends in rows}


class Patient(Fleet):
    """Asks again when a limit of milliseconds was over because a machine is busy."""

    def request(self, *args, **kwargs):
        def answer():
            try:
                found = super(Patient, self).request(*args, **kwargs)
            except (OSError, http.client.HTTPException):
                assert self.gateway.popen.poll() is None, self.gateway.tail()
                return None
            # 503: a worker that stood still is joining again.
            return found if found[0] not in (408, 503) else None
        return wait_for(answer, "an answer that is not late")


def serve(role, options):
    """The answer of a fleet whose `role` has these options: a text, or an error's message."""
    flags = [argument for name, value in options.items() for argument in (f"--{name}", value)]
    with Patient(**{"gateway_args" if role == "gateway" else f"{role}_args": flags}) as fleet:
        status, answer, _ = fleet.request("POST", "/generate", BODY)
        return answer["generated_text"] if status == 200 else answer["error"]["message"]


def outcome(role, options):
    try:
        return serve(role, options)
    except AssertionError as error:
        return str(error)


@pytest.fixture(scope="module")
def right():
    return serve("gateway", {})


@pytest.mark.parametrize("end", [LEAST, MOST], ids=["least", "most"])
@pytest.mark.parametrize("role", ROLES)
def test_every_option_works_at_both_ends(role, end, right):
    """All at once, and one by one to find out which it was."""
    options = {name: ends[end] for name, ends in numeric_options(role).items()
               if (role, name, end) not in {*REFUSED, *APART, *NOT_TRIED}}
    found = outcome(role, options)
    if found != right:
        alone = {name: outcome(role, {name: value}) for name, value in options.items()}
        raise AssertionError({name: text for name, text in alone.items() if text != right} or found)


@pytest.mark.parametrize("role, name, end", REFUSED)
def test_what_cannot_be_had_is_refused_by_name(role, name, end):
    said = outcome(role, {name: numeric_options(role)[name][end]})
    assert REFUSED[role, name, end] in said


@pytest.mark.parametrize("role, name, end", sorted(APART))
def test_what_depends_on_others_works_alone(role, name, end, right):
    assert outcome(role, {name: numeric_options(role)[name][end]}) == right


def resident_kib(process):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1])


def test_a_chunk_larger_than_the_kv_cache_costs_no_memory():
    most = numeric_options("prefill")["chunk"][MOST]
    with Fleet(prefill=2, decode=0, prefill_args=["--kv-tokens", 512]) as fleet:
        fleet.start_worker("prefill", "prefill-2", ["--chunk", most])
        fleet.wait_ready(3)
        usual, large = (resident_kib(fleet.workers[name]) for name in ("prefill-0", "prefill-2"))
        assert large < usual + (128 << 10)
