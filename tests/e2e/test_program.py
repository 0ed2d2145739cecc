"""The program `baton`: a fleet under one supervisor, and what people do with it."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import urllib.request

import pytest
from baton_program import BATON, PATIENT, Up, baton, environment
from fleet import BIN, LONG_S, ROOT, WORDY, Stream, free_port, wait_for
from lora_files import LLAMA, write_peft
from programs import PROGRAMS, is_alive, run


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def ask(port, **body):
    stream = Stream(port, dict(prompt="Once upon a time", max_new_tokens=8, temperature=0, **body))
    return stream.text()


# ---- the supervisor ----


def test_every_line_may_be_a_json_object(state):
    """Its own lines, those of its processes, and what these write that is no JSON."""
    with Up(state, "--log-format", "json", env={"BATON_PREFILL_LOG_FORMAT": "logfmt"}) as up:
        up.wait_line('"ev":"fleet_ready"')
        up.popen.terminate()
        assert up.end() == 0
    said = [json.loads(line) for line in up.seen]
    assert {line["process"] for line in said} == {"baton", "gateway", "prefill-0", "decode-0"}
    assert all(list(line)[:3] == ["process", "ts", "lvl"] for line in said)
    assert not any(line["ev"] == "process_output" for line in said)
    with Up(state, "--log-format", "json", env={"BATON_PREFILL_CHUNK": '"many"'}) as up:
        assert up.end() == 1
    said = [json.loads(line) for line in up.seen]
    told, = [line for line in said if line["ev"] == "process_output"]
    assert told["process"] == "baton" and told["name"] == "prefill-0"
    assert told["text"].startswith('baton-prefill: BATON_PREFILL_CHUNK: chunk must be')
    assert '"many"' in told["text"]


def test_a_drained_worker_comes_back_at_once_each_time(state):
    with Up(state) as up:
        up.wait_ready()
        for restarts in range(1, 4):
            wait_for(lambda: baton("status", "--state", state).returncode == 0, "the fleet")
            connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=LONG_S)
            connection.request("POST", "/workers/decode-0/drain")
            assert connection.getresponse().status == 202
            connection.close()
            # At most half a second, the first pause after a crash: it does not grow.
            up.wait_line(r'ev=process_ended name=decode-0 how="status 0" again_in_s=0(\.5)? ')
            up.wait_line(rf"ev=process_started name=decode-0 .*restarts={restarts}")
        up.popen.terminate()
        assert up.end() == 0


def test_a_killed_worker_comes_back_later_each_time_and_the_log_tells(state):
    with Up(state) as up:
        for name in ("gateway  ", "prefill-0", "decode-0 "):
            up.wait_line(rf"^{name} \| ")  # one log, each line after its process's name
        up.wait_ready()
        for restarts, pause in enumerate(("0.5", "1", "2"), 1):
            before = up.pid("decode-0")
            os.kill(before, signal.SIGKILL)
            up.wait_line(r'^baton +\| .*ev=process_ended name=decode-0 how="signal 9 \(Killed\)" '
                         rf'again_in_s={pause} ')
            up.wait_line(rf"ev=process_started name=decode-0 .*restarts={restarts}")
            wait_for(lambda: up.pid("decode-0") != before, "the new pid to be written")
        wait_for(lambda: baton("status", "--state", state).returncode == 0,
                 "the fleet to be whole again")
        text, last = ask(up.port)
        assert text and last.name == "summary"


def test_sigterm_lets_streams_end_and_leaves_nothing(state):
    with Up(state, "--stop-timeout-s", 3600) as up:
        up.wait_ready()
        pids = [up.pid(name) for name in ("gateway", "prefill-0", "decode-0")]
        stream = Stream(up.port, WORDY)
        up.popen.send_signal(signal.SIGTERM)
        up.wait_line("ev=fleet_stopping by=SIGTERM")
        up.wait_line(r"^gateway +\| .*ev=draining")
        assert all(map(is_alive, pids)), "workers are asked after the gateway"
        _, last = stream.text()
        assert last.name == "summary" and last.json()["output_tokens"] == WORDY["max_new_tokens"]
        up.wait_line('ev=process_stopped name=gateway how="status 0"')
        assert up.end() == 0 and not any(map(is_alive, pids))
        assert not list(state.glob("*.pid")) and baton("status", "--state", state).returncode == 3


def test_a_second_signal_kills(state):
    with Up(state, "--stop-timeout-s", 3600) as up:
        up.wait_ready()
        stream = Stream(up.port, WORDY)  # which nobody reads
        up.popen.send_signal(signal.SIGINT)
        up.wait_line(r"^gateway +\| .*ev=draining")
        up.popen.send_signal(signal.SIGINT)
        up.wait_line("ev=fleet_killed by=SIGINT")
        assert up.end() == 0
        stream.abandon()


def test_what_does_not_stop_in_time_is_killed(state):
    with Up(state, "--stop-timeout-s", "0.5") as up:
        up.wait_ready()
        stream = Stream(up.port, WORDY)
        up.popen.send_signal(signal.SIGTERM)
        up.wait_line("ev=process_killed name=gateway not_stopped_in_s=0.5")
        assert up.end() == 0
        stream.abandon()


def test_sighup_makes_every_process_read_its_files_again(state, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("first-key\n")
    with Up(state, "--api-keys", keys) as up:
        up.wait_ready()
        keys.write_text("first-key\nsecond-key\n")
        up.popen.send_signal(signal.SIGHUP)
        up.wait_line(r"^gateway +\| .*ev=api_keys_loaded keys=2")
        assert baton("status", "--state", state).returncode == 0


def test_operators_keys_and_hosts_names_reach_the_gateway(state, tmp_path):
    keys, operators = tmp_path / "keys", tmp_path / "operators"
    keys.write_text("clients-key\n")
    operators.write_text("operators-key\n")
    refused = baton("up", "--state", state, "--admin-keys", tmp_path / "missing")
    assert refused.returncode != 0 and "--admin-keys" in refused.stderr

    def status(port, key, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S)
        connection.request("GET", "/debug/kv",
                           headers={"authorization": f"Bearer {key}", **headers})
        with contextlib.closing(connection):
            return connection.getresponse().status

    with Up(state, "--api-keys", keys, "--admin-keys", operators,
            "--allowed-hosts", "models.example") as up:
        up.wait_ready()
        assert status(up.port, "clients-key") == 403
        assert status(up.port, "operators-key") == 200
        assert status(up.port, "operators-key", host="models.example") == 200
        assert status(up.port, "operators-key", host="other.example") == 421


def test_processes_end_with_a_supervisor_that_was_killed(state):
    with Up(state) as up:
        up.wait_ready()
        pids = [up.pid(name) for name in ("gateway", "prefill-0", "decode-0")]
        up.popen.kill()
        wait_for(lambda: not any(map(is_alive, pids)), "the processes to end")
        assert baton("status", "--state", state).returncode == 3
        again = baton("up", "--detach", "--state", state, "--port", up.port, "--pack-dir", up.packs)
        assert again.returncode == 0, again.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a pid namespace")
def test_as_pid_1_it_reaps_and_stops_on_sigterm(state):
    with Up(state, command=["unshare", "--pid", "--fork", "--mount-proc"]) as up:
        up.wait_ready()
        children = f"/proc/{up.popen.pid}/task/{up.popen.pid}/children"
        first = int(open(children).read().split()[0])
        orphan = "sh -c 'sleep 0 & exec true'"  # its child's parent is then PID 1
        subprocess.run(["nsenter", "-t", str(first), "-p", "-m", "sh",
                        "-c", f"for i in 1 2 3; do {orphan}; done"], check=True)
        wait_for(lambda: len(open(f"/proc/{first}/task/{first}/children").read().split()) == 3,
                 "only the fleet's processes to be left")
        os.kill(first, signal.SIGTERM)
        assert up.end() == 0


def test_a_start_that_fails_says_why_and_leaves_nothing(state):
    with Up(state, "--dtype", "f31") as up:
        assert up.end() == 1
        assert re.search(r"(prefill|decode)-0 ended with status 1 before the fleet was ready",
                         up.popen.stderr.read())
        assert not list(state.glob("*.pid"))


def test_adapters_are_given_to_all_workers(state, tmp_path):
    """--lora NAME=PATH, which one worker's request needs on both."""
    adapter = write_peft(tmp_path / "adapter", 1)
    with Up(state, "--model", LLAMA, "--lora", f"one={adapter},half={adapter}:0.5") as up:
        up.wait_ready()

        def said(**more):
            body = dict(prompt=[5, 9, 30], max_tokens=20, temperature=0, **more)
            request = urllib.request.Request(f"http://127.0.0.1:{up.port}/v1/completions",
                                             json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["choices"][0]["text"]
        assert len({said(), said(model="one"), said(model="llama:half")}) == 3
    with Up(state, "--model", LLAMA, "--lora", f"one={tmp_path}") as up:
        assert up.end() != 0 and "adapter_config.json" in "".join(up.seen)


def test_a_draft_model_drafts_for_all_requests(state):
    with Up(state, "--draft-model", ROOT / "models/tale") as up:
        up.wait_ready()
        body = json.dumps(dict(prompt="Once upon a time", max_new_tokens=40,
                               temperature=0)).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{up.port}/generate", body,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["speculation"]["accepted_tokens"] > 0
    with Up(state, "--draft-model", state / "none") as up:
        assert up.end() != 0 and "--draft-model" in up.popen.stderr.read()


def test_a_fleet_over_https_is_looked_after_as_well(state, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec",
                    "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=elsewhere", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    with Up(state, env=dict(BATON_GATEWAY_SSL_CERTFILE=str(certificate),
                            BATON_GATEWAY_SSL_KEYFILE=str(key))) as up:
        up.wait_ready()
        status = baton("status", "--state", state)
        assert status.returncode == 0, status.stdout


def test_what_an_image_sets_for_single_processes_does_not_reach_a_fleet(state):
    """Addresses and names are the supervisor's own: two workers cannot share them."""
    env = {f"BATON_{role}_{name}": value for role in ("PREFILL", "DECODE") for name, value in (
        ("INBOX", "tcp://127.0.0.1:1"), ("ADVERTISE", "tcp://*:1"), ("ID", "same"),
        ("GATEWAY", "tcp://nowhere:1"), ("CLUSTER_TOKEN", "another-token"),
        ("ALIVE_FILE", "/nowhere/alive"))}
    with Up(state, "--prefill", 2, "--decode", 2, env=env) as up:
        up.wait_ready()
        assert baton("status", "--state", state).returncode == 0


def test_sigusr1_reaches_every_process_and_ends_none(state):
    with Up(state) as up:
        up.wait_ready()
        before = {name: up.pid(name) for name in ("gateway", "prefill-0", "decode-0")}
        up.popen.send_signal(signal.SIGUSR1)
        up.popen.send_signal(signal.SIGHUP)
        up.wait_line(r"^gateway +\| .*ev=cluster_token_loaded")
        assert ask(up.port)[1].name == "summary"
        assert before == {name: up.pid(name) for name in before}
        assert all(map(is_alive, before.values()))


# ---- ports ----


def up_beside(folder, i, *words):
    """A start in the background that is under way, with a state of its own."""
    return subprocess.Popen([BATON, "up", "--detach", "--state", folder / f"state-{i}",
                             "--pack-dir", folder / "packs", *map(str, words)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(**PATIENT))


def test_fleets_that_start_together_have_ports_of_their_own(tmp_path):
    try:
        starts = [up_beside(tmp_path, i, "--port", 0, "--host", "localhost") for i in range(4)]
        said = [start.communicate() for start in starts]
        assert [start.returncode for start in starts] == [0] * 4, said
        ports = [int((tmp_path / f"state-{i}/port").read_text()) for i in range(4)]
        assert len(set(ports)) == 4
        assert all(ask(port)[0] for port in ports)
    finally:
        for i in range(4):
            baton("down", "--state", tmp_path / f"state-{i}")


def test_of_two_fleets_for_one_port_one_is_refused(tmp_path):
    port = free_port()
    try:
        starts = [up_beside(tmp_path, i, "--port", port) for i in range(2)]
        said = [start.communicate()[1] for start in starts]
        assert sorted(start.returncode for start in starts) == [0, 1], said
        assert f"--port {port}: another " in "".join(said)
    finally:
        for i in range(2):
            baton("down", "--state", tmp_path / f"state-{i}")


def test_a_fleet_may_start_as_soon_as_down_has_returned(tmp_path):
    for _ in range(5):
        start = up_beside(tmp_path, 0, "--port", 0)
        assert start.wait() == 0, start.communicate()
        start.communicate()
        assert baton("down", "--state", tmp_path / "state-0").stdout == "stopped\n"


def test_too_few_open_files_are_refused_at_once(state):
    done = subprocess.run(["sh", "-c", f"ulimit -n 24; exec {BATON} up --state {state}"],
                          capture_output=True, text=True, env=environment())
    assert done.returncode == 1 and "may open 24 files (ulimit -Hn)" in done.stderr


def test_a_host_that_is_no_address_is_named(state):
    said = 'must be a numeric address or localhost, not "nowhere.example"'
    assert said in baton("up", "--state", state, "--host", "nowhere.example").stderr
    assert said in run(BIN / "baton-gateway", "--host", "nowhere.example", "--model",
                       ROOT / "models/tale").stderr


# ---- models by name ----


def test_a_model_is_found_by_its_name_where_pull_puts_it(state, tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (models / "mine").symlink_to(ROOT / "models/tale")
    with Up(state, "--model", "mine", env=dict(BATON_MODELS=str(models))) as up:
        up.wait_ready()
    listed = baton("pull", "--help", env=environment(BATON_MODELS=str(models)))
    assert listed.returncode == 0
    assert f"[{models}]" in listed.stdout and "baton up --model" in listed.stdout
    unknown = baton("up", "--state", state, "--model", "nobodys")
    assert unknown.returncode == 1
    assert "--model nobodys: no such directory or file; baton pull" in unknown.stderr


@pytest.mark.parametrize("command, program", [("bench", "baton-bench"), ("load", "baton-load")])
def test_a_command_that_is_another_program_becomes_it(command, program):
    assert baton(command, "--version").stdout.startswith(f"{program} ")


def test_a_program_that_is_not_built_is_named_with_what_builds_it(tmp_path):
    (tmp_path / "baton").write_bytes(BATON.read_bytes())
    (tmp_path / "baton").chmod(0o755)
    done = run(tmp_path / "baton", "bench", env={"PATH": "/nowhere"})
    assert done.returncode == 1 and f"no baton-bench in {tmp_path}" in done.stderr
    assert "--target baton-bench" in done.stderr


# ---- in the background ----


def test_a_fleet_in_the_background_keeps_logs_and_says_how_to_stop_it(state, tmp_path):
    up = baton("up", "--detach", "--state", state, "--port", free_port(),
               "--pack-dir", tmp_path / "packs")
    try:
        assert up.returncode == 0, up.stderr
        assert f"Stop it with: baton down --state {state}\n" in up.stdout
        assert "ev=fleet_ready" in baton("logs", "baton", "--state", state).stdout
        assert "==> gateway.log <==" in baton("logs", "--state", state).stdout
        again = baton("up", "--state", state)
        assert again.returncode == 1 and "already running" in again.stderr
    finally:
        down = baton("down", "--state", state)
    assert down.returncode == 0 and down.stdout == "stopped\n"
    assert "ev=fleet_stopping" in baton("logs", "baton", "--state", state).stdout
    assert "there is no log" in baton("logs", "../gateway", "--state", state).stderr


def test_the_cluster_token_is_for_its_owner_alone(state):
    with Up(state) as up:
        up.wait_ready()
        token = state / "cluster-token"
        assert token.stat().st_mode & 0o777 == 0o600 and len(token.read_text().strip()) == 32


# ---- help and version ----


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_tells_its_release_and_commit(program):
    done = run(BIN / program, "--version")
    release = re.search(r"project\(baton VERSION ([\d.]+)",
                        (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert re.fullmatch(rf"{program} {release} \(([0-9a-f]{{7,}}|unknown)\)\n", done.stdout)


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("words",
                         [["baton"], ["baton", "up"], ["baton", "down"], ["baton", "status"],
                          ["baton", "logs"], ["baton-gateway"], ["baton-bench"]], ids=" ".join)
def test_help_is_no_failure(words, flag):
    done = run(BIN / words[0], *words[1:], flag)
    assert done.returncode == 0 and done.stdout and not done.stderr


def test_the_options_of_up_come_from_file_and_environment_too(tmp_path):
    file = tmp_path / "up.json"
    file.write_text(json.dumps({"prefill": 3, "port": 9000}))
    done = baton("up", "--config", file, "--print-config", env=environment(BATON_PORT="9001"))
    shown = json.loads(done.stdout)
    assert (shown["prefill"], shown["port"], shown["decode"]) == (3, 9001, 1)


# ---- memory ----


def shown_memory(state):
    """{worker: (weights, KV used, KV backed, KV cap)} in MB, as `baton status` prints them."""
    text = baton("status", "--state", state).stdout
    sizes = r" +([\d.]+) MB" * 4
    rows = re.findall(rf"^(\w+-\d) .* MB +\d+ +\d+{sizes} +(?:-|[\d.]+)$", text, re.M)
    return {name: tuple(map(float, figures)) for name, *figures in rows}


def caps(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/workers") as answer:
        workers = json.load(answer)["workers"]
    return {worker["role"]: worker["kv_cap_bytes"] for worker in workers}, workers


def test_a_fleet_takes_no_more_than_it_is_given(state):
    """The embedded model's weights and 64 MiB for each process come off first."""
    memory = 256 << 20
    with Up(state, "--memory", memory) as up:
        up.wait_ready()
        of, workers = caps(up.port)
        left = memory - 3 * (64 << 20) - workers[0]["weight_bytes"]
        assert 0.9 * left < of["prefill"] + of["decode"] <= left
        assert of["decode"] == pytest.approx(2 * of["prefill"], rel=0.05)
        for name, (_, used, backed, cap) in shown_memory(state).items():
            assert used <= backed <= cap == round(of[name.split("-")[0]] / 1e6, 1)
        assert len(shown_memory(state)) == 2


def test_kv_tokens_are_those_of_every_worker(state):
    with Up(state, "--kv-tokens", 1600) as up:
        up.wait_ready()
        assert {worker["kv_tokens"] for worker in caps(up.port)[1]} == {1600}


@pytest.mark.parametrize("words, message", [
    (["--memory", 1 << 30, "--kv-tokens", 1600], "--memory, --kv-tokens, --kv-bytes: give one"),
    (["--memory", 1 << 20], "--memory: the processes take 192 MiB, and the weights come on top")])
def test_senseless_memory_is_refused(state, words, message):
    done = baton("up", "--state", state, *words)
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_weights_that_leave_no_memory_are_refused_by_name(state):
    with Up(state, "--memory", (192 << 20) + 4096) as up:
        assert up.end() == 1
        up.popen.stderr.read()
        assert any("MiB hold the weights and no block of the KV cache" in line for line in up.seen)
