"""What baton-bench runs: python3 -B bench/lab PATH-OF-BATON-BENCH COMMAND [OPTION...]."""
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # so that the package is "lab", wherever it lies

from lab.cli import main  # noqa: E402

main(Path(sys.argv[1]), *sys.argv[2:])
