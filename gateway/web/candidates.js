// Why this token: a step's candidates at each stage of the pipeline, its draw, and what other
// settings would do.

import { $, el, percent, visible } from "./dom.js";
import { drawBand } from "./draw.js";
import { FILTERS, nameOf } from "./filters.js";
import { stagesOf } from "./stages.js";
import { whatIf } from "./whatif.js";

const HOLDERS = { schema: "The schema", grammar: "The grammar", min_tokens: "min-tokens" };
const KNOBS = ["temperature", ...FILTERS.filter(({ isFixed }) => !isFixed).map(({ id }) => id)];

function share({ low, high }) {
  if (high - low < 5e-4 * high + 1e-7) return percent(high);
  return `${percent(low)} – ${percent(high)}`;
}

/** A slider of "what if". */
function makeKnob({ id, slider }) {
  return el("label", {}, nameOf(id), " ", el("span", { id: `if-${id}-now`, class: "now" }),
    el("input", { id: `if-${id}`, type: "range", ...slider }));
}

export class Candidates {
  constructor() {
    const shown = FILTERS.filter(({ id }) => KNOBS.includes(id));
    $("if-temperature").parentElement.after(...shown.map(makeKnob));
    for (const name of KNOBS) $(`if-${name}`).addEventListener("input", () => this.ask());
    $("if-reset").addEventListener("click", () => this.reset());
    $("candidates").addEventListener("keydown", (event) => moveFork(event));
  }

  clear() {
    this.step = null;
    $("why-empty").hidden = false;
    $("why-body").hidden = true;
  }

  /**
   * request: the sampling fields the step was made with. vocabulary: tokens. onFork(candidate):
   * goes on with another token in the place of this one; null where that cannot be.
   */
  show(step, request, vocabulary, onFork = null) {
    const keep = this.step && this.stage === "if" ? this.knobs() : null;
    Object.assign(this, { step, request, vocabulary, onFork });
    this.stages = stagesOf(step, request, vocabulary);
    $("why-empty").hidden = true;
    $("why-body").hidden = false;
    this.showChoice();
    this.makeRows();
    this.setKnobs(keep ?? request);
    if (keep) this.ask();
    else this.showStage(this.stages.at(-1).id);
  }

  showChoice() {
    const { step } = this;
    $("why-token").textContent = visible(step.text);
    $("why-facts").textContent = `${percent(step.prob)} · rank ${step.rank} · ` +
      `token ${step.index + 1}, id ${step.token_id} · ` +
      `${step.phase} phase · entropy ${step.entropy_bits.toFixed(2)} bits`;
    $("why-reason").textContent = step.reason;
    $("why-notes").replaceChildren(...notesOf(step).map((note) => el("li", {}, note)));
    $("why-draw").replaceChildren(drawBand(step) ?? "");
  }

  // The strip of stages: radio buttons, so the arrow keys walk through the pipeline.

  makeStrip() {
    const last = { id: "if", name: "what if", setting: "see below", left: null };
    $("strip").replaceChildren(...[...this.stages, last].map((stage) => this.makeStop(stage)));
  }

  makeStop({ id, name, setting, left }) {
    const input = el("input", { type: "radio", name: "stage", value: id, checked: id === this.stage,
      onchange: () => (id === "if" ? this.ask() : this.showStage(id)) });
    return el("label", { class: setting === "off" ? "stop off" : "stop" }, input,
      el("b", {}, name), el("span", {}, setting),
      left === null ? null : el("small", {}, `${left.toLocaleString("en")} left`));
  }

  showStage(id) {
    const focused = $("strip").contains(document.activeElement);
    this.stage = id;
    if (id !== "if") this.answer = null;
    this.makeStrip();
    if (focused) $("strip").querySelector(":checked").focus();
    this.fillRows(id === "if" ? this.answer : this.stages.find((stage) => stage.id === id));
    this.showVerdict();
  }

  // The rows

  makeRows() {
    const { step } = this;
    const isChosen = (c) => c.token_id === step.token_id;
    const listed = step.candidates.map((c, i) => this.makeRow(c, i + 1, isChosen(c)));
    if (step.rank > listed.length) listed.push(this.makeRow(step, step.rank, true));
    $("candidates").replaceChildren(...listed, this.makeOthers());
    $("candidates").querySelector(".fork")?.setAttribute("tabindex", 0);
  }

  makeRow(candidate, rank, chosen) {
    const own = `the model's own: ${percent(candidate.prob_raw)}`;
    const mark = chosen ? el("span", { class: "mark" }, "← chosen") : null;
    return el("li", { class: chosen ? "chosen" : null, "data-token-id": candidate.token_id },
      el("span", { class: "rank" }, String(rank)),
      el("span", { class: "word" }, el("bdi", {}, visible(candidate.text)),
        mark ?? this.makeFork(candidate)), logitOf(candidate),
      el("span", { class: "bar" }, el("i", { class: "fill" }), el("i", { class: "maybe" }),
        el("i", { class: "ghost", title: own })),
      el("output", {}));
  }

  makeFork(candidate) {
    if (!this.onFork) return null;
    const name = `Go on with “${visible(candidate.text)}”`, { onFork } = this;
    return el("button", { type: "button", class: "fork", tabindex: -1, title: name,
      "aria-label": name, onclick: () => onFork(candidate) }, "↪");
  }

  makeOthers() {
    return el("li", { class: "others" }, el("span", { class: "rank" }),
      el("span", { class: "word" }, "all others"),
      el("small", {}), el("span", {}), el("output", {}));
  }

  fillRows(shown) {
    const { rows, others } = shown, items = [...$("candidates").children];
    const unlisted = items.slice(rows.length, -1)[0];
    const scale = scaleOf([...this.stages, shown]);
    $("scale").textContent = `share at this stage, 0 to ${scale * 100} %; | the model’s own`;
    rows.forEach((row, i) => fillRow(items[i], row, scale, this.step.candidates[i].prob_raw));
    items.at(-1).querySelector("output").textContent = share(others);
    Object.assign(items.at(-1).dataset, others);
    if (unlisted) fillUnlisted(unlisted, this.step, this.stage, this.stages.at(-1).id, scale);
  }

  // What if

  knobs() {
    return Object.fromEntries(KNOBS.map((name) => [name, Number($(`if-${name}`).value)]));
  }

  setKnobs(values) {
    for (const name of KNOBS) {
      const slider = $(`if-${name}`);
      slider.max = Math.max(slider.max, values[name]);
      slider.value = values[name];
      $(`if-${name}-now`).textContent = slider.value;
    }
  }

  reset() {
    this.setKnobs(this.request);
    this.showStage(this.stages.at(-1).id);
  }

  ask() {
    const knobs = this.knobs();
    this.setKnobs(knobs);
    const { temperature } = this.request, base = { temperature, vocabulary: this.vocabulary };
    this.answer = whatIf(this.step, base, { ...this.request, ...knobs });
    this.showStage("if");
  }

  showVerdict() {
    $("if-verdict").textContent = verdict(this.step, this.answer);
  }
}

/** Arrow keys move between the rows' buttons, of which one is a stop of Tab. */
function moveFork(event) {
  const forks = [...$("candidates").querySelectorAll(".fork")], at = forks.indexOf(event.target);
  const to = forks[{ ArrowUp: at - 1, ArrowDown: at + 1 }[event.key]];
  if (at < 0 || !to) return;
  event.preventDefault();
  forks[at].tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

/** What else had a say in a step: a form, and speculation. */
function notesOf({ candidates, draft, isForked }) {
  if (isForked) return [];
  const notes = [], held = candidates.filter((c) => HOLDERS[c.removed_by]);
  if (held.length) {
    const { removed_by: by, removed_at: at } = held[0], n = held.length;
    notes.push(`${HOLDERS[by]} ruled out ${n} of these ${candidates.length} candidates` +
      `${at ? `, “${visible(held[0].text)}” at ${at}` : ""}.`);
  }
  if (draft) {
    const fate = draft.accepted ? "it was right, and saved a step"
      : "it was wrong, and changed nothing";
    notes.push(`Speculation had guessed “${visible(draft.text)}”: ${fate}.`);
  }
  return notes;
}

function verdict(step, answer) {
  if (!answer) return "Move a slider: the shares are computed anew here, from what the step lists.";
  if (answer.chosen !== null) return sayChosen(step, answer.chosen);
  if (answer.exact) {
    return "Exact. Nothing was drawn at temperature 0, so there is no number to draw by.";
  }
  return "Ranges: of the tokens that are not listed only the joint share is known. " +
    `A top-k of at most ${step.candidates.length} makes it exact.`;
}

function sayChosen(step, id) {
  const text = visible(step.candidates.find((c) => c.token_id === id).text);
  if (step.draw === null) return `Exact: the highest logit is “${text}”.`;
  const verb = id === step.token_id ? "would still choose" : "would choose";
  return `Exact. The same draw, ${step.draw.toFixed(4)}, ${verb} “${text}”.`;
}

/** "13.93", or "13.93 − 1.20" with what bias and penalties did. */
function logitOf({ logit, logit_penalized: after }) {
  const change = after - logit, sign = change > 0 ? "+" : "−";
  const title = `logit ${logit}, ${after} after bias and penalties`;
  return el("small", { title }, logit.toFixed(2),
    change ? el("b", {}, ` ${sign} ${Math.abs(change).toFixed(2)}`) : null);
}

/** The end of the bars: one for all stages, so that they can be compared. */
function scaleOf(stages) {
  const highest = Math.max(...stages.flatMap(({ rows }) => rows.map(({ high }) => high)));
  return [0.05, 0.1, 0.2, 0.5].find((end) => highest <= end) ?? 1;
}

function fillRow(item, { low, high, removedBy, removedAt }, scale, own) {
  const [fill, maybe, ghost] = item.querySelectorAll(".fill, .maybe, .ghost");
  const at = (share) => `${(share / scale) * 100}%`;
  fill.style.width = maybe.style.left = at(low);
  maybe.style.width = at(high - low);
  ghost.style.left = at(own);
  Object.assign(item.dataset, { low, high, removedBy: removedBy ?? "" });
  item.classList.toggle("removed", Boolean(removedBy));
  const output = item.querySelector("output");
  output.textContent = removedBy ? `out by ${nameOf(removedBy)}` : share({ low, high });
  output.title = removedAt ?? "";
}

/** The chosen token when it is not listed: its share is known at both ends of the pipeline. */
function fillUnlisted(item, step, stage, last, scale) {
  const known = { model: step.prob_raw, [last]: step.prob }[stage];
  fillRow(item, { low: known ?? 0, high: known ?? 0, removedBy: null }, scale, step.prob_raw);
  if (known === undefined) item.querySelector("output").textContent = "of the others";
}
