"""The commands of `baton` that people know from other programs, and what it says to mistakes."""
import json
import os
import pty
import re
import subprocess

import pytest
from baton_program import BATON, Up, baton, environment
from fleet import ROOT
from programs import run

FIXTURE = ROOT / "tests/fixtures/models/qwen3"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Up(tmp_path_factory.mktemp("commands") / "state") as up:
        up.wait_ready()
        yield up


@pytest.fixture
def models(tmp_path):
    """A folder of models of our own, and no other."""
    folder = tmp_path / "models"
    (folder / "Mine-1B").mkdir(parents=True)
    for file in FIXTURE.iterdir():
        if file.is_file():
            (folder / "Mine-1B" / file.name).write_bytes(file.read_bytes())
    (folder / "linked").symlink_to(FIXTURE)
    return folder


def elsewhere(tmp_path, **more):
    """Without a fleet of the user's own."""
    return environment(XDG_STATE_HOME=str(tmp_path), HOME=str(tmp_path), **more)


# ---- running fleets ----


def test_one_table_shows_every_process_with_its_load(fleet):
    text = baton("status", "--state", fleet.state).stdout
    head, columns, *rows = text.splitlines()
    assert head == f"http://127.0.0.1:{fleet.port}: ready"
    assert columns.split()[:3] == ["NAME", "PID", "STATE"] and columns.endswith("TOK/S")
    assert [row.split()[::2][:2] for row in rows] == [
        [name, "ready"] for name in ("gateway", "prefill-0", "decode-0")]
    assert "{" not in text
    told = json.loads(baton("status", "--json", "--state", fleet.state).stdout)
    assert told["ready"] and [p["name"] for p in told["processes"]][0] == "gateway"
    assert {w["id"] for w in told["gateway"]["workers"]} == {"prefill-0", "decode-0"}


def test_ps_shows_a_fleet_of_any_state_directory(fleet):
    rows = baton("ps").stdout.splitlines()
    ours, = [row for row in rows if row.endswith(str(fleet.state))]
    assert ours.split()[:4] == ["tale", f"127.0.0.1:{fleet.port}", "2/2", "0"]


def test_a_start_in_the_background_shows_on_a_terminal_that_it_goes_on(tmp_path):
    ours, theirs = pty.openpty()
    words = ["up", "--detach", "--port", 0, "--state", tmp_path / "state", "--pack-dir", tmp_path]
    try:
        done = subprocess.run([BATON, *map(str, words)], stdout=subprocess.PIPE, stderr=theirs,
                              text=True, env=environment(), check=True)
        os.write(theirs, b"<end>")
        shown = ""
        while "<end>" not in shown:
            shown += os.read(ours, 65536).decode()
        assert "\rstarting, 0 s" in shown and shown.endswith("\r\033[K<end>")
        assert "\r" not in done.stdout and "Baton is ready" in done.stdout
    finally:
        os.close(ours)
        os.close(theirs)
        baton("down", "--state", tmp_path / "state")


# ---- models on disk ----


def test_list_shows_what_up_takes_by_name(models, tmp_path):
    shown = baton("list", env=elsewhere(tmp_path, BATON_MODELS=str(models))).stdout.splitlines()
    names = [row.split()[0] for row in shown]
    assert names[0] == "NAME" and {"Mine-1B", "linked"} <= set(names)
    assert re.fullmatch(r"Mine-1B +0\.\d\d GB +safetensors +\d{4}-\d\d-\d\d \d\d:\d\d",
                        shown[names.index("Mine-1B")])


def test_show_tells_what_a_model_is(models):
    (models / "Mine-1B" / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n")
    shown = dict(row.split(maxsplit=1)
                 for row in baton("show", "mine-1b", "--models", models).stdout.splitlines())
    config = json.loads((FIXTURE / "config.json").read_text())
    assert (shown["name"], shown["family"]) == ("Mine-1B", config["model_type"])
    assert shown["context"] == f"{config['max_position_embeddings']} tokens"
    assert shown["licence"] == "apache-2.0" and shown["parameters"].endswith(" million")
    assert {"dtype", "template", "vocabulary", "path"} <= set(shown)


def test_rm_removes_a_model_of_the_folder_and_nothing_else(models, tmp_path):
    env = elsewhere(tmp_path, BATON_MODELS=str(models))
    kept = baton("rm", "Mine-1B", env=env, stdin=subprocess.DEVNULL)
    assert kept.returncode == 1 and "--yes" in kept.stderr and (models / "Mine-1B").exists()
    assert baton("rm", "--yes", "Mine-1B", env=env).returncode == 0
    assert baton("rm", "--yes", "linked", env=env).returncode == 0
    assert not list(models.iterdir()) and (FIXTURE / "config.json").exists()
    for name in ("tale", str(FIXTURE), "../models", "Mine-1B"):
        assert baton("rm", "--yes", name, env=env).returncode == 1
    assert (FIXTURE / "config.json").exists() and (ROOT / "models/tale/config.json").exists()


# ---- run ----


@pytest.mark.parametrize("words", [["Once upon"], ["tale", "Once upon"], ["Tale", "Once upon"],
                                   ["--model", "tale", "Once upon"]], ids=" ".join)
def test_run_takes_the_models_name_first(fleet, words):
    settings = ["--temperature", 0, "--max-tokens", 6]
    said = baton("run", "--state", fleet.state, *settings, *words)
    assert (said.returncode, said.stdout) == (0, " a time, there was a\n"), said.stderr


@pytest.mark.parametrize("url", ["127.0.0.1:{}", "http://localhost:{}/v1", "localhost:{}/v1/"])
def test_a_url_may_lack_the_scheme_and_end_in_v1(fleet, url):
    done = baton("run", "--url", url.format(fleet.port), "--max-tokens", 2, "Once")
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("words, message", [
    (["llama3.2", "hi"], '"baton pull llama3.2" downloads one'),
    (["Mine-1B", "hi"], 'start one with "baton up --detach --model Mine-1B"'),
    (["--model", "nobodys", "hi"], 'model \'nobodys\' not found; "tale" is served here'),
    ([], "no prompt, and nothing on stdin")], ids=lambda words: str(words)[:16])
def test_run_says_what_is_missing(fleet, models, words, message):
    done = baton("run", "--state", fleet.state, *words, stdin=subprocess.DEVNULL,
                 env=environment(BATON_MODELS=str(models)))
    assert done.returncode == 1 and message in done.stderr and not done.stdout


def test_without_a_server_the_hint_is_how_to_start_one(tmp_path):
    command = ["unshare", "--net", BATON, "run", "hello"]  # nobody listens there
    done = run(*command, env=elsewhere(tmp_path))
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 1 and 'start one with "baton up"' in done.stderr


def test_a_model_on_disk_is_no_name_for_a_server(fleet):
    """BATON_MODEL is what `up` serves."""
    env = environment(BATON_MODEL="/srv/models/other")
    done = baton("run", "--state", fleet.state, "--max-tokens", 2, "Once", env=env)
    assert done.returncode == 0, done.stderr


# ---- mistakes ----


@pytest.mark.parametrize("words, message", [
    (["stauts"], "'stauts' is not a command; did you mean 'status'?"),
    (["lst"], "did you mean 'list'?"),
    (["nothing-like-it"], "'nothing-like-it' is not a command\n"),
    (["up", "--mdoel", "x"], 'unknown option "--mdoel"; did you mean --model?'),
    (["up", "--decode", "many"], "decode must be"),
    (["run", "--temprature=1"], "did you mean --temperature?"),
    (["up", "--context-shift"], "--context-shift is not supported: dropping the oldest tokens"),
    (["status", "--quixotic"], 'unknown option "--quixotic"; see --help')], ids=" ".join)
def test_a_mistyped_word_is_status_2_and_told_what_is_meant(words, message):
    done = baton(*words)
    assert done.returncode == 2 and message in done.stderr, done.stderr


@pytest.mark.parametrize("words, command", [(["serve"], "up"), (["stop"], "down"),
                                            (["ls"], "list")], ids=str)
def test_other_programs_words_work(words, command):
    assert baton(*words, "--help").stdout == baton(command, "--help").stdout
