// Sends every case of malformed_http.py to Node's strict HTTP server and to a server of ours, and
// compares: accepted (the request reached a handler) or refused. Both must agree, but for the
// exceptions below, in each of which we are the stricter side.
//
//     node_oracle.mjs HTTP_ECHO      starts that binary and compares with it
//     node_oracle.mjs HOST:PORT      compares with a server that is up

import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const QUIET_PROBES = 3; // a connection that says nothing while so many others are served is done
const AT_A_TIME = 16;

// Why we refuse what Node accepts, by the name of the case.
const LINE = "RFC 9112 section 3 has one space between three parts; proxies differ by guessing";
const TARGET = "RFC 3986 and RFC 9112 section 3.2 have no such target; Node hands it on as it is";
const VERSION = "only 1.0 and 1.1 are supported here; Node answers in 1.1 to any version";
const HOSTS = "RFC 9112 section 3.2 demands a 400; Node keeps the first Host";
const HOST = "it is no uri-host; Node does not look into the value";
const STRICTER = {
  "no version (http/0.9)": VERSION,
  "http/2.0": VERSION,
  "http/0.9 with a version": VERSION,
  "two spaces before the target": LINE,
  "two spaces before the version": LINE,
  "fragment in the target": TARGET,
  "percent without digits": TARGET,
  "percent at the end": TARGET,
  "absolute target of another scheme": TARGET,
  "absolute target without a host": TARGET,
  "star for a get": TARGET,
  "method of another protocol": "WebDAV's methods mean nothing to us: 501, before a body is read",
  "two hosts": HOSTS,
  "two different hosts": HOSTS,
  "two hosts on 1.0": HOSTS,
  "host with a space": HOST,
  "host with a slash": HOST,
  "host with a user": HOST,
  "host list": HOST,
  "101 headers": "our bound is 100 headers, Node's 2000",
  "unknown expectation": "Node says 417 too, but keeps the connection",
  "gzip, chunked": "we undo no other coding: 501; Node hands on the bytes still compressed",
  "chunked on 1.0": "RFC 9112 section 6.1: faulty framing, a sign of a broken or hostile proxy",
  "chunk size of nine digits": "our bound is 8 digits, far over any body; Node's is 64 bits",
  "endless trailers": "our bound is 4 KiB of trailers, which are not read",
};

// Node 18 and older parse with a laxer llhttp, which later versions mended: there these may differ.
const OLD_NODE = Number(process.versions.node.split(".")[0]) < 20;
const MENDED_LATER = new Set([
  "bytes above 0x7f in the target", "no host", "space before the colon", "space in a name",
  "empty name",
  "folded first header", "bare lf ends the head", "trailer with a space before the colon",
  "last chunk ends in lf",
]);

function startNode() {
  const options = { insecureHTTPParser: false, maxHeaderSize: 16384, keepAliveTimeout: 60000 };
  const server = createServer(options, (request, response) => {
    request.resume();
    request.on("end", () => response.end("ok"));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

// "accepted" or "refused": refused is an error with Connection: close, or no answer at all.
function verdict(answer) {
  const final = answer.replace(/^(HTTP\/1\.1 1\d\d [^\r]*\r\n([^\r]+\r\n)*\r\n)*/, "");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(final)?.[1] ?? 0);
  const head = final.split("\r\n\r\n", 1)[0];
  const closes = /\r\nconnection: close/i.test(head);
  return status === 0 || (status >= 400 && closes) ? "refused" : "accepted";
}

// A whole exchange on a connection of its own: the server has a single thread and takes turns.
function probe(host, port) {
  return new Promise((done) => {
    const request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const socket = connect({ host, port }, () => socket.write(request));
    socket.resume();
    socket.on("error", done);
    socket.on("close", done);
  });
}

function ask(host, port, raw) {
  return new Promise((done) => {
    let answer = "";
    let over = false;
    const end = () => {
      over = true;
      socket.destroy();
      done(verdict(answer));
    };
    const endWhenQuiet = async () => {
      for (let quiet = 0; quiet < QUIET_PROBES && !over;) {
        const before = answer.length;
        await probe(host, port);
        quiet = answer.length === before ? quiet + 1 : 0;
      }
      end();
    };
    const socket = connect({ host, port, allowHalfOpen: false },
      () => socket.write(raw, endWhenQuiet));
    socket.on("data", (bytes) => (answer += bytes.toString("latin1")));
    socket.on("error", end);
    socket.on("end", end);
  });
}

async function startOurs(target) {
  if (/:\d+$/.test(target)) {
    const at = target.lastIndexOf(":");
    return { host: target.slice(0, at), port: Number(target.slice(at + 1)), stop: () => {} };
  }
  const child = spawn(target, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const [line] = await new Promise((done) => lines.once("line", (text) => done([text])));
  return { host: "127.0.0.1", port: Number(/(\d+)$/.exec(line)[1]), stop: () => child.kill() };
}

function judge(name, node, ours) {
  if (node === ours)
    return STRICTER[name] && !OLD_NODE ? `${name}: an exception that is none any more` : null;
  if (node === "accepted" && (STRICTER[name] || (OLD_NODE && MENDED_LATER.has(name)))) return null;
  return `${name}: Node ${node} it, we ${ours} it`;
}

async function main() {
  const dump = execFileSync("/usr/bin/python3", [join(HERE, "malformed_http.py"), "--dump"]);
  const cases = JSON.parse(dump);
  const node = await startNode();
  const ours = await startOurs(process.argv[2]);
  const problems = [];
  const compare = async ({ name, raw }) => {
    const bytes = Buffer.from(raw, "hex");
    const theirs = await ask("127.0.0.1", node.address().port, bytes);
    const problem = judge(name, theirs, await ask(ours.host, ours.port, bytes));
    if (problem) problems.push(problem);
  };
  for (let i = 0; i < cases.length; i += AT_A_TIME)
    await Promise.all(cases.slice(i, i + AT_A_TIME).map(compare));
  problems.forEach((problem) => console.log(problem));
  console.log(`${cases.length} cases compared, ${problems.length} problems`);
  ours.stop();
  node.close();
  node.closeAllConnections();
  process.exitCode = problems.length ? 1 : 0;
}

await main();
