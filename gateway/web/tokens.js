// A text token by token, coloured by probability: a listbox in which one token is selected.

import { eachFrame, el, percent, visible } from "./dom.js";
import { attribute, isConstrained } from "./pieces.js";

const LEVELS = [0.9, 0.5, 0.2, 0.05, 0]; // the legend's, most probable first

export function levelOf(share) {
  return LEVELS.findIndex((least) => share >= least);
}

export function describe(step) {
  const held = isConstrained(step) ? " · held by the form" : "";
  return `“${visible(step.text)}” · ${percent(step.prob)} · rank ${step.rank}${held}`;
}

export class Tokens {
  /** onSelect(step) is called when the reader chooses a token, by mouse or by key. */
  constructor(box, onSelect) {
    Object.assign(this, { box, onSelect, by: "prob", pending: [], queue: [] });
    this.flush = eachFrame(() => {
      const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      this.text.append(...this.queue.splice(0));
      if (!this.selected && isAtEnd) box.scrollTop = box.scrollHeight;
    });
    box.addEventListener("click", (event) => this.select(event.target.closest("[role=option]")));
    box.addEventListener("keydown", (event) => this.key(event));
  }

  /** Starts anew behind a prompt. What is written right to left turns nothing around it. */
  clear(prompt) {
    Object.assign(this, { pending: [], queue: [], selected: null, n: 0, text: el("bdi") });
    const before = prompt ? [el("bdi", { class: "prompt" }, prompt)] : [];
    this.box.replaceChildren(...before, this.text);
    this.box.setAttribute("role", "group"); // a listbox has options
  }

  /** scores: {decoded_token, logprob, rank} of the prompt's tokens behind the first. */
  scorePrompt(scores) {
    const box = this.box.querySelector(".prompt"), whole = box.textContent;
    const rest = scores.map((score) => score.decoded_token).join("");
    if (!whole.endsWith(rest)) return; // a token holds half a character
    box.replaceChildren(whole.slice(0, whole.length - rest.length), ...scores.map((score) => {
      const { decoded_token: text, logprob, rank } = score, prob = Math.exp(logprob);
      return el("span", { "data-level": levelOf(prob),
        title: `“${visible(text)}” of the prompt · ${percent(prob)} · rank ${rank}` }, text);
    }));
  }

  addStep(step) {
    this.pending.push(step);
  }

  /** Text of one or more tokens. */
  addText(text) {
    for (const { step, text: own } of attribute(this.pending.splice(0), text))
      this.append(step, own);
  }

  /** The other steps have no text in the answer: end-of-text tokens, or those of stop strings. */
  finish() {
    for (const step of this.pending.splice(0)) this.append(step, visible(step.text), "unseen");
    this.flush.now();
  }

  append(step, text, kind = null) {
    if (!step) this.queue.push(el("span", {}, text)); // not explained
    else this.queue.push(this.option(step, text, kind));
    this.flush();
  }

  option(step, text, kind) {
    if (!this.n) this.box.setAttribute("role", "listbox");
    const kinds = [kind, isConstrained(step) && "held", step.isForked && "forked"].filter(Boolean);
    const token = el("span", { role: "option", class: kinds.join(" ") || null,
      tabindex: this.n++ ? -1 : 0, "aria-selected": "false", "aria-label": describe(step),
      title: describe(step) }, text || "·");
    token.step = step;
    this.paint(token);
    return token;
  }

  options() {
    return [...this.box.querySelectorAll("[role=option]")];
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
    this.mark(token);
    token.focus({ preventScroll: true });
    token.scrollIntoView({ block: "nearest" });
    this.onSelect(token.step);
  }

  /** Shows a step as the selected one, without taking the focus. */
  markStep(step) {
    const token = this.options().find((option) => option.step === step);
    if (token) this.mark(token);
  }

  mark(token) {
    const before = this.selected ?? this.box.querySelector("[role=option]");
    before.setAttribute("aria-selected", "false");
    before.tabIndex = -1;
    this.selected = token;
    token.setAttribute("aria-selected", "true");
    token.tabIndex = 0;
  }

  key(event) {
    const options = this.options(), at = options.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0,
      End: options.length - 1, Enter: at, " ": at }[event.key];
    if (to === undefined || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.select(options[Math.min(Math.max(to, 0), options.length - 1)]);
  }
}
