// The view that continues a text: from the form to the tokens, the reasons and the times.

import { $, el, seconds } from "./dom.js";
import { ApiError, generate, post } from "./api.js";
import { EntropyLine } from "./entropy.js";
import { Form, samplingOf, withSeed, wordsOf } from "./form.js";
import { Rate, forkAt, mostSurprising } from "./pieces.js";
import { fingerprint, shareMenu } from "./share.js";
import { verdict } from "./permalink.js";
import { Tokens } from "./tokens.js";
import { Waterfall } from "./waterfall.js";

const PATH = "generate/stream", NARROW = "(max-width: 760px)";

export class Completion {
  /** why: the explanation beside it. onKey() asks for the API key. */
  constructor(model, why, onKey) {
    Object.assign(this, { model, why, onKey, run: null, waterfall: new Waterfall() });
    this.form = new Form($("controls"));
    this.entropy = new EntropyLine((step) => this.select(step));
    this.tokens = new Tokens($("tokens"), (step) => this.explain(step));
    $("tokens").after(this.entropy.element);
    $("answer-tools").append(el("button", { type: "button", class: "quiet",
      title: "how likely the model found each of the prompt's tokens",
      onclick: () => this.scorePrompt() }, "Score the prompt"), shareMenu(() => this.described()));
    $("knobs").open = !matchMedia(NARROW).matches; // there the answer comes first
    this.listen();
  }

  listen() {
    $("controls").addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    $("stop").addEventListener("click", () => this.stop());
    $("error-close").addEventListener("click", () => this.hideError());
    for (const radio of document.querySelectorAll("[name=colour]"))
      radio.addEventListener("change", () => this.tokens.colourBy(radio.value));
    $("panel-completion").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.start();
    });
  }

  // A run

  async start() {
    if (this.run?.abort && !this.run.isExample) return;
    this.stop();
    let asked;
    try {
      asked = this.form.read();
    } catch (error) {
      this.showError(error, null);
      return;
    }
    await this.go(asked);
  }

  /** Makes a permalink's answer again. */
  async reproduce(link) {
    this.stop();
    const { body, seed } = link, { prompt } = body;
    try {
      const shown = Array.isArray(prompt)
        ? (await post("detokenize", { ...this.model.named, tokens: prompt })).text : prompt;
      await this.go({ body, seed, link, prompt, shown });
    } catch (error) {
      this.showError(error, null);
    }
  }

  /** An example that plays by itself, until the reader does something. */
  async example(seed) {
    const { body } = this.form.read();
    await this.go({ body, seed, isExample: true });
  }

  /**
   * prompt: a text or token ids, and how it is shown. prefix: pieces that are kept before what
   * comes. link: the permalink whose answer should come.
   */
  async go({ body, seed, link = null, prefix = [], prompt = body.prompt, shown = prompt,
    isExample = false }) {
    const json = withSeed({ ...this.model.named, timeline: true, ...body }, seed);
    const run = { abort: new AbortController(), body, seed, link, prompt, shown, isExample,
      request: samplingOf(body), n: 0, meta: null, pieces: [...prefix], nPrefix: prefix.length,
      rate: new Rate(), text: "" };
    this.run = run;
    this.begin(shown, prefix);
    try {
      if (!this.model.isLoaded) await this.model.load(); // what-if needs the vocabulary's size
      for await (const { name, data } of generate(json, run.abort.signal)) {
        if (this.run !== run) return;
        this[`on_${name}`]?.(data);
      }
    } catch (error) {
      if (this.run !== run) return;
      this.fail(error);
    }
    this.end();
  }

  begin(prompt, prefix) {
    this.hideError();
    this.tokens.clear(prompt);
    for (const { step, text } of prefix) this.tokens.append(step, text);
    this.why.clear();
    this.entropy.show([]);
    this.waterfall.start();
    this.setRunning(true);
    $("verdict").hidden = true;
    this.say("Waiting for the first token …");
  }

  on_meta(meta) {
    this.run.meta = meta;
    this.waterfall.first(meta.ttft_s);
    this.say("Writing …");
  }

  on_step(step) {
    this.run.n++;
    this.run.rate.add(performance.now());
    this.run.pieces.push({ step, text: step.text, part: "text" });
    this.tokens.addStep(step);
    const perSecond = Math.round(this.run.rate.perSecond(performance.now()));
    if (perSecond && this.run.n % 8 === 0)
      $("rate").textContent = `${this.run.n} tokens · ${perSecond.toLocaleString("en")} tokens/s`;
  }

  on_token(text) {
    this.run.text += text;
    this.tokens.addText(text);
  }

  on_summary(summary) {
    this.run.summary = summary;
    this.waterfall.finish(summary.timeline.stages, summary.e2el_s);
    this.say(...this.summaryOf(summary));
  }

  summaryOf(summary) {
    const { output_tokens: n, served_by: by } = summary, { ttft_s, prompt_tokens } = this.run.meta;
    const seed = this.run.seed || this.run.meta.seed;
    const again = el("button", { type: "button", class: "link",
      onclick: () => ($("seed").value = seed) }, `seed ${seed}`);
    again.title = "use this seed again";
    const workers = by.decode && by.decode !== by.prefill
      ? `${by.prefill ?? by.decode} and ${by.decode}` : by.prefill;
    const handed = by.migrations
      ? `, continued by another worker ${by.migrations === 1 ? "once" : `${by.migrations} times`}`
      : "";
    return [`${n} token${n === 1 ? "" : "s"} in ${seconds(summary.e2el_s)}, ` +
      `the first after ${seconds(ttft_s)}` +
      `${summary.tpot_s ? `, then ${seconds(summary.tpot_s)} each` : ""} · ` +
      `${prompt_tokens} in the prompt` +
      `${summary.cached_tokens ? `, ${summary.cached_tokens} of them cached` : ""} · ` +
      `ended by ${summary.finish_reason} · ${workers}${handed} · `, classOf(by), " · ", again];
  }

  fail(error) {
    if (this.run.meta) this.waterfall.stop();
    else this.waterfall.clear(); // refused: there is no time to show
    if (error.name === "AbortError") {
      this.say(`Stopped by you after ${this.run.n} tokens.`);
      return;
    }
    if (!(error instanceof ApiError)) console.error(error);
    this.say(this.run.meta ? `Broken off after ${this.run.n} tokens; the text so far is kept.`
      : "Nothing was generated.");
    this.showError(error, this.run.meta);
  }

  end() {
    const { run } = this;
    this.tokens.finish();
    this.setRunning(false);
    run.abort = null;
    const steps = this.steps();
    this.entropy.show(steps);
    $("answer-tools").hidden = !run.summary;
    if (steps.length) this.select(mostSurprising(steps), false);
    if (run.link && run.summary) this.judge(run);
  }

  /** Whether a permalink's answer came again. */
  judge(run) {
    const { n, sum } = fingerprint(this.steps().slice(run.nPrefix), run.text,
      run.summary.output_tokens);
    const { served_by: by } = run.summary, served = { ...this.model.served,
      numericClass: by.numeric_class };
    const said = verdict(run.link, { n, sum, classChanged: by.class_changed }, served);
    $("verdict").textContent = said.text;
    $("verdict").dataset.same = said.same;
    $("verdict").hidden = false;
  }

  steps() {
    return (this.run?.pieces ?? []).map(({ step }) => step);
  }

  setRunning(running) {
    $("go").disabled = running && !this.run.isExample;
    $("stop").disabled = !running;
    $("tokens").setAttribute("aria-busy", String(running));
    $("answer-tools").hidden = true;
    $("rate").textContent = "";
    if (!running && document.activeElement === $("stop")) $("go").focus();
  }

  stop() {
    this.run?.abort?.abort();
  }

  // Why

  select(step, focus = true) {
    this.tokens.markStep(step);
    this.explain(step);
    if (focus) this.tokens.selected?.scrollIntoView({ block: "nearest" });
  }

  explain(step) {
    this.entropy.select(step);
    this.shown = step;
    this.why.show(step, this.run.request, this.model.info.vocab_size,
      (candidate) => this.forkFrom(step, candidate));
  }

  /** Shows the explanation again that this view had. */
  resume() {
    if (this.shown && this.steps().includes(this.shown)) this.explain(this.shown);
    else this.why.clear();
  }

  /** Goes on from a step with another candidate: exactly the tokens before it, then this one. */
  async forkFrom(step, candidate) {
    const { prompt, shown, body, seed, meta, pieces } = this.run;
    const prefix = forkAt(pieces, step, candidate);
    this.stop();
    try {
      const ids = await this.idsOf(prompt);
      const written = prefix.map((piece) => piece.step.token_id);
      await this.go({ body: { ...body, prompt: [...ids, ...written] }, prefix, prompt, shown,
        seed: seed || String(meta.seed) });
    } catch (error) {
      this.showError(error, null);
    }
  }

  /** Colours the prompt's tokens by the probability that the model gave them. */
  async scorePrompt() {
    const { run, model } = this;
    const asked = { ...model.named, prompt: run.prompt, max_tokens: 0, prompt_logprobs: 0 };
    try {
      const { choices: [{ prompt_logprobs: scores }] } = await post("v1/completions", asked);
      const own = scores.slice(1).map((score) => Object.values(score)[0]);
      if (this.run === run) this.tokens.scorePrompt(own);
    } catch (error) {
      this.showError(error, null);
    }
  }

  async idsOf(prompt) {
    if (Array.isArray(prompt)) return prompt;
    return (await post("tokenize", { ...this.model.named, prompt })).tokens;
  }

  described() {
    const { run, model } = this, { served_by: by } = run.summary;
    const seed = run.seed || String(run.meta.seed), steps = this.steps().slice(run.nPrefix);
    return { kind: "completion", body: run.body, path: PATH, text: run.text, steps, seed,
      json: withSeed({ ...model.named, timeline: true, ...run.body }, seed),
      n: run.summary.output_tokens, model: model.info.id,
      served: { ...model.served, numericClass: by.numeric_class } };
  }

  /** Fills the form with a permalink's request. */
  open(link) {
    this.form.fill({ ...link.body, seed: link.seed });
    if (Array.isArray(link.body.prompt)) $("prompt").value = "";
  }

  // Messages

  say(...parts) {
    $("status").replaceChildren(...parts);
  }

  showError(error, meta) {
    const status = meta === null ? error.status : null;
    $("error-title").textContent = [status, error.code].filter(Boolean).join(" · ") || "error";
    $("error-text").textContent = wordsOf(error, this.form);
    $("error").hidden = false;
    if (error.status === 401) this.onKey();
    else if (this.form.mark(error.param ?? null)) this.form.reveal(error.param);
  }

  hideError() {
    $("error").hidden = true;
    this.form.mark(null);
  }
}

function classOf(by) {
  const changed = by.class_changed ? ", changed on the way" : "";
  const shown = el("span", { id: "numeric-class" }, `numeric class ${by.numeric_class}${changed}`);
  shown.title = by.class_changed
    ? "a worker of another class made the first tokens: the text may differ from one that a " +
      "single class makes"
    : "workers of this class give the same text for the same seed";
  return shown;
}
