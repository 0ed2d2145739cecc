// A request's time: one bar per stage. Before the summary comes, the times that the page measured.

import { $, el, seconds } from "./dom.js";

const MEANINGS = {
  parse: "JSON to request", tokenize: "text to tokens", queue: "waiting for workers",
  prefill_queue: "waiting in the prefill worker", prefill_compute: "the prompt's steps",
  first_token: "sampling and travel",
  kv_transfer: "the context's hand-off, as far as it was not hidden",
  decode_queue: "waiting for a slot in the batch", decode: "computing token by token",
  sample: "choosing the tokens", decode_wait: "between steps, and tokens on their way",
  migration: "going on with another worker", detokenize: "tokens to text",
  format: "tokens to events", flush: "to the socket",
};

export class Waterfall {
  constructor() {
    $("zoom").addEventListener("change", () => this.draw());
    this.clear();
  }

  clear() {
    clearInterval(this.timer);
    Object.assign(this, { stages: [], ttft: null, total: 0, live: false });
    this.draw();
  }

  start() {
    this.clear();
    Object.assign(this, { live: true, began: performance.now() });
    this.timer = setInterval(() => this.tick(), 100);
    this.tick();
  }

  /** The first token came; ttft in seconds as the gateway measured it. */
  first(ttft) {
    this.ttft = ttft;
    this.tick();
  }

  tick() {
    const now = (performance.now() - this.began) / 1e3, first = this.ttft ?? now;
    this.stages = [{ name: "to the first token", worker: "", start_s: 0, duration_s: first }];
    const duration_s = Math.max(now - first, 0);
    if (this.ttft !== null)
      this.stages.push({ name: "decode", worker: "", start_s: first, duration_s });
    this.total = Math.max(now, first);
    this.draw();
  }

  /** stages: of the summary's timeline. */
  finish(stages, total) {
    this.stop();
    Object.assign(this, { stages, total });
    this.draw();
  }

  stop() {
    clearInterval(this.timer);
    this.live = false;
    this.draw();
  }

  draw() {
    const zoomed = $("zoom").checked && this.ttft !== null && !this.live;
    const scale = zoomed ? this.ttft : this.total;
    $("waterfall-empty").hidden = this.stages.length > 0;
    $("waterfall").classList.toggle("live", this.live);
    $("waterfall").replaceChildren(...this.stages.map((stage) => row(stage, scale)));
  }
}

function row({ name, worker, start_s: start, duration_s: duration }, scale) {
  const bar = el("i", { "data-stage": name });
  const from = Math.min(start / scale, 1), to = Math.min((start + duration) / scale, 1);
  bar.style.left = `${from * 100}%`;
  bar.style.width = `${(to - from) * 100}%`;
  return el("li", { title: MEANINGS[name] ? `${MEANINGS[name]}; from ${seconds(start)} on` : null },
    el("span", { class: "word" }, name.replaceAll("_", " ")),
    el("span", { class: "lane" }, bar), el("output", {}, seconds(duration)),
    el("small", {}, worker));
}
