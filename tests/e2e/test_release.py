"""The version: what every place says of it is what CMakeLists.txt says."""
import re
import subprocess

import pytest
import yaml
from fleet import BIN, ROOT

PROGRAMS = ["baton", "baton-gateway", "baton-prefill", "baton-decode", "baton-load", "baton-bench", "baton-plan",
            "baton-lab"]
VERSION = re.search(r"^project\(baton VERSION (\S+) ", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_and_its_manual_tell_the_version(program):
    told = subprocess.run([BIN / program, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(rf"{program} {re.escape(VERSION)} \([0-9a-z]+\)\n", told)
    page = (BIN.parent / "manual/man1" / f"{program}.1").read_text()
    assert f'"Baton {VERSION}"' in page


def test_the_debian_package_is_of_this_version():
    entry = (ROOT / "deploy/debian/changelog").read_text()
    assert re.match(r"baton \((\S+)\) ", entry)[1] == VERSION


def test_images_are_named_after_this_version():
    [image] = yaml.safe_load((ROOT / "deploy/k8s/kustomization.yaml").read_text())["images"]
    assert image["newTag"] == VERSION
    files = [path for path in (ROOT / "deploy").rglob("*") if path.suffix in (".md", ".yml", ".yaml")]
    tags = {(path.name, tag) for path in files for tag in re.findall(r"\bbaton:(\d[\w.]*)", path.read_text())}
    assert tags and {tag for _, tag in tags} == {VERSION}, tags
