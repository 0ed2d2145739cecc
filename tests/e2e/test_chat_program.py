"""baton run and baton chat: a person at a terminal, and a pipe."""
import json
import os
import pty
import re
import select
import signal
import termios
import time

import pytest
from fleet import BIN, LONG_S, NO_SUSPICION, Fleet, wait_for
from programs import run

BATON = BIN / "baton"
FLEET = dict(gateway_args=["--chat-template", "chatml", *NO_SUSPICION])


@pytest.fixture(scope="module")
def teller():
    """A model that only continues texts."""
    with Fleet() as started:
        yield started


@pytest.fixture
def home(tmp_path):
    return {**{name: value for name, value in os.environ.items()
               if not name.startswith(("BATON_", "XDG_"))},
            "HOME": str(tmp_path), "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def baton(fleet, env, *words, stdin=""):
    return run(BATON, words[0], "--url", f"http://127.0.0.1:{fleet.port}", *words[1:], input=stdin,
               timeout=LONG_S, env=env)


def chat_answer(fleet, messages, **settings):
    return fleet.post("/v1/chat/completions",
                      dict(messages=messages, **settings))["choices"][0]["message"]["content"]


def user(text):
    return {"role": "user", "content": text}


class Terminal:
    """`baton chat` in a terminal of its own."""

    def __init__(self, fleet, env, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(BATON, ["baton", "chat", "--url", f"http://127.0.0.1:{fleet.port}",
                              *map(str, words)], env)
        self.screen = ""  # what came since the last wait_for
        self.wait_for("> ")

    def wait_for(self, text):
        """The output up to that text."""
        until = time.monotonic() + LONG_S
        while text not in self.screen:
            assert time.monotonic() < until, f"no {text!r} in {self.screen!r}"
            if select.select([self.fd], [], [], 1)[0]:
                self.screen += os.read(self.fd, 65536).decode()
        before, _, self.screen = self.screen.partition(text)
        return before + text

    def type(self, text):
        os.write(self.fd, text.encode())

    def say(self, line):
        """The program's output for a line, up to the next prompt."""
        self.type(line + "\n")
        self.wait_for("\n")
        return self.wait_for("\n> ")

    def end(self):
        """Ctrl-D is a key only once the line editor runs: the kernel ends the input at it."""
        wait_for(lambda: not termios.tcgetattr(self.fd)[3] & termios.ICANON, "the line editor")
        self.type("\x04")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)


# ---- run ----


def test_run_streams_the_answer_of_a_chat(fleet, home):
    done = baton(fleet, home, "run", "Tell", "me a story.", "--max-tokens", 12, "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert done.stdout == chat_answer(fleet, [user("Tell me a story.")], max_tokens=12,
                                      seed=3) + "\n"


def test_run_continues_a_text_of_stdin(teller, home):
    done = baton(teller, home, "run", "--max-tokens", 9, "--temperature", 0,
                 stdin="Once upon a time")
    body = teller.post("/v1/completions",
                       dict(prompt="Once upon a time", max_tokens=9, temperature=0))
    assert done.stdout == body["choices"][0]["text"] + "\n"


def test_run_raw_continues_a_text_where_there_is_a_template(fleet, home):
    done = baton(fleet, home, "run", "--raw", "--max-tokens", 9, "--temperature", 0,
                 "--", "Once upon a time")
    assert done.stdout.startswith(", ") and done.returncode == 0


@pytest.mark.parametrize("words, message", [
    (["--temperature", "warm", "x"], '--temperature must be a number, not "warm"'),
    (["--temperature", "101", "x"], "temperature"),
    (["--max-tokens", "-1", "x"], "max-tokens must be an integer from 0"),
    (["--api-keys", "/nowhere", "x"], "/nowhere"),
])
def test_run_names_what_is_wrong(fleet, home, words, message):
    done = baton(fleet, home, "run", *words)
    is_usage = message.startswith("max-tokens")  # known without a server
    assert done.returncode == (2 if is_usage else 1)
    assert message in done.stderr and not done.stdout.strip()


def test_run_without_a_server_says_so(home):
    done = run(BATON, "run", "x", "--url", "http://127.0.0.1:1", env=home)
    assert done.returncode == 1 and "127.0.0.1:1: Connection refused" in done.stderr


# ---- chat ----


def test_a_chat_at_a_terminal_streams_explains_and_remembers(fleet, home, tmp_path):
    with Terminal(fleet, home, "--max-tokens", 8, "--seed", 3) as terminal:
        first = terminal.say("Once upon a\x7f\x7f a time")  # libedit takes the typing mistake away
        text = chat_answer(fleet, [user("Once upon a time")], max_tokens=8, seed=3)
        assert text in first.replace("\r", "") and "8 tokens" in first
        why = terminal.say("/explain")
        assert re.search(r"Token 8, .*: rank \d+, \d+\.\d\d %", why) and why.count(" %") == 11, why
        assert re.search(r"> +\d+\.\d\d % ", why)
        assert "Token 6," in terminal.say("/explain 3")
        terminal.say("And then?")
        saved = tmp_path / "talk.json"
        terminal.say(f"/save {saved}")
        messages = json.loads(saved.read_text())["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant"] * 2
        assert messages[1]["content"] == text and messages[2]["content"] == "And then?"
        assert messages[3]["content"] == chat_answer(fleet, messages[:3], max_tokens=8, seed=3)
        assert saved.stat().st_mode & 0o077 == 0
        terminal.say("/clear")
        assert "nothing was said" in terminal.say("/retry")
        assert "there is no /nonsense" in terminal.say("/nonsense")
        terminal.type("\x1b[A\x1b[A")  # the line before the last one
        terminal.wait_for("/retry")
        terminal.type("\x15")
        assert terminal.end() == 0
    history = tmp_path / ".local/state/baton/chat-history"
    assert "And\\040then?" in history.read_text() and history.stat().st_mode & 0o077 == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(fleet, home):
    decode = fleet.workers["decode-0"]
    with Terminal(fleet, home, "--max-tokens", 8) as terminal:
        decode.pause()  # no answer ends by itself
        try:
            terminal.type("Tell me a story.\n")
            wait_for(fleet.open, "the gateway to have the request")
            terminal.type("\x03")
            assert "[stopped]" in terminal.wait_for("\n> ")
            wait_for(lambda: not fleet.open(), "the gateway to see that nobody waits any more")
        finally:
            decode.resume()
        terminal.type("half a line\x03")
        terminal.wait_for("^C\r\n> ")
        assert "8 tokens" in terminal.say("Once upon a time")
        assert terminal.end() == 0


def test_a_chat_by_a_pipe_prints_answers_alone(fleet, home):
    lines = "Once upon a time\n/system Be brief.\nThe fox\n"
    done = baton(fleet, home, "chat", "--max-tokens", 6, "--seed", 3, stdin=lines)
    first = chat_answer(fleet, [user("Once upon a time")], max_tokens=6, seed=3)
    told = [{"role": "system", "content": "Be brief."}, user("Once upon a time"),
            {"role": "assistant", "content": first}, user("The fox")]
    assert done.stdout == f"{first}\n{chat_answer(fleet, told, max_tokens=6, seed=3)}\n"
    assert not done.stderr


def test_a_line_goes_on_after_a_backslash(fleet, home):
    done = baton(fleet, home, "chat", "--max-tokens", 6, "--seed", 3, stdin="Once upon\\\na time\n")
    assert done.stdout == chat_answer(fleet, [user("Once upon\na time")], max_tokens=6,
                                      seed=3) + "\n"


def test_a_model_that_only_continues_is_told_apart(teller, home):
    with Terminal(teller, home, "--max-tokens", 8, "--temperature", 0) as terminal:
        assert ", there" in terminal.say("Once upon a time")
        assert terminal.end() == 0


def test_a_question_that_was_refused_is_taken_back(fleet, home):
    done = baton(fleet, home, "chat", "--max-tokens", 6, "--seed", 3,
                 stdin="x" * 20000 + "\nOnce upon a time\n")
    assert "512 tokens" in done.stderr and done.returncode == 0
    assert done.stdout == chat_answer(fleet, [user("Once upon a time")], max_tokens=6,
                                      seed=3) + "\n"
