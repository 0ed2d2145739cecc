"""docs/reliability.md names tests that exist, and the faults that tests/chaos knows."""
import re
import sys

from fleet import ROOT

sys.path.append(str(ROOT / "tests/chaos"))
import scenario  # noqa: E402

DOCUMENT = (ROOT / "docs/reliability.md").read_text()
FAILURES = DOCUMENT.split("## Failures")[1].split("## Chaos")[0]


def test_every_test_that_holds_a_row_exists():
    named = set(re.findall(r"`(\w+_\w+_\w+_\w+)`", FAILURES))
    tests = "".join(path.read_text() for pattern in ("**/test_*.py", "unit/**/test_*.c")
                    for path in (ROOT / "tests").glob(pattern))
    assert len(named) > 30
    assert not {name for name in named if f"def {name}(" not in tests
                and f"TEST({name})" not in tests}


def test_every_row_has_a_test():
    rows = re.split(r"^- ", FAILURES, flags=re.M)[1:]
    assert len(rows) > 15
    assert not [row for row in rows if not re.search(r"`\w+_\w+_\w+_\w+`", row)]


def test_the_faults_are_those_of_chaos():
    table = DOCUMENT.split("| fault |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| (\w+) \|", table, re.M)) == set(scenario.FAULTS)
