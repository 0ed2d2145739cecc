"""The rungs of the ladder: how each is measured, at one prompt length."""
import statistics
from dataclasses import asdict, dataclass

from lab.errors import LabError
from lab.estimates import Estimates
from lab.fleet import LocalFleet
from lab.layouts import Layout
from lab.programs import json_of


@dataclass(frozen=True)
class Measured:
    """Seconds; None where the rung has no such thing."""
    cold_ttft_s: float  # of the first request of a process or fleet
    ttft_s: float
    second_s: float  # first token to second
    token_s: float  # (end - first token) / (tokens - 1)
    tokens_per_s: float


@dataclass(frozen=True)
class Rung:
    key: str
    name: str  # {streams} is filled in
    estimate: str  # method of Estimates
    over: str  # key of the rung it improves on
    aim: str  # field of Measured it is there to improve


RUNGS = (
    Rung("naive", "naive", "naive", None, None),
    Rung("cached", "KV cache", "cached", "naive", "token_s"),
    Rung("split", "disaggregated", "handed_off", "cached", "token_s"),
    Rung("batched", "batched, {streams} streams", "batched", "split", "tokens_per_s"),
    Rung("overlapped", "overlapped", "overlapped", "split", "second_s"),
    Rung("all", "overlapped, {streams} streams", "batched", "batched", "ttft_s"),
)


class Ladder:
    """Measures all rungs of one prompt length, after the machine itself."""

    N_STEPS = 5  # that progress hears of

    def __init__(self, programs, model, options, n_threads, progress):
        self.programs, self.model, self.options = programs, model, options
        self.n_threads, self.progress = n_threads, progress

    def measure(self, n_prompt):
        """What the store keeps: {"rungs": {key: Measured}, "best": {key: Best}}, the bandwidth."""
        self.progress.doing(f"prompt {n_prompt}, what the machine allows")
        estimates = Estimates(self.programs, self.model, self.options, n_prompt, self.n_threads)
        self.progress.done(f"prompt {n_prompt}, what the machine allows")
        return {"rungs": self.measure_rungs(n_prompt),
                "network_bytes_per_s": estimates.network_bytes_per_s,
                "best": {rung.key: asdict(getattr(estimates, rung.estimate)()) for rung in RUNGS}}

    def measure_rungs(self, n_prompt):
        steps = {"naive": lambda: self.alone(n_prompt, "--naive"),
                 "cached": lambda: self.alone(n_prompt)}
        found = {}
        for key, step in steps.items():
            self.progress.doing(f"prompt {n_prompt}, {key}")
            found[key] = step()
            self.progress.done(
                f"prompt {n_prompt}, {key}: {1e3 * found[key].token_s:.3g} ms a token")
        for one, many, overlap in (("split", "batched", "off"), ("overlapped", "all", "on")):
            self.progress.doing(f"prompt {n_prompt}, {one} and {many}")
            found[one], found[many] = self.served(n_prompt, overlap)
            self.progress.done(
                f"prompt {n_prompt}, {one}: {1e3 * found[one].token_s:.3g} ms a token, "
                f"{many}: {found[many].tokens_per_s:.4g} tokens/s")
        return {rung.key: asdict(found[rung.key]) for rung in RUNGS}

    def alone(self, n_prompt, *options):
        """One process, one prompt again and again."""
        n_new, ids = self.options.new, ",".join(str(16 + 7 * i % 1000) for i in range(n_prompt))
        said = json_of([self.programs.bench, "generate", "--model", self.options.model,
                        "--dtype", self.options.dtype, "--threads", self.n_threads, "--tokens", ids,
                        "--max-new", n_new, "--ignore-eos", "true", "--runs", self.options.runs + 1,
                        *options])
        ttft_s = statistics.median(run["prefill_s"] for run in said["again"])
        decode_s = statistics.median(run["decode_s"] for run in said["again"])
        return Measured(said["prefill_s"], ttft_s, decode_s / (n_new - 1), decode_s / (n_new - 1),
                        n_new / (ttft_s + decode_s))

    def served(self, n_prompt, overlap):
        """A fresh fleet: its first request, one stream, many streams."""
        logs = self.options.out / "log" / f"p{n_prompt}-overlap-{overlap}"
        with LocalFleet(Layout(1, 1), self.options, logs, ["--overlap", overlap]) as fleet:
            first = fleet.generate(prompt=[16 + 7 * i % 1000 for i in range(n_prompt)],
                                   temperature=0, ignore_eos=True, max_new_tokens=2,
                                   cache_prompt=False)
            if not first["cold"]:
                raise LabError(f"the first request of {fleet.url} was not its first")
            one = self.load(fleet, n_prompt, 1, self.options.runs)
            many = self.load(fleet, n_prompt, self.options.streams, 2 * self.options.streams)
        return self.measured(first["ttft_s"], one), self.measured(None, many)

    def load(self, fleet, n_prompt, n_streams, n_requests):
        report = json_of([self.programs.load, "--url", fleet.url, "--concurrency", n_streams,
                          "--requests", n_requests, "--warmup", max(2, n_streams),
                          "--prompt-tokens", n_prompt, "--seed", 1,
                          "--quiet", "--output-tokens", self.options.new, "--json", "-"])
        figures = report["runs"][0]["figures"]
        if figures["requests"]["done"] < n_requests:
            raise LabError(
                f"of {n_requests} requests only {figures['requests']['done']} ended well; "
                f"the others: {figures['failures']}")
        return figures

    def measured(self, cold_ttft_s, figures):
        times, tokens = figures["times"], figures["tokens"]
        # Tokens without text would hide the second one.
        seen = tokens["events"] > tokens["output"] / 2
        second_s = times["first_gap"]["p50_s"] if seen and cold_ttft_s is not None else None
        return Measured(cold_ttft_s, times["ttft"]["p50_s"], second_s, times["tpot"]["p50_s"],
                        figures["output_tokens_per_s"])
