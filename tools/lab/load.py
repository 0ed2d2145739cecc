"""One cell's load: `baton-load`, with the processors' time of the fleet around it."""
from lab.cpu import Meter
from lab.programs import json_of

END_S = 60  # what a run may take beyond its duration and its drain


def run(programs, fleet, cell, settings):
    """The figures of the load's client, and what the fleet's processes used meanwhile."""
    command = [programs.load, "--url", fleet.url, "--json", "-", "--quiet", *cell.load_options(),
               "--duration", f"{settings.seconds}s", "--drain-s", settings.drain_s,
               "--warmup", settings.warmup, "--seed", settings.seed + cell.repeat]
    if settings.slo:
        command += ["--slo", settings.slo]
    meter = Meter(fleet.pids_by_role())
    meter.start()
    report = json_of(command, settings.seconds + settings.drain_s + END_S)
    return {"load": report, "cpu": meter.stop(), "fingerprint": fleet.fingerprint()}
