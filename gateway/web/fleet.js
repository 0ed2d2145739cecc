// The fleet as /workers reports it, polled while the page is visible.

import { $, el, percent, seconds, svg } from "./dom.js";
import { get } from "./api.js";

const EVERY_MS = 1000, SPARK_WIDTH = 60, SPARK_HEIGHT = 14;

export class Fleet {
  /**
   * onWorkers(list) whenever it came, onError(ApiError or null) after every try. pastOf(id) is a
   * worker's last minute as FleetLive has it, {name: figures}, or null.
   */
  constructor(onWorkers, onError, pastOf) {
    Object.assign(this, { onWorkers, onError, pastOf });
    document.addEventListener("visibilitychange", () => this.refresh());
    this.refresh();
  }

  async refresh() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    const turn = (this.turn = {});
    try {
      const { workers } = await get("workers");
      if (turn !== this.turn) return;
      show(workers, this.pastOf);
      this.onWorkers(workers);
      this.onError(null);
    } catch (error) {
      if (turn !== this.turn) return;
      $("fleet-state").textContent = error.message;
      this.onError(error);
      if (error.status === 401) return; // until there is a key
    }
    this.timer = setTimeout(() => this.refresh(), EVERY_MS);
  }
}

function show(workers, pastOf) {
  const order = (w) => `${w.role === "prefill" ? 0 : 1}${w.id}`;
  workers.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const ready = (role) => workers.filter((w) => w.role === role && w.state === "ready").length;
  const text = workers.length ? `${ready("prefill")} prefill, ${ready("decode")} decode ready`
    : "no worker has joined yet";
  if ($("fleet-state").textContent !== text) $("fleet-state").textContent = text;
  $("fleet").replaceChildren(...workers.map((w) => card(w, pastOf(w.id))));
}

function card(w, past) {
  const rate = w.role === "prefill" ? w.prompt_tokens_per_s : w.tokens_per_s;
  return el("li", { class: "worker", "data-state": w.state, "data-worker": w.id },
    el("div", { class: "who" }, el("b", {}, w.id), el("span", { class: "state" }, w.state)),
    memory(w),
    el("dl", {}, ...fact("running", w.running, past?.running),
      ...fact("queued", w.queued, past?.queued),
      ...fact(w.role === "prefill" ? "prompt tok/s" : "tok/s",
        rate ? Math.round(rate).toLocaleString("en") : "–", past?.rate),
      ...fact("KV in use", percent(1 - w.kv_blocks_free / (w.kv_blocks_total || 1)), past?.kv),
      ...(past && w.role === "decode" ? fact("hand-off MB/s",
        past.received.at(-2).toPrecision(2), past.received) : []),
      ...fact("last step", w.last_step_s ? seconds(w.last_step_s) : "–"),
      ...fact("prefix hits", w.prefix_hit_rate === null ? "–" : percent(w.prefix_hit_rate)),
      ...fact("cores", w.cores)));
}

function fact(name, value, figures) {
  return [el("dt", {}, name), el("dd", { class: "spark" }, figures ? spark(figures) : ""),
    el("dd", {}, String(value))];
}

/** A minute of a figure as a line, from 0 to the most it was. */
function spark(figures) {
  const most = Math.max(...figures) || 1, step = SPARK_WIDTH / (figures.length - 1);
  const points = figures.map((figure, i) =>
    `${(i * step).toFixed(1)},${((1 - figure / most) * (SPARK_HEIGHT - 2) + 1).toFixed(1)}`);
  return svg("svg", { viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, "aria-hidden": "true",
    preserveAspectRatio: "none" }, svg("polyline", { points: points.join(" ") }));
}

/** KV blocks: used, cached for prompts with a common prefix, free. Cached ones count as free. */
function memory(w) {
  const total = w.kv_blocks_total || 1, used = total - w.kv_blocks_free;
  const label = `KV blocks: ${used} of ${w.kv_blocks_total} in use, ` +
    `${w.kv_blocks_cached} kept for reuse; ${w.kv_tokens.toLocaleString("en")} tokens in all`;
  const bar = el("div", { class: "memory", role: "img", "aria-label": label, title: label });
  const kept = Math.min(w.kv_blocks_cached, w.kv_blocks_free);
  for (const [kind, n] of [["used", used], ["kept", kept]]) {
    const part = el("i", { class: kind });
    part.style.width = `${(n / total) * 100}%`;
    bar.append(part);
  }
  return bar;
}
