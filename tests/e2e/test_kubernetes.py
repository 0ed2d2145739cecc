"""deploy/k8s: objects of Kubernetes' own types that fit each other, the image and the programs.

There is no cluster here. kubectl renders the kustomization. The types are those of the
distribution's python3-kubernetes, which knows every field, and npm's JSON schemas of Kubernetes
1.27, which know the forms of values. Statements about our programs are checked against these.
tests/containers/test_kubernetes.py runs them.
"""
import itertools
import json
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from fleet import BIN, ROOT
from npm import install
from programs import run

sys.path.insert(0, str(ROOT / "tests/support"))
import dockerfile  # noqa: E402
import kubernetes_schema  # noqa: E402

K8S = ROOT / "deploy/k8s"
MAKE_SECRETS = ROOT / "deploy/make-secrets"
KUSTOMIZATION = yaml.safe_load((K8S / "kustomization.yaml").read_text())
OBJECTS = [o for name in KUSTOMIZATION["resources"]
           for o in yaml.safe_load_all((K8S / name).read_text())]
IMAGE = dockerfile.parse((ROOT / "deploy/Dockerfile").read_text())[-1]
ROLES = ["gateway", "prefill", "decode"]
OF_THE_POD = "what-the-cluster-says"
# ReplicaSets and pods append this to a name; a worker's id keeps a part of a host's.
SUFFIX, HOST_BYTES = "-0123456789-01234", 40
needs_types = pytest.mark.skipif(kubernetes_schema.TOO_OLD,
                                 reason="python3-kubernetes is too old here")


def of(kind):
    return {o["metadata"]["name"]: o for o in OBJECTS if o["kind"] == kind}


def pod(role):
    return of("Deployment")[role]["spec"]["template"]["spec"]


def container(role):
    [only] = pod(role)["containers"]
    return only


def labels(role):
    return of("Deployment")[role]["spec"]["template"]["metadata"]["labels"]


def selected(selector):
    """The roles whose pods a map of labels selects."""
    return {role for role in ROLES if selector.items() <= labels(role).items()}


def ports(role):
    return {port["name"]: port["containerPort"] for port in container(role)["ports"]}


def environment(role):
    """The container's: the image's, and what the pod sets, which needs no cluster to be known."""
    env = {name: value for name, value in IMAGE.env.items()
           if name.startswith(f"BATON_{role.upper()}_")}
    for entry in container(role)["env"]:
        source = entry.get("valueFrom", {})
        if "resourceFieldRef" in source:
            assert source["resourceFieldRef"] == {"resource": "limits.cpu"}
            env[entry["name"]] = container(role)["resources"]["limits"]["cpu"]
        else:
            env[entry["name"]] = entry.get("value", OF_THE_POD)
    return env


def config(role):
    done = run(BIN / f"baton-{role}", "--print-config", env=environment(role))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Kubernetes' types, and kubectl


@needs_types
@pytest.mark.parametrize("manifest", OBJECTS, ids=lambda o: f"{o['kind']}-{o['metadata']['name']}")
def test_an_object_is_of_its_type(manifest):
    kubernetes_schema.check_manifest(manifest)


@needs_types
@pytest.mark.parametrize("path, value, message", [
    (["spec", "replica"], 2, "has no field replica"),
    (["spec", "replicas"], "2", "is no int"),
    (["spec", "selector"], None, "selector"),
])
def test_the_types_are_strict(path, value, message):
    manifest = yaml.safe_load(yaml.dump(of("Deployment")["gateway"]))
    at = manifest
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises((AssertionError, ValueError), match=message):
        kubernetes_schema.check_manifest(manifest)


@pytest.fixture(scope="module")
def schemas():
    return install(ROOT / "tests/e2e/kubernetes_types", BIN.parent / "kubernetes-types")


def misfits(schemas, objects):
    """The schemas' complaints about objects that do not fit."""
    done = run("node", schemas / "validate.js", input=json.dumps(objects))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_object_fits_its_json_schema(schemas):
    assert not misfits(schemas, OBJECTS)


@pytest.mark.parametrize("good, bad, message", [
    ('"cpu": "2"', '"cpu": "2 cores"', "quantity"),
    ('"protocol": "UDP"', '"protocol": "UDPP"', "allowed values"),
    ('"maxReplicas"', '"maximum"', "maxReplicas"),
])
def test_the_schemas_are_strict(schemas, good, bad, message):
    text = json.dumps(OBJECTS)
    assert good in text
    assert any(message in line for line in misfits(schemas, json.loads(text.replace(good, bad))))


def kustomize(folder):
    if not shutil.which("kubectl"):
        pytest.skip("no kubectl here (Debian: kubernetes-client): what it renders is not looked at")
    return run("kubectl", "kustomize", folder)


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(K8S, tmp_path / "k8s", ignore=shutil.ignore_patterns("secrets"))
    return tmp_path / "k8s"


def test_kubectl_renders_every_object_with_secret_image_and_namespace(copy):
    subprocess.run([MAKE_SECRETS, copy / "secrets"], check=True, capture_output=True)
    done = kustomize(copy)
    assert done.returncode == 0, done.stderr
    rendered = list(yaml.safe_load_all(done.stdout))
    [secret] = [o for o in rendered if o["kind"] == "Secret"]
    names = {(o["kind"], o["metadata"]["name"]) for o in rendered if o is not secret}
    assert names == {(o["kind"], o["metadata"]["name"]) for o in OBJECTS}
    assert all(o["metadata"].get("namespace", "baton") == "baton" for o in rendered)
    for o in rendered:
        if not kubernetes_schema.TOO_OLD:
            kubernetes_schema.check_manifest(o)
        if o["kind"] == "Deployment":
            text = json.dumps(o)
            assert (f'"image": "registry.example/baton:{KUSTOMIZATION["images"][0]["newTag"]}"'
                    in text)
            used = set(re.findall(r'"(baton-\w{10})"', text)) - {f"baton-{role}" for role in ROLES}
            assert used == {secret["metadata"]["name"]}
            assert set(secret["data"]) == {"cluster-token", "api-keys", "admin-keys"}


def test_without_secrets_nothing_is_rendered(copy):
    done = kustomize(copy)
    assert done.returncode != 0 and "secrets/cluster-token" in done.stderr


# Secrets


def test_secrets_are_random_private_and_made_once(copy):
    made = []
    for folder in (copy / "secrets", copy / "others"):
        subprocess.run([MAKE_SECRETS, folder], check=True, capture_output=True)
        made += [folder / name for name in ("cluster-token", "api-keys", "admin-keys")]
    texts = [path.read_text() for path in made]
    assert len(set(texts)) == 6 and all(re.fullmatch(r"[0-9a-f]{48}", text) for text in texts)
    # A container reads the file without its directory, as another user; others here cannot enter.
    assert all(path.parent.stat().st_mode & 0o077 == 0 and path.stat().st_mode & 0o777 == 0o644
               for path in made)
    subprocess.run([MAKE_SECRETS, copy / "secrets"], check=True, capture_output=True)
    assert [path.read_text() for path in made] == texts


def test_secrets_are_neither_tracked_nor_in_the_image_nor_have_a_default():
    for folder in ("deploy/k8s/secrets", "deploy/secrets"):
        assert f"/{folder}/" in (ROOT / ".gitignore").read_text().split()
        assert folder in (ROOT / ".dockerignore").read_text().split()
    keys = {path.rpartition("/")[2] for path in KUSTOMIZATION["secretGenerator"][0]["files"]}
    assert not of("Secret")
    for role in ROLES:
        [volume] = [v["secret"] for v in pod(role)["volumes"] if "secret" in v]
        [mount] = [m for m in container(role)["volumeMounts"] if m["name"] == "secrets"]
        assert volume["secretName"] == "baton" and {item["key"] for item in volume["items"]} <= keys
        files = {item["key"]: f"{mount['mountPath']}/{item['path']}" for item in volume["items"]}
        assert config(role)["cluster-token-file"] == files["cluster-token"]
        for name in ("api-keys", "admin-keys"):
            assert config(role).get(name) == files.get(name)


# Our programs


@pytest.mark.parametrize("role", ROLES)
def test_a_pods_settings_are_understood_by_its_program(role):
    settings = config(role)
    for name in environment(role):
        setting = name.removeprefix(f"BATON_{role.upper()}_").replace("_", "-").lower()
        assert setting in settings, name
    assert settings["cluster-token-file"] and not settings["cluster-token"]
    if role != "gateway":
        assert settings["threads"] == int(container(role)["resources"]["limits"]["cpu"])


@pytest.mark.parametrize("role", ROLES)
def test_a_command_and_every_probe_is_in_the_image(role):
    copied = {rest[2] for step, *rest in IMAGE.steps if step == "COPY"}
    only = container(role)
    assert f"/usr/local/bin/{only['command'][0]}" in copied and only["command"] == [f"baton-{role}"]
    routes = re.findall(r'\{"GET", "(/[^"]*)"', (ROOT / "gateway/api/routes/table.c").read_text())
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        if "httpGet" in only[kind]:
            assert only[kind]["httpGet"]["path"] in routes
            assert only[kind]["httpGet"]["port"] in ports(role)
        else:
            assert only[kind]["exec"]["command"] == ["baton-healthcheck", role]
            assert "/usr/local/bin/baton-healthcheck" in copied
    if role == "gateway":
        assert (only["livenessProbe"]["httpGet"]["path"] == "/health"
                != only["readinessProbe"]["httpGet"]["path"])


@pytest.mark.parametrize("role", ROLES)
def test_a_port_is_where_its_program_listens(role):
    settings = config(role)
    listens = {name: settings[name] for name in ("inbox", "bulk") if name in settings}
    found = {name: int(url.rpartition(":")[2]) for name, url in listens.items()}
    if role == "gateway":
        found["http"] = settings["port"]
    assert ports(role) == found
    assert all(url.startswith("tcp://0.0.0.0:") for url in listens.values())


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_workers_find_every_gateway_ready_or_not(role):
    host, port = re.fullmatch(r"tcp://([\w-]+):(\d+)", config(role)["gateway"]).groups()
    spec = of("Service")[host]["spec"]
    assert spec["clusterIP"] == "None" and spec["publishNotReadyAddresses"] is True
    assert spec["ports"][0]["port"] == int(port) == ports("gateway")[spec["ports"][0]["targetPort"]]


@pytest.mark.parametrize("role", ROLES)
def test_a_pod_has_the_time_to_drain(role):
    before_stop = container(role).get("lifecycle", {}).get("preStop", {})
    pause = before_stop.get("exec", {}).get("command", ["sleep", "0"])
    assert pause[0] == "sleep"
    assert pod(role)["terminationGracePeriodSeconds"] > int(pause[1]) + config(role)["drain-s"]
    assert len(role + SUFFIX) <= HOST_BYTES


@pytest.mark.parametrize("role", ROLES)
def test_a_container_is_confined_and_can_write_where_it_must(role):
    spec, only = pod(role), container(role)
    [user] = {int(uid)
              for uid in re.findall(r"--uid (\d+)", (ROOT / "deploy/Dockerfile").read_text())}
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] == user
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only["securityContext"] == {"allowPrivilegeEscalation": False,
                                       "readOnlyRootFilesystem": True,
                                       "capabilities": {"drop": ["ALL"]}}
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False  # else a service's BATON_..._PORT is an option
    for what, key in itertools.product(("requests", "limits"), ("cpu", "memory")):
        assert only["resources"][what][key]
    volumes = {v["name"]: v for v in spec["volumes"]}
    writable = [m["mountPath"] for m in only["volumeMounts"] if "emptyDir" in volumes[m["name"]]]
    settings = config(role)
    for path in [settings["pack-dir"]] + ([settings["alive-file"]] if role != "gateway" else []):
        assert any(path.startswith(mount) for mount in writable), path
    assert {m["name"] for m in only["volumeMounts"]} == set(volumes)


# The objects, among each other


@pytest.mark.parametrize("role", ROLES)
def test_each_selector_selects_pods_of_one_role(role):
    deployment, budget = of("Deployment")[role]["spec"], of("PodDisruptionBudget")[role]["spec"]
    assert selected(deployment["selector"]["matchLabels"]) == {role}
    assert selected(budget["selector"]["matchLabels"]) == {role}
    assert budget["maxUnavailable"] == 1


def test_services_lead_to_ports_of_the_gateway():
    for service in of("Service").values():
        assert selected(service["spec"]["selector"]) == {"gateway"}
        assert all(port["targetPort"] in ports("gateway") for port in service["spec"]["ports"])


def test_each_role_of_workers_is_scaled_by_figures_of_its_own():
    scalers = of("HorizontalPodAutoscaler")
    asked = {}
    for role, scaler in scalers.items():
        spec = scaler["spec"]
        assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment",
                                          "name": role}
        assert "replicas" not in of("Deployment")[role]["spec"]
        assert 1 <= spec["minReplicas"] < spec["maxReplicas"]
        asked[role] = {metric["external"]["metric"]["name"] for metric in spec["metrics"]}
    assert set(asked) == {"prefill", "decode"} and not asked["prefill"] & asked["decode"]
    rules = yaml.safe_load((K8S / "metrics/adapter.yml").read_text())["externalRules"]
    assert {rule["name"]["as"] for rule in rules} == asked["prefill"] | asked["decode"]
    recorded = (ROOT / "deploy/prometheus/recording.yml").read_text()
    for rule in rules:
        series = re.search(r'__name__="([^"]+)"', rule["seriesQuery"]).group(1)
        assert f"- record: {series}\n" in recorded and rule["resources"] == {"namespaced": False}


def allowed(direction, peers_of):
    """{(role, other, port)} of the policies' ingress or egress rules; other None: every peer."""
    found = set()
    for policy in of("NetworkPolicy").values():
        roles = selected(policy["spec"]["podSelector"].get("matchLabels", {}))
        for role, rule in itertools.product(roles, policy["spec"].get(direction, [])):
            peers = [selected(one["podSelector"]["matchLabels"]) for one in rule.get(peers_of, [])]
            for other in set().union(*peers) if peers else {None}:
                found |= {(role, other, port["port"]) for port in rule["ports"]}
    return found


def test_processes_reach_just_whom_they_talk_to():
    taken = {(other, role, port) for role, other, port in allowed("ingress", "from")}
    sent = allowed("egress", "to")
    assert taken & sent == {
        ("prefill", "gateway", "inbox"), ("decode", "gateway", "inbox"),
        ("gateway", "prefill", "inbox"), ("gateway", "decode", "inbox"),
        ("decode", "prefill", "inbox"),  # acknowledges what it was handed
        ("prefill", "decode", "bulk"),
        ("prefill", "prefill", "bulk"), ("prefill", "prefill", "inbox"),  # a prompt's parts
    }
    assert taken - sent == {(None, "gateway", "http")}
    assert sent - taken == {(role, None, 53) for role in ROLES}
    assert all(port in ports(role) for _, role, port in taken)
    nothing = of("NetworkPolicy")["nothing"]["spec"]
    assert nothing == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    declared = {name: set(policy["spec"]["policyTypes"])
                for name, policy in of("NetworkPolicy").items()}
    assert all(declared[role] == {"Ingress", "Egress"} for role in ROLES)


def test_the_clusters_prometheus_is_shown_the_gateways():
    job = yaml.safe_load((K8S / "metrics/prometheus.yml").read_text())["scrape_configs"][0]
    keep = next(rule for rule in job["relabel_configs"] if rule.get("action") == "keep")
    component, port = keep["regex"].split(";")
    assert job["job_name"] == "baton" and component in ROLES and port in ports(component)
    assert labels(component)["app.kubernetes.io/component"] == component
    assert job["kubernetes_sd_configs"][0]["namespaces"]["names"] == [KUSTOMIZATION["namespace"]]
