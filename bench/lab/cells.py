"""The cells of a sweep, and the directory that keeps those which are finished.

    OUT/sweep.json         what all cells were measured with: settings and machine
    OUT/cells/NAME.json    one finished cell: what its load and the fleet said
"""
import shutil
from dataclasses import asdict, dataclass

from lab.errors import LabError
from lab.files import read_json, write_json
from lab.layouts import Layout


@dataclass(frozen=True)
class Load:
    """Open: rate requests a second; closed: so many always under way. The other one is None."""
    rate: float = None
    concurrency: int = None

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
    def file_name(self):
        return f"{self.layout}-p{self.prompt}-n{self.new}-{self.load.arrivals}{self.load.value:g}-{self.repeat}.json"

    def columns(self):
        return {"layout": str(self.layout), "n_prefill": self.layout.n_prefill, "n_decode": self.layout.n_decode,
                "prompt_tokens": self.prompt, "output_tokens": self.new, "arrivals": self.load.arrivals,
                "rate": self.load.rate, "concurrency": self.load.concurrency, "repeat": self.repeat}

    def load_options(self):
        return [*self.load.options(), "--prompt-tokens", self.prompt, "--output-tokens", self.new]


class Store:
    """Finished cells of one sweep, which all have the same settings."""

    def __init__(self, out, fresh):
        self.out = out
        if fresh:
            shutil.rmtree(out / "cells", ignore_errors=True)
            (out / "sweep.json").unlink(missing_ok=True)

    def describe(self, about):
        """Keeps it, unless there are cells of other settings or of another machine."""
        there = read_json(self.out / "sweep.json")
        if there and any((self.out / "cells").glob("*.json")):
            self.check(there["settings"], about["settings"])
            self.check(there["machine"], {name: about["machine"][name] for name in ("cpu", "cores")})
        write_json(self.out / "sweep.json", about)
        return about

    def check(self, there, now):
        different = [f"{name} is {there.get(name)} there and {value} now" for name, value in now.items()
                     if there.get(name) != value]
        if different:
            raise LabError(f"--out {self.out} holds a sweep of another kind: {'; '.join(different)}; "
                           "choose another directory, or --fresh")

    def get(self, cell):
        """What put() kept, or None."""
        return read_json(self.out / "cells" / cell.file_name)

    def put(self, cell, result):
        write_json(self.out / "cells" / cell.file_name, {"cell": asdict(cell), **result})
