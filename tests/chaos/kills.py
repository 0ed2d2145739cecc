"""Kills workers under requests of every kind, while another one of the role lives: nothing is lost.

A worker dies once clients have read a random number of events since the last kill and every worker
is back. Clients ask without a pause, all from one pool of requests whose answers in peace are
known. Now and then they finish, and every KV block must be free or cached. The gateway's limits on
attempts are raised, since a request may meet many kills.
"""
import collections
import random
import threading

import clients
import random_requests
from world import World

N_CLIENTS, N_POOL, ROUND = 8, 100, 25
MOST_EVENTS = 400  # that clients read between two kills
NO_LIMITS = ["--migration-limit", 100, "--max-attempts", 100]


def pool_of(rng):
    requests = []
    for _ in range(N_POOL):
        path, body = random_requests.lasting(rng)
        requests.append({"path": path, "body": {**body, "timeout_s": 86400}, "gateway": 0,
                         "client": "patient"})
    return requests


class Campaign:
    def __init__(self, world, seed):
        self.world, self.rng, self.gateway = world, random.Random(seed), world.gateways[0]
        self.address = self.gateway.host, self.gateway.ports["http"]
        self.pool = pool_of(self.rng)
        self.expected = clients.run_all(self.pool, [self.address], clients.Clock())
        assert all(answer.outcome == "whole"
                   for answer in self.expected), "the fleet does not serve in peace"
        self.answers, self.n_kills, self.leaks = [], collections.Counter(), []

    def keep_asking(self, rng, clock, enough):
        while not enough.is_set():
            i = rng.randrange(N_POOL)
            answer = clients.ask(*self.address, self.pool[i], clock)
            self.answers.append((self.pool[i], answer.judge(self.pool[i], self.expected[i])))

    def kill_one(self, clock):
        clock.wait(clock.count + self.rng.randrange(MOST_EVENTS))
        victim = self.rng.choice(self.world.workers)
        victim.kill()
        victim.revive()
        self.n_kills[victim.role] += 1
        self.world.wait_ready()

    def round(self, n_kills):
        clock, enough = clients.Clock(), threading.Event()
        crowd = [threading.Thread(target=self.keep_asking,
                                  args=(random.Random(self.rng.random()), clock, enough))
                 for _ in range(N_CLIENTS)]
        for thread in crowd:
            thread.start()
        try:
            for _ in range(n_kills):
                self.kill_one(clock)
        finally:
            enough.set()
            for thread in crowd:
                thread.join()
        self.leaks += self.world.leaks()

    def failures(self):
        """A list of complaints."""
        bad = [f"{answer.outcome} {answer.detail} of {request['path']} {request['body']}"
               for request, answer in self.answers if answer.outcome != "exact"]
        return bad + self.leaks + self.world.complaints()

    def table(self):
        outcomes = collections.Counter(one.outcome.partition(":")[0] for _, one in self.answers)
        migrated = [answer for _, answer in self.answers if answer.migrations]
        others = outcomes.total() - sum(outcomes[name] for name in ("exact", "error", "wrong"))
        by_role = ", ".join(f"{n} {role}" for role, n in sorted(self.n_kills.items()))
        rows = [("kills", f"{sum(self.n_kills.values())} ({by_role})"),
                ("requests", len(self.answers)), ("exact", outcomes["exact"]),
                ("of these migrated",
                 f"{len(migrated)}, {sum(answer.migrations for answer in migrated)} times"),
                ("errors", outcomes["error"]), ("wrong", outcomes["wrong"]),
                ("cut off, hung", others), ("held KV blocks", len(self.leaks)),
                ("gap of a migration", spread(answer.migration_gap_s for answer in migrated)),
                ("longest pause of a migrated stream, as its client sees it",
                 spread(answer.gap_s for answer in migrated if answer.gap_s))]
        return "\n".join(["| what | |", "|---|---|",
                          *(f"| {name} | {value} |" for name, value in rows)])


def spread(values):
    values = sorted(values)
    if not values:
        return "none"
    p50, p99 = values[len(values) // 2], values[len(values) * 99 // 100]
    return f"p50 {1000 * p50:.0f} ms, p99 {1000 * p99:.0f} ms, max {1000 * values[-1]:.0f} ms"


def run(n_kills, seed, tell=lambda text: None):
    """The campaign when it is over, and what failed."""
    with World("2P2D", gateway_args=NO_LIMITS, is_patient=True) as world:
        campaign = Campaign(world, seed)
        while sum(campaign.n_kills.values()) < n_kills:
            campaign.round(min(ROUND, n_kills - sum(campaign.n_kills.values())))
            tell(f"{sum(campaign.n_kills.values())} kills, {len(campaign.answers)} requests")
        failures = campaign.failures() + world.stop()
        return campaign, failures
