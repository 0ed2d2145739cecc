"""Every place names the version of CMakeLists.txt, and the changelog tells its changes."""
import re
from datetime import date
from email.utils import parsedate_to_datetime

import pytest
import yaml
from fleet import BIN, ROOT
from programs import WITH_LAB, run

VERSION = re.search(r"^project\(baton VERSION (\S+) ", (ROOT / "CMakeLists.txt").read_text(),
                    re.M)[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
RELEASES = re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.M)
SUBJECTS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


@pytest.mark.parametrize("program", WITH_LAB)
def test_a_program_and_its_manual_tell_the_version(program):
    told = run(BIN / program, "--version", check=True).stdout
    assert re.fullmatch(rf"{program} {re.escape(VERSION)} \([0-9a-z]+\)\n", told)
    page = (BIN.parent / "manual/man1" / f"{program}.1").read_text()
    assert f'"Baton {VERSION}"' in page


def test_the_debian_package_is_of_this_version_and_of_the_releases_day():
    entry = (ROOT / "deploy/debian/changelog").read_text()
    assert re.match(r"baton \((\S+)\) ", entry)[1] == VERSION
    day = parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", entry, re.M)[1]).date()
    assert (VERSION, day.isoformat()) == RELEASES[0]


def test_images_are_named_after_this_version():
    [image] = yaml.safe_load((ROOT / "deploy/k8s/kustomization.yaml").read_text())["images"]
    assert image["newTag"] == VERSION
    files = [path for path in (ROOT / "deploy").rglob("*")
             if path.suffix in (".md", ".yml", ".yaml")]
    tags = {(path.name, tag) for path in files
            for tag in re.findall(r"\bbaton:(\d[\w.]*)", path.read_text())}
    assert tags and {tag for _, tag in tags} == {VERSION}, tags


def test_the_changelog_tells_releases_newest_first():
    sections = re.findall(r"^## (.*)$", CHANGELOG, re.M)
    assert sections == ["Unreleased"] + [f"{version} - {day}" for version, day in RELEASES]
    assert RELEASES[0][0] == VERSION
    numbers = [tuple(map(int, version.split("."))) for version, _ in RELEASES]
    days = [date.fromisoformat(day) for _, day in RELEASES]
    assert numbers == sorted(set(numbers), reverse=True) and days == sorted(days, reverse=True)


def test_a_releases_changes_stand_under_their_subjects_once():
    for section in re.split(r"^## .*$", CHANGELOG, flags=re.M)[1:]:
        subjects = re.findall(r"^### (.*)$", section, re.M)
        assert subjects == [name for name in SUBJECTS if name in subjects]
        entries = [" ".join(text.split())
                   for text in re.findall(r"^- (.*(?:\n  .*)*)", section, re.M)]
        assert len(entries) == len(set(entries))


def test_a_release_has_notes():
    for version, day in RELEASES:
        notes = (ROOT / f"docs/releases/{version}.md").read_text()
        assert notes.startswith(f"# Baton {version}\n") and day in notes
