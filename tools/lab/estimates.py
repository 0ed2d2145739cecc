"""The least cost of each rung of the ladder: the roofline of `baton-bench engine` (measured peaks
of operations and bandwidth), and the hand-off at the loopback's measured bandwidth."""
from dataclasses import dataclass

from lab import loopback
from lab.programs import json_of


@dataclass(frozen=True)
class Cost:
    seconds: float
    bound: str  # compute, memory or network: where more of it goes

    def times(self, factor):
        return Cost(factor * self.seconds, self.bound)

    def after(self, other):
        """Both, one after the other."""
        return Cost(self.seconds + other.seconds,
                    max(self, other, key=lambda cost: cost.seconds).bound)


@dataclass(frozen=True)
class Best:
    """None: no estimate."""
    ttft: Cost
    second: Cost
    token: Cost
    tokens_per_s: float


class Estimates:
    """The estimates for one prompt length; the constructor probes the machine."""

    def __init__(self, programs, model, options, n_prompt, n_threads):
        self.model, self.options, self.n = model, options, n_prompt
        self.engine = [programs.bench, "engine", "--model", model.directory,
                       "--dtype", options.dtype, "--threads", n_threads, "--runs", 5, "--json"]
        # The mean of the naive loop's passes.
        self.naive_tokens = n_prompt + (options.new - 1) // 2
        self.prefill, self.decode, self.kv_token_bytes, self.chunk = {}, {}, 0, 0
        self.run({n_prompt}, options.new, {1, options.streams})
        self.pass_tokens = max(n_prompt,
                               min(self.chunk, options.streams * n_prompt, model.context - 1))
        self.run({self.naive_tokens, self.pass_tokens}, 1, {1})
        self.network_bytes_per_s = loopback.bytes_per_s()

    def run(self, prompts, new, batches):
        self.keep(json_of([*self.engine, "--prompt", ",".join(map(str, prompts)), "--new", new,
                           "--batch", ",".join(map(str, batches))]))

    def keep(self, lines):
        for line in lines:
            cost = Cost(line["estimate_s"], line["bound"])
            if line["phase"] == "prefill":
                self.prefill.setdefault(line["prompt"], cost)
            else:
                self.decode.setdefault(line["batch"], cost)
            self.kv_token_bytes = line["kv_token_bytes"]
            self.chunk = line["chunk"]  # prompts share passes of so many rows

    def hand_off(self):
        return Cost(self.n * self.kv_token_bytes / self.network_bytes_per_s, "network")

    def one(self, second, token):
        """One stream: the first token, the second, and all that follow it."""
        ttft, n_new = self.prefill[self.n], self.options.new
        decode_s = second.seconds + (n_new - 2) * token.seconds
        return Best(ttft, second, Cost(decode_s / (n_new - 1), token.bound),
                    n_new / (ttft.seconds + decode_s))

    def naive(self):
        return self.one(self.prefill[self.naive_tokens], self.prefill[self.naive_tokens])

    def cached(self):
        return self.one(self.decode[1], self.decode[1])

    def handed_off(self):
        return self.one(self.decode[1].after(self.hand_off()), self.decode[1])

    def overlapped(self):
        """All layers but the last have left when the prompt is computed."""
        return self.one(self.decode[1].after(self.hand_off().times(1 / self.model.n_layers)),
                        self.decode[1])

    def batched(self):
        """All prompts come at once: one waits for half of the others. Then all are in each step."""
        n_streams, n_new, step = (self.options.streams, self.options.new,
                                  self.decode[self.options.streams])
        prompts = self.prefill[self.pass_tokens].times(n_streams * self.n / self.pass_tokens)
        total_s = prompts.seconds + (n_new - 1) * step.seconds
        return Best(prompts.times((n_streams + 1) / (2 * n_streams)), None, step,
                    n_streams * n_new / total_s)
