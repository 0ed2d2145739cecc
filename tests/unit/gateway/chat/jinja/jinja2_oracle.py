"""Jinja2, set up as transformers does for chat templates, beside our interpreter."""
import datetime
import functools
import json
import os
import subprocess

import jinja2.ext
import jinja2.sandbox

NOW = 1700000000


class Generation(jinja2.ext.Extension):
    """{% generation %} marks the assistant's words for training; here it is a plain block."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)

    def render(self, caller):
        return caller()


class Raised(Exception):
    """The template's own refusal."""


def raise_exception(message):
    raise Raised(str(message))


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


ENVIRONMENT = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = (
    lambda form: datetime.datetime.fromtimestamp(NOW).strftime(form))


@functools.lru_cache(None)
def compiled(source):
    return ENVIRONMENT.from_string(source)


def expected(source, values):
    """(text, None), or (None, reason): ("raised", its words) or ("failed", what Python says)."""
    try:
        return compiled(source).render(**values), None
    except Raised as refusal:
        return None, ("raised", str(refusal))
    except Exception as failure:  # whatever a template does wrong
        return None, ("failed", f"{type(failure).__name__}: {failure}")


class Ours:
    """The program jinja_render, one job a line."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["JINJA_RENDER"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __call__(self, source, values):
        job = {"template": source, "values": values, "own": ["bos_token", "eos_token"], "now": NOW}
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def difference(ours, source, values):
    """None when both write the same bytes, or both refuse."""
    text, reason = expected(source, values)
    answer = ours(source, values)
    if text is not None:
        return None if answer.get("text") == text else (text, answer)
    if "error" not in answer or (reason[0] == "raised") != answer["raised"]:
        return reason, answer
    return None if reason[0] == "failed" or reason[1] == answer["error"] else (reason, answer)
