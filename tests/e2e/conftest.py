"""What a passed file left out is told: tests/run shows the reasons beside its summary."""
import os


def pytest_runtest_logreport(report):
    file = os.environ.get("BATON_SKIPPED_FILE")
    if file and report.skipped and not hasattr(report, "wasxfail"):
        with open(file, "a") as out:
            out.write(f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}\n")
