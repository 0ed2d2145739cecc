"""Command lines: lists, layouts, SLOs; a bad one is one line that names the option."""
import argparse
import re

from lab.layouts import Layout


class Help(argparse.ArgumentDefaultsHelpFormatter):
    def _get_help_string(self, action):
        return super()._get_help_string(action) if action.default else action.help


class Parser(argparse.ArgumentParser):
    def __init__(self, command, description):
        super().__init__(prog=f"baton-bench {command}", description=description, allow_abbrev=False,
                         formatter_class=Help)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")


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
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not '{text}'")
        return int(text)
    return read


def number(least, most):
    def read(text):
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) or not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a number from {least:g} to {most:g}, not '{text}'")
        return float(text)
    return read


def layout(text):
    found = re.fullmatch(r"(\d{1,2})P(\d{1,2})D", text)
    if not found or not 1 <= int(found[2]) <= 64 or int(found[1]) > 64:
        raise argparse.ArgumentTypeError(
            f"must be layouts as 2P1D (2 prefill and 1 decode workers; 0P1D: decode workers run prompts too), "
            f"up to 64 of each, not '{text}'")
    return Layout(int(found[1]), int(found[2]))


def slo(text):
    """As `baton-bench serve` takes it; returned as it stands."""
    if not re.fullmatch(r"(ttft|itl|tpot|e2el)=\d+(\.\d+)?(us|ms|s)?(,(ttft|itl|tpot|e2el)=\d+(\.\d+)?(us|ms|s)?)*", text):
        raise argparse.ArgumentTypeError(f"must be bounds as ttft=200ms,itl=50ms, not '{text}'")
    return text


def url(text):
    if not re.fullmatch(r"http://[^\s/]+", text.rstrip("/")):
        raise argparse.ArgumentTypeError(f"must be http://HOST[:PORT], not '{text}'")
    return text.rstrip("/")
