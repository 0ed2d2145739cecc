"""Streams that nobody reads give their KV blocks to requests that wait, and go on when they are
read with the very tokens of an undisturbed run."""
from fleet import WORDY, WORDY_BLOCKS, Fleet, Stream, wait_for
from kinds import of_schema, of_stream

ROOM_FOR_8 = ["--kv-tokens", 4096]
ROOM_FOR_2 = ["--kv-tokens", 1024]
HELD = {"ignore_eos": False}  # by a pattern or schema, which does not let the text end
# Bodies of streams that fill their connections, and a completion that counts as two of them.
KINDS = {
    "greedy": {},
    "sampled": dict(temperature=0.9, top_k=40, top_p=0.95, min_p=0.01, seed=11),
    "penalties": dict(temperature=0.7, presence_penalty=0.6, frequency_penalty=0.4,
                      repetition_penalty=1.2, stop=["no such text", "zebra"], seed=12),
    "with drafts": dict(speculation={"mode": "prompt_lookup", "max_tokens": 8}),
    "held to a pattern": dict(temperature=0.9, seed=13, regex="([a-z]+[ ,.]){1000}", **HELD),
    "held to a schema": dict(temperature=0.8, seed=10, **HELD, response_format=of_schema(
        {"type": "array", "items": {"type": "string"}, "minItems": 1000})),
}
TWO_CHOICES = ("/v1/completions", dict(
    prompt=WORDY["prompt"], max_tokens=480, temperature=0.8, seed=3, n=2, logprobs=5, stream=True,
    ignore_eos=True, stream_options={"include_usage": True}))


def preemptions(fleet):
    return fleet.metrics()["baton_preemptions_total"]


def answers(path, streams):
    return [of_stream(path, list(stream.events)) for stream in streams]


def test_streams_that_nobody_reads_lock_nobody_out():
    with Fleet(decode_args=ROOM_FOR_2) as fleet:
        alone = [fleet.stream(**{**WORDY, "seed": i}).text()[0] for i in range(2)]
        expected = fleet.generate(**WORDY)["generated_text"]
        held = fleet.hold(2)
        assert fleet.worker("decode-0")["kv_blocks_total"] < 3 * WORDY_BLOCKS
        for _ in range(3):  # the first one makes room for all
            assert fleet.generate(**WORDY)["generated_text"] == expected
        assert fleet.open("PREEMPTED") == preemptions(fleet) == 1
        for stream, text in zip(held, alone):
            read, last = stream.text()
            assert read == text and last.name == "summary"
        assert preemptions(fleet) == 1
        fleet.wait_all_free()


def test_streams_of_every_kind_go_on_with_the_next_token():
    with Fleet(decode_args=ROOM_FOR_8) as fleet:
        bodies = [{**WORDY, "seed": 1, **body} for body in KINDS.values()]
        path, two = TWO_CHOICES
        expected = answers("/generate/stream", [fleet.stream(**body) for body in bodies])
        [expected_two] = answers(path, [fleet.stream(path=path, **two)])
        pauses = fleet.metrics()["baton_stream_pauses_total"]
        streams = [Stream(fleet.port, body) for body in bodies]
        choices = Stream(fleet.port, two, path)
        wait_for(lambda: fleet.metrics()["baton_stream_pauses_total"] >= pauses + 8,
                 "the streams to be paused")
        later = fleet.hold(8)  # each waits for the blocks of one of those
        wait_for(lambda: fleet.open("PREEMPTED") == 8, "as many streams to give way")
        assert preemptions(fleet) >= 8
        assert answers("/generate/stream", streams) == expected
        assert answers(path, [choices]) == [expected_two]
        for stream in later:
            stream.abandon()
        fleet.wait_all_free()


def test_a_stream_that_gave_way_ends_with_its_client():
    with Fleet(decode_args=ROOM_FOR_2) as fleet:
        held = fleet.hold(4)
        wait_for(lambda: fleet.open("PREEMPTED") == 2, "two of them to give way")
        for stream in held:
            stream.abandon()
        wait_for(lambda: not fleet.open(), "all to be gone")
        fleet.wait_all_free()


def test_naive_streams_that_nobody_reads_hold_up_no_prompt():
    with Fleet(prefill_args=["--kv-tokens", 512]) as fleet:
        expected = fleet.generate(**WORDY)["generated_text"]
        [held] = fleet.hold(kv_cache=False)  # its positions leave one block
        assert fleet.generate(prompt=[5] * 60, max_new_tokens=2)["output_tokens"] == 2
        assert held.text()[0] == expected
        fleet.wait_all_free()
