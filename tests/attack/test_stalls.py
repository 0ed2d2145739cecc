"""An engine stands still until its clients give up; afterwards nobody pays for it."""
from concurrent.futures import ThreadPoolExecutor

from fleet import Fleet
from freeze import Frozen

N_INNOCENT = 12


def test_a_stall_is_not_remembered_as_slowness():
    """Bound: 0 of the small requests afterwards are refused for a wait that nobody has."""
    with Fleet(gateway_args=["--max-wait-s", 5]) as fleet:
        alone_s = fleet.generate(prompt="Once", max_new_tokens=50, ignore_eos=True)["e2el_s"]
        timeout_s = 2 + 40 * alone_s  # all six would take twelve times as long without the stall

        def patient(i):
            body = dict(prompt="Once", max_new_tokens=100, seed=i, timeout_s=timeout_s)
            return fleet.request("POST", "/generate", body)[0]

        with ThreadPoolExecutor(6) as pool:
            with Frozen(fleet.workers["decode-0"].pid):
                assert set(pool.map(patient, range(6))) == {504}
            fleet.wait_all_free()
            for i in range(N_INNOCENT):
                answer = fleet.generate(prompt="Once", max_new_tokens=4, seed=i, timeout_s=60)
                assert answer["output_tokens"] <= 4
        metrics = fleet.metrics()
        assert metrics['baton_requests_total{outcome="ok"}'] == 1 + N_INNOCENT
