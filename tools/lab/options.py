"""Command lines: lists, layouts, SLOs; a bad one is one line that names the option."""
import argparse
import re
from pathlib import Path

from lab.layouts import Layout


class Help(argparse.ArgumentDefaultsHelpFormatter):
    def _get_help_string(self, action):
        return super()._get_help_string(action) if action.default else action.help


class Parser(argparse.ArgumentParser):
    def __init__(self, command, description):
        self.command = command
        super().__init__(prog=f"baton-lab {command}", description=description, allow_abbrev=False,
                         formatter_class=Help)

    def add_model(self):
        self.add_argument("--model", type=directory, metavar="DIR",
                          help="in Hugging Face's layout (the embedded model)")
        self.add_argument("--dtype", choices=("auto", "f32", "bf16", "q8", "q4"), default="f32",
                          help="of the weights")

    def add_places(self, programs):
        self.add_argument("--bin", type=directory, default=str(programs.folder), metavar="DIR",
                          help="where the fleet's programs are")
        self.add_argument("--out", type=Path, default=Path(self.command), metavar="DIR",
                          help="for the results; what is finished there is not measured again")
        self.add_argument("--fresh", action="store_true", help="forget what is in --out")

    def parse(self, words):
        options = self.parse_args(words)
        options.model = options.model or default_model()
        return options

    def error(self, message):
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")


def default_model():
    """The embedded one: in the sources, or installed beside this package."""
    package = Path(__file__).resolve().parent
    places = [package.parent.parent / "models/tale", package.parent / "models/tale"]
    return next((place for place in places if place.is_dir()), places[0])


def directory(text):
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"no such directory: '{text}'")
    return path.absolute()  # a link shows the name that people chose


def listed(read):
    """A list of what read takes, with commas between; none twice."""
    def read_all(text):
        values = [read(word) for word in text.split(",")]
        if len(set(values)) < len(values):
            raise argparse.ArgumentTypeError(f"'{text}' names something twice")
        return values
    return read_all


def whole(least, most):
    def read(text):
        if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {least} to {most}, not '{text}'")
        return int(text)
    return read


def number(least, most):
    def read(text):
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) or not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(
                f"must be a number from {least:g} to {most:g}, not '{text}'")
        return float(text)
    return read


def layout(text):
    found = re.fullmatch(r"(\d{1,2})P(\d{1,2})D", text)
    if not found or not 1 <= int(found[2]) <= 64 or int(found[1]) > 64:
        raise argparse.ArgumentTypeError(
            "must be layouts as 2P1D (2 prefill and 1 decode workers; 0P1D: decode workers run "
            f"prompts too), up to 64 of each, not '{text}'")
    return Layout(int(found[1]), int(found[2]))


def slo(text):
    """Bounds as `baton-load` takes them, unchanged."""
    if not all(re.fullmatch(r"(ttft|itl|tpot|e2el)=\d+(\.\d+)?(us|ms|s)?", bound)
               for bound in text.split(",")):
        raise argparse.ArgumentTypeError(f"must be bounds as ttft=200ms,itl=50ms, not '{text}'")
    return text


def url(text):
    if not re.fullmatch(r"http://[^\s/]+", text.rstrip("/")):
        raise argparse.ArgumentTypeError(f"must be http://HOST[:PORT], not '{text}'")
    return text.rstrip("/")
