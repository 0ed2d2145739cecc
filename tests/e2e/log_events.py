"""The log events and their fields, as the code writes and docs/log-events.md lists them."""
import re

from fleet import ROOT

FOLDERS = ("common", "engine", "worker", "gateway", "prefill_worker", "decode_worker",
           "tools/baton")
OF_A_REQUEST = ["req", "id", "trace"]
FIELD = re.compile(r'BATON_[SOIXF]\(\s*"(\w+)"')


def arguments(source, begin):
    """The text between the parenthesis at begin and its partner."""
    depth, quoted, i = 0, False, begin
    while True:
        c = source[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        else:
            depth += (c == "(") - (c == ")")
            if not depth:
                return source[begin + 1:i]
        i += 1


def without_calls(text):
    """Without the macros of fields, so that the strings left are names of events."""
    for match in reversed(list(re.finditer(r"BATON_[A-Z]+\(", text))):
        inside = arguments(text, match.end() - 1)
        text = text[:match.start()] + text[match.end() + len(inside) + 1:]
    return text


def fields_of(text):
    of_a_request = OF_A_REQUEST if re.search(r"BATON_(ORIGIN|REQUEST)\(", text) else []
    return of_a_request + FIELD.findall(text)


def in_code():
    """{event: its fields in any place that writes it}."""
    events = {}
    for path in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.c")):
        source = path.read_text()
        for call in re.finditer(r"\bbaton_log(_limited|_fields)?\(", source):
            text = arguments(source, call.end() - 1)
            # The function of the call makes the array that it passes.
            if call[1] == "_fields" and '"' in text:
                text += source[source.rindex("\n{\n", 0, call.start()):call.start()]
            for event in re.findall(r'"([a-z_]+)"', without_calls(text)):
                known = events.setdefault(event, [])
                known += [field for field in fields_of(text) if field not in known]
    return events


def in_document():
    text = (ROOT / "docs/log-events.md").read_text()
    return {event: fields.replace("*request*", " ".join(OF_A_REQUEST)).split()
            for event, fields in re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]*) \|", text, re.M)}
