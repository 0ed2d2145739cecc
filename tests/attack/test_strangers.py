"""A stranger without the fleet's secrets gets nothing and costs nobody anything (attacks.py)."""
import contextlib
import subprocess

import wire
from attacks import Peak, Watch, announce, flood_begins, flood_hellos, listening, refused
from fleet import BIN, SLOW, SUSPICION, Clients, Fleet, wait_for

STORY = "Once upon a time"


def ended(fleet, reason):
    return fleet.metrics()[f'baton_inbox_strangers_ended_total{{reason="{reason}"}}']


def turned_away(fleet, *reasons):
    """Hellos refused, and connections whose places went to others before their Hello was read."""
    return refused(fleet, *reasons) + ended(fleet, "crowded") + ended(fleet, "silent")


def test_hellos_without_the_token_open_nothing(sized):
    with Fleet(gateway_args=SUSPICION) as fleet, wire.listener() as dialled:
        expected = fleet.generate(prompt=STORY, max_new_tokens=20, seed=1)["generated_text"]
        watch = Watch(fleet.gateway)
        files = watch.files()
        for n, pipes in (sized(300, 10000), 1), (sized(50, 300),) * 2:
            before, refused_before = turned_away(fleet, "token"), refused(fleet, "token")
            for pipe in flood_hellos(fleet.inbox, n, inbox_url=dialled.url, pipes=pipes):
                wait_for(lambda: not wire.is_open(pipe), "the pipe to be closed")
            # The gateway does not read the rest of a closed pipe.
            wait_for(lambda: turned_away(fleet, "token") >= before + pipes,
                     "all senders to be turned away")
            assert refused(fleet, "token") > refused_before
            # Connections of /metrics come and go, and NNG closes a stranger's only after its end.
            wait_for(lambda: watch.files() <= files + 8, "the strangers' descriptors to be closed")
        assert dialled.n_accepted() == 0
        assert fleet.gateway.text().count("ev=stranger_refused") <= 20
        assert "worker_lost" not in fleet.gateway.text()
        assert fleet.generate(prompt=STORY, max_new_tokens=20, seed=1)["generated_text"] == expected
        assert len(fleet.fleet()) == 2


def test_few_workers_are_refused_at_a_time():
    with Fleet(gateway_args=SUSPICION) as fleet, wire.listener() as dialled:
        watch = Watch(fleet.gateway)
        files = watch.files()
        # They stay: who leaves before the gateway has read its Hello is not answered.
        pipes = flood_hellos(fleet.inbox, 100, token="secret", inbox_url=dialled.url, pipes=100)
        wait_for(lambda: turned_away(fleet, "other_terms", "dropped") >= 100, "the answers")
        for pipe in pipes:
            pipe.close()
        assert refused(fleet, "other_terms") >= 16
        wait_for(lambda: watch.files() <= files + 2, "the links of the refused to be closed")
        assert "worker_lost" not in fleet.gateway.text()


def test_contexts_without_a_ticket_open_nothing(sized):
    with Fleet(worker_args=SUSPICION) as fleet:
        expected = fleet.generate(prompt=STORY, max_new_tokens=20, seed=1)["generated_text"]
        decode = fleet.workers["decode-0"]
        watch = Watch(decode)
        files = watch.files()
        for url in listening(decode):
            flood_begins(url, sized(100, 500))
        wait_for(lambda: "ev=stranger_refused" in decode.text(), "the refusal")
        wait_for(lambda: watch.files() <= files + 2, "the strangers to be gone")
        assert decode.text().count("ev=stranger_refused") <= 20
        assert fleet.generate(prompt=STORY, max_new_tokens=20, seed=1)["generated_text"] == expected
        assert len(fleet.fleet()) == 2


def test_unfinished_messages_hold_little_and_a_crowd_keeps_nobody_out(sized):
    with Fleet(gateway_args=SUSPICION, worker_args=SUSPICION) as fleet:
        watch = Watch(fleet.gateway)
        before_mb = watch.rss_mb()
        held = []
        with Peak(watch) as peak:
            for _ in range(sized(4, 33)):  # the next three come when all but 16 MiB are ended
                held += announce(fleet.inbox, 3, 4 << 20)
                wait_for(lambda: ended(fleet, "greedy") >= len(held) - 4, "the largest to be ended")
        if SLOW == 1:  # sanitizers have memory of their own
            # 16 MiB stay, and 12 come between two looks: of 50, of 420.
            assert peak.rss_mb - before_mb < 45
        held += [wire.connect(fleet.inbox) for _ in range(sized(60, 600))]
        wait_for(lambda: ended(fleet, "crowded"), "the oldest to be ended")
        fleet.start_worker("decode", "decode-1")
        fleet.wait_ready(3)
        assert "worker_lost" not in fleet.gateway.text()
        wait_for(lambda: not any(wire.is_open(pipe) for pipe in held), "the silent to be ended")
        assert len(fleet.fleet()) == 3


def test_connections_that_greet_nobody_are_few_and_brief():
    """In clear, at every inbox: NNG reports no pipe before the greeting."""
    with Fleet(gateway_args=SUSPICION, worker_args=SUSPICION) as fleet:
        urls = [fleet.inbox]
        for worker in fleet.workers.values():
            urls += listening(worker)
        held = {url: [wire.connect_only(url) for _ in range(40)] for url in urls}
        for url, pipes in held.items():
            wait_for(lambda: sum(map(wire.is_open, pipes)) <= 32, f"{url} to end the crowd")
        wait_for(lambda: ended(fleet, "crowded") >= 8, "the gateway to count them")
        for url, pipes in held.items():
            wait_for(lambda: not any(map(wire.is_open, pipes)), f"{url} to end the silent")
        assert ended(fleet, "silent") and "worker_lost" not in fleet.gateway.text()


def test_workers_of_one_address_that_begin_at_once_all_join():
    n = 100  # an address has 32 places for strangers
    with Fleet(prefill=0, decode=0) as fleet:
        members = subprocess.Popen([BIN / "members", fleet.inbox, fleet.model, str(n), "0.25",
                                    "512", "3600", "0", fleet.token])
        try:
            wait_for(lambda: len(fleet.fleet()) == n
                     and all(worker["state"] == "ready" for worker in fleet.fleet()),
                     "all of them to be ready")
        finally:
            members.kill()
            members.wait()


def test_a_flood_of_silent_strangers_keeps_no_worker_out():
    def come_and_go(_):
        with contextlib.suppress(OSError, AssertionError):  # ended before the greeting
            wire.connect(fleet.inbox, timeout_s=5)

    with Fleet(decode=0) as fleet, Clients(8, come_and_go):
        wait_for(lambda: ended(fleet, "crowded"), "the flood")
        fleet.start_worker("decode", "decode-0")
        fleet.wait_ready(2)


def test_workers_tell_of_what_their_inboxes_turned_away():
    with Fleet(worker_args=SUSPICION) as fleet:
        for name, process in fleet.workers.items():
            urls = listening(process)
            silent = [wire.connect(url) for url in urls]
            loud = [wire.connect(url) for url in urls]  # they stay: who has left is not turned away
            for pipe in loud:
                pipe.sendall(wire.kv_begin(wire.refusing_url(), link=1, request_id=1))
            wait_for(lambda: fleet.worker(name)["inbox_rejected"] >= len(urls),
                     f"{name} to tell of messages")
            wait_for(lambda: fleet.worker(name)["strangers_ended"] >= len(urls),
                     f"{name} to tell of the silent")
            assert len(urls) == 2 and not any(wire.is_open(pipe) for pipe in silent)
        figures = [v for k, v in fleet.metrics().items()
                   if k.startswith("baton_worker_strangers_ended_total{")]
        assert len(figures) == 2 and all(figures)
