"""docs/reliability.md names tests that exist, and the faults that tests/chaos knows."""
import re
import subprocess
import sys

import pytest
from fleet import BIN, ROOT

sys.path.append(str(ROOT / "tests/chaos"))
import scenario  # noqa: E402

KINDS = "unit|golden|fuzz|style|e2e|attack|tools|bench"  # of tests, as ctest names them
DOCUMENT = (ROOT / "docs/reliability.md").read_text()
FAILURES = DOCUMENT.split("## Failures")[1].split("## Attacks")[0]


def test_every_test_that_holds_a_row_exists():
    named = set(re.findall(r"`(\w+_\w+_\w+_\w+)`", FAILURES))
    tests = "".join(path.read_text() for pattern in ("**/test_*.py", "unit/**/test_*.c")
                    for path in (ROOT / "tests").glob(pattern))
    assert len(named) > 30
    assert not {name for name in named if f"def {name}(" not in tests
                and f"TEST({name})" not in tests}


@pytest.fixture(scope="module")
def known():
    """The names of all tests."""
    listed = subprocess.run(["ctest", "--test-dir", BIN.parent, "-N"], capture_output=True,
                            text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listed))


def test_every_test_that_is_named_is_one_of_ctests(known):
    pages = DOCUMENT + (ROOT / "SECURITY.md").read_text()
    named = set(re.findall(rf"`((?:{KINDS})\.\w+)`", pages))
    assert len(named) > 20 and not named - known


def test_every_attack_is_in_the_table(known):
    table = DOCUMENT.split("## Attacks")[1].split("\n## ")[0]
    attacks = {name for name in known if name.startswith("attack.")}
    assert len(attacks) >= 10 and attacks == set(re.findall(r"`(attack\.\w+)`", table))


def test_every_defence_names_its_test():
    table = (ROOT / "SECURITY.md").read_text().split("| interface |")[1].split("\n\n")[0]
    rows = table.splitlines()[2:]
    assert len(rows) > 15
    assert not [row for row in rows if not re.search(rf"`({KINDS})\.\w+`", row)]


def test_every_fuzzer_is_in_the_table():
    table = DOCUMENT.split("| author of the bytes |")[1].split("\n\n")[0]
    drivers = {path.stem.removeprefix("fuzz_") for path in (ROOT / "tests/fuzz").glob("fuzz_*.c")}
    assert drivers == set(re.findall(r"`(\w+)`", table))


def test_every_row_has_a_test():
    rows = re.split(r"^- ", FAILURES, flags=re.M)[1:]
    assert len(rows) > 15
    assert not [row for row in rows if not re.search(r"`\w+_\w+_\w+_\w+`", row)]


def test_the_faults_are_those_of_chaos():
    table = DOCUMENT.split("| fault |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| (\w+) \|", table, re.M)) == set(scenario.FAULTS)
