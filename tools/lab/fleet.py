"""Fleets, started and stopped here, scaled in containers, or running already, as contexts."""
import math
import os
import secrets
import signal
import socket
import subprocess
import time

from lab.errors import LabError
from lab.programs import output
from lab.quota import Quota
from lab.server import Server

READY_S = 120  # packing a large model's weights for the first time takes long
# A machine that is too busy to send heartbeats in time has slow workers, not lost ones; a process
# that ended is seen by its exit.
SILENCE_S = 3600
STOP_S = 15
PROGRAMS = ("baton-gateway", "baton-prefill", "baton-decode")


def require_programs(folder):
    for program in PROGRAMS:
        if not os.access(folder / program, os.X_OK):
            raise LabError(f"--bin {folder}: no {program} there")


held_ports = []


def free_port():
    """A port of the kernel's choice that nobody else is given while this process lives.

    A socket stays bound to it. It does not listen, so the gateway, which sets SO_REUSEADDR, may.
    """
    hold = socket.socket()
    hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    hold.bind(("127.0.0.1", 0))
    held_ports.append(hold)
    return hold.getsockname()[1]


def wait_for(condition, what):
    """Polls until the value is true, and raises an error that says what it waited for."""
    until_s = time.monotonic() + READY_S
    while time.monotonic() < until_s:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise LabError(f"waited {READY_S} s for {what}")


class Process:
    """Starts a process of the fleet, in a group of its own, so that Ctrl-C leaves stopping it to
    us. It stays in our session: Linux shares cores among sessions first, and one of two workers on
    a core could stall for seconds."""

    def __init__(self, name, command, log, environment):
        self.name, self.log = name, log
        try:
            with open(log, "wb") as file:
                self.popen = subprocess.Popen([str(word) for word in command],
                                              stdin=subprocess.DEVNULL, stdout=file,
                                              stderr=file, preexec_fn=os.setpgrp, env=environment)
        except OSError as error:
            raise LabError(f"{error.filename}: {error.strerror}") from None

    def check(self):
        if self.popen.poll() is not None:
            end = "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])
            raise LabError(f"{self.name} ended with status {self.popen.returncode}; "
                           f"the end of {self.log}:\n{end}")

    def stop(self):
        self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


class LocalFleet(Server):
    """A gateway and its workers on this machine. Further options come from the environment
    (BATON_PREFILL_...), as with deploy/local."""

    def __init__(self, layout, settings, log_folder, prefill_options=()):
        super().__init__(None)
        self.wanted, self.settings, self.logs = layout, settings, log_folder
        self.options = {"prefill": [*prefill_options], "decode": []}
        for role, cores in (("prefill", settings.prefill_cores), ("decode", settings.decode_cores)):
            self.options[role] += ["--cores", cores] if cores else []
            self.options[role] += (["--threads", math.ceil(settings.worker_cpu)]
                                   if settings.worker_cpu else [])
        token = secrets.token_hex(16)  # in the environment: every user can read command lines
        self.environment = os.environ | {f"BATON_{name}_CLUSTER_TOKEN": token
                                         for name in ("GATEWAY", "PREFILL", "DECODE")}
        self.processes, self.quotas = {}, []

    def __enter__(self):
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            self.start_gateway()
            for role, n in self.wanted.counts().items():
                for i in range(n):
                    self.start_worker(role, f"{role}-{i}")
            wait_for(self.is_ready,
                     f"the {self.wanted} fleet to be ready; its logs are in {self.logs}")
            self.limit()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, name, program, *options):
        command = [self.settings.bin / program, "--model", self.settings.model, *options]
        self.processes[name] = Process(name, command, self.logs / f"{name}.log", self.environment)

    def start_gateway(self):
        self.inbox = f"tcp://127.0.0.1:{free_port()}"
        self.start("gateway", "baton-gateway", "--host", "127.0.0.1", "--port", 0,
                   "--inbox", self.inbox, "--silence-s", SILENCE_S, *self.wanted.gateway_options())
        self.url = f"http://127.0.0.1:{wait_for(self.listening_port, 'the gateway to listen')}"

    def start_worker(self, role, name):
        self.start(name, f"baton-{role}", "--gateway", self.inbox, "--id", name,
                   "--dtype", self.settings.dtype, *self.options[role])

    def limit(self):
        """Called after the start, so that weights are packed at full speed."""
        for name, process in self.processes.items():
            if self.settings.worker_cpu and name != "gateway":
                self.quotas.append(Quota(process.popen.pid, self.settings.worker_cpu))

    def listening_port(self):
        gateway = self.processes["gateway"]
        gateway.check()
        for line in gateway.log.read_text(errors="replace").splitlines():
            if " ev=listening " in line and " port=" in line:
                return int(line.split(" port=")[1].split()[0])
        return None

    def is_ready(self):
        for process in self.processes.values():
            process.check()
        return len(self.workers()) == self.wanted.n_prefill + self.wanted.n_decode

    def pids_by_role(self):
        return {"gateway": [self.processes["gateway"].popen.pid], **super().pids_by_role()}

    def check(self):
        """Raises when a process has ended."""
        for process in self.processes.values():
            process.check()

    def stop(self):
        """The gateway first, while workers finish its streams. A second Ctrl-C waits."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        for process in self.processes.values():
            process.stop()
        for quota in self.quotas:
            quota.remove()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def compose_command():
    """Compose is a plug-in of docker, or a program."""
    has_plugin = subprocess.run(["docker", "compose", "version"],
                                capture_output=True).returncode == 0
    return ["docker", "compose"] if has_plugin else ["docker-compose"]


class ComposedFleet(Server):
    """deploy/docker-compose.yml, or a file like it, scaled to the layout."""

    def __init__(self, layout, settings):
        super().__init__(f"http://127.0.0.1:{os.environ.get('BATON_PORT', '8000')}")
        if not layout.n_prefill:
            raise LabError(f"--layouts {layout}: --compose needs at least one prefill worker")
        self.wanted, self.compose = layout, [*compose_command(), "-f", settings.compose]

    def __enter__(self):
        scale = [word for role, n in self.wanted.counts().items()
                 for word in ("--scale", f"{role}={n}")]
        output([*self.compose, "up", "--detach", *scale])
        try:
            wait_for(self.is_ready, f"the {self.wanted} containers to be ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        output([*self.compose, "down"])

    def is_ready(self):
        try:
            return self.layout() == self.wanted
        except LabError:
            return False

    def pids_by_role(self):
        return {}  # they count in namespaces of their own

    def check(self):
        pass


class RunningFleet(Server):
    """A fleet that was started elsewhere, which stays as it is."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def check(self):
        pass
