"""deploy/swarm/stack.yml on three engines as three hosts, while clients read through its two
gateways.

Hosts are deployed to, drained, cut off from power and brought back; every text must be the one in
peace. The clients do what a proxy before the gateways does: they ask the other gateway when one
refuses, and leave out one that failed.
"""
import json
import os
import shutil
import subprocess

import pytest
from engine import MADE
from fleet import ROOT, wait_for
from hosts import hosts
from readers import Proxy, Readers, in_peace, row
from stack import IMAGE, ask, seconds

STACK, PORT = "baton", 8000
WHOLE = {"prefill": 2, "decode": 2}
PROMISED = {"done"}
CUT = {"cut", "refused"}  # who read through a gateway whose host lost its power
ROWS = []


class Swarm:
    """The stack on hosts that are all managers, so that any of them may fail."""

    def __init__(self, nodes, folder):
        self.nodes, self.folder = {node.name: node for node in nodes}, folder
        (folder / "swarm").mkdir()
        shutil.copy(ROOT / "deploy/swarm/stack.yml", folder / "swarm")
        subprocess.run([ROOT / "deploy/make-secrets", folder / "secrets"], check=True,
                       capture_output=True)
        self.proxy = Proxy([node.address for node in nodes],
                           (folder / "secrets/api-keys").read_text())
        first, *others = nodes
        first.docker("swarm", "init", "--advertise-addr", first.address,
                     "--default-addr-pool", "10.98.0.0/16")
        token = first.docker("swarm", "join-token", "-q", "manager")
        for node in others:
            node.docker("swarm", "join", "--token", token, "--advertise-addr", node.address,
                        f"{first.address}:2377")

    def docker(self, *words, **options):
        """On the manager that has had power for longest: one that is switched on answers later."""
        managers = [node for node in self.nodes.values() if node.power]
        return min(managers, key=lambda node: node.on_since_s).docker(*words, **options)

    def deploy(self, **settings):
        self.docker("stack", "deploy", "--resolve-image", "never",
                    "-c", self.folder / "swarm/stack.yml", STACK,
                    env={**os.environ, "BATON_IMAGE": IMAGE, "BATON_PORT": str(PORT), **settings})

    def tasks(self):
        """{id: (service, node)} of those that should run, and do."""
        # The command fails while there is none.
        told = self.docker("stack", "ps", "--no-trunc", "--filter", "desired-state=running",
                           "--format", "{{json .}}", STACK, check=False)
        return {task["ID"]: (task["Name"].removeprefix(f"{STACK}_").split(".")[0], task["Node"])
                for task in map(json.loads, told.splitlines())
                if task["CurrentState"].startswith("Running")}

    def nodes_of(self, service):
        return sorted(node for name, node in self.tasks().values() if name == service)

    def without_gateway(self):
        [name] = self.nodes.keys() - set(self.nodes_of("gateway"))
        return self.nodes[name]

    def roles(self, node):
        """{role: how many workers are ready} as the gateway of a node says."""
        try:
            status, body = ask(PORT, "/workers", headers=self.proxy.headers,
                               host=self.nodes[node].address)
        except OSError:
            return {}
        ready = [worker["role"] for worker in json.loads(body)["workers"]
                 if worker["state"] == "ready"] if status == 200 else []
        return {role: ready.count(role) for role in WHOLE}

    def is_whole(self):
        gateways = self.nodes_of("gateway")
        return (len(gateways) == 2 and len(self.tasks()) == 6
                and all(self.roles(node) == WHOLE for node in gateways))

    def wait(self):
        try:
            wait_for(self.is_whole, "two gateways with two workers of each role")
        except AssertionError:
            print(self.docker("stack", "ps", "--no-trunc", STACK, check=False),
                  {n: self.roles(n) for n in self.nodes_of("gateway")})
            raise

    def is_updated(self):
        states = [self.docker("service", "inspect", "--format", "{{.UpdateStatus.State}}",
                              f"{STACK}_{service}") for service in ("gateway", "prefill", "decode")]
        assert not {"paused", "rollback_started", "rollback_completed"} & set(states), states
        return set(states) == {"completed"}

    def readers(self):
        return Readers(PORT, self.texts, self.proxy.read)

    def readers_through_a_loss_of_power(self, node):
        with self.readers() as readers:
            readers.wait_for_more(12)
            node.switch_off()
            readers.wait_for_more(12)
            self.wait()  # its tasks are begun elsewhere
            node.switch_on()
            wait_for(lambda: self.docker("node", "inspect", "--format", "{{.Status.State}}",
                                         node.name) == "ready", node.name)
            readers.wait_for_more(6)
        return readers


@pytest.fixture(scope="module")
def swarm(built, tmp_path_factory):
    if MADE not in os.environ:
        pytest.skip("hosts need an engine that is made, and this machine has one of its own")
    with hosts(3, IMAGE) as nodes:
        swarm = Swarm(nodes, tmp_path_factory.mktemp("stack"))
        swarm.deploy()
        _, took_s = seconds(swarm.wait)
        print(f"\nthree hosts: two gateways and four workers ready {took_s:.1f} s after "
              "`docker stack deploy`")
        swarm.texts = in_peace(PORT, swarm.proxy.read)
        yield swarm
    print("\n" + "\n".join(ROWS))


def test_workers_and_gateways_are_on_hosts_of_their_own(swarm):
    for service in ("gateway", "prefill", "decode"):
        assert len(set(swarm.nodes_of(service))) == 2, swarm.tasks()
    workers = json.loads(ask(PORT, "/workers", headers=swarm.proxy.headers,
                             host=swarm.nodes[swarm.nodes_of("gateway")[0]].address)[1])["workers"]
    places = {(worker["role"], node, task) for worker in workers
              for task, (_, node) in swarm.tasks().items()
              if worker["id"] == f"{worker['role']}-{node}-{task}"}
    assert len(places) == 4, workers


def test_nobody_is_let_in_without_a_key(swarm):
    host = swarm.nodes[swarm.nodes_of("gateway")[0]].address
    assert ask(PORT, "/workers", host=host)[0] == 401
    assert ask(PORT, "/generate", {"prompt": "a"}, host=host)[0] == 401


def test_a_node_of_workers_loses_its_power_and_comes_back(swarm):
    swarm.wait()
    node = swarm.without_gateway()
    assert node.name in swarm.nodes_of("prefill") + swarm.nodes_of("decode"), swarm.tasks()
    readers = swarm.readers_through_a_loss_of_power(node)
    ROWS.append(row("a node of workers loses power", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes


def test_a_node_is_drained_and_comes_back(swarm):
    """One with a gateway: its streams end there, new ones go to the other gateway."""
    swarm.wait()
    node = swarm.nodes_of("gateway")[0]
    with swarm.readers() as readers:
        readers.wait_for_more(12)
        swarm.docker("node", "update", "--availability", "drain", node)
        wait_for(lambda: node not in {where for _, where in swarm.tasks().values()},
                 f"{node} to be empty")
        swarm.wait()
        readers.wait_for_more(12)
        swarm.docker("node", "update", "--availability", "active", node)
        readers.wait_for_more(6)
    ROWS.append(row("a node is drained", readers))
    assert set(readers.outcomes) == PROMISED, readers.outcomes


def test_a_node_with_a_gateway_loses_its_power(swarm):
    """Its readers are cut off; new requests are served by the other."""
    swarm.wait()
    node = swarm.nodes[swarm.nodes_of("gateway")[0]]
    readers = swarm.readers_through_a_loss_of_power(node)
    ROWS.append(row("a node with a gateway loses power", readers))
    assert set(readers.outcomes) <= PROMISED | CUT, readers.outcomes
    n_cut = sum(readers.outcomes[outcome] for outcome in CUT)
    assert n_cut <= len(readers.threads), readers.outcomes


def test_a_deployment_with_another_secret_replaces_every_task(swarm):
    """The first step of a token change: both tokens are accepted, so old and new tasks talk."""
    swarm.wait()
    before = swarm.tasks()
    old = (swarm.folder / "secrets/cluster-token").read_text()
    (swarm.folder / "secrets/cluster-token").write_text(f"{old}\nanother-token-of-24-bytes\n")
    with swarm.readers() as readers:
        readers.wait_for_more(6)
        swarm.deploy(BATON_SECRETS="2")
        # One after the other, and a gateway drains for as long as it may.
        for n in range(1, len(before) + 1):
            wait_for(lambda: len(before.keys() - swarm.tasks().keys()) >= n,
                     f"{n} tasks to be replaced")
        wait_for(swarm.is_updated, "the new deployment")
        swarm.wait()
        readers.wait_for_more(6)
    ROWS.append(row("another deployment", readers))
    assert not before.keys() & swarm.tasks().keys()
    assert set(readers.outcomes) == PROMISED, readers.outcomes


def test_it_is_removed_under_load_and_leaves_its_volumes_alone(swarm):
    swarm.wait()
    with swarm.readers() as readers:
        readers.wait_for_more(6)
        swarm.docker("stack", "rm", STACK)
        wait_for(lambda: not any(node.docker("ps", "-q") for node in swarm.nodes.values()),
                 "containers to end")
    ROWS.append(row("the stack is removed", readers))
    assert set(readers.outcomes) <= PROMISED | {"refused", "HTTP 503"}, readers.outcomes
    assert not swarm.docker("secret", "ls", "-q") and not swarm.docker("service", "ls", "-q")
