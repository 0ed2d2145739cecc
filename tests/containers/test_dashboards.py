"""The profile `dashboards`: the compose file's Prometheus on a fleet of containers, with its files.

Debian has no Grafana: every query of its files is asked of Prometheus, and nothing else of it runs.
"""
import re

import pytest
from fleet import wait_for
from prometheus import PANELS, Api, recorded
from readers import Readers, in_peace
from stack import Stack, ask, free_port


@pytest.fixture(scope="module")
def watched(built, prometheus_image):
    port = free_port()
    with Stack("watched", BATON_PROMETHEUS_PORT=str(port)) as stack:
        stack.scale(prefill=1, decode=2)
        stack.compose("--profile", "dashboards", "up", "-d", "--no-build", "prometheus")
        stack.prometheus = Api(port)
        wait_for(stack.prometheus.is_up, "the gateway to be scraped")
        with Readers(stack.port, in_peace(stack.port)) as readers:
            readers.wait_for_more(12)
            assert ask(stack.port, "/generate", {"prompt": 1})[0] == 400
            stack.readers = readers
            yield stack


def test_every_rule_is_evaluated(watched):
    wait_for(watched.prometheus.is_whole, "all rules to be evaluated")


def test_every_query_of_rules_and_dashboard_brings_figures(watched):
    queries = {target["expr"] for panel in PANELS for target in panel["targets"]} | set(recorded())
    for query in queries:
        wait_for(lambda: watched.prometheus.has_figures(query), f"figures for {query}")


def test_a_gateway_that_is_gone_is_an_alert_that_names_it(watched):
    """The last test: the readers are refused from here on."""
    watched.compose("kill", "gateway")

    def told():
        return [alert["annotations"]["summary"]
                for alert in watched.prometheus.get("alerts")["alerts"]
                if alert["labels"]["alertname"] == "BatonGatewayDown"]
    summary = wait_for(told, "the alert, pending or firing")
    assert not re.search(r"gateway  does", summary[0]), summary
