"""Raw HTTP requests, most of them malformed, and what a server of ours must answer to each.

As a module: run(host, port) sends every case to a running gateway and returns the failures, one
readable line each. As a program:

    malformed_http.py HTTP_ECHO      starts that binary and runs against it
    malformed_http.py HOST:PORT      runs against a server that is up
    malformed_http.py --dump         prints the cases as JSON, for other tests

A case is (name, raw bytes, allowed): the right statuses, and "close" when closing without an answer
is right too (or, for a request that is not whole, when the client gives up).
"""

import json
import re
import socket
import subprocess
import sys

PROMPT = b'{"prompt":"Once","max_new_tokens":1,"temperature":0}'
LONG_WAIT_S = 30
SHORT_WAIT_S = 0.3


def get(headers=b"", target=b"/health", version=b"HTTP/1.1", host=b"Host: localhost\r\n"):
    return b"GET " + target + b" " + version + b"\r\n" + host + headers + b"\r\n"


def post(headers, body=b"", target=b"/generate", version=b"HTTP/1.1"):
    head = (b"POST " + target + b" " + version
            + b"\r\nHost: localhost\r\nContent-Type: application/json\r\n")
    return head + headers + b"\r\n" + body


def sized(body, headers=b"", **more):
    return post(b"Content-Length: %d\r\n" % len(body) + headers, body, **more)


def chunked(body, headers=b"", **more):
    return post(b"Transfer-Encoding: chunked\r\n" + headers, body, **more)


def chunks(*parts, end=b"0\r\n\r\n"):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


SMUGGLED = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

VALID = [
    ("plain get", get(), {200}),
    ("plain post", sized(PROMPT), {200}),
    ("chunked post", chunked(chunks(PROMPT[:7], PROMPT[7:])), {200}),
    ("chunk size in upper case with leading zero",
     chunked(b"0%X\r\n%s\r\n0\r\n\r\n" % (len(PROMPT), PROMPT)), {200}),
    ("chunk extension", chunked(b"%x;a=b\r\n%s\r\n0;c\r\n\r\n" % (len(PROMPT), PROMPT)), {200}),
    ("trailer", chunked(chunks(PROMPT, end=b"0\r\nX-Sum: 1\r\n\r\n")), {200}),
    ("transfer-encoding in upper case", post(b"Transfer-Encoding: CHUNKED\r\n", chunks(PROMPT)),
     {200}),
    ("empty line before the request", b"\r\n" + get(), {200}),
    ("query", get(target=b"/health?a=b&c"), {200}),
    ("absolute target", get(target=b"http://a/health"), {200}),
    ("absolute target in capitals", get(target=b"HTTP://a:80/health"), {200}),
    ("escaped unreserved letter", get(target=b"/h%65alth"), {200, 404}),
    ("escaped slash stays a segment", get(target=b"/%2Fhealth"), {404}),
    ("host with port", get(host=b"Host: llm.localhost:8000\r\n"), {200}),
    ("host with an ipv6 address", get(host=b"Host: [::1]:8000\r\n"), {200}),
    ("header name in lower case", get(host=b"host: localhost\r\n"), {200}),
    ("no space after the colon", get(host=b"Host:localhost\r\n"), {200}),
    ("tabs and spaces around a value", get(b"X:\t a \t\r\n"), {200}),
    ("empty value", get(b"X:\r\n"), {200}),
    ("bytes above 0x7f in a value", get(b"X: \xc3\xa4\xff\r\n"), {200}),
    ("every kind of token character in a name", get(b"!#$%&'*+-.^_`|~09azAZ: a\r\n"), {200}),
    ("http/1.0", get(version=b"HTTP/1.0"), {200}),
    ("http/1.0 without a host", get(version=b"HTTP/1.0", host=b""), {200}),
    ("upgrade is ignored",
     get(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\n"), {200}),
    ("expect 100-continue", sized(PROMPT, b"Expect: 100-continue\r\n"), {200}),
    ("content-length with leading zeros", post(b"Content-Length: 00%d\r\n" % len(PROMPT), PROMPT),
     {200}),
    ("get with a body", b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
     {200, 400}),
    ("99 headers", get(b"X: y\r\n" * 98), {200}),
    ("head of almost the limit", get(b"X: " + b"y" * 16000 + b"\r\n"), {200}),
    ("two requests at once", get() + get(b"Connection: close\r\n"), {200}),
    ("unknown path", get(target=b"/no/such/path"), {404}),
    ("wrong method", get(target=b"/generate"), {405}),
    ("wrong content type",
     b"POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
     b"Content-Length: 2\r\n\r\n{}", {415}),
    ("body that is not json", sized(b"{nope"), {400}),
    ("empty body", sized(b""), {400}),
]

REQUEST_LINES = [
    ("no version (http/0.9)", b"GET /health\r\n\r\n", {400}),
    ("method alone", b"GET\r\n\r\n", {400}),
    ("two spaces before the target", b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("two spaces before the version", b"GET /health  HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("space after the version", b"GET /health HTTP/1.1 \r\nHost: localhost\r\n\r\n", {400}),
    ("space before the method", b" GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("tabs for spaces", b"GET\t/health\tHTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("space in the target", get(target=b"/he alth"), {400}),
    ("control character in the target", get(target=b"/he\x01alth"), {400}),
    ("nul in the target", get(target=b"/he\x00alth"), {400}),
    ("bytes above 0x7f in the target", get(target=b"/h\xc3\xa4"), {400}),
    ("fragment in the target", get(target=b"/health#a"), {400}),
    ("percent without digits", get(target=b"/health%zz"), {400}),
    ("percent at the end", get(target=b"/health%4"), {400}),
    ("target without a slash", get(target=b"health"), {400}),
    ("absolute target of another scheme", get(target=b"ftp://a/health"), {400}),
    ("absolute target without a host", get(target=b"http:///health"), {400}),
    ("star for a get", get(target=b"*"), {400}),
    ("lower-case method", b"get /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {501}),
    ("unknown method", b"BREW /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {501}),
    ("method of another protocol", b"PROPFIND /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {501}),
    ("method that is no token", b"G@T /health HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    ("connect", b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", {501}),
    ("http/1.2", get(version=b"HTTP/1.2"), {505}),
    ("http/2.0", get(version=b"HTTP/2.0"), {505}),
    ("http/0.9 with a version", get(version=b"HTTP/0.9"), {505}),
    ("http/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505}),
    ("lower-case version", get(version=b"http/1.1"), {400}),
    ("two digits of version", get(version=b"HTTP/1.10"), {400}),
    ("another protocol", get(version=b"ICY/1.1"), {400}),
    ("no dot in the version", get(version=b"HTTP/11"), {400}),
    ("tls client hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32) + b"\r\n\r\n",
     {400}),
    ("ssh banner", b"SSH-2.0-OpenSSH_9.2\r\n", {400, "close"}),
    ("target over the limit", get(target=b"/" + b"a" * 20000), {414, 431}),
]

HEADERS = [
    ("no host", get(host=b""), {400}),
    ("two hosts", get(b"Host: localhost\r\n"), {400}),
    ("two different hosts", get(b"host: b\r\n"), {400}),
    ("two hosts on 1.0", get(b"Host: b\r\n", version=b"HTTP/1.0"), {400}),
    ("host with a space", get(host=b"Host: a b\r\n"), {400}),
    ("host with a slash", get(host=b"Host: a/b\r\n"), {400}),
    ("host with a user", get(host=b"Host: u@a\r\n"), {400}),
    ("host list", get(host=b"Host: a, b\r\n"), {400}),
    ("space before the colon", get(b"X : a\r\n"), {400}),
    ("tab before the colon", get(b"X\t: a\r\n"), {400}),
    ("space in a name", get(b"X Y: a\r\n"), {400}),
    ("empty name", get(b": a\r\n"), {400}),
    ("no colon", get(b"nonsense\r\n"), {400}),
    ("brackets in a name", get(b"X[1]: a\r\n"), {400}),
    ("bytes above 0x7f in a name", get(b"X\xc3\xa4: a\r\n"), {400}),
    ("folded value", get(b"X: a\r\n b\r\n"), {400}),
    ("folded with a tab", get(b"X: a\r\n\tb\r\n"), {400}),
    ("folded first header", b"GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n", {400}),
    ("nul in a value", get(b"X: a\x00b\r\n"), {400}),
    ("nul in a name", get(b"X\x00Y: b\r\n"), {400}),
    ("control character in a value", get(b"X: a\x0bb\r\n"), {400}),
    ("delete in a value", get(b"X: a\x7fb\r\n"), {400}),
    ("bare cr in a value", get(b"X: a\rY: b\r\n"), {400}),
    ("bare lf ends a header", get(b"X: a\nY: b\r\n"), {400}),
    ("bare lf everywhere", b"GET /health HTTP/1.1\nHost: a\n\n", {400}),
    ("bare lf ends the head", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\n", {400}),
    ("cr cr lf", b"GET /health HTTP/1.1\r\r\nHost: localhost\r\n\r\n", {400}),
    ("101 headers", get(b"X: y\r\n" * 100), {431}),
    ("head over the limit", get(b"X: " + b"y" * 20000 + b"\r\n"), {431}),
    ("many headers over the limit", get(b"X-Long-Name: some value\r\n" * 2000), {431}),
    ("unknown expectation", sized(PROMPT, b"Expect: a-miracle\r\n"), {417}),
    ("half a head", b"GET /health HTTP/1.1\r\nHost:", {408, "close"}),
    ("one letter", b"G", {408, "close"}),
    ("nothing but an empty line", b"\r\n", {408, "close"}),
]

LENGTHS = [
    ("content-length and transfer-encoding",
     chunked(chunks(b"") + SMUGGLED, b"Content-Length: 4\r\n"), {400}),
    ("transfer-encoding and content-length",
     post(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + SMUGGLED), {400}),
    ("two equal content-lengths", post(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}"),
     {400}),
    ("two different content-lengths",
     post(b"Content-Length: 2\r\nContent-Length: 37\r\n", b"{}" + SMUGGLED), {400}),
    ("content-length list", post(b"Content-Length: 2, 2\r\n", b"{}"), {400}),
    ("content-length with a plus", post(b"Content-Length: +2\r\n", b"{}"), {400}),
    ("content-length with a minus", post(b"Content-Length: -2\r\n", b"{}"), {400}),
    ("content-length in hexadecimal", post(b"Content-Length: 0x2\r\n", b"{}"), {400}),
    ("content-length with a fraction", post(b"Content-Length: 2.0\r\n", b"{}"), {400}),
    ("content-length of two numbers", post(b"Content-Length: 2 2\r\n", b"{}"), {400}),
    ("content-length empty", post(b"Content-Length:\r\n", b""), {400}),
    ("content-length of letters", post(b"Content-Length: two\r\n", b"{}"), {400}),
    ("content-length past 64 bits", post(b"Content-Length: 18446744073709551618\r\n", b"{}"),
     {413}),
    ("content-length far over the limit", post(b"Content-Length: 99999999999\r\n", b"{}"), {413}),
    ("body shorter than its content-length", post(b"Content-Length: 99\r\n", b"{}"),
     {408, "close"}),
    ("transfer-encoding twice", chunked(chunks(PROMPT), b"Transfer-Encoding: chunked\r\n"), {400}),
    ("chunked twice", post(b"Transfer-Encoding: chunked, chunked\r\n", chunks(PROMPT)), {400, 501}),
    ("gzip, chunked", post(b"Transfer-Encoding: gzip, chunked\r\n", chunks(PROMPT)), {501}),
    ("chunked, gzip", post(b"Transfer-Encoding: chunked, gzip\r\n", chunks(PROMPT)), {400, 501}),
    ("gzip alone", post(b"Transfer-Encoding: gzip\r\n", PROMPT), {400, 501}),
    ("identity", post(b"Transfer-Encoding: identity\r\n", PROMPT), {400, 501}),
    ("misspelt chunked", post(b"Transfer-Encoding: xchunked\r\n", chunks(PROMPT)), {400, 501}),
    ("chunked in quotes", post(b'Transfer-Encoding: "chunked"\r\n', chunks(PROMPT)), {400, 501}),
    ("chunked after a vertical tab", post(b"Transfer-Encoding: \x0bchunked\r\n", chunks(PROMPT)),
     {400}),
    ("transfer-encoding with a space before the colon",
     post(b"Transfer-Encoding : chunked\r\n", chunks(PROMPT)), {400}),
    ("transfer-encoding empty", post(b"Transfer-Encoding:\r\n", PROMPT), {400, 501}),
    ("chunked on 1.0", chunked(chunks(PROMPT), version=b"HTTP/1.0"), {400}),
]

CHUNKS = [
    ("chunk size of letters", chunked(b"xyz\r\n"), {400}),
    ("chunk size empty", chunked(b"\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size negative", chunked(b"-2\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size with 0x", chunked(b"0x2\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size with a plus", chunked(b"+2\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size after a space", chunked(b" 2\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size before a space", chunked(b"2 \r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size of nine digits", chunked(b"000000002\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size past 64 bits", chunked(b"10000000000000002\r\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk over the limit", chunked(b"ffffffff\r\n"), {413}),
    ("chunk size ends in lf", chunked(b"2\n{}\r\n0\r\n\r\n"), {400}),
    ("chunk size ends in cr", chunked(b"2\r{}\r\n0\r\n\r\n"), {400}),
    ("chunk longer than its size", chunked(b"2\r\n{}}\r\n0\r\n\r\n"), {400}),
    ("chunk ends in lf", chunked(b"2\r\n{}\n0\r\n\r\n"), {400}),
    ("chunk ends in nothing", chunked(b"2\r\n{}0\r\n\r\n"), {400}),
    ("bare lf in a chunk extension", chunked(b"2;a\nb\r\n{}\r\n0\r\n\r\n"), {400}),
    ("bare cr in a chunk extension", chunked(b"2;a\rb\r\n{}\r\n0\r\n\r\n"), {400}),
    ("nul in a chunk extension", chunked(b"2;a\x00\r\n{}\r\n0\r\n\r\n"), {400}),
    ("endless chunk extension", chunked(b"2;" + b"a" * 20000 + b"\r\n{}\r\n0\r\n\r\n"), {400, 413}),
    ("trailer without a colon", chunked(b"0\r\nnonsense\r\n\r\n"), {400}),
    ("trailer with a space before the colon", chunked(b"0\r\nX : a\r\n\r\n"), {400}),
    ("trailer folded", chunked(b"0\r\nX: a\r\n b\r\n\r\n"), {400}),
    ("trailer ends in lf", chunked(b"0\r\nX: a\n\r\n"), {400}),
    ("endless trailers", chunked(b"0\r\n" + b"X: a\r\n" * 4000 + b"\r\n"), {400, 413, 431}),
    ("last chunk ends in lf", chunked(b"0\r\n\n"), {400}),
    ("chunked body cut short", chunked(b"5\r\nab"), {408, "close"}),
]

CASES = VALID + REQUEST_LINES + HEADERS + LENGTHS + CHUNKS


def read_answer(sock, patient):
    """All bytes until the server closes or falls silent, and whether it closed."""
    answer = b""
    sock.settimeout(LONG_WAIT_S if patient else SHORT_WAIT_S)
    try:
        while True:
            piece = sock.recv(65536)
            if not piece:
                return answer, True
            answer += piece
            if final_status(answer) is not None:
                patient = b"\r\nConnection: close\r\n" in answer
                sock.settimeout(LONG_WAIT_S if patient else SHORT_WAIT_S)
    except socket.timeout:
        return answer, False
    except ConnectionError:
        return answer, True


def statuses(answer):
    return [int(s) for s in re.findall(rb"(?:^|[\n}])HTTP/1\.1 (\d{3}) ", answer)]


def final_status(answer):
    final = [s for s in statuses(answer) if s >= 200]
    return final[0] if final else None


def exchange(host, port, raw, patient):
    with socket.create_connection((host, port)) as sock:
        try:
            sock.sendall(raw)
        except ConnectionError:
            pass  # refused and closed while we still sent: the answer may be there all the same
        answer, closed = read_answer(sock, patient)
        if not answer and not closed:
            sock.shutdown(socket.SHUT_WR)
            answer, closed = read_answer(sock, True)
        return answer, closed


def error_problem(answer):
    """The fault of an answer of 4xx or 5xx, or None."""
    try:
        error = json.loads(answer[answer.index(b"\r\n\r\n") + 4:])["error"]
    except (ValueError, KeyError, TypeError) as problem:
        return f"its body is no error object ({problem})"
    if sorted(error) != ["code", "message", "param", "type"]:
        return f"its error has the members {sorted(error)}"
    return None if error["message"] else "its message is empty"


def check(host, port, name, raw, allowed):
    """A readable failure, or None."""
    answer, closed = exchange(host, port, raw, patient="close" not in allowed)
    status = final_status(answer)
    if status is None:
        ok = closed and "close" in allowed
        return None if ok else f"{name}: no answer, {'closed' if closed else 'still open'}"
    if status not in allowed:
        return f"{name}: {status}, allowed {sorted(map(str, allowed))}: {answer[-300:]!r}"
    says_close = b"\r\nConnection: close\r\n" in answer
    if says_close and not closed:
        return f"{name}: said Connection: close, but did not"
    if status >= 400 and error_problem(answer):
        return f"{name}: {status}, but {error_problem(answer)}"
    if status >= 400 and says_close and len(statuses(answer)) != 1:
        return f"{name}: read on after its refusal: {statuses(answer)}"
    return None


def run(host, port, cases=None):
    """Sends every case; returns the failures, [] when all is well."""
    failures = [check(host, port, *case) for case in (cases or CASES)]
    last = check(host, port, "alive after all of it", get(), {200})
    return [failure for failure in failures + [last] if failure]


def run_echo(binary):
    with subprocess.Popen([binary], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline().rsplit(":", 1)[1])
            failures = run("127.0.0.1", port)
        finally:
            server.terminate()
        if server.wait(timeout=60):
            failures.append(f"the server ended with {server.returncode}")
        return failures


def dump():
    rows = [{"name": n, "raw": raw.hex(), "allowed": sorted(map(str, a))} for n, raw, a in CASES]
    json.dump(rows, sys.stdout)


def main():
    target = sys.argv[1]
    if target == "--dump":
        dump()
        return 0
    host, colon, port = target.rpartition(":")
    failures = run(host, int(port)) if colon else run_echo(target)
    for failure in failures:
        print(failure)
    print(f"{len(CASES)} cases, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
