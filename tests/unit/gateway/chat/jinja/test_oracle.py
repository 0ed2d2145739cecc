"""Our Jinja writes what Jinja2 writes: whole chat templates, and random programs."""
import pathlib
import random

import pytest
from jinja2_oracle import Ours, difference

HERE = pathlib.Path(__file__).parent
TEMPLATES = sorted([*(HERE / "templates").glob("*.jinja"),
                    *(HERE.parents[4] / "gateway/chat/templates").glob("*.jinja")])


@pytest.fixture(scope="module")
def ours():
    interpreter = Ours()
    yield interpreter
    interpreter.close()


# ---- conversations ----

TOOLS = [
    {"type": "function",
     "function": {"name": "get_weather", "description": "Get the <current> weather & \"more\"",
                  "parameters": {"type": "object", "required": ["city"], "properties": {
                      "city": {"type": "string", "description": "City n\u00e4me"},
                      "days": {"type": "integer", "default": 3, "minimum": 0.5},
                      "units": {"type": "string", "enum": ["c", "f"]},
                      "tags": {"type": "array", "items": {"type": "string"}},
                      "more": {"type": "object", "properties": {"a": {"type": ["string", "null"]},
                                                                "b": {"type": "number"}}}}}}},
    {"type": "function", "function": {"name": "noop", "description": "Nothing",
                                      "parameters": {"type": "object", "properties": {}}}},
]


def says(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments, identity):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def part(text):
    return {"type": "text", "text": text}


USER, SYSTEM = says("user", " Hi there\n"), says("system", " Be nice. ")
ASKED = says("assistant", None,
             tool_calls=[call("get_weather", {"city": "Bern", "days": 2}, "call_0001")])
CONVERSATIONS = {
    "one": [USER],
    "system": [SYSTEM, USER],
    "turns": [says("user", "A"), says("assistant", " B "), says("user", "C")],
    "system and turns": [SYSTEM, says("user", "A"), says("assistant", "B"), says("user", "C"),
                         says("assistant", "D"), says("user", "E")],
    "unicode": [says("user", "Gr\u00fc\u00dfe \U0001f600 \u2028x\u3000"),
                says("assistant", "\u65e5\u672c "), says("user", "<|im_end|>{{ x }}{% if %}")],
    "thought": [says("user", "Q"), says("assistant", "<think>\nhm\n</think>\n\nanswer"),
                says("user", "R")],
    "reasoning": [says("user", "Q"), says("assistant", "answer", reasoning_content="hm\n"),
                  says("user", "R")],
    "tool": [USER, ASKED,
             says("tool", '{"t": 21.5}', tool_call_id="call_0001", name="get_weather")],
    "tools": [SYSTEM, USER,
              says("assistant", "", tool_calls=[
                  call("get_weather", {"city": "\"B\\\n", "n": None, "ok": True,
                                       "l": [1, 2.0, {}]}, "abcdefghi"),
                  call("noop", {}, "bbcdefghi")]),
              says("tool", "21", tool_call_id="abcdefghi", name="get_weather"),
              says("tool", "ok", tool_call_id="bbcdefghi", name="noop"),
              says("assistant", "It is 21."), USER],
    "tool text": [USER,
                  says("assistant", "calling", tool_calls=[call("noop", '{"a": 1}', "abcdefghi")]),
                  says("tool", "", tool_call_id="abcdefghi")],
    "parts": [says("user", [part(" Hello "), part("world")])],
    "system parts": [says("system", [part("S")]), says("user", [part("x"), {"type": "image"}]),
                     says("assistant", "x"), says("user", "y")],
    "wrong order": [says("user", "a"), says("user", "b"), says("assistant", "c"),
                    says("assistant", "d")],
    "developer": [says("developer", "D"), USER],
    "empty": [says("user", "")],
}
VARIABLES = [
    {}, {"tools": TOOLS}, {"enable_thinking": False}, {"add_generation_prompt": False},
    {"tools": TOOLS, "enable_thinking": True, "reasoning_effort": "high",
     "date_string": "1 Jan 2025"},
    {"documents": [{"title": "T", "text": "body"}, {"title": "U", "text": "more\nlines"}]},
]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_writes_what_jinja2_writes(ours, template):
    source, n_written = template.read_text(), 0
    for name, messages in CONVERSATIONS.items():
        for variables in VARIABLES:
            values = {"messages": messages, "tools": None, "documents": None,
                      "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
                      **variables}
            assert difference(ours, source, values) is None, (name, variables)
            n_written += "text" in ours(source, values)
    assert n_written > len(CONVERSATIONS)


def test_there_are_twenty_templates():
    assert len(TEMPLATES) >= 20


# ---- random programs ----

VALUES = {
    "a": 7, "b": -3, "f": 2.5, "t": True, "z": None, "s": "Hello, World",
    "u": " \u00e9\u00df\U0001f600x ", "e": "",
    "l": [3, 1, 2], "m": ["b", "A", "c"], "d": {"k": 1, "x": {"y": [1, "two"]}, "items": 5},
    "o": {},
    "p": [{"n": 1, "s": "x"}, {"n": 2, "s": "y"}, {"n": 2}],
}
NAMES = [*VALUES, "missing"]
LITERALS = ["0", "1", "-2", "3", "1.5", "1e3", "'x'", "'a,b'", "\"it's\"", "''", "true", "none",
            "[]", "[1, 'x']", "{}", "{'k': 2, 'j': [1]}", "(1, 2)", "(1,)", "'%s-%s'", "'{}'"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in",
          "and", "or"]
FILTERS = ["trim", "upper", "lower", "title", "capitalize", "length", "string", "list", "first",
           "last", "join", "sort", "reverse|list", "unique|list", "sum", "min", "max", "abs", "int",
           "float", "round", "tojson", "items|list", "dictsort", "default('q')",
           "default('q', true)", "d", "join('-')", "replace('l', 'L')", "replace('', '.')",
           "indent", "indent(2, true)", "tojson(indent=2)", "tojson(ensure_ascii=true)",
           "sort(reverse=true)", "map('string')|list", "map(attribute='n')|list",
           "map(attribute='q', default=0)|list", "select|list", "selectattr('s')|list",
           "selectattr('n', 'equalto', 2)|list", "rejectattr('s', 'defined')|list",
           "reject('string')|list", "select('number')|sum", "batch(2)|list", "slice(2)|list",
           "groupby('n')|list", "round(1)", "int(9)", "center(9)", "wordcount", "attr('x')",
           "count", "e", "safe", "dictsort(by='value')",
           "sort(attribute='n')", "format(1, 2)", "map('upper')|join", "last|default(0)", "select"]
TESTS = ["defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence",
         "boolean", "true", "false", "integer", "float", "odd", "even", "divisibleby 2", "eq(1)",
         "sameas none", "in [1, 'x']", "lower", "upper", "callable", "ge 1", "not string",
         "not none"]
METHODS = ["upper()", "strip()", "strip('lo H')", "split()", "split(',')", "split('l', 1)",
           "rsplit(None, 1)", "splitlines()", "startswith('H')", "endswith(('d', 'x'))",
           "replace('l', '_', 1)", "lstrip()", "rstrip('d')", "title()", "find('o')", "rfind('o')",
           "count('l')", "join(m)", "format(a, s)", "partition(', ')", "removeprefix('He')",
           "isdigit()", "isalpha()", "zfill(9)", "ljust(9, '.')", "items()", "keys()|list",
           "values()|list", "get('k')", "get('q', 3)", "index(1)", "copy()", "append(1)", "lower()",
           "center(7)"]
INDEXES = ["[0]", "[-1]", "[9]", "[1:]", "[:-1]", "[::-1]", "[::2]", "[-2:]", "['k']", "['x']['y']",
           ".k", ".x.y", ".items", ".missing", "[5:1]", "[1:9:3]", "[a]", "[s]", "[2:0:-1]", ".0"]


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(NAMES if rng.random() < 0.6 else LITERALS)
    inner = expression(rng, depth - 1)
    return rng.choice([
        lambda: f"{inner} {rng.choice(BINARY)} {expression(rng, depth - 1)}",
        lambda: f"({inner} {rng.choice(BINARY)} {expression(rng, depth - 1)})",
        lambda: f"{inner}|{rng.choice(FILTERS)}", lambda: f"({inner})|{rng.choice(FILTERS)}",
        lambda: f"{inner} is {rng.choice(TESTS)}", lambda: f"({inner}).{rng.choice(METHODS)}",
        lambda: f"{rng.choice(['s', 'u', 'd', inner])}.{rng.choice(METHODS)}",
        lambda: f"({inner}){rng.choice(INDEXES)}",
        lambda: f"{rng.choice(NAMES)}{rng.choice(INDEXES)}",
        lambda: f"not {inner}", lambda: f"-{inner}",
        lambda: f"{inner} if {expression(rng, depth - 1)} else {expression(rng, depth - 1)}",
        lambda: f"[{inner}, {expression(rng, depth - 1)}]", lambda: f"{{'k': {inner}}}",
        lambda: f"range({rng.randint(-3, 5)}, {rng.randint(-3, 5)})|list",
        lambda: f"{inner} < {inner} <= a",
    ])()


def tag(rng, kind, text):
    open_sign, close_sign = (rng.choice(["", "", "-", "+"]),
                             rng.choice(["", "", "-", "+" if kind == "%" else "-"]))
    pair = "{}" if kind != "{" else "{}"
    left, right = ("{{", "}}") if kind == "{" else ("{%", "%}")
    return f"{left}{open_sign} {text} {close_sign}{right}" if pair else ""


def statements(rng, depth):
    """Some lines of a template: names are set, printed, looped over."""
    text = ""
    for _ in range(rng.randint(1, 3)):
        text += rng.choice(["", " ", "\n", "x\n", "  \n  ", "\ty"])
        value = expression(rng, 1)
        kind = rng.randrange(9) if depth else rng.randrange(3)
        if kind < 2:
            text += tag(rng, "{", rng.choice(["v", "w", "ns.c", value, value]))
        elif kind == 2:
            text += tag(rng, "%", f"set {rng.choice(['v', 'w', 'ns.c'])} = {value}")
        elif kind == 3:
            text += tag(rng, "%", f"if {value}") + statements(rng, depth - 1)
            text += (rng.choice(["", tag(rng, "%", "else") + statements(rng, depth - 1)])
                     + tag(rng, "%", "endif"))
        elif kind < 6:
            source = rng.choice(["l", "m", "p", "s", "d", "d.items()", "range(3)", "o", value])
            test = rng.choice(["", "", f" if {expression(rng, 1)}", " if v != 1"])
            jump = rng.choice(["", "", tag(rng, "%", f"if {value}") + "{% break %}{% endif %}",
                               "{% continue %}"])
            loop = rng.choice(["index", "last", "first", "length", "revindex", "previtem",
                               "nextitem", "index0"])
            text += (tag(rng, "%", f"for v in {source}{test}") + statements(rng, depth - 1) + jump
                     + tag(rng, "{", f"loop.{loop}") + tag(rng, "%", "else") + "none"
                     + tag(rng, "%", "endfor"))
        elif kind == 6:
            text += (tag(rng, "%", "macro g(x, y=2)") + statements(rng, depth - 1)
                     + tag(rng, "{", "x ~ y") + tag(rng, "%", "endmacro")
                     + tag(rng, "{", rng.choice(["g(1)", "g(s, y=a)", "g(1, 2, 3)", "g()"])))
        elif kind == 7:
            text += tag(rng, "%", "set w") + statements(rng, depth - 1) + tag(rng, "%", "endset")
        else:
            text += (tag(rng, "%", "filter upper") + statements(rng, depth - 1)
                     + "{% endfilter %}{# c #}")
    return text


# The two differ in numbers of more than 64 bits, formats beyond {} and %s, slices of constants
# (which Jinja2 folds into nothing), printed functions and generators (with an address), and Markup
# in a list.
UNFAIR = (" is out of range", "more than ", "a format", "too big", "cannot be sliced", "<",
          "Markup(")


def check(ours, source):
    found = difference(ours, source, VALUES)
    if found and any(words in text for words in UNFAIR
                     for text in (str(found[0]), *map(str, found[1].values()))):
        return
    assert not found, (source, found)


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_have_the_values_that_jinja2_gives_them(ours, seed):
    rng = random.Random(seed)
    for _ in range(700):
        check(ours, "{{ " + expression(rng, rng.randint(1, 3)) + " }}")


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_write_what_jinja2_writes(ours, seed):
    rng = random.Random(1000 + seed)
    for _ in range(250):
        check(ours, "{% set ns = namespace(c=1) %}" + statements(rng, 2))
