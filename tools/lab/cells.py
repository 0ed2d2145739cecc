"""The cells of a sweep: a layout, a workload, a load."""
from dataclasses import dataclass

from lab.layouts import Layout


@dataclass(frozen=True)
class Load:
    """An open loop has a rate in requests/s, a closed one a concurrency. The other is None."""
    rate: float = None
    concurrency: int = None

    @classmethod
    def of_capacity(cls, share, per_s):
        """Rates of three digits, so that a cell's name is short."""
        return cls(rate=float(f"{share * per_s:.3g}"))

    def __str__(self):
        return f"{self.rate:g}/s" if self.rate else f"{self.concurrency} at once"

    @property
    def value(self):
        return self.rate or self.concurrency

    @property
    def arrivals(self):
        return "open" if self.rate else "closed"

    def options(self):
        return ["--rate", self.rate] if self.rate else ["--concurrency", self.concurrency]


@dataclass(frozen=True)
class Cell:
    layout: Layout
    prompt: int  # tokens
    new: int
    load: Load
    repeat: int

    def __str__(self):
        return f"{self.layout}, prompt {self.prompt}, {self.load}"

    @property
    def name(self):
        load = f"{self.load.arrivals}{self.load.value:g}"
        return f"{self.layout}-p{self.prompt}-n{self.new}-{load}-{self.repeat}"

    def columns(self):
        return {"layout": str(self.layout), "n_prefill": self.layout.n_prefill,
                "n_decode": self.layout.n_decode, "prompt_tokens": self.prompt,
                "output_tokens": self.new, "arrivals": self.load.arrivals,
                "rate": self.load.rate, "concurrency": self.load.concurrency, "repeat": self.repeat}

    def load_options(self):
        return [*self.load.options(), "--prompt-tokens", self.prompt, "--output-tokens", self.new]
