"""`baton-load` against a real fleet: its counts agree with the server's and with each other."""
import csv
import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import programs
import pytest
from fleet import BIN, KEEPING, LONG_S, Fleet, wait_for

APIS = ("native", "openai-completions", "openai-chat")
LENGTHS = ("--prompt-tokens", "uniform:4-40", "--output-tokens", "uniform:1-30")
FLEET = dict(gateway_args=["--chat-template", "chatml"])


def command(port, *options):
    return [BIN / "baton-load", "--url", f"http://127.0.0.1:{port}", *map(str, options)]


def bench(port, *options, status=0):
    """The ended process of a run, with its output."""
    done = programs.run(*command(port, *options), timeout=LONG_S)
    assert done.returncode == status, (done.returncode, done.stderr)
    assert "\r" not in done.stderr, "a progress line where there is no terminal"
    return done


def measure(port, *options):
    """The one run's figures and the client's, from the JSON."""
    report = json.loads(bench(port, *options, "--json", "-").stdout)
    [run] = report["runs"]
    return run["figures"], run["client"]


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def check_counts(figures):
    n = figures["requests"]
    assert n["sent"] == n["done"] + n["failed"] + n["canceled"] + n["cut"], n
    assert sum(kind["n"] for kind in figures["failures"]) == n["failed"]
    tokens = figures["tokens"]
    assert tokens["output"] >= tokens["events"] - tokens["read_with_the_one_before"]


def check_times(figures):
    for name, time_ in figures["times"].items():
        if time_["n"]:
            assert (time_["min_s"] <= time_["p50_s"] <= time_["p90_s"] <= time_["p99_s"]
                    <= time_["max_s"]), name
            assert time_["min_s"] <= time_["mean_s"] <= time_["max_s"] * (1 + 1e-9), name
        else:
            assert time_["p50_s"] is None


@pytest.mark.parametrize("api", APIS)
def test_every_token_of_the_server_is_counted(fleet, api, tmp_path):
    before = fleet.metrics()
    path = tmp_path / "requests.csv"
    report = json.loads(bench(fleet.port, "--api", api, "--concurrency", "1,4", "--requests", 12,
                              *LENGTHS, "--seed", 5, "--json", "-", "--csv", path).stdout)
    after = fleet.metrics()
    assert [run["concurrency"] for run in report["runs"]] == [1, 4]
    assert report["settings"]["seed"] == 5 and report["settings"]["prompt-tokens"] == "uniform:4-40"
    assert report["machine"]["cores"] >= 1
    for run in report["runs"]:
        check_counts(run["figures"])
        check_times(run["figures"])
        assert run["figures"]["requests"]["done"] == 12 and run["figures"]["requests"]["short"] == 0
        assert 0 < run["client"]["most_connections"] <= run["concurrency"]
    for name, key in (("baton_output_tokens_total", "output"),
                      ("baton_prompt_tokens_total", "prompt")):
        assert after[name] - before[name] == sum(run["figures"]["tokens"][key]
                                                 for run in report["runs"])
    table = rows(path)
    assert len(table) == 24 and {row["outcome"] for row in table} == {"done"}
    assert sum(int(row["output_tokens"]) for row in table) == sum(
        run["figures"]["tokens"]["output"] for run in report["runs"])
    for row in table:
        assert 0 < float(row["ttft_s"]) <= float(row["e2el_s"])
        assert row["finish"] == "length" and row["status"] == "200"


def test_the_servers_figures_stand_beside_ours(fleet):
    figures, _ = measure(fleet.port, "--requests", 10, "--output-tokens", 20)
    times = figures["times"]
    assert times["server_ttft"]["n"] == times["over_ttft"]["n"] == 10
    assert times["over_ttft"]["min_s"] > 0 and times["over_e2el"]["min_s"] > 0
    assert times["ttft"]["p50_s"] > times["server_ttft"]["min_s"]
    assert times["step"]["n"] == 10 and figures["stages"]["prefill_compute"]["n"] == 10
    figures, _ = measure(fleet.port, "--requests", 3, "--timeline", "false")
    assert figures["stages"] == {} and figures["times"]["step"]["n"] == 0


def test_equal_seeds_are_equal_loads(fleet, tmp_path):
    tables = []
    for name in "a.csv", "b.csv":
        bench(fleet.port, "--requests", 8, *LENGTHS, "--seed", 77, "--csv", tmp_path / name)
        tables.append([(r["prompt_tokens"], r["output_tokens"]) for r in rows(tmp_path / name)])
    assert tables[0] == tables[1] and len(set(tables[0])) > 1


def test_an_open_loop_keeps_its_rate(fleet):
    figures, client = measure(fleet.port, "--rate", 50, "--requests", 40, "--prompt-tokens", 4,
                              "--output-tokens", 2, "--seed", 3)
    check_counts(figures)
    assert figures["requests"]["done"] == 40
    assert figures["times"]["late"]["n"] == 40 and client["held_back"] == 0
    assert figures["window_s"] > 0.3
    figures, client = measure(fleet.port, "--rate", 1e6, "--requests", 30, "--max-in-flight", 2,
                              "--seed", 3)
    assert figures["requests"]["done"] == 30
    assert client["held_back"] > 0 and client["most_connections"] <= 2
    assert figures["times"]["late"]["max_s"] > 0


def test_a_duration_ends_a_run(fleet):
    figures, client = measure(fleet.port, "--concurrency", 2, "--duration", "700ms",
                              "--output-tokens", 8)
    check_counts(figures)
    assert figures["window_s"] > 0.69
    assert figures["requests"]["done"] == figures["requests"]["sent"] > 0
    figures, client = measure(fleet.port, "--rate", 1e5, "--duration", "300ms",
                              "--max-in-flight", 1)
    assert client["never_sent"] > 0 and 0 < figures["requests"]["sent"] < 30000


def test_a_request_under_way_when_time_is_up_is_cut(fleet):
    figures, _ = measure(fleet.port, "--concurrency", 3, "--duration", "2s", "--drain-s", 0,
                         "--output-tokens", 400, "--slow-rate", 1, "--slow-bytes-per-s", 200)
    check_counts(figures)
    assert figures["requests"]["cut"] == figures["requests"]["sent"] == 3
    fleet.wait_all_free()


def test_warm_up_is_not_counted(fleet):
    before = fleet.metrics()["baton_output_tokens_total"]
    figures, _ = measure(fleet.port, "--requests", 4, "--warmup", 3, "--output-tokens", 5)
    assert figures["requests"]["sent"] == 4 and figures["tokens"]["output"] == 20
    assert fleet.metrics()["baton_output_tokens_total"] - before == 35


def test_a_trace_is_replayed(fleet, tmp_path):
    trace = tmp_path / "trace.jsonl"
    lines = [(0, 600, 10, [1, 2]), (400, 1100, 12, [1, 3, 4]), (900, 512, 1, [9])]
    trace.write_text("\n".join(json.dumps({"timestamp": at, "input_length": n, "output_length": out,
                                           "hash_ids": ids}) for at, n, out, ids in lines))
    started = time.monotonic()
    bench(fleet.port, "--trace", trace, "--trace-speed", 2, "--trace-scale", 0.1,
          "--csv", tmp_path / "out.csv")
    assert time.monotonic() - started > 0.45
    table = rows(tmp_path / "out.csv")
    assert [(int(r["prompt_tokens"]), int(r["output_tokens"]))
            for r in table] == [(60, 1), (110, 1), (51, 1)]
    assert [float(r["start_s"]) for r in table] == pytest.approx([0, 0.2, 0.45], abs=1e-5)


def test_cancellations_leave_nothing_behind(fleet):
    figures, _ = measure(fleet.port, "--concurrency", 6, "--requests", 40, "--output-tokens", 60,
                         "--cancel-rate", 0.5)
    check_counts(figures)
    assert 5 < figures["requests"]["canceled"] < 35 and not figures["requests"]["failed"]
    fleet.wait_all_free()


def test_slow_readers_are_slow_and_lose_nothing(fleet, tmp_path):
    bench(fleet.port, "--concurrency", 4, "--requests", 8, "--output-tokens", 40,
          "--slow-rate", 0.5, "--slow-bytes-per-s", 1500, "--timeline", "false", "--seed", 11,
          "--csv", tmp_path / "r.csv")
    table = rows(tmp_path / "r.csv")
    assert {row["outcome"] for row in table} == {"done"}
    assert {row["output_tokens"] for row in table} == {"40"}
    slow = [float(row["end_s"]) - float(row["sent_s"]) for row in table if row["slow"] == "1"]
    assert 0 < len(slow) < 8 and min(slow) > 0.4  # some 1,200 bytes at 1,500 a second


def test_readers_are_measured_alone_and_with_intruders(fleet, tmp_path):
    path = tmp_path / "itl.csv"
    report = json.loads(bench(fleet.port, "--streams", 3, "--output-tokens", 300,
                              "--intrude-prompt-tokens", 200, "--intrude-every", "0.2s",
                              "--baseline-s", 1, "--json", "-", "--itl-csv", path).stdout)
    [run] = report["runs"]
    check_counts(run["readers"])
    check_counts(run["intruders"])
    assert 0 < run["intruders"]["requests"]["sent"] <= 5
    assert run["readers"]["window_s"] > 1.9
    for phase in "alone", "intruded":
        assert run[phase]["itl"]["n"] > 0
    assert run["ratio"]["p99"] == pytest.approx(run["intruded"]["itl"]["p99_s"]
                                                / run["alone"]["itl"]["p99_s"], rel=1e-4)
    table = rows(path)
    starts = [float(row["time_s"]) for row in table if row["group"] == "intruders"
              and row["event"] == "start"]
    assert starts == pytest.approx([1 + 0.2 * i for i in range(len(starts))], abs=1e-5)
    gaps = [row for row in table if row["gap_s"]]
    assert len(gaps) > 1 and all(float(row["gap_s"]) >= 0 for row in gaps)
    fleet.wait_all_free()


def test_connections_are_kept_unless_told_otherwise(fleet):
    figures, client = measure(fleet.port, "--concurrency", 3, "--requests", 30,
                              "--output-tokens", 1)
    assert figures["requests"]["done"] == 30 and client["connects"] == 3
    figures, client = measure(fleet.port, "--concurrency", 3, "--requests", 30,
                              "--output-tokens", 1, "--no-keepalive")
    assert figures["requests"]["done"] == 30 and client["connects"] == 30


def test_many_connections_at_once(fleet):
    figures, client = measure(fleet.port, "--concurrency", 300, "--requests", 300,
                              "--prompt-tokens", 4, "--output-tokens", 2)
    check_counts(figures)
    assert figures["requests"]["done"] == 300 and client["most_connections"] == 300


def test_goodput_counts_what_is_within_its_bounds(fleet, tmp_path):
    report = json.loads(
        bench(fleet.port, "--requests", 6, "--slo", "ttft=60s,e2el=60s", "--json", "-").stdout)
    assert report["runs"][0]["figures"]["goodput"]["good"] == 6
    report = json.loads(
        bench(fleet.port, "--requests", 6, "--slo", "ttft=1us", "--json", "-").stdout)
    goodput = report["runs"][0]["figures"]["goodput"]
    assert goodput["good"] == 0 and goodput["share"] == 0


def test_text_prompts_come_from_a_file(fleet, tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text("Once upon a time\n\nThe fox said: \"no\"\r\n")
    for api in APIS:
        figures, _ = measure(fleet.port, "--api", api, "--prompt-file", path, "--requests", 4)
        assert figures["requests"]["done"] == 4 and figures["tokens"]["prompt"] > 8


def test_extra_members_reach_the_server(fleet):
    refused = bench(fleet.port, "--requests", 1, "--extra", '{"no_such_field": 1}', status=1)
    assert "HTTP 400 unknown_field" in refused.stdout
    bench(fleet.port, "--requests", 1, "--extra", ' {"top_k": 3, "stop": ["}"]} ')


def test_the_table_is_for_people(fleet):
    table = bench(fleet.port, "--concurrency", "1,2", "--requests", 4, "--slo", "ttft=60s").stdout
    for words in ("native, seed", "concurrency 2", "4 sent: 4 done, 0 failed", "TTFT", "ITL",
                  "goodput (ttft=60s)", "server TTFT", "step to token", "% of a core",
                  "output tok/s"):
        assert words in table, words


def busy(figures):
    """How many requests ended with a 429."""
    return sum(kind["n"] for kind in figures["failures"] if kind["kind"].startswith("HTTP 429"))


def test_refused_requests_wait_and_try_again(tmp_path):
    with Fleet(gateway_args=["--max-queued", 2, *KEEPING],
               decode_args=["--kv-tokens", 512]) as fleet:
        def measure_while_full(n_refused, *options):
            """No request has a turn before so many were refused."""
            [stream] = fleet.hold()
            refused = 'baton_requests_rejected_total{reason="queue_full"}'
            before = fleet.metrics()[refused]
            with ThreadPoolExecutor(1) as pool:
                measured = pool.submit(measure, fleet.port, "--concurrency", 12, "--output-tokens",
                                       150, "--prompt-tokens", 100, "--requests", 24, *options)
                wait_for(lambda: fleet.metrics()[refused] >= before + n_refused,
                         "requests to be refused")
                stream.abandon()
            return measured.result()[0]
        figures = measure_while_full(22, "--seed", 1)
        check_counts(figures)
        n = figures["requests"]
        assert busy(figures) == n["refused_429"] == 22 and n["attempts"] == n["sent"]
        figures = measure_while_full(10, "--retry", 100, "--seed", 2)
        n = figures["requests"]
        assert busy(figures) == 0 and n["refused_429"] == n["attempts"] - 24 >= 10


def test_keys_are_sent(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("open-sesame\n")
    keys.chmod(0o600)
    with Fleet(gateway_args=["--api-keys", keys], key="open-sesame") as fleet:
        figures, _ = measure(fleet.port, "--requests", 2, "--api-key", "open-sesame")
        assert figures["requests"]["done"] == 2
        assert "HTTP 401" in bench(fleet.port, "--requests", 2, status=1).stdout
        report = bench(fleet.port, "--requests", 2, "--api-key", "open-sesame",
                       "--json", "-").stdout
        assert "open-sesame" not in report


def test_a_server_that_dies_is_reported_not_hung_on():
    n, pause_s = 100, 0.1  # of a client whose request failed
    with Fleet() as fleet:
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(bench, fleet.port, "--concurrency", 4, "--requests", n,
                                "--output-tokens", 200, "--json", "-")
            wait_for(lambda: fleet.metrics()['baton_requests_total{outcome="ok"}'],
                     "the load to begin")
            fleet.gateway.kill()
        report = json.loads(ended.result().stdout)
        figures = report["runs"][0]["figures"]
        check_counts(figures)
        kinds = [kind["kind"] for kind in figures["failures"]]
        assert any(kind.startswith("connect: ") for kind in kinds), kinds
        n_failed = figures["requests"]["failed"]
        assert 4 <= n_failed < figures["requests"]["sent"] == n
        # It does not storm a dead server.
        assert figures["window_s"] > (n_failed / 4 - 1) * pause_s * 0.99


def test_an_interrupt_ends_the_run_with_its_report(fleet):
    ok = 'baton_requests_total{outcome="ok"}'
    before = fleet.metrics()[ok]
    running = subprocess.Popen(command(fleet.port, "--concurrency", 2, "--duration", "100s",
                                       "--output-tokens", 100), stdout=subprocess.PIPE, text=True)
    wait_for(lambda: fleet.metrics()[ok] > before, "the load to begin")
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=LONG_S)
    assert running.returncode == 0 and "sent:" in output and "cut at the end" in output
    fleet.wait_all_free()


def test_a_failed_run_says_why(fleet):
    too_long = bench(fleet.port, "--requests", 3, "--prompt-tokens", 600, status=1)
    assert "3 x HTTP 400 context_length_exceeded" in too_long.stdout
    assert "all 3 requests failed" in too_long.stderr
    figures, _ = measure(fleet.port, "--requests", 3, "--prompt-tokens", 600,
                         "--max-total-tokens", 512)
    assert figures["requests"]["clipped"] == figures["requests"]["done"] == 3


BAD = [
    (["--api", "grpc"], "--api"),
    (["--url", "https://127.0.0.1"], "--url"),
    (["--url", "http://127.0.0.1:1"], "127.0.0.1:1"),
    (["--url", "http://no.such.host.invalid"], "no.such.host.invalid"),
    (["--concurrency", "0"], "--concurrency"),
    (["--concurrency", "4", "--rate", "3"], "--concurrency and --rate"),
    (["--concurrency", "60000"], "60000 connections"),
    (["--prompt-tokens", "uniform:9-3"], "--prompt-tokens"),
    (["--output-tokens", "none"], "--output-tokens"),
    (["--vocab", "9-3"], "--vocab"),
    (["--duration", "0s"], "--duration"),
    (["--slo", "fast"], "--slo"),
    (["--extra", "[1]"], "--extra"),
    (["--trace", "/no/such.jsonl"], "/no/such.jsonl"),
    (["--prompt-file", "/no/such.txt"], "/no/such.txt"),
    (["--csv", "/no/such/dir.csv"], "--csv"),
    (["--cancel-rate", "2"], "cancel-rate"),
    (["--streams", "2", "--requests", "3"], "--baseline-s"),
    (["--intrude-every", "x"], "--intrude-every"),
    (["--api-key", "a b"], "--api-key"),
    (["--no-such"], "no-such"),
]


@pytest.mark.parametrize("options, named", BAD,
                         ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_bad_options_are_named(fleet, options, named):
    done = programs.run(*command(fleet.port, *options))
    assert done.returncode in (1, 2)  # 2 where the table of options knows
    assert named in done.stderr and not done.stdout
