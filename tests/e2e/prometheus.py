"""A running Prometheus with our rules: its API, and what deploy/ gives it."""
import json
import math
import re
import urllib.parse
import urllib.request

from fleet import LONG_S, ROOT

PROMETHEUS, GRAFANA = ROOT / "deploy/prometheus", ROOT / "deploy/grafana"
CONFIG = PROMETHEUS / "prometheus.yml"
RULES = [PROMETHEUS / "recording.yml", PROMETHEUS / "alerts.yml"]
DASHBOARD = json.loads((GRAFANA / "dashboards/baton.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
JOB = "baton"


def recorded():
    return re.findall(r"^\s+- record: (\S+)$", RULES[0].read_text(), re.MULTILINE)


def alerts():
    return re.findall(r"^\s+- alert: (\S+)$", RULES[1].read_text(), re.MULTILINE)


class Api:
    """The API of the Prometheus at a port of this host."""

    def __init__(self, port):
        self.port = port

    def is_alive(self):
        return True

    def last_words(self):
        return ""

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=LONG_S) as answer:
            body = json.load(answer)
        assert body["status"] == "success", body
        return body["data"]

    def query(self, expression):
        """Its samples, each (labels, value)."""
        for variable, value in {"$job": JOB, "$__rate_interval": "1m"}.items():
            expression = expression.replace(variable, value)
        return [(s["metric"], float(s["value"][1]))
                for s in self.get("query", query=expression)["result"]]

    def has_figures(self, expression):
        return any(math.isfinite(value) for _, value in self.query(expression))

    def is_up(self):
        try:
            targets = self.get("targets")["activeTargets"]
        except OSError:
            assert self.is_alive(), self.last_words()
            return False
        return [t["health"] for t in targets] == ["up"]

    def is_whole(self):
        """All rules are evaluated, none fails."""
        rules = [rule for group in self.get("rules")["groups"] for rule in group["rules"]]
        assert {rule["name"] for rule in rules} == {*recorded(), *alerts()}
        assert not any(rule["health"] == "err" for rule in rules), rules
        return all(rule["health"] == "ok" for rule in rules)

    def firing(self):
        return {(a["labels"]["alertname"], a["labels"].get("role"))
                for a in self.get("alerts")["alerts"] if a["state"] == "firing"}
