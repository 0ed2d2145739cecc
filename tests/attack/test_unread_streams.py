"""Streams that nobody reads hold every KV block, as connections or as resumable streams."""
import pytest
from fleet import WORDY, Fleet, Stream, wait_for

N = 17  # one more than the default pool has contexts for
INNOCENT = dict(prompt="Once upon a time", max_new_tokens=400, temperature=0, ignore_eos=True)


def paused(fleet):
    return fleet.metrics()["baton_stream_pauses_total"]


@pytest.mark.parametrize("leaves", [False, True], ids=["that stay", "that hang up"])
def test_innocents_are_served_while_all_unread_streams_are_open(sized, leaves):
    """Bound: each innocent's answer is whole while no stream has ended, round after round."""
    headers = {"x-baton-resumable": "true"} if leaves else {}
    args = ["--resume-s", 3600, "--stall-timeout-s", 3600]
    with Fleet(gateway_args=args) as fleet:
        expected = fleet.generate(**INNOCENT)["generated_text"]
        streams = [Stream(fleet.port, {**WORDY, "seed": i}, headers=headers) for i in range(N)]
        wait_for(lambda: paused(fleet) >= N - 1, "the streams to be paused")
        names = [stream.response.getheader("x-baton-stream") for stream in streams]
        if leaves:
            for stream in streams:
                stream.abandon()
        for _ in range(sized(2, 10)):
            assert fleet.generate(**INNOCENT)["generated_text"] == expected
            assert fleet.open() == N
        for stream, name in zip(streams, names):
            if leaves:
                assert fleet.request("DELETE", f"/v1/streams/{name}")[0] == 204
            else:
                stream.abandon()
        fleet.wait_all_free()
