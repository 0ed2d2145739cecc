"""Manual pages and completions, as the build writes them from the option tables."""
import json
import os
import pty
import re
import select
import time

import pytest
from fleet import BIN, LONG_S
from judges import judge
from programs import WITH_LAB, run

MANUAL = BIN.parent / "manual"


def told(*words):
    done = run(BIN / words[0], *words[1:], "--print-options", check=True)
    return json.loads(done.stdout)


def tables(program):
    """(command or None, its table) of everything that the program itself does."""
    table = told(program)
    if "commands" not in table:
        return [(None, table)]
    return [(command["name"], told(program, command["name"])) for command in table["commands"]
            if "becomes" not in command]


def render(program):
    page = MANUAL / "man1" / f"{program}.1"
    done = run(judge("groff"), "-man", "-ww", "-Tutf8", "-rLL=1000n", "-P-cbou", page)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", WITH_LAB)
def test_a_page_shows_every_option_with_range_and_default(program):
    page = render(program)
    assert re.search(rf"^ +{program} - \S", page, re.M)
    for command, table in tables(program):
        for option in table["options"]:
            entry = re.search(rf"^ +--{option['name']} .*\n(.*)", page, re.M)
            assert entry, f"{program} {command or ''} --{option['name']}"
        for option in table["options"]:
            if option["kind"] == "int" and option.get("default"):
                assert f"Default: {option['default']}." in page


def test_a_page_shows_text_as_it_is():
    page = render("baton-gateway")
    option = next(o for o in told("baton-gateway")["options"] if o["name"] == "ssl-keyfile")
    assert option["help"] in page and "least-loaded|prefix-aware" in page
    assert "BATON_GATEWAY_MODEL is the first" in page


def complete_bash(program, *words):
    script = (
        'compopt() { :; }; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        'f=$(complete -p "$1" | sed "s/.*-F \\([^ ]*\\).*/\\1/"); "$f"; '
        'printf "%s\\n" "${COMPREPLY[@]}"')
    done = run("bash", "-c", script, "-", MANUAL / "bash" / program, program, *words, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("words, completions", [
    (["baton", "st"], ["status"]),
    (["baton", "up", "--pre"], ["--prefill", "--prefill-cores"]),
    (["baton", "chat", "--ex"], ["--explain"]),
    (["baton", "down", "--s"], ["--state"]),
    (["baton", "down", "--pre"], []),
    (["baton", "up", "--model", ""], []),  # then bash offers files
    (["baton-gateway", "--prefill-policy", ""], ["round-robin", "least-loaded", "prefix-aware"]),
    (["baton-gateway", "--prefill-policy", "p"], ["prefix-aware"]),
    (["baton-gateway", "--port", ""], []),
    (["baton-bench", "make"], ["make-model"]),
    (["baton-load", "--vers"], ["--version"]),
])
def test_bash_completes(words, completions):
    assert complete_bash(*words) == completions


@pytest.mark.parametrize("program", WITH_LAB)
def test_the_completion_for_bash_is_clean_and_has_every_option(program):
    done = run(judge("shellcheck"), "-s", "bash", "-S", "warning", MANUAL / "bash" / program)
    assert done.returncode == 0, done.stdout
    for command, table in tables(program):
        words = [command, "--"] if command else ["--"]
        offered = set(complete_bash(program, *words))
        assert {f"--{option['name']}" for option in table["options"]} <= offered


def zsh_shows(line, text, env):
    """The output of zsh after a line and two tabs, up to the text."""
    zsh = judge("zsh")
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(zsh, ["zsh", "-f", "-i"], env)
    shown = ""
    try:
        start = (
            f"fpath=({MANUAL}/zsh $fpath); autoload -U compinit; compinit -D -u; PS1='ready> '\n")
        os.write(fd, start.encode())
        until = time.monotonic() + LONG_S
        asked = False
        while text not in shown and time.monotonic() < until:
            if select.select([fd], [], [], 1)[0]:
                shown += os.read(fd, 65536).decode(errors="replace")
            if not asked and re.search(r"ready> \S*$|ready> [^']*$", shown):
                os.write(fd, f"{line}\t\t".encode())
                asked, shown = True, ""
        return shown
    finally:
        os.close(fd)
        os.waitpid(pid, 0)


@pytest.mark.parametrize("line, text", [
    ("baton stat", "baton status"),
    ("baton up --chat-", "baton up --chat-template"),
    ("baton-gateway --prefill-policy pre", "--prefill-policy prefix-aware"),
    ("baton up --decode", "CPUs of every decode worker"),
])
def test_zsh_completes(line, text, tmp_path):
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb",
           "LC_ALL": "C.UTF-8", "COLUMNS": "200"}
    assert text in zsh_shows(line, text, env)
