"""The commands and their ends: a message on stderr and status 1, or 2 for bad options."""
import signal
import sys

from lab import ladder, sweep
from lab.errors import LabError

COMMANDS = {"sweep": sweep.main, "ladder": ladder.main}


def on_term(number, _):
    sys.exit(128 + number)  # through every context manager: fleets are stopped


def main(programs, command, *options):
    signal.signal(signal.SIGTERM, on_term)
    try:
        COMMANDS[command](programs, options)
    except LabError as error:
        print(f"baton-lab {command}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"\nbaton-lab {command}: interrupted; the same command goes on from here",
              file=sys.stderr)
        sys.exit(130)
