// What the fleet does, as the events of GET /events tell it: pure, so that it can be tested.

export const HISTORY_S = 60;
const KEPT_LINES = 40, GONE_S = 6, OPEN = new Set(["queued", "reserving", "prefilling", "decoding",
  "preempted"]);

/**
 * Workers and open requests by id, what has just moved, and what happened in words.
 *
 * workers: id -> {id, role, state, ..., goneAt, marks, received, samples}; marks are its tokens and
 * received the bytes of contexts, both [{at, n}]; samples are [{at, queued, running, kv}]; all the
 * oldest first, for a minute. requests: id -> {request, state, prefill, decode, ...}. Times are
 * seconds of the gateway's clock; `now` is that of the last event.
 */
export class FleetState {
  workers = new Map();
  requests = new Map();
  lines = []; // {at, text, kind}, the newest first
  moves = []; // {kind: "prompt" | "handoff" | "migration", ...} until they are taken
  now = 0;

  apply(name, data) {
    this.now = data.t_us / 1e6;
    this[`on_${name}`]?.(data);
    this.forget();
  }

  /** What has moved since the last call. */
  takeMoves() {
    return this.moves.splice(0);
  }

  workersOf(role) {
    return [...this.workers.values()].filter((worker) => worker.role === role)
      .sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  }

  /** The open requests that a worker has now. */
  requestsAt(id) {
    return [...this.requests.values()].filter((request) => placeOf(request) === id);
  }

  get waiting() {
    return [...this.requests.values()].filter((request) => placeOf(request) === null);
  }

  // Events

  on_fleet({ workers, requests }) {
    const known = this.workers;
    this.workers = new Map();
    for (const worker of workers) this.put(worker, known.get(worker.id));
    this.requests = new Map(requests.map((request) => [request.request, request]));
  }

  on_worker(worker) {
    const known = this.workers.get(worker.id);
    if (!known || known.goneAt) this.say("joins", `${worker.id} joins the fleet`);
    else if (known.state !== worker.state) this.say(worker.state, wordsOf(worker));
    this.put(worker, known?.goneAt ? undefined : known);
  }

  on_worker_gone({ id, reason }) {
    const worker = this.workers.get(id);
    if (!worker) return;
    Object.assign(worker, { state: "gone", goneAt: this.now });
    this.say("gone", `${id} is gone: ${reason}`);
  }

  on_request(request) {
    const before = this.requests.get(request.request);
    const { state, attempt, prefill, decode, migrations } = request;
    const isBroken = before?.state === "decoding" && state === "queued";
    const brokeAt = isBroken ? this.now : before?.brokeAt ?? null;
    const from = brokeAt === null || isBroken ? before?.decode ?? before?.prefill : before.from;
    const next = { ...request, brokeAt, from };
    if (state === "prefilling")
      this.moves.push({ kind: "prompt", request, to: prefill ?? decode });
    const isHandedOver = before?.state === "decoding" && migrations > before.migrations;
    if (state === "decoding" && (brokeAt !== null || isHandedOver)) this.moved(next, brokeAt);
    if (state === "failed")
      this.say("failed", `request ${short(request)} failed: ${request.reason}`);
    if (attempt > 1 && state === "queued" && brokeAt === null && before?.attempt !== attempt)
      this.say("retry", `request ${short(request)} tries again: ${request.reason}`);
    if (OPEN.has(state)) this.requests.set(request.request, next);
    else this.requests.delete(request.request);
  }

  /** The request goes on elsewhere: computed again after a break, or with its context. */
  moved(request, brokeAt) {
    const { decode, prefill, from } = request, to = decode ?? prefill;
    const gap = brokeAt === null ? "with its context"
      : `after ${Math.round((this.now - brokeAt) * 1000)} ms`;
    this.moves.push({ kind: "migration", request, from, to });
    this.say("continued", `request ${short(request)} continued by ${to} ${gap}, same tokens`);
    request.brokeAt = null;
  }

  on_handoff({ request, from, to, bytes, transfer_s }) {
    const at = from ?? this.requests.get(request)?.from ?? null;
    this.moves.push({ kind: "handoff", request: { request }, from: at, to, bytes, transfer_s });
    this.workers.get(to)?.received.push({ at: this.now, n: bytes });
  }

  on_steps({ workers }) {
    for (const { id, tokens, steps } of workers)
      this.workers.get(id)?.marks.push({ at: this.now, n: tokens, steps });
  }

  // Parts

  put(worker, known) {
    const { t_us, ...facts } = worker;
    const { marks = [], received = [], samples = [] } = known ?? {};
    const { queued, running, kv_blocks_total: blocks, kv_blocks_free: free } = facts;
    samples.push({ at: this.now, queued, running, kv: blocks ? 1 - free / blocks : 0 });
    // A prefill worker reports no steps: its busy time shows that it computes.
    if (facts.role === "prefill" && known && facts.busy_s > known.busy_s)
      marks.push({ at: this.now,
        n: Math.round((facts.busy_s - known.busy_s) * (facts.rate ?? 0)) });
    this.workers.set(facts.id, { ...facts, goneAt: null, marks, received, samples });
  }

  say(kind, text) {
    this.lines.unshift({ at: this.now, kind, text });
    this.lines.length = Math.min(this.lines.length, KEPT_LINES);
  }

  forget() {
    for (const [id, worker] of this.workers) {
      if (worker.goneAt && this.now - worker.goneAt > GONE_S) this.workers.delete(id);
      for (const past of [worker.marks, worker.received, worker.samples])
        while (past.length && past[0].at < this.now - HISTORY_S) past.shift();
    }
  }
}

/** Sums of what happened, of the last minute in n equal parts, the newest last. */
export function sumsOf(marks, now, n) {
  const sums = new Array(n).fill(0), per = HISTORY_S / n;
  for (const mark of marks) {
    const i = n - 1 - Math.floor((now - mark.at) / per);
    if (i >= 0 && i < n) sums[i] += mark.n;
  }
  return sums;
}

/** How a sampled figure stood at the end of each of n parts of the last minute; 0: not known. */
export function levelsOf(samples, key, now, n) {
  const per = HISTORY_S / n, levels = [];
  let at = 0, level = 0;
  for (let i = 0; i < n; i++) {
    for (const end = now - (n - 1 - i) * per; at < samples.length && samples[at].at <= end; at++)
      level = samples[at][key];
    levels.push(level);
  }
  return levels;
}

/** The worker that has a request now; null: it waits. */
function placeOf({ state, prefill, decode }) {
  if (state === "prefilling") return prefill ?? decode;
  return state === "decoding" ? decode ?? prefill : null;
}

function wordsOf({ id, state }) {
  const words = { suspect: "is suspect: it says nothing", stalled: "is stalled: its engine stands",
    draining: "drains: its requests move to others", ready: "is ready",
    unhealthy: "is unhealthy: it computes something else than at its start" };
  return `${id} ${words[state] ?? `is ${state}`}`;
}

function short({ request }) {
  return request.slice(0, 6);
}
