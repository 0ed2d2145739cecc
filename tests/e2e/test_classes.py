"""Workers of different numeric classes: the portable kernels, and the best ones of this CPU.

Explained steps tell the probability of twenty tokens, so that no two classes tell the same story.
"""
import pytest
from fleet import WORDY, Fleet, wait_for

KERNELS = {"a": "portable", "b": "auto"}


def start(fleet, *names):
    """Workers by names as prefill-a0: role, class, number."""
    for name in names:
        role, which = name.split("-")
        fleet.start_worker(role, name, args=["--kernels", KERNELS[which[0]]])
    wait_for(lambda: all((fleet.worker(name) or {}).get("state") == "ready" for name in names),
             f"{names} to be ready")


def class_of(fleet, name):
    return fleet.worker(name)["numeric_class"]


def read(stream):
    """The explanation of each step, and served_by; or the error."""
    events = list(stream.events)
    last = events[-1].json()
    told = [event.data for event in events if event.name not in ("meta", "summary", "error")]
    return told, last.get("served_by"), last.get("error")


def stories(fleet, classes):
    """{numeric class: the steps of an undisturbed run}, each class alone in its fleet."""
    told = {}
    for which in classes:
        start(fleet, f"prefill-{which}0", f"decode-{which}0")
        steps, served_by, _ = read(fleet.stream(**WORDY, seed=0))
        assert served_by["numeric_class"] == class_of(fleet, f"decode-{which}0")
        assert not served_by["class_changed"]
        told[served_by["numeric_class"]] = steps
        leave(fleet, f"prefill-{which}0", f"decode-{which}0")
    return told


def leave(fleet, *names):
    for name in names:
        fleet.workers[name].kill()
    wait_for(lambda: not any(fleet.worker(name) for name in names), f"{names} to be gone")


@pytest.fixture
def fleet(request):
    with Fleet(prefill=0, decode=0, gateway_args=getattr(request, "param", [])) as fleet:
        told = stories(fleet, "ab")
        if len(told) < 2:
            pytest.skip("this CPU has one numeric class")
        assert len({tuple(steps) for steps in told.values()}) == 2
        yield fleet, told


def hold(fleet, n):
    """The same stream n times, none of which is read."""
    pauses = fleet.metrics()["baton_stream_pauses_total"]
    streams = [fleet.stream(**WORDY, seed=0) for _ in range(n)]
    wait_for(lambda: fleet.metrics()["baton_stream_pauses_total"] >= pauses + n,
             "the streams to be paused")
    return streams


def test_a_stream_tells_the_story_of_its_class_whoever_of_it_dies(fleet):
    fleet, told = fleet
    start(fleet, "prefill-a0", "decode-a0", "decode-a1", "prefill-b0", "decode-b0", "decode-b1")
    assert (class_of(fleet, "prefill-a0") == class_of(fleet, "decode-a1")
            != class_of(fleet, "decode-b0"))
    streams = hold(fleet, 8)
    leave(fleet, "decode-a0")
    leave(fleet, "prefill-b0", "decode-b1")  # the other one runs the prompts itself
    answers = [read(stream) for stream in streams]
    assert {served_by["numeric_class"] for _, served_by, _ in answers} == set(told)
    assert sum(served_by["migrations"] for _, served_by, _ in answers) > 0
    for steps, served_by, _ in answers:
        assert not served_by["class_changed"]
        assert steps == told[served_by["numeric_class"]]
    assert fleet.metrics()["baton_class_changes_total"] == 0


def test_a_stream_whose_class_is_gone_goes_on_in_another_and_says_so(fleet):
    fleet, told = fleet
    start(fleet, "prefill-a0", "decode-a0")
    first = class_of(fleet, "decode-a0")
    streams = hold(fleet, 3)
    start(fleet, "prefill-b0", "decode-b0")
    second = class_of(fleet, "decode-b0")
    leave(fleet, "decode-a0")
    answers = [read(stream) for stream in streams]
    for steps, served_by, _ in answers:
        assert served_by["class_changed"] and served_by["numeric_class"] == second
        assert steps[0] == told[first][0] and steps != told[first]
    assert fleet.metrics()["baton_class_changes_total"] == len(streams)
    steps, served_by, _ = read(fleet.stream(**WORDY, seed=0))
    assert not served_by["class_changed"] and steps == told[second]


@pytest.mark.parametrize("fleet", [["--strict-class"]], indirect=True)
def test_strict_classes_end_a_stream_rather_than_change_it(fleet):
    fleet, told = fleet
    start(fleet, "prefill-a0", "decode-b0")
    status, answer, _ = fleet.request("POST", "/generate", {"prompt": "Once"})
    assert status == 503 and "numeric class" in answer["error"]["message"]
    start(fleet, "prefill-b0", "decode-a0")
    [stream] = hold(fleet, 1)
    victim = "decode-a0" if fleet.active("decode-a0") else "decode-b0"
    own = class_of(fleet, victim)
    leave(fleet, victim)
    steps, _, error = read(stream)
    assert error["code"] == "worker_failed"
    assert victim in error["message"] and "numeric class" in error["message"]
    assert steps == told[own][:len(steps)]
    assert fleet.metrics()["baton_class_changes_total"] == 0
