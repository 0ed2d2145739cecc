"""GET /workers' advice under real loads: which role is short, and by how much."""
import json
import math
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fleet import BIN, Clients, Fleet, wait_for
from programs import run


class Load(Clients):
    """Clients that ask again as soon as they were answered, until the load ends."""

    def __init__(self, fleet, n_clients, n_prompt, n_new):
        super().__init__(n_clients, self.ask)
        self.fleet, self.n_prompt, self.n_new = fleet, n_prompt, n_new

    def ask(self, i):
        self.fleet.generate(prompt=[5 + (7 * j + 131 * i) % 2000 for j in range(self.n_prompt)],
                            max_new_tokens=self.n_new, temperature=0, ignore_eos=True,
                            cache_prompt=False)


def advice(fleet):
    return fleet.request("GET", "/workers")[1]["advice"]


def test_a_fleet_that_has_seen_nothing_has_no_advice():
    with Fleet() as fleet:
        found = advice(fleet)
        assert found["short"] == "unknown" and found["balanced_ratio"] is None
        assert found["prefill"] == {"workers": 1, "utilisation": None, "best_tokens_per_s": None}
        assert found["observed"] == {"requests_per_s": None, "prompt_tokens": None,
                                     "output_tokens": None}
        assert found["least_workers"] == {"prefill": None, "decode": None}
        fleet.generate(prompt=[5] * 20, max_new_tokens=4)
        assert advice(fleet)["short"] == "unknown"  # one request is no workload
        assert math.isnan(fleet.metrics()['baton_role_utilisation_ratio{role="prefill"}'])


@pytest.mark.parametrize("short,n_clients,n_prompt,n_new",
                         (("prefill", 6, 480, 2), ("decode", 16, 16, 200)))
def test_the_role_that_the_load_fills_is_short(short, n_clients, n_prompt, n_new):
    other = {"prefill": "decode", "decode": "prefill"}[short]
    with Fleet(decode_args=["--max-batch", 8]) as fleet:
        def is_found():
            found = advice(fleet)
            return (found["short"] == short and found[short]["utilisation"] > 0.8 > 0.5
                    > found[other]["utilisation"] and found["least_workers"][short] >= 2
                    and found["least_workers"][other] == 1 and found)

        def is_told():
            metrics = fleet.metrics()
            return (metrics[f'baton_role_utilisation_ratio{{role="{short}"}}'] > 0.8
                    and metrics[f'baton_role_least_workers{{role="{short}"}}'] >= 2)
        with Load(fleet, n_clients, n_prompt, n_new):
            found = wait_for(is_found, f"{short} to be short")
            wait_for(is_told, "the metrics to say so")
        assert (found["balanced_ratio"] > 1) == (short == "prefill")
        assert found["observed"]["prompt_tokens"] == n_prompt
        assert found["observed"]["output_tokens"] == n_new
        assert found["observed"]["requests_per_s"] > 0


def test_a_client_alone_leaves_capacity_in_both_roles():
    with Fleet() as fleet, Load(fleet, 0, 64, 48) as load:
        def is_roomy():
            begin = time.monotonic()
            load.ask(0)
            time.sleep(time.monotonic() - begin)  # half of the time is idle, however long it takes
            found = advice(fleet)
            return (found["short"] == "none"
                    and found["least_workers"] == {"prefill": 1, "decode": 1})
        wait_for(is_roomy, "neither role to be short")


def test_prompts_found_in_the_cache_are_no_work():
    with Fleet() as fleet:
        for _ in range(20):
            fleet.generate(prompt=[5 + i for i in range(400)], max_new_tokens=4)
        assert advice(fleet)["observed"]["prompt_tokens"] < 400 / 4


@contextmanager
def served(answer):
    """The URL of a server that gives this answer to whoever asks for /workers."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/workers" else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def planned(url, *options):
    return json.loads(
        run(BIN / "baton-plan", "advise", "--url", url, "--json", *options, check=True).stdout)


def test_the_planner_says_of_a_running_fleet_what_its_gateway_says():
    with Fleet(decode_args=["--max-batch", 8]) as fleet:
        url = f"http://127.0.0.1:{fleet.port}"
        refused = run(BIN / "baton-plan", "advise", "--url", url)
        assert refused.returncode == 1 and "seen too little" in refused.stderr
        with Load(fleet, 6, 480, 4):
            wait_for(lambda: advice(fleet)["short"] == "prefill", "prefill to be short")
        assert planned(url)["asked"]["prefill"] == 1
        workers = fleet.request("GET", "/workers")[1]
    # A running fleet's figures change between two answers, so both judge the same one.
    with served(json.dumps(workers).encode()) as url:
        said, given = planned(url), workers["advice"]
        # The fleet can do this load by the same costs: no role is short, and there are estimates.
        easy = planned(url, "--rate", "0.5", "--prompt-tokens", "64",
                       "--output-tokens", "16")["asked"]
    assert said["asked"]["short"] == given["short"]
    for role in "prefill", "decode":
        assert said["asked"][role] == 1 and said["least"][role] == given["least_workers"][role]
        assert math.isclose(said["asked"][f"{role}_utilisation"], given[role]["utilisation"],
                            rel_tol=0.01)
    assert math.isclose(said["balanced_ratio"], given["balanced_ratio"], rel_tol=0.01)
    assert said["workload"]["prompt_tokens"] == 480
    assert easy["short"] == "none" and easy["ttft_s"] > 0 and easy["itl_s"] > 0
