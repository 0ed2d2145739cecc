"""The processes of a chaos run, the network between them, and what can be done to both.

As root each process has a network namespace of its own, on one bridge, so that any two of them can
be cut apart without a notice: a wrong permanent neighbour entry sends the packets of one to nobody.
Without root all share 127.0.0.1, and nothing is cut.
"""
import http.client
import json
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import freeze
import kinds
import liars
from fleet import BIN, MODEL, SLOW, Process, free_port, held, wait_for

SUBNET = "10.99.0"
DAY_NS = 86400 * 10**9
CLOCK = BIN / "clock_jump.so"  # preloaded into all processes
INBOX, BULK, HTTP = 7100, 7200, 8080
TOKEN = "chaos"
# Where nothing stands still on purpose, a machine that is busy for seconds loses nobody.
PATIENT = ["--silence-s", 30 * SLOW]
KEY = "operator-of-chaos"  # other hosts than the gateway's need it to see processes
# A stalled engine is an error of the machine, and what a freeze must bring.
COMPLAINT = re.compile(
    r"lvl=error(?!.* ev=engine_stalled )|ERROR: \w*Sanitizer|runtime error|SUMMARY: |Assertion")


def sh(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


def has_clock():
    """Whether the wall clock of processes can be set: not under a sanitizer."""
    return CLOCK.exists()


def enter_namespaces():
    """Starts this program again in a network of its own, once. Needs root and iproute2."""
    own = ["unshare", "--net", "--mount"]
    probe = "ip link add br9 type bridge && ip link add vx9 type veth peer name px9"
    if has_network():
        return
    if not subprocess.run([*own, "sh", "-c", probe], capture_output=True).returncode:
        os.environ["BATON_CHAOS_INSIDE"] = "1"
        os.execvp("unshare", [*own, *sys.orig_argv])


def has_network():
    return "BATON_CHAOS_INSIDE" in os.environ


class Member:
    """A process of the fleet, which may die and come back under the same name and address."""

    def __init__(self, world, name, role, index):
        self.world, self.name, self.role = world, name, role
        self.host = f"{SUBNET}.{index + 2}" if has_network() else "127.0.0.1"
        self.index, self.process, self.frozen, self.n_starts = index, None, None, 0
        self.cut_from = set()
        if has_network():
            self.ports = {"inbox": INBOX, "bulk": BULK, "http": HTTP}
        else:
            self.ports = {kind: free_port() for kind in ("inbox", "bulk", "http")}

    def url(self, kind="inbox"):
        return f"tcp://{self.host}:{self.ports[kind]}"

    def argv(self, more=()):
        common = ["--model", MODEL, "--cluster-token", TOKEN, "--inbox", self.url(), "--beat-s",
                  0.25 * SLOW, *(PATIENT if self.world.is_patient else [])]
        if self.role == "gateway":
            return [BIN / "baton-gateway", *common, "--id", self.name, "--host", self.host,
                    "--port", self.ports["http"], "--pack-dir", self.world.packs, "--drain-s", 5,
                    "--max-wait-s", 0, "--admin-keys", self.world.keys, *kinds.ARGS,
                    *self.world.gateway_args, *more]
        bulk = ["--bulk", self.url("bulk")] if self.role == "decode" else []
        stall = ["--stall-s", 30 * SLOW] if self.world.is_patient else []
        return [BIN / f"baton-{self.role}", *common, "--id", self.name, *bulk,
                "--gateway", ",".join(gateway.url() for gateway in self.world.gateways),
                "--lease-dir", "", "--threads", 1, "--kv-tokens", 4096, "--drain-s", 5, *stall,
                *(more or ["--pack-dir", self.world.packs])]

    def start(self, more=(), before=()):
        """With more options; through a program before it, which becomes it."""
        self.n_starts += 1
        log = f"{self.world.dir.name}/{self.name}-{self.n_starts}.log"
        argv = [*before, *(str(word) for word in self.argv(more))]
        if has_network():  # it waits until its network is there
            ready = Path(f"{log}.net")
            os.mkfifo(ready)
            argv = ["unshare", "--net", "sh", "-c", 'read -r _ <"$0"; exec "$@"', ready, *argv]
            self.process = Process(self.name, argv, log, self.world.environment)
            self.plug_in()
            ready.write_text("\n")
        else:
            self.process = Process(self.name, argv, log, self.world.environment)

    def plug_in(self):
        mine, theirs, pid = f"vx{self.index}", f"px{self.index}", self.process.pid
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink(f"/proc/{pid}/ns/net") != own, "a namespace")
        subprocess.run(["ip", "link", "del", mine], capture_output=True)
        # The same address each time, as a machine has: its peers' caches hold it.
        sh("ip", "link", "add", mine, "type", "veth", "peer", "name", theirs, "address",
           f"02:00:00:00:01:{self.index:02x}")
        sh("ip", "link", "set", theirs, "netns", pid)
        sh("ip", "link", "set", mine, "master", "br0", "up")
        self.inside("ip", "link", "set", "lo", "up")
        self.inside("ip", "addr", "add", f"{self.host}/24", "dev", theirs)
        self.inside("ip", "link", "set", theirs, "up")
        for other in self.cut_from:
            self.inside("ip", "neigh", "replace", other, "lladdr", "02:00:00:00:00:fe", "dev",
                        theirs, "nud", "permanent")

    def inside(self, *command):
        sh("nsenter", "-t", self.process.pid, "-n", *command)

    def alive(self):
        return self.process is not None and self.process.popen.poll() is None

    def text(self):
        return "".join(Path(path).read_text(errors="replace")
                       for path in sorted(Path(self.world.dir.name).glob(f"{self.name}-*.log")))

    # ---- what is done to it; each has its opposite

    def kill(self):
        self.process.kill()

    def revive(self, more=(), before=()):
        if self.alive():
            self.process.kill()
        self.start(more, before)

    def revive_with_few_threads(self, n):
        """Runs as another user, because root may have any number."""
        self.revive(before=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                            "prlimit", f"--nproc={n}"])

    def stop(self):
        self.process.pause()

    def go_on(self):
        if self.alive():
            self.process.resume()

    def freeze(self):
        """Stands still as a hung engine does: its main thread beats on."""
        tid = wait_for(lambda: freeze.thread(self.process.pid) or not self.alive(),
                       f"the engine of {self.name}")
        if self.alive() and freeze.stop(tid):
            self.frozen = tid

    def thaw(self):
        if self.frozen:
            freeze.go_on(self.frozen)
            self.frozen = None

    def starve(self, spare):
        """No more descriptors than it has, and a few."""
        n = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        self.limits = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (n + spare, self.limits[1]))

    def feed(self):
        if self.alive():
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, self.limits)

    def cut(self, other):
        """Nothing that it sends reaches the other; what the other sends still comes."""
        self.cut_from.add(other.host)
        if self.alive():
            self.inside("ip", "neigh", "replace", other.host, "lladdr", "02:00:00:00:00:fe", "dev",
                        f"px{self.index}", "nud", "permanent")

    def mend(self, other):
        self.cut_from.discard(other.host)
        if self.alive():
            self.inside("ip", "neigh", "del", other.host, "dev", f"px{self.index}")


class World:

    def __init__(self, topology="2P2D", n_gateways=1, gateway_args=(), is_patient=False):
        n_prefill, n_decode = int(topology[0]), int(topology[2])
        self.dir = tempfile.TemporaryDirectory(prefix="baton-chaos-")
        os.chmod(self.dir.name, 0o755)
        self.packs, self.full = Path(self.dir.name) / "packs", Path(self.dir.name) / "full"
        self.keys = Path(self.dir.name) / "keys"
        self.keys.write_text(KEY + "\n")
        self.gateway_args, self.is_patient = gateway_args, is_patient
        self.environment = ({"LD_PRELOAD": str(CLOCK), "BATON_CLOCK_JUMP": self.dir.name + "/clock"}
                            if has_clock() else {})
        self.set_clock(0)
        names = [(f"gateway-{i}", "gateway") for i in range(n_gateways)]
        names += ([(f"prefill-{i}", "prefill") for i in range(n_prefill)]
                  + [(f"decode-{i}", "decode") for i in range(n_decode)])
        if has_network():
            sh("ip", "link", "set", "lo", "up")
            # Without an address of its own it takes a port's, and another when that one goes.
            subprocess.run(["ip", "link", "add", "br0", "address", "02:00:00:00:02:00", "type",
                            "bridge"], capture_output=True)
            subprocess.run(["ip", "addr", "add", f"{SUBNET}.1/24", "dev", "br0"],
                           capture_output=True)
            sh("ip", "link", "set", "br0", "up")
        self.members = {name: Member(self, name, role, i) for i, (name, role) in enumerate(names)}
        self.gateways = [m for m in self.members.values() if m.role == "gateway"]
        self.workers = [m for m in self.members.values() if m.role != "gateway"]

    def __enter__(self):
        try:
            for member in self.members.values():
                member.start()
            self.wait_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for member in self.members.values():
            member.thaw()
            if member.alive():
                member.process.kill()
            if has_network():
                subprocess.run(["ip", "link", "del", f"vx{member.index}"], capture_output=True)
        self.drain_disk()
        self.dir.cleanup()

    def set_clock(self, days):
        """Of all processes; the file stays the one that they have mapped."""
        path = Path(self.dir.name) / "clock"
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.write(struct.pack("<q", days * DAY_NS))

    def fill_disk(self):
        """A file system without a byte left, as somebody's --pack-dir."""
        self.full.mkdir(exist_ok=True)
        if has_network() and not os.path.ismount(self.full):
            sh("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", self.full)
        try:
            (self.full / "ballast").write_bytes(bytes(64 << 10))
        except OSError:
            pass

    def drain_disk(self):
        if os.path.ismount(self.full):
            subprocess.run(["umount", str(self.full)], capture_output=True)

    def get(self, gateway, path, timeout=60):
        connection = http.client.HTTPConnection(gateway.host, gateway.ports["http"],
                                                timeout=timeout)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {KEY}"})
            response = connection.getresponse()
            data = response.read()
            return response.status, data.decode() if path == "/metrics" else json.loads(data)
        finally:
            connection.close()

    def wait_ready(self):
        """Waits until every gateway has every worker's present process."""
        alive = {(worker.name, worker.process.pid) for worker in self.workers}

        def ready():
            for gateway in self.gateways:
                try:
                    workers = self.get(gateway, "/workers", timeout=10)[1]["workers"]
                except (OSError, http.client.HTTPException, ValueError):
                    return False
                if alive != {(worker["id"], worker["pid"]) for worker in workers
                             if worker["state"] == "ready"}:
                    return False
            return True
        wait_for(ready, f"{len(self.workers)} workers to be ready at {len(self.gateways)} gateways")

    def lie(self, role, seed):
        """One more worker, which lies to the first gateway."""
        host = f"{SUBNET}.1" if has_network() else "127.0.0.1"
        return liars.Liar(self.gateways[0].url(), host, TOKEN, liars.ROLES[role], seed).start()

    def leaks(self):
        """A list of complaints about what is held without a request. Waits for stragglers."""
        def no_owner(gateway):
            accounts = self.get(gateway, "/debug/kv")[1]["workers"]
            return (all(worker["answered"] and not worker["n_owners"] for worker in accounts)
                    and accounts)
        found = []
        for gateway in self.gateways:
            try:
                accounts = wait_for(lambda: no_owner(gateway), "all KV blocks to be free or cached")
            except AssertionError:
                found.append(f"{gateway.name}: {self.get(gateway, '/debug/kv')[1]}")
                continue
            found += [f"{worker['id']}: {worker}" for worker in accounts if worker["faults"]
                      or worker["free"] + held(worker)["cached"]["blocks"] != worker["blocks"]]
        return found

    def complaints(self):
        """Lines of logs that should not be there, the first of each process."""
        return [f"{member.name} complains: {line}" for member in self.members.values()
                for line in list(filter(COMPLAINT.search, member.text().splitlines()))[:3]]

    def stop(self):
        """Tells every process to stop; those that do not end well."""
        statuses = [(member, member.process.stop()) for member in [*self.workers, *self.gateways]]
        return [f"{member.name} exited with {status}:\n{member.process.tail()}"
                for member, status in statuses if status]
