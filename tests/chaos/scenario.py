"""One round: requests, and faults at counts of what clients have read. Made from a seed, kept as
JSON.

An event begins once clients have read `after` events of streams and answers in this round, and ends
`lasts` later, or when nothing moves any more because of the fault itself.
"""
import json
import random

import random_requests

# fault: its weight
FAULTS = {"kill": 5, "leave": 2, "stop": 3, "freeze": 3, "cut": 4, "starve": 1, "full_disk": 1,
          "few_threads": 1, "garbage": 3, "lie": 3, "clock": 2}


def names(topology, n_gateways):
    return ([f"gateway-{i}" for i in range(n_gateways)]
            + [f"prefill-{i}" for i in range(int(topology[0]))]
            + [f"decode-{i}" for i in range(int(topology[2]))])


def request(rng, n_gateways):
    path, body = random_requests.lasting(rng)
    body["timeout_s"] = 30
    client = rng.choices(["patient", "slow", "leaves"], [75, 12, 13])[0]
    return {"path": path, "body": body, "gateway": rng.randrange(n_gateways), "client": client,
            "leaves_after": rng.choice([0, 1, 3, 10, 40])}


def event(rng, members, after):
    fault = rng.choices([*FAULTS], [*FAULTS.values()])[0]
    workers = [name for name in members if not name.startswith("gateway")]
    # A gateway's own requests die with it: it is the victim more seldom.
    victim = rng.choice(members if rng.random() < 0.3 else workers)
    if fault in ("freeze", "full_disk", "few_threads"):
        victim = rng.choice(workers)
    made = {"fault": fault, "victim": victim, "after": after, "lasts": rng.choice([0, 5, 30, 100])}
    if fault == "cut":
        made |= {"other": rng.choice([name for name in members if name != victim]),
                 "ways": rng.choice([1, 1, 2])}
    if fault == "few_threads":
        made["n"] = rng.randint(1, 24)
    if fault == "starve":
        made["spare"] = rng.randint(0, 6)
    if fault == "garbage":
        made |= {"seed": rng.randrange(2**32), "n": rng.choice([1, 10, 60]),
                 "inbox": rng.choice(["inbox", "bulk"])}
    if fault == "clock":
        made["days"] = rng.choice([-400, -1, 1, 1, 400])
    if fault == "lie":
        made |= {"seed": rng.randrange(2**32), "role": rng.choice(["prefill", "decode"])}
    return made


def make(seed, topology="2P2D", n_gateways=1, n_requests=24, n_events=5):
    rng = random.Random(seed)
    members, after, events = names(topology, n_gateways), 0, []
    for _ in range(n_events):
        after += rng.randint(0, 160)
        events.append(event(rng, members, after))
    return {"seed": seed, "topology": topology, "gateways": n_gateways,
            "requests": [request(rng, n_gateways) for _ in range(n_requests)], "events": events}


def load(path):
    return json.loads(path.read_text())


def save(scenario, path):
    """One request or event a line, so that a scenario can be read and cut by hand."""
    def text_of(value):
        if not isinstance(value, list):
            return json.dumps(value)
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
    parts = [f'"{name}": {text_of(value)}' for name, value in scenario.items()]
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n")
