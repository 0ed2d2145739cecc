"""deploy/: the scripts start, show and stop a fleet; the container files say what they should."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from baton_program import PATIENT
from fleet import BIN, LONG_S, ROOT, free_port, wait_for
from judges import judge
from programs import is_alive, run

LOCAL = ROOT / "deploy/local"
COMPOSE = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]

sys.path.insert(0, str(ROOT / "tests/support"))
import dockerfile  # noqa: E402


def local(*arguments, timeout=LONG_S, env=None):
    """deploy/local with the programs of this build, unless the arguments name others."""
    words = [*map(str, arguments), *([] if "--bin" in arguments else ["--bin", str(BIN)])]
    return run(LOCAL, *words, timeout=timeout, env=env)


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LONG_S) as answer:
        return json.load(answer)


def pids(state):
    return {path.stem: int(path.read_text().split()[0]) for path in state.glob("*.pid")}


@pytest.fixture(autouse=True)
def packs(tmp_path, monkeypatch):
    """Where whatever a test starts keeps packed weights: never in the source tree.

    Its processes are patient with each other on a busy machine."""
    for name, value in PATIENT.items():
        monkeypatch.setenv(name, value)
    for role in ("GATEWAY", "PREFILL", "DECODE"):
        monkeypatch.setenv(f"BATON_{role}_PACK_DIR", str(tmp_path / "packs"))
    return tmp_path / "packs"


@pytest.fixture
def state(tmp_path):
    yield tmp_path / "state"
    local("down", "--state", tmp_path / "state")


# deploy/local


def test_a_detached_fleet_starts_serves_shows_itself_and_stops(state):
    port = free_port()
    up = local("up", "--detach", "--bin", BIN, "--state", state, "--port", port, "--prefill", 2,
               "--decode", 2)
    assert up.returncode == 0, up.stderr
    assert f"curl -N -X POST http://localhost:{port}/generate/stream" in up.stdout

    started = pids(state)
    assert set(started) == {"gateway", "prefill-0", "prefill-1", "decode-0", "decode-1"}
    workers = get(port, "/workers")["workers"]
    assert {worker["id"] for worker in workers} == set(started) - {"gateway"}

    body = json.dumps({"prompt": "Once upon a time", "max_new_tokens": 8,
                       "temperature": 0}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/generate", body,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=LONG_S) as answer:
        assert json.load(answer)["text"].startswith("Once upon a time")

    status = local("status", "--state", state)
    assert status.returncode == 0
    assert all(re.search(rf"^{name} +{pid} ", status.stdout, re.M) for name, pid in started.items())

    second = local("up", "--detach", "--bin", BIN, "--state", state, "--port", free_port())
    assert second.returncode == 1 and "already running" in second.stderr
    taken = local("up", "--detach", "--bin", BIN, "--state", state / "other", "--port", port)
    assert taken.returncode == 1 and f"--port {port}" in taken.stderr

    down = local("down", "--state", state)
    assert down.returncode == 0 and "killed" not in down.stderr
    assert not any(is_alive(pid) for pid in started.values())
    assert local("status", "--state", state).returncode == 3
    for log in (state / "log").glob("*.log"):
        assert not re.search("Sanitizer|runtime error:", log.read_text()), log


def test_the_cluster_token_logs_and_pids_are_for_nobody_else(state):
    assert (local("up", "--detach", "--bin", BIN, "--state", state,
                  "--port", free_port()).returncode == 0)
    token = state / "cluster-token"
    for path in token, *state.glob("*.pid"), *state.glob("log/*.log"):
        assert path.stat().st_mode & 0o077 == 0, path
    for pid in pids(state).values():
        assert token.read_bytes().strip() not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_fleet_with_api_keys_is_started_asked_and_kept_secret(state, tmp_path):
    port, keys = free_port(), tmp_path / "api-keys"
    keys.write_text("# ours\n\nalpha-key-0001 \nbeta-key-0002\n")
    up = local("up", "--detach", "--bin", BIN, "--state", state, "--port", port, "--api-keys", keys,
               "--cors-origins", "https://app.example", "--chat-template", "auto")
    assert up.returncode == 0, up.stderr
    assert "Authorization: Bearer KEY" in up.stdout and "alpha-key" not in up.stdout
    status = local("status", "--state", state)
    assert status.returncode == 0 and re.search("^decode-0 .* ready ", status.stdout, re.M)
    env = {**os.environ, "BATON_GATEWAY_PORT": str(port)}
    wait_for(lambda: run(ROOT / "deploy/healthcheck", "gateway", env=env).returncode == 0,
             "an answer within the check's two seconds")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(port, "/workers")
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/workers", headers={
        "Authorization": "Bearer beta-key-0002", "Origin": "https://app.example"})
    with urllib.request.urlopen(asked, timeout=LONG_S) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
    for pid in pids(state).values():
        assert b"alpha-key" not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_worker_that_stays_away_is_shown_and_only_the_others_are_stopped(state, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gateway", "prefill", "decode"):
        (programs / f"baton-{name}").symlink_to(BIN / f"baton-{name}")
    up = local("up", "--detach", "--bin", BIN, "--state", state, "--port", free_port(),
               env={**os.environ, "BATON_BIN": str(programs)})
    assert up.returncode == 0, up.stderr
    (programs / "baton-decode").unlink()  # nothing to start again
    os.kill(pids(state)["decode-0"], signal.SIGKILL)
    wait_for(lambda: not is_alive(pids(state)["decode-0"]), "the worker to be gone")
    status = local("status", "--state", state)
    assert status.returncode == 4 and re.search(r"^decode-0 +- +ended", status.stdout, re.M)
    down = local("down", "--state", state)
    assert down.returncode == 0 and not pids(state)


def test_down_leaves_a_process_alone_that_got_the_pid_later(state):
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        state.mkdir()
        (state / "gateway.pid").write_text(f"{bystander.pid} 1\n")
        assert "nothing is running" in local("down", "--state", state).stdout
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_in_the_foreground_an_interrupt_stops_everything(state):
    port = free_port()
    up = subprocess.Popen([LOCAL, "up", "--bin", BIN, "--state", state, "--port", str(port)],
                          stdout=subprocess.PIPE, text=True, start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        for line in up.stdout:
            if "Ctrl-C stops it" in line:
                break
        started = pids(state)
        up.send_signal(signal.SIGINT)
        assert up.wait(40) == 0
        assert len(started) == 3 and not any(is_alive(pid) for pid in started.values())
    finally:
        up.kill()
        up.wait()


def test_a_pack_dir_is_passed_to_every_process(state, packs, tmp_path):
    mine = tmp_path / "mine"
    up = local("up", "--detach", "--bin", BIN, "--state", state, "--port", free_port(),
               "--pack-dir", mine)
    assert up.returncode == 0, up.stderr
    assert [pack.suffix for pack in sorted(mine.iterdir())] in ([".pack"], [".pack", ".digest"],
                                                                [".digest", ".pack"])
    assert not packs.exists()


def test_a_gguf_file_is_served(state, tmp_path):
    port, model = free_port(), tmp_path / "story.gguf"
    subprocess.run([BIN / "baton-bench", "make-model", "--shape", "tiny", "--gguf", "Q8_0",
                    "--tokenizer", ROOT / "models/tale", "--out", model], check=True)
    up = local("up", "--detach", "--bin", BIN, "--state", state, "--port", port, "--model", model,
               "--sampling-defaults", "model")
    assert up.returncode == 0, up.stderr
    assert "model story. Try" in up.stdout
    (served,) = get(port, "/v1/models")["data"]
    assert served["id"] == "story" and served["sampling_defaults"]["applied"]


def test_a_process_that_dies_at_start_shows_why_and_nothing_is_left(state):
    up = local("up", "--detach", "--bin", BIN, "--state", state, "--port", free_port(),
               "--dtype", "f31")
    assert up.returncode == 1
    assert re.search(r"(prefill|decode)-0 ended; the end of", up.stderr) and "f31" in up.stderr
    assert not pids(state) and local("status", "--state", state).returncode == 3


@pytest.mark.parametrize("arguments, message", [
    (["up", "--port", "x"], "port must be an integer from 0 to 65535, not \"x\""),
    (["up", "--port", "65536"], "port must be an integer"),
    (["up", "--prefill", "0"], "prefill must be an integer from 1 to 64, not \"0\""),
    (["up", "--decode", "-1"], "decode must be an integer"),
    (["up", "--decode-cores", "a"], "--decode-cores takes auto, all, or processors such as"),
    (["up", "--model", "/nowhere"], "--model /nowhere: no such directory or file"),
    (["up", "--model", "/usr"], "--model /usr: no config.json there"),
    (["up", "--model", str(LOCAL)], "deploy/local: neither a directory nor a .gguf file"),
    (["up", "--api-keys", "/nowhere"], "--api-keys /nowhere: cannot be read"),
    (["up", "--bin", "/nowhere"], "--bin /nowhere: no baton there"),
    (["up", "--model"], "--model needs a value"),
    (["up", "--prefil", "2"], "unknown option \"--prefil\""),
    (["down", "--port", "1"], "baton down: unknown option \"--port\""),
    (["restart"], "'restart' is not a command")])
def test_a_bad_option_is_named(arguments, message, tmp_path):
    refused = local(*arguments, *(["--state", tmp_path] if arguments != ["up", "--model"] else []))
    assert refused.returncode in (1, 2) and message in refused.stderr


# Example configurations


@pytest.mark.parametrize("role", ["gateway", "prefill", "decode"])
def test_the_example_configuration_is_understood(role):
    example = ROOT / f"deploy/config/{role}.json"
    # The environment would win over the file.
    done = run(BIN / f"baton-{role}", "--config", example, "--print-config", env={})
    assert done.returncode == 0, done.stderr
    assert json.loads(example.read_text()).items() <= json.loads(done.stdout).items()


# Containers


def compose(*arguments, **settings):
    command = [*COMPOSE, "-f", ROOT / "deploy/docker-compose.yml", *arguments]
    return run(*command, env={**os.environ, **settings})


def test_the_compose_file_is_valid_and_takes_its_settings():
    done = compose("config", BATON_CLUSTER_TOKEN="a-secret", BATON_MODEL="/models/distilgpt2",
                   BATON_PORT="8001")
    assert done.returncode == 0, done.stderr
    assert (done.stdout.count("a-secret") == 3
            and done.stdout.count("_MODEL: /models/distilgpt2") == 3)
    assert "8001" in done.stdout and "127.0.0.1" in done.stdout


def test_the_compose_file_takes_every_setting_that_its_list_names():
    names = re.findall(r"^# (BATON_\w+)=(.*)$", (ROOT / "deploy/.env").read_text(), re.M)
    for path in ("docker-compose.yml", "swarm/stack.yml"):
        text = (ROOT / "deploy" / path).read_text()
        taken = dict(re.findall(r"\$\{(BATON_\w+):-([^}]*)\}", text))
        assert path != "docker-compose.yml" or taken.keys() == dict(names).keys()
        assert all(taken.get(name, default) == default for name, default in names), path


def test_the_dashboards_come_with_their_profile_only():
    viewers = {"prometheus", "grafana"}
    names = set(compose("--profile", "dashboards", "config", "--services").stdout.split())
    assert names == {"gateway", "prefill", "decode"} | viewers
    text = (ROOT / "deploy/docker-compose.yml").read_text()
    assert re.search(r"^x-viewer: &viewer\n  profiles: \[dashboards\]$", text, re.M)
    for name in viewers:
        section = re.search(rf"^  {name}:\n((?:    .*\n)+)", text, re.M).group(1)
        assert "<<: *viewer" in section and re.search(r"image: \S+:v?\d+\.\d+\.\d+\n", section)
        assert re.search(r'ports: \["127\.0\.0\.1:', section) and "PASSWORD" not in section


def test_every_service_is_confined():
    text = compose("config").stdout
    for line in ("read_only: true", "no-new-privileges:true", "- ALL", "- /tmp",
                 "stop_grace_period: 30s"):
        assert text.count(line) >= 3, line


def test_workers_of_a_host_share_the_directory_of_the_core_lease():
    """Containers have each a /dev/shm of their own."""
    text, stage = compose("config").stdout, image()[-1]
    [directory] = {stage.env[f"BATON_{role}_LEASE_DIR"] for role in ("PREFILL", "DECODE")}
    assert len(re.findall(rf"cores:{directory}\b|target: {directory}\n", text)) == 2
    assert "type: tmpfs" in text and "uid=10001" in text
    made = [rest[0] for step, *rest in stage.steps if step == "RUN" and directory in rest[0]]
    assert any("useradd" in command and "--uid 10001" in command for command in made)


def test_workers_can_be_scaled():
    """Fixed names, host ports, ids or addresses would make --scale fail."""
    text = (ROOT / "deploy/docker-compose.yml").read_text()
    for service in ("prefill", "decode"):
        section = re.search(rf"^  {service}:\n((?:    .*\n)+)", text, re.M).group(1)
        assert not re.search(r"container_name|hostname|ports:|_ID:|ipv4_address", section)
    stage = image()[-1]
    for role in ("PREFILL", "DECODE"):
        assert f"BATON_{role}_ID" not in stage.env
        assert stage.env[f"BATON_{role}_ADVERTISE"].startswith("tcp://*:")


def image():
    return dockerfile.parse((ROOT / "deploy/Dockerfile").read_text())


def test_the_image_is_small_unprivileged_and_checked():
    build, final = image()
    assert build.base == final.base == "debian:12-slim"
    assert final.user == "baton" and final.command == ["baton", "up"]
    assert (final.metadata["STOPSIGNAL"] == "SIGTERM"
            and "baton-healthcheck" in final.metadata["HEALTHCHECK"])
    installs = [command for step, *rest in build.steps + final.steps if step == "RUN"
                for command in rest if "packages" in command]
    assert [re.search(r"packages\.sh (\w+)", command).group(1)
            for command in installs] == ["build", "run"]
    assert not any("apt-get" in command for command in installs)


def test_everything_the_image_copies_is_there():
    ignored = dockerfile.ignore_patterns((ROOT / ".dockerignore").read_text())
    for stage in image():
        for step, *rest in stage.steps:
            if step == "COPY" and rest[0] is None:
                assert ((ROOT / rest[1]).exists()
                        and not dockerfile.is_ignored(rest[1], ignored)), rest[1]
    assert dockerfile.is_ignored("tests/run", ignored)
    assert dockerfile.is_ignored("models/gpt2/config.json", ignored)
    assert not dockerfile.is_ignored("models/tale/config.json", ignored)


@pytest.mark.parametrize("variable", sorted(name for stage in image() for name in stage.env))
def test_the_image_sets_only_options_that_exist(variable):
    role, option = re.fullmatch(r"BATON_(GATEWAY_|PREFILL_|DECODE_)?([A-Z_]+)", variable).groups()
    program = [BIN / f"baton-{role.lower()[:-1]}"] if role else [BIN / "baton", "up"]
    usage = run(*program, "--help", check=True)
    assert f"--{option.lower().replace('_', '-')} " in usage.stdout


# The scripts


def scripts():
    """Every shell script of ours, as (path, its shell): what the first line says."""
    for folder in (".ci", "bench", "deploy", "tests", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "node_modules" not in path.parts:
                first = path.read_bytes().split(b"\n", 1)[0]
                if shell := re.fullmatch(rb"#!(?:/usr/bin/env |/bin/)(ba)?sh", first):
                    yield path, "bash" if shell[1] else "sh"


@pytest.mark.parametrize("script, shell", scripts(),
                         ids=lambda value: str(value).removeprefix(f"{ROOT}/"))
def test_a_script_is_executable_strict_and_clean(script, shell):
    strict = "\nset -euo pipefail\n" if shell == "bash" else "\nset -e\n"
    assert os.access(script, os.X_OK) and strict in script.read_text()
    command = [judge("shellcheck"), "-S", "warning", script]
    done = run(*command)
    assert done.returncode == 0, done.stdout


def test_packages_of_an_unknown_set_are_refused():
    refused = run(ROOT / "deploy/packages.sh", "nonsense")
    assert refused.returncode == 1 and "no set is called 'nonsense'" in refused.stderr


@pytest.mark.parametrize("age_s, code", [(0, 0), (60, 1)])
def test_the_health_check_believes_a_worker_whose_alive_file_is_fresh(tmp_path, age_s, code):
    alive = tmp_path / "alive"
    alive.touch()
    os.utime(alive, (time.time() - age_s,) * 2)
    env = {**os.environ, "BATON_PREFILL_ALIVE_FILE": str(alive)}
    assert run(ROOT / "deploy/healthcheck", "prefill", env=env).returncode == code


def test_the_health_check_asks_the_gateway_of_a_whole_fleet(state):
    env = {**os.environ, "BATON_STATE": str(state)}

    def check():
        return run(ROOT / "deploy/healthcheck", "baton", env=env)

    assert check().returncode != 0
    assert local("up", "--detach", "--state", state, "--port", free_port()).returncode == 0
    wait_for(lambda: check().returncode == 0, "an answer within the check's two seconds")


def test_the_health_check_asks_the_gateway(state):
    port = free_port()
    env = {**os.environ, "BATON_GATEWAY_PORT": str(port)}

    def check():
        return run(ROOT / "deploy/healthcheck", "gateway", env=env).returncode

    assert check() != 0
    assert local("up", "--detach", "--bin", BIN, "--state", state, "--port", port).returncode == 0
    wait_for(lambda: check() == 0, "an answer within the check's two seconds")
