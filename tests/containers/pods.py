"""Kubernetes pods without a cluster: podman's `kube play`, in namespaces beside a made engine.

podman is Debian's, unpacked and not installed. It does what a node does for a pod: the image with
its environment, user, limits and mounts, a network of its own and names on it. The control plane is
ours (`of_deployment`): a Deployment becomes as many pods as it has replicas, a Service is an alias
on the network. podman knows no namespaces, network policies or autoscalers; without systemd it runs
no probes, so tests do.
"""
import contextlib
import copy
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import engine
import yaml
from fleet import wait_for

HERE = Path(__file__).resolve().parent
PACKAGES = ["podman", "netavark", "aardvark-dns", "catatonit"]
NETWORK = "fleet"
PARENT = "libpod_parent"  # the cgroup that podman puts pods into
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def missing_packages():
    """podman, and what it needs that is not installed here."""
    told = subprocess.run(["apt-get", "-s", "--no-install-recommends", "install", *PACKAGES],
                          capture_output=True, text=True)
    if told.returncode:
        raise engine.NoEngine(f"apt-get install {' '.join(PACKAGES)}: {told.stderr.strip()}")
    words = [line.split() for line in told.stdout.splitlines() if line.startswith("Inst ")]
    # A version in brackets is one to be upgraded.
    return [name for _, name, version, *_ in words if not version.startswith("[")]


class Host:
    """Where pods are played. Leave it as a context: everything of it is removed."""

    def __init__(self):
        self.room = Path(tempfile.mkdtemp(prefix="pods.", dir=os.environ[engine.MADE]))
        self.first = None

    def __enter__(self):
        try:
            self.switch_on()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.first:
            with contextlib.suppress(AssertionError):
                self.podman("pod", "rm", "--all", "--force", "--time", 0)
            self.first.kill()  # and with it, its namespaces
            self.first.wait()
            self.first.stdout.close()
        engine.remove_cgroups(PARENT)
        shutil.rmtree(self.room, ignore_errors=True)

    def switch_on(self):
        unpacked, disk = self.room / "podman", self.room / "disk"
        for directory in (disk, unpacked / "usr", unpacked / "etc"):
            directory.mkdir(parents=True)
        if missing := missing_packages():
            engine.unpack(unpacked, missing)
        with open(self.room / "log", "w") as log:
            self.first = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                                           "--mount-proc", HERE / "pod_host", unpacked, disk],
                                          stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.first.stdout.readline() == "ready\n", (self.room / "log").read_text()
        self.podman("network", "create", NETWORK)

    def podman(self, *words, check=True, **options):
        """The words of `podman WORDS`."""
        children = Path(f"/proc/{self.first.pid}/task/{self.first.pid}/children")
        done = subprocess.run(["nsenter", "--target", children.read_text().split()[0],
                               "--mount", "--pid", "podman", *map(str, words)], text=True,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        assert not check or done.returncode == 0, f"podman {words}: {done.stderr}{done.stdout}"
        return done.stdout.strip()

    def load(self, image):
        """The image of the engine beside us is here, by the name that podman gives it."""
        archive = self.room / "image.tar"
        subprocess.run(["docker", "save", "-o", archive, image], check=True)
        self.podman("load", "-i", archive)
        archive.unlink()
        return f"localhost/{image}:latest"

    def play(self, manifest, *options):
        """Ids of the pods and of the containers that the manifest brings."""
        told = self.podman("kube", "play", *options, "-",
                           input=yaml.safe_dump(manifest)).splitlines()
        return [[told[i + 1] for i, line in enumerate(told) if line.startswith(what)]
                for what in ("Pod:", "Container:")]


def of_deployment(deployment, number, image):
    """The Deployment with one replica, called NAME-NUMBER; the rest is for podman.

    It would publish a pod's ports on its host, so they are not named, and a probe's port is its
    number. It makes one volume of all that have a name. It fails where a secret does not say
    whether it is optional.
    """
    made = copy.deepcopy(deployment)
    made["metadata"]["name"] = name = f"{deployment['metadata']['name']}-{number}"
    made["spec"]["replicas"] = 1
    pod = made["spec"]["template"]["spec"]
    [container] = pod["containers"]
    container["image"] = image
    ports = {port["name"]: port["containerPort"] for port in container.pop("ports")}
    for probe in (container[kind] for kind in PROBES):
        if "httpGet" in probe:
            probe["httpGet"]["port"] = ports[probe["httpGet"]["port"]]
    for volume, mount in ((v, m) for v in pod["volumes"] for m in container["volumeMounts"]
                          if v["name"] == m["name"]):
        volume["name"] = mount["name"] = f"{name}-{volume['name']}"
        volume.get("secret", {})["optional"] = False
    return made


class Pod:
    """A pod of one container."""

    def __init__(self, host, manifest, service=None):
        self.host, self.manifest, self.name = host, manifest, manifest["metadata"]["name"]
        self.network = NETWORK + (f":alias={service}" if service else "")
        [self.only] = manifest["spec"]["template"]["spec"]["containers"]
        self.play()

    def play(self, *options):
        [[self.id], [self.container]] = self.host.play(self.manifest, "--network", self.network,
                                                       *options)
        self.address = self.inspect(self.host.podman("pod", "inspect",
                                                     "-f", "{{.InfraContainerID}}", self.id),
                                    "NetworkSettings", "Networks", NETWORK, "IPAddress")

    def play_again(self):
        self.play("--replace")

    def inspect(self, container, *path):
        told = json.loads(self.host.podman("inspect", container))[0]
        for key in path:
            told = told[key]
        return told

    def kill(self):
        self.host.podman("pod", "kill", self.id)
        wait_for(lambda: self.exit_code() is not None, f"{self.name} to be killed")

    def stop(self):
        """Deletes the pod: it is told to end, and has its own grace period."""
        grace_s = self.manifest["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        self.host.podman("pod", "stop", "--time", grace_s, self.id)

    def exit_code(self):
        """None while it runs."""
        state = self.inspect(self.container, "State")
        return None if state["Running"] else state["ExitCode"]

    def run(self, *command):
        """The output of a command in the container; fails as it fails."""
        return self.host.podman("exec", self.container, *command)

    def log(self):
        return self.host.podman("logs", self.container, stderr=subprocess.STDOUT)
