"""deploy/prometheus and deploy/grafana, beside a real fleet that a real Prometheus scrapes.

Prometheus runs with our files, in which only addresses and pauses are others: every expression of
the rules and of the dashboard is asked of it, and must bring figures.
"""
import re
import threading
import time

import pytest
import yaml
from fleet import ROOT, Fleet, Process, free_port, wait_for
from judges import judge
from programs import run
from prometheus import CONFIG, DASHBOARD, GRAFANA, JOB, PANELS, RULES, Api, alerts, recorded


def promtool(*arguments, text=None):
    return run(judge("promtool"), *arguments, input=text)


# Files


def test_config_and_rules_are_valid():
    for done in (promtool("check", "config", CONFIG), promtool("check", "rules", *RULES)):
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_clusters_prometheus_takes_its_job(tmp_path):
    """But for the discovery of pods, which Debian's build leaves out."""
    text = (ROOT / "deploy/k8s/metrics/prometheus.yml").read_text()
    text, n = re.subn(r"kubernetes_sd_configs:\n.*\n", "static_configs: [{targets: [a]}]\n", text)
    (tmp_path / "key").write_text("a-key")
    (tmp_path / "job.yml").write_text(re.sub(r"credentials_file: [^}]+",
                                             f"credentials_file: {tmp_path}/key", text))
    done = promtool("check", "config", tmp_path / "job.yml")
    assert n == 1 and done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_for_its_cause_and_autoscalers_see_the_role_that_is_short():
    cases = ROOT / "tests/e2e/rules_test.yml"
    done = promtool("test", "rules", cases)
    assert done.returncode == 0, done.stdout + done.stderr
    fires = re.findall(r"alertname: (\w+)\n\s+exp_alerts:", cases.read_text())
    assert set(fires) == set(alerts())


def test_operators_are_told_of_every_alert_what_to_do():
    """The table of docs/operations.md: its names, severities and patience are the rules'."""
    rules = {rule["alert"]: (rule["labels"]["severity"], rule.get("for", "0s"))
             for group in yaml.safe_load(RULES[1].read_text())["groups"] for rule in group["rules"]}
    page = (ROOT / "docs/operations.md").read_text()
    told = re.findall(r"^\| `(Baton\w+)` \| (\w+), (\w+) \|" + r" [^|]{5,} \|" * 3 + "$", page,
                      re.MULTILINE)
    assert {name: (severity, after) for name, severity, after in told} == rules
    assert len(told) == len(rules)


def test_the_dashboard_has_a_row_for_every_stage_and_role():
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert rows == ["Clients", "Gateway", "Queue", "Prefill", "Hand-off", "Decode"]
    assert DASHBOARD["panels"][0]["type"] == "row"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows(panel):
    assert panel["title"] and len(panel["description"]) > 10
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["targets"] and all(t["expr"] and t["legendFormat"] for t in panel["targets"])
    assert panel["datasource"]["uid"] == "${datasource}"


def test_no_two_panels_overlap():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    cells = [(x, y) for panel in DASHBOARD["panels"] for place in [panel["gridPos"]]
             for x in range(place["x"], place["x"] + place["w"])
             for y in range(place["y"], place["y"] + place["h"])]
    assert len(set(ids)) == len(ids) and len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_grafana_is_given_the_source_and_the_folder_that_compose_mounts():
    source = (GRAFANA / "provisioning/datasources/prometheus.yml").read_text()
    provider = (GRAFANA / "provisioning/dashboards/baton.yml").read_text()
    compose = (ROOT / "deploy/docker-compose.yml").read_text()
    uid = DASHBOARD["templating"]["list"][0]["current"]["value"]
    assert f"uid: {uid}\n" in source and "url: http://prometheus:9090\n" in source
    path = re.search(r"path: ([^}]+)}", provider).group(1)
    assert f"./grafana/dashboards:{path}:ro" in compose
    assert "./grafana/provisioning:/etc/grafana/provisioning:ro" in compose
    assert re.search(r"names: \[gateway\].*port: 8000", CONFIG.read_text())
    assert "\n  gateway:\n" in compose and "\n  prometheus:\n" in compose


# A fleet, scraped


class Scraped(Api):
    """A Prometheus with our rules, on a fleet."""

    def __init__(self, fleet, folder):
        super().__init__(free_port())
        self.fleet, self.folder = fleet, folder
        self.write_config()
        argv = [judge("prometheus"), f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/samples",
                f"--web.listen-address=127.0.0.1:{self.port}"]
        self.process = Process("prometheus", argv, folder / "prometheus.log")

    def is_alive(self):
        return self.process.popen.poll() is None

    def last_words(self):
        return self.process.tail()

    def write_config(self):
        """Ours, with the fleet's address and without patience."""
        text = CONFIG.read_text()
        text, n_targets = re.subn(
            r"dns_sd_configs:\n.*\n",
            f"static_configs: [{{targets: ['127.0.0.1:{self.fleet.port}']}}]\n", text)
        text, n_pauses = re.subn(r"_interval: \w+", "_interval: 500ms", text)
        assert n_targets == 1 and n_pauses == 2
        (self.folder / "prometheus.yml").write_text(text)
        for rules in RULES:
            (self.folder / rules.name).write_text(re.sub(r"for: \w+", "for: 0s", rules.read_text()))


def run_load(fleet):
    """Prompts with a common prefix, several at a time, again and again; and one that is refused."""
    def client(i):
        for k in range(4):
            fleet.generate(prompt=[5 + j % 40 for j in range(48)] + [100 + i, k + 1],
                           max_new_tokens=24)
    clients = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert fleet.request("POST", "/generate", {"prompt": 1})[0] == 400


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    began = time.monotonic()
    with Fleet(prefill=1, decode=2, gateway_args=["--slo-ttft-s", 60, "--slo-itl-s", 50]) as fleet:
        fleet.began = began
        prometheus = Scraped(fleet, tmp_path_factory.mktemp("prometheus"))
        try:
            wait_for(prometheus.is_up, "the target to be up")
            run_load(fleet)
            yield prometheus
        finally:
            prometheus.process.stop()


def test_the_gateways_page_passes_promtool(scraped):
    done = promtool("check", "metrics", text=scraped.fleet.request("GET", "/metrics")[1])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_requests_that_keep_the_slo_are_counted(scraped):
    metrics = scraped.fleet.metrics()
    assert metrics["baton_requests_good_total"] == metrics['baton_requests_total{outcome="ok"}'] > 0
    assert metrics['baton_slo_seconds{of="ttft"}'] == 60
    assert metrics['baton_slo_seconds{of="itl"}'] == 50


def test_requests_that_miss_an_slo_are_not_counted():
    for slo in (["--slo-ttft-s", 1e-6, "--slo-itl-s", 0], ["--slo-ttft-s", 0, "--slo-itl-s", 1e-9]):
        with Fleet(gateway_args=slo) as fleet:
            fleet.generate(prompt="Once upon a time", max_new_tokens=4)
            metrics = fleet.metrics()
            assert (metrics["baton_requests_good_total"]
                    == 0 < metrics['baton_requests_total{outcome="ok"}'])


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_query_of_a_panel_brings_figures(scraped, panel):
    for target in panel["targets"]:
        wait_for(lambda: scraped.has_figures(target["expr"]), f"figures for {target['expr']}")


@pytest.mark.parametrize("name", recorded())
def test_every_recorded_series_has_figures(scraped, name):
    wait_for(lambda: scraped.has_figures(f'{name}{{job="{JOB}"}}'), f"figures for {name}")


def test_every_metric_that_autoscalers_ask_for_has_figures(scraped):
    """Asks as prometheus-adapter does: the series by its name, without labels."""
    rules = yaml.safe_load((ROOT / "deploy/k8s/metrics/adapter.yml").read_text())
    for rule in rules["externalRules"]:
        series = re.search(r'__name__="([^"]+)"', rule["seriesQuery"]).group(1)
        wait_for(lambda: scraped.has_figures(rule["seriesQuery"]),
                 f"figures for {rule['seriesQuery']}")
        query = rule["metricsQuery"].replace("<<.Series>>", series)
        [(_, value)] = scraped.query(query.replace("<<.LabelMatchers>>", "").replace("{, ", "{"))
        assert value >= 0


def test_every_rule_is_evaluated(scraped):
    wait_for(scraped.is_whole, "all rules to be evaluated")


def test_workers_figures_are_there_for_each_of_them(scraped):
    busy = "baton_worker_busy_seconds_total > 0"
    wait_for(lambda: len(scraped.query(busy)) == 3, "every worker to have worked")
    assert all(seconds < time.monotonic() - scraped.fleet.began
               for _, seconds in scraped.query(busy))
    for metric in ("baton_worker_cores", "baton_worker_kv_blocks"):
        workers = {labels["worker"] for labels, _ in scraped.query(metric)}
        assert workers == {"prefill-0", "decode-0", "decode-1"}


def test_a_missing_role_is_an_alert_and_a_whole_fleet_is_none(scraped):
    """The last test: it kills the decode workers."""
    critical = {"BatonGatewayDown", "BatonRoleMissing", "BatonNoProgress",
                "BatonErrorBudgetBurnsFast"}
    wait_for(lambda: not critical & {name for name, _ in scraped.firing()},
             "the first figures to be judged")
    for name in ("decode-0", "decode-1"):
        scraped.fleet.workers[name].kill()
    wait_for(lambda: ("BatonRoleMissing", "decode") in scraped.firing(), "the alert")
