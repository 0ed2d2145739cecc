"""The program of baton-lab: python3 -B tools/lab PATH-OF-BATON-LAB COMMAND [OPTION...]."""
import sys
from pathlib import Path

# The package is "lab", wherever it lies.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from lab.cli import main  # noqa: E402
from lab.programs import Programs  # noqa: E402

main(Programs(Path(sys.argv[1])), *sys.argv[2:])
