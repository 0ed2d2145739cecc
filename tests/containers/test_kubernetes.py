"""The objects of deploy/k8s, rendered by kubectl and played by podman, while clients read.

There are two gateways and four workers. Every text must be the one in peace, and greedy ones the
golden one.
"""
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from engine import MADE, NoEngine
from fleet import ROOT, Stream, wait_for
from pods import Host, Pod, of_deployment
from readers import Proxy, Readers, in_peace, row
from stack import IMAGE, ask, seconds

GOLDEN = json.loads((ROOT / "tests/golden/tale.json").read_text())["prompts"]
PORT = 8000
ROLES = ["gateway", "prefill", "decode"]
WHOLE = {"prefill": 2, "decode": 2}
PROMISED = {"done"}
CUT = {"cut", "refused"}  # who read through a gateway that was killed
MEBIBYTES = {"512Mi": 512, "2Gi": 2048}
ROWS = []


def rendered(folder):
    """The objects that `kubectl apply -k` would apply, with secrets of their own."""
    shutil.copytree(ROOT / "deploy/k8s", folder / "k8s", ignore=shutil.ignore_patterns("secrets"))
    subprocess.run([ROOT / "deploy/make-secrets", folder / "k8s/secrets"], check=True,
                   capture_output=True)
    told = subprocess.run(["kubectl", "kustomize", folder / "k8s"], capture_output=True, text=True,
                          check=True).stdout
    return list(yaml.safe_load_all(told))


class Cluster:
    """Two pods of each Deployment; the controllers' work is the test's."""

    def __init__(self, host, objects):
        self.host, self.pods = host, {role: [] for role in ROLES}
        self.deployments = {o["metadata"]["name"]: o for o in objects if o["kind"] == "Deployment"}
        [self.service] = [o["metadata"]["name"] for o in objects
                          if o["kind"] == "Service" and o["spec"].get("clusterIP") == "None"]
        [self.secret] = [o for o in objects if o["kind"] == "Secret"]

    def begin(self, image):
        self.host.play(self.secret)
        try:
            self.play("gateway", image, self.service)
            wait_for(lambda: self.health("/health") == [200, 200], "the gateways to listen")
            self.ready_before_workers = self.health("/ready")
            self.proxy = Proxy([pod.address for pod in self.pods["gateway"]], self.key())
            self.play("prefill", image)
            self.play("decode", image)
            self.wait()
            self.texts = in_peace(PORT, self.proxy.read)
        except BaseException:
            self.show_logs()
            raise

    def key(self):
        """The key that the gateways read: podman 4 mounts the Secret's base64 as it is."""
        mount = next(m["mountPath"] for m in self.pods["gateway"][0].only["volumeMounts"]
                     if m["mountPath"].startswith("/run/secrets"))
        keys = {pod.run("cat", f"{mount}/api-keys") for pod in self.pods["gateway"]}
        encoded = self.secret["data"]["api-keys"]
        [key] = keys
        assert key in (encoded, base64.b64decode(encoded).decode())
        return key

    def play(self, role, image, service=None):
        for number in range(2):
            self.pods[role].append(
                Pod(self.host, of_deployment(self.deployments[role], number, image), service))

    def health(self, path):
        """The answers of the gateways; None from one that gives none."""
        def status(pod):
            try:
                return ask(PORT, path, host=pod.address)[0]
            except OSError:
                return None
        return [status(pod) for pod in self.pods["gateway"]]

    def roles(self, gateway):
        """{role: how many workers are ready} as the gateway says."""
        try:
            status, body = ask(PORT, "/workers", headers=self.proxy.headers, host=gateway.address)
        except OSError:
            return {}
        ready = [worker["role"] for worker in json.loads(body)["workers"]
                 if worker["state"] == "ready"] if status == 200 else []
        return {role: ready.count(role) for role in WHOLE}

    def wait(self):
        wait_for(lambda: all(self.roles(gateway) == WHOLE for gateway in self.pods["gateway"]),
                 "the whole fleet")

    def readers(self):
        return Readers(PORT, self.texts, self.proxy.read)

    def all_pods(self):
        return [pod for role in ROLES for pod in self.pods[role]]

    def show_logs(self):
        for pod in self.all_pods():
            print(f"---- {pod.name} at {pod.address}\n{pod.log()[-3000:]}")


@pytest.fixture(scope="module")
def cluster(built, tmp_path_factory):
    if MADE not in os.environ:
        pytest.skip("pods need an engine that is made, and this machine has one of its own")
    if not shutil.which("kubectl"):
        pytest.skip("no kubectl here (Debian: kubernetes-client): nothing is rendered")
    with contextlib.ExitStack() as stack:
        try:
            host = stack.enter_context(Host())
        except NoEngine as reason:
            pytest.skip(str(reason))
        image = host.load(IMAGE)
        cluster = Cluster(host, rendered(tmp_path_factory.mktemp("cluster")))
        _, took_s = seconds(lambda: cluster.begin(image))
        print(f"\npods: two gateways and four workers ready {took_s:.1f} s after the first began")
        yield cluster
    print("\n" + "\n".join(ROWS))


@pytest.fixture(autouse=True)
def logs_of_pods(request, cluster):
    """Shown when a test fails."""
    failed_before = request.session.testsfailed
    yield
    if request.session.testsfailed > failed_before:
        cluster.show_logs()


def test_a_streamed_answer_has_the_golden_text(cluster):
    for prompt in GOLDEN[:4]:
        body = dict(prompt=prompt["prompt"], max_new_tokens=len(prompt["greedy_ids"]),
                    temperature=0, ignore_eos=True)
        for gateway in cluster.pods["gateway"]:
            text, last = Stream(PORT, body, headers=cluster.proxy.headers,
                                host=gateway.address).text()
            assert last.name == "summary"
            assert text == prompt["greedy_text"].replace("<|endoftext|>", "")


def test_nobody_is_let_in_without_a_key(cluster):
    for gateway in cluster.pods["gateway"]:
        for path, body in (("/workers", None), ("/generate", {"prompt": "a"}), ("/metrics", None)):
            assert ask(PORT, path, body, host=gateway.address)[0] == 401


def test_a_gateway_is_ready_once_it_has_workers(cluster):
    assert cluster.ready_before_workers == [503, 503]
    assert cluster.health("/ready") == [200, 200]


@pytest.mark.parametrize("role", ROLES)
def test_every_probe_passes(cluster, role):
    for pod in cluster.pods[role]:
        for probe in (pod.only[f"{kind}Probe"] for kind in ("startup", "liveness", "readiness")):
            if "exec" in probe:
                pod.run(*probe["exec"]["command"])
            else:
                assert ask(probe["httpGet"]["port"], probe["httpGet"]["path"],
                           host=pod.address)[0] == 200


@pytest.mark.parametrize("role", ROLES)
def test_a_process_has_no_rights_that_it_does_not_need(cluster, role):
    for pod in cluster.pods[role]:
        status = dict(re.findall(r"^(\w+):\s+(.*)$", pod.run("cat", "/proc/1/status"),
                                 re.MULTILINE))
        assert status["Uid"].split() == status["Gid"].split() == ["10001"] * 4
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        assert pod.run("sh", "-c", "touch /usr/x 2>/dev/null || echo read-only") == "read-only"


def test_a_worker_sees_the_limits_of_its_pod(cluster):
    for role in ("prefill", "decode"):
        for pod in cluster.pods[role]:
            limits, log = pod.only["resources"]["limits"], pod.log()
            assert re.search(
                rf"ev=cores_allowed .*threads={limits['cpu']} cpu_quota={limits['cpu']}\.00 ",
                log), log
            assert re.search(rf'ev=kv_cache .*bound_by="{MEBIBYTES[limits["memory"]]} MiB of ',
                             log), log


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_a_workers_pod_is_killed_and_played_again(cluster, role):
    cluster.wait()
    pod = cluster.pods[role][0]
    with cluster.readers() as readers:
        readers.wait_for_more(6)
        pod.kill()
        readers.wait_for_more(12)
        pod.play_again()
        cluster.wait()
        readers.wait_for_more(6)
    ROWS.append(row(f"pod of {role} killed", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes


def test_a_gateways_pod_is_killed_and_played_again_elsewhere(cluster):
    """Its readers are cut off, others get the other gateway, and workers find its new address."""
    cluster.wait()
    pod, before = cluster.pods["gateway"][0], cluster.pods["gateway"][0].address
    with cluster.readers() as readers:
        readers.wait_for_more(6)
        pod.kill()
        readers.wait_for_more(12)
        pod.play_again()
        assert pod.address != before
        cluster.wait()
    cluster.proxy.addresses = [gateway.address for gateway in cluster.pods["gateway"]]
    ROWS.append(row("pod of a gateway killed", readers))
    assert set(readers.outcomes) <= PROMISED | CUT, readers.outcomes
    n_cut = sum(readers.outcomes[outcome] for outcome in CUT)
    assert n_cut <= len(readers.threads), readers.outcomes


def test_every_pod_ends_well_when_told_to(cluster):
    """Workers one after the other, as a Deployment replaces them; then all."""
    cluster.wait()
    with cluster.readers() as readers:
        for role in ("prefill", "decode"):
            readers.wait_for_more(6)
            cluster.pods[role][1].stop()
            assert cluster.pods[role][1].exit_code() == 0
            readers.wait_for_more(6)
            cluster.pods[role][1].play_again()
            cluster.wait()
    ROWS.append(row("a worker of each role replaced", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes
    for pod in cluster.all_pods():
        pod.stop()
    assert {pod.name: pod.exit_code() for pod in cluster.all_pods() if pod.exit_code()} == {}
