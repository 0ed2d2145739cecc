// Tokens and their texts, permalinks, and requests as code.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { SAMPLES } from "../../../../gateway/web/code_samples.js";
import { decodeLink, encodeLink, sumOf, verdict } from "../../../../gateway/web/permalink.js";
import { Rate, attribute, forkAt, mostSurprising, placed, textOf }
  from "../../../../gateway/web/pieces.js";
import { mergeCalls, prettyArguments } from "../../../../gateway/web/tool_calls.js";

const step = (text, prob = 0.5) => ({ text, prob, candidates: [] });

test("steps get the text they made, and the last one the rest", () => {
  const texts = (steps, text) => attribute(steps.map((t) => step(t)), text).map((p) => p.text);
  assert.deepEqual(texts(["On", "ce"], "Once"), ["On", "ce"]);
  assert.deepEqual(texts(["<think>", "hm"], "hm"), ["", "hm"]);
  assert.deepEqual(texts(["\ufffd", "\ufffd"], "é"), ["", "é"]);
  assert.deepEqual(attribute([], "free"), [{ text: "free", step: null, part: "text" }]);
  assert.deepEqual(attribute([], ""), []);
});

test("pieces know their places in the text of their part", () => {
  const pieces = [...attribute([step("hm")], "hm", "reasoning"),
    ...attribute([step("a"), step("bc")], "abc")];
  assert.equal(textOf(pieces, "text"), "abc");
  assert.deepEqual(placed(pieces, "text").map(({ start, end }) => [start, end]), [[0, 1], [1, 3]]);
});

test("a fork keeps what came before and ends with the chosen token", () => {
  const steps = [step("a"), step("b", 0.1), step("c")];
  const other = { text: "B", token_id: 7, prob: 0.4 };
  steps[1].candidates = [{ text: "b" }, other];
  const pieces = attribute(steps, "abc"), fork = forkAt(pieces, steps[1], other);
  assert.equal(textOf(fork, "text"), "aB");
  assert.equal(fork[1].step.token_id, 7);
  assert.equal(fork[1].step.rank, 2);
  assert.equal(mostSurprising(steps), steps[1]);
  assert.equal(mostSurprising([]), undefined);
});

test("a rate is that of the last second", () => {
  const rate = new Rate();
  for (let ms = 0; ms <= 3000; ms += 2) rate.add(ms);
  assert.ok(Math.abs(rate.perSecond(3000) - 500) < 5);
  assert.equal(new Rate().perSecond(0), 0);
});

const LINK = { kind: "chat", body: { messages: [{ role: "user", content: "é 🙂 <b>" }] },
  seed: "9223372036854775807", model: "m", digest: "d", numericClass: "c", n: 3,
  sum: sumOf([1, 2]) };

test("a permalink comes back as it was; what is none, or damaged, is told", async () => {
  const { v, ...again } = await decodeLink(await encodeLink(LINK));
  assert.equal(v, 1);
  assert.deepEqual(again, LINK);
  assert.equal(await decodeLink(""), null);
  assert.equal(await decodeLink("#other"), null);
  const bomb = await encodeLink({ ...LINK, model: "m".repeat(4 << 20) });
  for (const bad of ["#r=%%", "#r=AAAA", `#r=${"A".repeat(99999)}`, bomb,
    await encodeLink({ ...LINK, kind: "other" })])
    await assert.rejects(decodeLink(bad), Error, bad.slice(0, 40));
});

test("an answer is the link's, or it is said why not", () => {
  const served = { digest: "d", numericClass: "c" }, answer = { n: 3, sum: LINK.sum };
  const say = (a, s) => verdict(LINK, { ...answer, ...a }, { ...served, ...s });
  assert.deepEqual(say({}, {}), { same: true,
    text: "Reproduced: the same 3 tokens, bit for bit." });
  for (const [a, s, why] of [[{ sum: "x" }, { digest: "e" }, /other weights/],
    [{ sum: "x" }, { numericClass: "k" }, /numeric class \(c, here k\)/],
    [{ sum: "x", classChanged: true }, {}, /two numeric classes/],
    [{ sum: "x" }, {}, /request was not the same/],
    [{ n: 1, isStopped: true, sum: "x" }, {}, /you stopped it/]])
    assert.match(say(a, s).text, why);
  assert.notEqual(sumOf([1, 2, 3]), sumOf([1, 3, 2]));
});

const BODY = '{"prompt":"it\'s `a` ${b} \\\\ é\\n","flag":true,"none":null,"list":[1,0.5],' +
  '"seed":9223372036854775807}';

test("requests as code say the same body, to the seed's last digit", () => {
  const url = "http://h.example/x";
  const curl = SAMPLES.curl(url, BODY).replace("curl", "printf '%s|'");
  assert.equal(execFileSync("sh", ["-c", curl]).toString().split("|").at(-2), BODY);
  const script = SAMPLES.JavaScript(url, BODY).split("body: ")[1].split(",\n});")[0];
  assert.equal(new Function(`return ${script}`)().replace(/\s+(?=["}\]\d[])|(?<=,)\s+/g, "")
    .replaceAll('": ', '":'), BODY.replaceAll('": ', '":'));
  const python = SAMPLES.Python(url, BODY).split("request = ")[0] +
    "print(json.dumps(body, ensure_ascii=False, separators=(',', ':')))";
  assert.equal(execFileSync("python3", ["-c", python]).toString().trim(), BODY);
});

test("calls come in pieces", () => {
  let calls = mergeCalls([], [{ index: 0, id: "c1", function: { name: "f", arguments: "" } }]);
  calls = mergeCalls(calls, [{ index: 0, function: { arguments: '{"a"' } }]);
  calls = mergeCalls(calls, [{ index: 0, function: { arguments: ":1}" } }]);
  assert.deepEqual(calls, [{ id: "c1", type: "function",
    function: { name: "f", arguments: '{"a":1}' } }]);
  assert.equal(prettyArguments(calls[0].function.arguments), '{\n  "a": 1\n}');
  assert.equal(prettyArguments('{"a'), '{"a');
});
