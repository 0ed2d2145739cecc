"""baton-lab ladder: naive, KV cache, disaggregated, batched, overlapped: what each idea buys."""
import sys

from lab import ladder_report, machine
from lab.fleet import require_programs
from lab.gnuplot import require_gnuplot
from lab.model import Model
from lab.options import Parser, listed, whole
from lab.progress import Progress
from lab.rungs import Ladder
from lab.store import Store

GUESS_S = 4  # of a step


def read_options(programs, words):
    parser = Parser(
        "ladder",
        "What each idea buys, measured beside its roofline: ladder.csv, ladder.md, ladder.svg.")
    add = parser.add_argument
    add("--prompts", type=listed(whole(1, 1 << 20)), default="16,64,256,512", metavar="LIST",
        help="lengths in tokens")
    add("--new", type=whole(3, 4096), default=32, metavar="N", help="tokens of every answer")
    add("--streams", type=whole(2, 256), default=16, metavar="N", help="of the batched rungs")
    add("--runs", type=whole(1, 99), default=15, metavar="N",
        help="that a figure of one stream is the median of")
    parser.add_model()
    parser.add_places(programs)
    options = parser.parse(words)
    # Idle cores are lent: each rung may use the whole machine.
    options.prefill_cores = options.decode_cores = options.worker_cpu = None
    return options


def settings_of(options):
    names = ("new", "streams", "runs", "dtype")
    return {name: getattr(options, name) for name in names} | {"model": str(options.model)}


def main(programs, words):
    options = read_options(programs, words)
    require_gnuplot()
    require_programs(options.bin)
    model = Model(options.model)
    prompts = sorted(model.fitting(options.prompts, options.new))
    about = {"command": ["baton-lab", "ladder", *words], "settings": settings_of(options),
             "machine": machine.describe(programs)}
    store = Store("ladder", options.out, about, options.fresh)
    missing = [n for n in prompts if not store.get(f"p{n}")]
    progress = Progress(Ladder.N_STEPS * len(missing), GUESS_S)
    ladder = Ladder(programs, model, options, machine.n_cores(), progress)
    for n in missing:
        store.put(f"p{n}", ladder.measure(n))
    paths, warning = ladder_report.write_all(options.out, about,
                                             {n: store.get(f"p{n}") for n in prompts})
    if warning:
        print(f"baton-lab ladder: {warning}", file=sys.stderr)
    for path in paths:
        print(path)
