"""What baton-lab runs: python3 -B tools/lab PATH-OF-BATON-LAB COMMAND [OPTION...]."""
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # so that the package is "lab", wherever it lies

from lab.cli import main  # noqa: E402
from lab.programs import Programs  # noqa: E402

main(Programs(Path(sys.argv[1])), *sys.argv[2:])
