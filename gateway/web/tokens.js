// The generated text, token by token, coloured by probability; one token is selected.

import { $, el, percent, visible } from "./dom.js";

const LEVELS = [0.9, 0.5, 0.2, 0.05, 0]; // the legend's, most probable first

function levelOf(share) {
  return LEVELS.findIndex((least) => share >= least);
}

function describe(step) {
  return `“${visible(step.text)}” · ${percent(step.prob)} · rank ${step.rank}`;
}

export class Tokens {
  /** onSelect(step) is called when the reader chooses a token, by mouse or by key. */
  constructor(onSelect) {
    this.box = $("tokens");
    this.onSelect = onSelect;
    this.by = "prob";
    this.box.addEventListener("click",
      (event) => this.select(event.target.closest("[role=option]")));
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  clear(prompt) {
    this.pending = []; // steps whose text is yet to come
    this.selected = null;
    this.n = 0;
    this.box.replaceChildren(el("span", { class: "prompt" }, prompt));
    this.box.setAttribute("aria-label", "Generated tokens");
  }

  addStep(step) {
    this.pending.push(step);
  }

  /** Text of one or more tokens: each pending step gets its own text, the last one the rest. */
  addText(text) {
    const steps = this.pending.splice(0);
    if (!steps.length) this.box.append(el("span", {}, text)); // not explained
    steps.forEach((step, i) => {
      const own = i === steps.length - 1 ? text : text.startsWith(step.text) ? step.text : "";
      text = text.slice(own.length);
      this.append(step, own);
    });
    this.follow();
  }
  /** The steps left have no text in the answer: end-of-text tokens, or those of stop strings. */
  /** The other steps have no text in the answer: end-of-text tokens, or those of stop strings. */
  finish() {
    for (const step of this.pending.splice(0)) this.append(step, visible(step.text), "unseen");
  }

  append(step, text, kind = null) {
    const token = el("span", { role: "option", class: kind, tabindex: this.n++ ? -1 : 0,
      "aria-selected": "false", "aria-label": describe(step), title: describe(step),
    }, text || "·");
    token.step = step;
    this.paint(token);
    this.box.append(token);
  }

  options() {
    return this.box.querySelectorAll("[role=option]");
  }

  paint(token) {
    token.dataset.level = levelOf(token.step[this.by]);
  }

  /** by: "prob" (what was drawn from) or "prob_raw" (the model's own). */
  colourBy(by) {
    this.by = by;
    this.options().forEach((token) => this.paint(token));
  }

  select(token) {
    if (!token) return;
    if (this.selected) {
      this.selected.setAttribute("aria-selected", "false");
      this.selected.tabIndex = -1;
    } else {
      this.options()[0].tabIndex = -1;
    }
    this.selected = token;
    token.setAttribute("aria-selected", "true");
    token.tabIndex = 0;
    token.focus({ preventScroll: true });
    token.scrollIntoView({ block: "nearest" });
    this.onSelect(token.step);
  }

  key(event) {
    const options = [...this.options()], at = options.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0,
      End: options.length - 1, Enter: at, " ": at }[event.key];
    if (to === undefined || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.select(options[Math.min(Math.max(to, 0), options.length - 1)]);
  }

  /** Keeps the end in view, unless the reader looks at something else. */
  follow() {
    if (!this.selected) this.box.scrollTop = this.box.scrollHeight;
  }
}
