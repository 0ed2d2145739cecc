"""Keeps the finished cells of one experiment in a directory, so that an interrupted one goes on.

    OUT/KIND.json          what all cells were measured with: command, settings, machine
    OUT/cells/NAME.json    a finished cell
"""
from lab.errors import LabError
from lab.files import read_json, write_json


class Store:
    def __init__(self, kind, out, about, fresh):
        """kind: sweep or ladder. Keeps about; refuses cells of other settings or machines."""
        self.kind, self.out, self.about = kind, out, about
        there = read_json(out / f"{kind}.json")
        if fresh and there and "settings" in there:
            for cell in (out / "cells").glob("*.json"):
                cell.unlink()
        if any((out / "cells").glob("*.json")):
            if not there:
                raise LabError(f"--out {out} holds cells, but not of a {kind}; choose another "
                               "directory")
            self.check(there["settings"], about["settings"])
            self.check(there["machine"], {key: about["machine"][key] for key in ("cpu", "cores")})
        write_json(out / f"{kind}.json", about)

    def check(self, there, now):
        different = [f"{name} is {there.get(name)} there and {value} now"
                     for name, value in now.items() if there.get(name) != value]
        if different:
            raise LabError(
                f"--out {self.out} holds a {self.kind} of another kind: {'; '.join(different)}; "
                "choose another directory, or --fresh")

    def get(self, name):
        """The result that put() kept, or None."""
        return read_json(self.out / "cells" / f"{name}.json")

    def put(self, name, cell):
        """With the commit it was measured at, which may change while the experiment goes on."""
        commit = self.about["machine"]["commit"] or "unknown"
        write_json(self.out / "cells" / f"{name}.json", {**cell, "commit": commit})
