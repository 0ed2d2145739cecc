"""The page's live picture of the fleet in a real browser: what it shows of kills and drains."""
import pytest
from fleet import SUSPICION, wait_for

FLEET = dict(decode=2, gateway_args=SUSPICION)
SESSIONS = "$$('#fleet-live .box.decode .session[visibility=visible]').length"


@pytest.fixture
def page(open_page, fleet):
    page = open_page(fleet)
    page.click("#tab-fleet")
    page.wait("$$('#fleet-live .box').length == 4", "the gateway and three workers")
    return page


def test_a_stream_that_survives_its_worker_is_shown_and_told(fleet, page):
    stream = fleet.hold()[0]
    page.wait(f"{SESSIONS} == 1", "the session on its worker")
    victim = next(worker["id"] for worker in fleet.fleet()
                  if worker["role"] == "decode" and worker["active"])
    fleet.workers[victim].kill()
    page.wait(f"$('#fleet-lines').textContent.includes('{victim} is gone')", "its death")
    text, last = stream.text()
    assert last.json()["served_by"]["migrations"] == 1
    page.wait("/request [0-9a-f]{6} continued by decode-[01] after [0-9]+ ms, same tokens/"
              ".test($('#fleet-lines').textContent)", "the migration")
    page.wait(f"{SESSIONS} == 0", "the end of the stream")
    fleet.start_worker("decode", victim)
    page.wait(f"$('#fleet-lines').textContent.includes('{victim} joins the fleet')", "its return")
    assert len(text) > 0 and page.complaints() == []


def test_an_operator_drains_a_worker_from_the_page(fleet, page):
    page.set("#drain-worker", "decode-1")
    page.click("#drain button")
    page.wait("$('#fleet-lines').textContent.includes('decode-1 drains')", "the drain")
    wait_for(lambda: fleet.workers["decode-1"].popen.poll() == 0, "decode-1 to end")
    page.wait("$('#fleet-lines').textContent.includes('decode-1 is gone')", "the end of it")
    fleet.start_worker("decode", "decode-1")
    page.wait("$$('#fleet-live .box[data-state=ready]').length == 3", "the fleet as it was")


def test_it_listens_only_while_it_is_in_sight(fleet, page):
    def readers():
        return fleet.metrics()["baton_event_readers"]
    wait_for(lambda: readers() == 1, "a reader of the events")
    page.click("#tab-completion")
    wait_for(lambda: readers() == 0, "its leave")
    assert page.complaints() == []
