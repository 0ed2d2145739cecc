"""The hand-off figures of each context, in the answer and in /metrics."""
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fleet import SUSPICION, Fleet, wait_for
from netns import SpreadFleet

BLOCK = 16


def ids(n):
    return [5 + 7 * i % 2000 for i in range(n)]


def ask(fleet, n, **more):
    return fleet.generate(prompt=ids(n), max_new_tokens=4, temperature=0, ignore_eos=True,
                          cache_prompt=False, **more)


@pytest.fixture(scope="module", params=(("auto", "auto"), ("on", "shared"), ("off", "shared"),
                                        ("auto", "wire"), ("off", "wire")), ids="-".join)
def fleet(request):
    overlap, path = request.param
    with Fleet(prefill_args=["--overlap", overlap, "--kv-path", path],
               decode_args=["--prefix-cache", "off"]) as fleet:
        fleet.overlap, fleet.path = overlap, path
        yield fleet


def test_the_ledger_is_consistent_in_itself_and_with_the_metrics(fleet):
    before, sums = fleet.metrics(), {"bytes": 0, "chunks": 0, "crc_s": 0, "overlap_s": 0}
    first = ask(fleet, 1)["handoff"]
    block_bytes = first["bytes"]
    if fleet.path == "auto":  # the first one does not wait for the mapping
        wait_for(lambda: ask(fleet, 1)["handoff"]["path"] == "shared", "the pool to be mapped")
        before = fleet.metrics()
        ask(fleet, 1)
    answers = [ask(fleet, n, timeline=True) for n in (1, 16, 17, 200, 500)]
    for n, answer in zip((1, 16, 17, 200, 500), answers):
        handoff = answer["handoff"]
        stages = {s["name"]: s["duration_s"] for s in answer["timeline"]["stages"]}
        assert handoff["bytes"] == (n + BLOCK - 1) // BLOCK * block_bytes
        assert 0 <= stages["kv_transfer"] <= answer["e2el_s"] and handoff["transfer_s"] > 0
        assert handoff["gb_per_s"] == pytest.approx(handoff["bytes"] / handoff["transfer_s"] / 1e9,
                                                    rel=1e-6)
        assert 0 < handoff["crc_s"] < handoff["transfer_s"]
        assert handoff["path"] == ("wire" if fleet.path == "wire" else "shared")
        assert 0 <= handoff["overlap_share"] <= 1 and handoff["exposed_s"] >= 0
        overlap_s = handoff["overlap_share"] * handoff["transfer_s"]
        assert handoff["overlap_s"] == pytest.approx(overlap_s, rel=1e-6)
        for key in sums:
            sums[key] += handoff[key]
    after = fleet.metrics()

    def gained(name):
        return after[name] - before[name]
    assert gained("baton_kv_transfer_bytes_total") == sums["bytes"] + block_bytes
    assert gained("baton_kv_transfer_shared_bytes_total") == (
        0 if fleet.path == "wire" else gained("baton_kv_transfer_bytes_total"))
    assert gained("baton_kv_transfer_chunks_total") >= sums["chunks"]
    assert gained("baton_kv_transfer_crc_seconds_total") >= sums["crc_s"]
    assert gained("baton_kv_transfer_overlap_seconds_total") >= sums["overlap_s"] * 0.999
    assert gained("baton_kv_transfer_exposed_seconds_count") == len(answers) + 1
    assert gained("baton_kv_transfer_seconds_count") == len(answers) + 1
    assert gained("baton_kv_transfer_seconds_sum") >= sum(a["handoff"]["transfer_s"]
                                                          for a in answers)


def test_a_long_prompt_hides_its_hand_off_when_it_may(fleet):
    def share():
        return ask(fleet, 500)["handoff"]["overlap_share"]
    if fleet.overlap == "off":  # only what computing the logits hides
        wait_for(lambda: share() < 0.5, "a hand-off that shows")
    else:  # the thread that sends may come too late on a machine with more to do
        wait_for(lambda: share() > 0.5, "a hand-off that is hidden")


def test_a_stream_tells_it_in_its_summary(fleet):
    summary = [*fleet.stream(prompt=ids(40), max_new_tokens=3).events][-1].json()
    assert summary["handoff"]["bytes"] > 0


def test_without_bytes_to_send_there_is_none(fleet):
    assert fleet.generate(prompt=ids(40), max_new_tokens=1)["handoff"] is None
    assert fleet.generate(prompt=ids(40), max_new_tokens=3, kv_cache=False)["handoff"] is None


# ---- shared memory: who dies or stands still at any stage harms no text ----

# A busy machine may also silence the workers that nobody stops: they come back.
NO_LIMITS = ["--migration-limit", 100, "--max-attempts", 100, "--absence-s", 3600]
# Blocks of a prompt that is given up soon belong to another one.
TIGHT = ["--kv-path", "shared", "--overlap", "on", "--chunk", 16, "--kv-tokens", 1600,
         "--prefix-cache", "off"]


def prompts(n):
    return [[5 + (7 * i + 131 * seed) % 2000 for i in range(400)] for seed in range(n)]


def tell(fleet, prompt):
    return fleet.generate(prompt=prompt, max_new_tokens=12, temperature=0,
                          ignore_eos=True)["generated_text"]


def ask_all(fleet, pool):
    return [pool.submit(tell, fleet, prompt) for prompt in prompts(8)]


@pytest.mark.parametrize("role", ("prefill", "decode"))
@pytest.mark.parametrize("state", ("PREFILLING", "DECODING"))
def test_a_worker_that_dies_leaves_exact_texts(role, state):
    with (Fleet(2, 2, prefill_args=TIGHT, gateway_args=NO_LIMITS) as fleet,
          ThreadPoolExecutor(8) as pool):
        expected = [tell(fleet, prompt) for prompt in prompts(8)]
        pending = fleet.pause_at_work(f"{role}-0", lambda: ask_all(fleet, pool),
                                      lambda: fleet.open(state))
        fleet.workers[f"{role}-0"].kill()
        assert [answer.result() for answer in pending] == expected
        fleet.start_worker(role, f"{role}-2")
        fleet.wait_ready(4)
        # The cached tokens are exact, too.
        assert [answer.result() for answer in ask_all(fleet, pool)] == expected


@pytest.mark.parametrize("role", ("prefill", "decode"))
@pytest.mark.parametrize("state", ("PREFILLING", "DECODING"))
def test_a_worker_that_stood_still_and_goes_on_leaves_exact_texts(role, state):
    with (Fleet(2, 2, prefill_args=TIGHT, gateway_args=[*NO_LIMITS, *SUSPICION]) as fleet,
          ThreadPoolExecutor(8) as pool):
        expected = [tell(fleet, prompt) for prompt in prompts(8)]
        pending = fleet.pause_at_work(f"{role}-0", lambda: ask_all(fleet, pool),
                                      lambda: fleet.open(state))
        assert [answer.result() for answer in pending] == expected  # elsewhere
        again = ask_all(fleet, pool)
        fleet.workers[f"{role}-0"].resume()
        assert [answer.result() for answer in again] == expected
        fleet.wait_ready(4)
        assert [answer.result() for answer in ask_all(fleet, pool)] == expected


# Four of five layers have a window of 9: one block, and one that a later prompt may begin behind.
@pytest.mark.parametrize("path", ("shared", "wire"))
def test_layers_with_a_window_send_that_alone(path):
    model = Path(__file__).parents[1] / "fixtures/models/gemma3"
    with Fleet(model=model, prefill_args=["--kv-path", path],
               decode_args=["--prefix-cache", "off"]) as fleet:
        def sent(n):
            return fleet.generate(prompt=[i % 600 for i in range(n)], max_new_tokens=4,
                                  temperature=0, ignore_eos=True)["handoff"]["bytes"]
        block_bytes = sent(1) / 5
        n_blocks = [sent(n) / block_bytes for n in (16, 32, 33, 100, 112, 113)]
        assert n_blocks == [5, 10, 3 + 8, 7 + 8, 7 + 8, 8 + 8]


@pytest.mark.parametrize("path", ("shared", "wire"))
def test_a_latent_is_sent_once(path):
    """Three layers, whose keys of 24 + 8 elements hold their values."""
    model = Path(__file__).parents[1] / "fixtures/models/glm4-moe-lite"
    with Fleet(model=model, worker_args=["--kv-dtype", "f16"],
               prefill_args=["--kv-path", path]) as fleet:
        for n in (1, 16, 40):
            answer = fleet.generate(prompt=[i * n % 600 for i in range(n)], max_new_tokens=4,
                                    temperature=0, ignore_eos=True)
            assert answer["handoff"]["path"] == path
            assert answer["handoff"]["bytes"] == -(-n // 16) * 16 * 3 * (24 + 8) * 2


def test_workers_that_may_not_share_hand_over_by_the_wire():
    with Fleet(decode_args=["--kv-path", "wire"]) as fleet:
        assert ask(fleet, 200)["handoff"]["path"] == "wire"
        wait_for(lambda: fleet.worker("decode-0")["contexts_wired"] == 1, "the worker to tell")
        assert fleet.worker("decode-0")["contexts_shared"] == 0
    with Fleet(prefill_args=["--kv-path", "shared"]) as fleet:
        assert ask(fleet, 200)["handoff"]["path"] == "shared"
        wait_for(lambda: fleet.worker("decode-0")["contexts_shared"] == 1, "the worker to tell")
        assert fleet.worker("decode-0")["contexts_wired"] == 0


def test_a_context_that_can_go_no_way_is_an_error():
    with Fleet(prefill_args=["--kv-path", "shared"], decode_args=["--kv-path", "wire"]) as fleet:
        status, answer, _ = fleet.request("POST", "/generate",
                                          {"prompt": ids(40), "max_new_tokens": 4})
        # Once the gateway knows that the path is cut, a retry ends without a worker.
        assert status in (502, 503) and "(--kv-path shared)" in answer["error"]["message"], answer
        assert "(--kv-path shared)" in fleet.gateway.text()


# ---- shared memory: who is let in ----

def socket_of(pid):
    """The abstract name of the process's socket for offers."""
    inodes = {os.readlink(link).removeprefix("socket:[").removesuffix("]")
              for link in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    [name] = [words[7] for words in lines if len(words) > 7 and words[6] in inodes
              and words[7].startswith("@baton-kv-")]
    return "\0" + name[1:]


FLOOD = """
import os, socket, sys
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
kept = []
try:
    while len(kept) < 500:
        kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        kept[-1].setblocking(False)
        kept[-1].connect(chr(0) + sys.argv[1])
except BlockingIOError:
    pass
print(len(kept), flush=True)
sys.stdin.read()
"""


def test_a_stranger_at_the_socket_is_ended_and_harms_no_context():
    with Fleet() as fleet:
        decode = fleet.workers["decode-0"]
        stranger = subprocess.Popen(["/usr/bin/python3", "-c", FLOOD,
                                     socket_of(decode.popen.pid)[1:]], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert 0 < int(stranger.stdout.readline()) < 500
            ask(fleet, 40)  # whichever way
            wait_for(lambda: "ev=kv_offer_refused" in decode.text(), "the stranger's refusal")
            wait_for(lambda: ask(fleet, 40)["handoff"]["path"] == "shared", "the pool to be mapped")
        finally:
            stranger.communicate()


def test_workers_of_two_network_namespaces_hand_over_by_the_wire():
    with SpreadFleet() as fleet:
        assert {ask(fleet, n)["handoff"]["path"] for n in (40, 200)} == {"wire"}
        assert ('path=wire reason="it takes no offers on this host"'
                in fleet.workers["prefill-0"].text())
