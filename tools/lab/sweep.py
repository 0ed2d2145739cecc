"""baton-lab sweep: every layout under every workload and load."""
import shutil
from pathlib import Path

from lab import machine, pictures, report
from lab.cells import Cell, Load
from lab.errors import LabError
from lab.files import write
from lab.fleet import ComposedFleet, LocalFleet, RunningFleet, require_programs
from lab.gnuplot import require_gnuplot
from lab.load import run
from lab.model import Model
from lab.options import Parser, layout, listed, number, slo, url, whole
from lab.progress import Progress
from lab.store import Store
from lab.table import COLUMNS, row_of, to_csv

DEFAULT_LAYOUTS, DEFAULT_RATES = "1P1D,2P1D,1P2D,2P2D", "5,20,40"
FULL = Load(concurrency=16)  # clients that ask again at once: what the first layout can do


def read_options(programs, words):
    parser = Parser(
        "sweep", "Fleets of several layouts under several loads: sweep.csv, report.md, pictures.")
    add = parser.add_argument
    add("--layouts", type=listed(layout), metavar="LIST",
        help=f"({DEFAULT_LAYOUTS}); 0P1D is aggregated: the decode worker also runs prompts")
    add("--prompts", type=listed(whole(1, 1 << 20)), default="16,64,256,512", metavar="LIST",
        help="lengths in tokens")
    add("--new", type=whole(2, 1 << 20), default=64, metavar="N", help="tokens of every answer")
    loads = parser.add_mutually_exclusive_group()
    loads.add_argument("--rates", type=listed(number(0.001, 1e6)), metavar="LIST",
                       help=f"open loop: requests a second ({DEFAULT_RATES})")
    loads.add_argument(
        "--loads", type=listed(number(0.01, 100)), metavar="LIST",
        help="open loop: rates as shares of what the first layout answers, which is measured first")
    loads.add_argument("--concurrency", type=listed(whole(1, 65536)), metavar="LIST",
                       help="closed loop instead: requests always under way")
    add("--seconds", type=number(0.1, 86400), default=5, metavar="S",
        help="in which a cell's requests start")
    add("--drain-s", type=number(0, 86400), default=10, metavar="S",
        help="that they have to end, after that")
    add("--warmup", type=whole(0, 100000), default=8, metavar="N",
        help="requests before each cell, not counted")
    add("--repeats", type=whole(1, 100), default=1, metavar="N",
        help="of every cell; the report tells medians")
    add("--slo", type=slo, default="ttft=200ms,itl=50ms", metavar="BOUNDS",
        help="what counts as good")
    parser.add_model()
    add("--prefill-cores", metavar="L",
        help="processors of every prefill worker: auto, all, or such as 0 or 0,2-3")
    add("--decode-cores", metavar="L",
        help="the same of decode workers; by default busy workers have them all")
    add("--worker-cpu", type=number(0.1, 1024), metavar="SHARE",
        help="cores that each worker gets of this machine, as if it were a smaller one of its own "
        "(root; cgroups)")
    add("--seed", type=whole(1, 10**9 - 1), default=1, metavar="N",
        help="of prompts and arrivals: the same in all layouts")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", type=url,
                       help="a running fleet, measured as it is, instead of --layouts")
    where.add_argument("--compose", type=Path, metavar="FILE",
                       help="scale these containers instead of local processes")
    parser.add_places(programs)
    options = parser.parse(words)
    for name in ("layouts", "prefill_cores", "decode_cores", "worker_cpu"):
        if options.url and getattr(options, name):
            parser.error(f"--{name.replace('_', '-')}: a fleet at --url stays as it is")
    if options.compose and options.worker_cpu:
        parser.error("--worker-cpu: for workers that are started here, not by --compose")
    options.layouts = options.layouts or listed(layout)(DEFAULT_LAYOUTS)
    return options


def loads_of(options):
    """The loads of every prompt, unless the rates are shares of its capacity."""
    if options.concurrency:
        return [Load(concurrency=n) for n in sorted(options.concurrency)]
    return [Load(rate=rate)
            for rate in sorted(options.rates or listed(number(0.001, 1e6))(DEFAULT_RATES))]


def prompts_of(options):
    if options.url or options.compose:
        return options.prompts  # whose model only the server knows
    return Model(options.model).fitting(options.prompts, options.new)


def settings_of(options):
    """The settings that cells must share to stand in one table."""
    settings = {name: getattr(options, name)
                for name in ("new", "seconds", "drain_s", "warmup", "slo", "dtype", "prefill_cores",
                             "decode_cores", "worker_cpu", "seed", "url")}
    return settings | {"model": None if options.url else str(options.model),
                       "compose": str(options.compose) if options.compose else None}


def fleet_of(layout, options):
    if options.url:
        return RunningFleet(options.url)
    if options.compose:
        return ComposedFleet(layout, options)
    return LocalFleet(layout, options, options.out / "log" / str(layout))


class Sweep:
    def __init__(self, programs, options, words):
        self.programs, self.options = programs, options
        if options.url:
            options.layouts = [RunningFleet(options.url).layout()]
        self.prompts = prompts_of(options)
        self.about = {"command": ["baton-lab", "sweep", *words], "settings": settings_of(options),
                      "machine": machine.describe(programs)}
        self.store = Store("sweep", options.out, self.about, options.fresh)
        self.capacity = self.measure_capacity() if options.loads else {}
        self.rounds = [(layout, [Cell(layout, prompt, options.new, load, repeat)
                                 for prompt in self.prompts for load in self.loads_of(prompt)])
                       for repeat in range(options.repeats) for layout in options.layouts]

    def loads_of(self, prompt):
        if not self.options.loads:
            return loads_of(self.options)
        return [Load.of_capacity(share, self.capacity[prompt])
                for share in sorted(self.options.loads)]

    def measure_capacity(self):
        """{prompt: requests a second} of the first layout, kept like a cell."""
        cells = [Cell(self.options.layouts[0], prompt, self.options.new, FULL, 0)
                 for prompt in self.prompts]
        missing = [cell for cell in cells if not self.store.get(f"capacity-{cell.name}")]
        progress = Progress(len(missing), self.options.seconds + 2)
        if missing:
            progress.doing(f"starting {self.options.layouts[0]}")
            with fleet_of(self.options.layouts[0], self.options) as fleet:
                for cell in missing:
                    progress.doing(f"capacity of {cell}")
                    self.store.put(f"capacity-{cell.name}",
                                   run(self.programs, fleet, cell, self.options))
                    fleet.check()
                    progress.done(f"capacity of {cell}: {self.capacity_of(cell):.3g} requests/s")
        return {cell.prompt: self.capacity_of(cell) for cell in cells}

    def capacity_of(self, cell):
        per_s = row_of(cell, self.store.get(f"capacity-{cell.name}"))["requests_per_s"]
        if not per_s:
            raise LabError(f"--loads: no request of {cell} was answered in time; more --seconds")
        return per_s

    @property
    def cells(self):
        return [cell for _, cells in self.rounds for cell in cells]

    def measure(self):
        """Repeats outside, layouts inside: noise of the machine then hits all layouts equally."""
        n_missing = sum(not self.store.get(cell.name) for cell in self.cells)
        progress = Progress(n_missing, self.options.seconds + 2)
        for one, cells in self.rounds:
            missing = [cell for cell in cells if not self.store.get(cell.name)]
            if missing:
                progress.doing(f"starting {one}")
                with fleet_of(one, self.options) as fleet:
                    for cell in missing:
                        self.measure_cell(fleet, cell, progress)

    def measure_cell(self, fleet, cell, progress):
        progress.doing(str(cell))
        result = run(self.programs, fleet, cell, self.options)
        fleet.check()
        self.store.put(cell.name, result)
        row = row_of(cell, result)
        progress.done(
            f"{cell}: TTFT p50 {1e3 * (row['ttft_p50_s'] or 0):.3g} ms, ITL p50 "
            f"{1e3 * (row['itl_p50_s'] or 0):.3g} ms, {row['done']} of {row['sent']} done")

    def told_capacity(self):
        """Lines for the report."""
        shares = ", ".join(f"{share:g}" for share in sorted(self.options.loads or []))
        return [f"- {self.options.layouts[0]} answers {per_s:.3g} requests/s of {prompt} tokens "
                f"({FULL}); the rates are {shares} times that."
                for prompt, per_s in self.capacity.items()]

    def tell(self):
        results = [(cell, self.store.get(cell.name)) for cell in self.cells]
        rows = [row_of(cell, result) for cell, result in results]
        out = self.options.out
        facts = [sorted({each[name] for _, each in results}) for name in ("commit", "fingerprint")]
        write(out / "sweep.csv", to_csv(COLUMNS, rows))
        names = pictures.draw_all(rows, out, self.about["machine"]["cores"])
        write(out / "report.md",
              report.text_of(rows, self.about, facts, names, self.told_capacity()))
        return [out / "report.md", out / "sweep.csv", *(out / f"{name}.svg" for name in names)]


def main(programs, words):
    options = read_options(programs, words)
    require_gnuplot()
    if not options.url and not options.compose:
        require_programs(options.bin)
    if options.compose and not shutil.which("docker"):
        raise LabError("--compose: docker is not installed")
    sweep = Sweep(programs, options, words)
    sweep.measure()
    for path in sweep.tell():
        print(path)
