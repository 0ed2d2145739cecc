// The fleet as its events tell it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FleetState, HISTORY_S, levelsOf, sumsOf } from "../../../../gateway/web/fleet_state.js";

const WORKER = { role: "decode", state: "ready", busy_s: 0, rate: null };
const ID = "0123456789abcdef";

function started() {
  const state = new FleetState();
  state.apply("fleet", { t_us: 1e6, requests: [], workers: ["decode-10", "decode-9", "p"]
    .map((id) => ({ ...WORKER, id, role: id === "p" ? "prefill" : "decode" })) });
  return state;
}

function tell(state, at, told) {
  state.apply("request", { t_us: at * 1e6, request: ID, attempt: 1, migrations: 0, prefill: "p",
    decode: "decode-9", reason: "", ...told });
}

test("workers are in the order of their numbers, by role", () => {
  assert.deepEqual(started().workersOf("decode").map(({ id }) => id), ["decode-9", "decode-10"]);
});

test("a request is where it is computed, and away when it is over", () => {
  const state = started();
  tell(state, 2, { state: "queued", prefill: null, decode: null });
  assert.equal(state.waiting.length, 1);
  tell(state, 2, { state: "prefilling" });
  assert.equal(state.requestsAt("p").length, 1);
  tell(state, 3, { state: "decoding" });
  assert.deepEqual([state.requestsAt("p").length, state.requestsAt("decode-9").length], [0, 1]);
  tell(state, 4, { state: "done" });
  assert.equal(state.requests.size, 0);
  assert.deepEqual(state.takeMoves().map(({ kind, to }) => [kind, to]), [["prompt", "p"]]);
});

test("a killed worker's request is continued by another one, after a time", () => {
  const state = started();
  tell(state, 3, { state: "decoding" });
  state.apply("worker_gone", { t_us: 4e6, id: "decode-9", role: "decode", reason: "link down" });
  tell(state, 4, { state: "queued", attempt: 2, migrations: 1 });
  tell(state, 4.01, { state: "prefilling", attempt: 2, migrations: 1, decode: "decode-10" });
  tell(state, 4.038, { state: "decoding", attempt: 2, migrations: 1, decode: "decode-10" });
  assert.match(state.lines.at(-1).text, /^decode-9 is gone: link down$/);
  const moved = state.takeMoves().find(({ kind }) => kind === "migration");
  assert.deepEqual([moved?.from, moved?.to], ["decode-9", "decode-10"]);
  assert.match(state.lines[0].text, /continued by decode-10 after 38 ms, same tokens/);
});

test("a hand-over is a migration with the context", () => {
  const state = started();
  tell(state, 3, { state: "decoding" });
  tell(state, 4, { state: "decoding", migrations: 1, decode: "decode-10" });
  assert.match(state.lines[0].text, /continued by decode-10 with its context, same tokens/);
});

test("tokens are kept for a minute; a worker that is gone, for some seconds", () => {
  const state = started(), told = { t_us: 2e6, workers: [{ id: "decode-9", steps: 1, tokens: 4 }] };
  state.apply("steps", told);
  state.apply("steps", { t_us: 3e6, workers: [{ id: "unknown", steps: 1, tokens: 4 }] });
  assert.deepEqual(state.workers.get("decode-9").marks, [{ at: 2, n: 4, steps: 1 }]);
  state.apply("worker_gone", { t_us: 3e6, id: "decode-10", reason: "" });
  state.apply("steps", { t_us: (HISTORY_S + 3) * 1e6, workers: [] });
  assert.deepEqual(state.workers.get("decode-9").marks, []);
  assert.equal(state.workers.has("decode-10"), false);
});

test("a minute is told in parts: sums of what happened, and levels at the end of each", () => {
  const marks = [{ at: 39, n: 9 }, { at: 41, n: 1 }, { at: 61, n: 2 }, { at: 99, n: 4 }];
  assert.deepEqual(sumsOf(marks, 100, 3), [1, 2, 4]);
  const samples = [{ at: 50, kv: 0.5 }, { at: 61, kv: 0.25 }, { at: 79, kv: 1 }];
  assert.deepEqual(levelsOf(samples, "kv", 100, 3), [0.5, 1, 1]);
  assert.deepEqual(levelsOf([], "kv", 100, 2), [0, 0]);
});
