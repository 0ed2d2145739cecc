"""cmake --install: a tree that serves from where it was put, and units that systemd accepts."""
import json
import os
import re
import shutil
import subprocess

import pytest
from baton_program import PATIENT
from fleet import BIN, LONG_S, ROOT, free_port
from judges import judge
from programs import WITH_LAB, run

BUILD = BIN.parent
UNITS = ["baton-gateway.service", "baton-prefill@.service", "baton-decode@.service"]


def install(destination, prefix="/usr"):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True,
                   capture_output=True, env={**os.environ, "DESTDIR": str(destination)})
    return destination


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return install(tmp_path_factory.mktemp("root"))


def clean_environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    return {**kept, **PATIENT, "HOME": str(home)}


def test_programs_come_with_their_manuals_and_completions(root):
    for program in WITH_LAB:
        assert os.access(root / "usr/bin" / program, os.X_OK)
        for path in (f"man/man1/{program}.1", f"bash-completion/completions/{program}",
                     f"zsh/vendor-completions/_{program}"):
            assert (root / "usr/share" / path).is_file(), path
    assert not list(root.rglob("test_*")) and not list(root.rglob("fuzz_*"))


def test_an_installed_fleet_serves_its_own_model_from_anywhere(root, tmp_path):
    # The sources are no help to it: what it takes is beside it.
    baton, env, state = root / "usr/bin/baton", clean_environment(tmp_path), tmp_path / "state"
    words = ["--state", state, "--port", str(free_port()), "--pack-dir", tmp_path / "packs",
             "--detach"]
    try:
        up = run(baton, "up", *words, env=env, cwd=tmp_path, timeout=LONG_S)
        assert up.returncode == 0, up.stderr
        said = run(baton, "run", "--state", state, "Once upon a time", env=env, cwd=tmp_path,
                   timeout=LONG_S)
        assert said.returncode == 0 and len(said.stdout) > 20, said.stderr
        gateway = (state / "gateway.pid").read_text().split()[0]
        with open(f"/proc/{gateway}/cmdline") as file:
            words = file.read().split("\0")
        model = words[words.index("--model") + 1] if "--model" in words else ""
        assert os.readlink(f"/proc/{gateway}/exe") == str(root / "usr/bin/baton-gateway")
        assert os.path.realpath(model) == str(root / "usr/share/baton/models/tale")
    finally:
        subprocess.run([baton, "down", "--state", state], env=env, capture_output=True,
                       timeout=LONG_S)
    listed = run(baton, "pull", "--list", env=env, cwd=tmp_path)
    assert "distilgpt2" in listed.stdout


def links_of(page):
    return re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())


def test_every_link_of_the_documents_leads_to_what_is_installed(root):
    doc = root / "usr/share/doc/baton"
    pages = list(doc.rglob("*.md"))
    assert {"README.md", "ARCHITECTURE.md", "docs/using.md", "docs/design/README.md",
            "deploy/README.md"} <= {str(page.relative_to(doc)) for page in pages}
    local = [(page, link) for page in pages for link in links_of(page) if "://" not in link]
    assert len(local) > 150
    assert not [(str(page), link) for page, link in local if not (page.parent / link).exists()]


def test_the_installed_readme_starts_what_is_installed(root):
    text = (root / "usr/share/doc/baton/README.md").read_text()
    assert "deploy/local" not in text and "tests/run" not in text and "baton up --detach" in text
    assert text.count("\n## ") == (ROOT / "README.md").read_text().count("\n## ")


def test_what_an_operator_configured_stays(root):
    config = root / "etc/baton/gateway.json"
    config.write_text("{}\n")
    install(root)
    assert config.read_text() == "{}\n"


@pytest.mark.parametrize("role", ["gateway", "prefill", "decode"])
def test_the_services_configuration_is_understood(tmp_path, role):
    root = install(tmp_path, prefix="/opt/baton")
    file = next(root.rglob(f"{role}.json"))
    done = run(BIN / f"baton-{role}", "--config", file,
               "--print-config", env=clean_environment(tmp_path))
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)
    assert config["model"] == "/opt/baton/share/baton/models/tale"
    assert config["cluster-token-file"] == "/opt/baton/etc/baton/cluster-token"


def test_systemd_accepts_the_units_and_finds_their_sandbox_tight(root):
    analyze = judge("systemd-analyze")
    shutil.copytree("/usr/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True,
                    dirs_exist_ok=True)
    (root / "bin").mkdir(exist_ok=True)
    shutil.copy("/bin/sh", root / "bin/sh")
    for unit in UNITS:
        name = unit.replace("@", "@0")
        done = run(analyze, "verify", f"--root={root}", "--man=no", name)
        ours = [line for line in done.stderr.splitlines() if "baton" in line]
        assert not ours, "\n".join(ours)
        judged = run(analyze, "security", "--offline=true", "--no-pager", f"--root={root}", name)
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)
        assert exposure and float(exposure[1]) <= 1.5, judged.stdout + judged.stderr


def test_secrets_are_made_once_and_not_readable_by_others(tmp_path, root):
    if os.getuid():
        pytest.skip("only root can give files to a group")
    script = (root / "usr/share/baton/make-secrets").read_text()
    (tmp_path / "make-secrets").write_text(script.replace("group=baton", "group=root"))

    def made():
        subprocess.run(["bash", tmp_path / "make-secrets", tmp_path / "etc"], check=True)
        return {file.name: file.read_text() for file in (tmp_path / "etc").iterdir()}

    texts = made()
    assert set(texts) == {"cluster-token", "api-keys", "admin-keys"} and made() == texts
    for name, text in texts.items():
        assert re.fullmatch("[0-9a-f]{48}", text)
        assert (tmp_path / "etc" / name).stat().st_mode & 0o777 == 0o640
    assert len(set(texts.values())) == 3
