"""How many workers of each role a fleet has."""
from dataclasses import dataclass

EVERY_PROMPT = 1 << 20  # --colocated-prefill-tokens at its greatest


@dataclass(frozen=True, order=True)
class Layout:
    """0P1D is the aggregated layout: decode workers run the prompts beside their sequences."""
    n_prefill: int
    n_decode: int

    def __str__(self):
        return f"{self.n_prefill}P{self.n_decode}D"

    def counts(self):
        return {"prefill": self.n_prefill, "decode": self.n_decode}

    def gateway_options(self):
        return [] if self.n_prefill else ["--colocated-prefill-tokens", EVERY_PROMPT]
