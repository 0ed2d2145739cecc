"""The files of the tree, as git lists them."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns):
    """Paths from the root that git tracks, or would track, and that match a pattern of its own."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard", "--deduplicate", "--", *patterns],
                            capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
