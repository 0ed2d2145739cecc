// Why this token: a step's candidates at each stage of the pipeline, its draw, and what other settings would do.

import { $, el, percent, visible } from "./dom.js";
import { drawBand } from "./draw.js";
import { stagesOf } from "./stages.js";
import { whatIf } from "./whatif.js";

const REMOVALS = { top_k: "top-k", top_p: "top-p", min_p: "min-p" };
const KNOBS = ["temperature", "top_k", "top_p", "min_p"];

function share({ low, high }) {
  if (high - low < 5e-4 * high + 1e-7) return percent(high);
  return `${percent(low)} – ${percent(high)}`;
}

export class Candidates {
  constructor() {
    for (const name of KNOBS) $(`if-${name}`).addEventListener("input", () => this.ask());
    $("if-reset").addEventListener("click", () => this.reset());
  }

  clear() {
    this.step = null;
    $("why-empty").hidden = false;
    $("why-body").hidden = true;
  }

  /** request: the sampling fields the step was made with. vocabulary: tokens. */
  show(step, request, vocabulary) {
    const keep = this.step && this.stage === "if" ? this.knobs() : null;
    Object.assign(this, { step, request, vocabulary });
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
    $("why-facts").textContent = `${percent(step.prob)} · rank ${step.rank} · token ${step.index + 1}, id ${step.token_id} · ` +
      `chosen by the ${step.phase} worker · entropy ${step.entropy_bits.toFixed(2)} bits`;
    $("why-reason").textContent = step.reason;
    $("why-draw").replaceChildren(drawBand(step) ?? "");
  }

  // The strip of stages: radio buttons, so the arrow keys walk through the pipeline.

  makeStrip() {
    const choices = [...this.stages];
    if (this.answer) choices.push({ id: "if", name: "what if", setting: "below", left: null });
    $("strip").replaceChildren(...choices.map((stage) => this.makeStop(stage)));
  }

  makeStop({ id, name, setting, left }) {
    const input = el("input", { type: "radio", name: "stage", value: id, checked: id === this.stage,
      onchange: () => this.showStage(id) });
    return el("label", { class: setting === "off" ? "stop off" : "stop" }, input, el("b", {}, name), el("span", {}, setting),
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
    const listed = step.candidates.map((c, i) => this.makeRow(c, i + 1, c.token_id === step.token_id));
    if (step.rank > listed.length) listed.push(this.makeRow(step, step.rank, true));
    $("candidates").replaceChildren(...listed, this.makeOthers());
  }

  makeRow(candidate, rank, chosen) {
    const { logit, logit_penalized: after } = candidate, change = after - logit;
    const note = `logit ${logit.toFixed(2)}` + (change ? ` ${change > 0 ? "+" : "−"} ${Math.abs(change).toFixed(2)}` : "");
    const ghost = el("i", { class: "ghost", title: `the model's own: ${percent(candidate.prob_raw)}` });
    ghost.style.left = `${candidate.prob_raw * 100}%`;
    return el("li", { class: chosen ? "chosen" : null, "data-token-id": candidate.token_id },
      el("span", { class: "rank" }, String(rank)),
      el("span", { class: "word" }, visible(candidate.text), chosen ? el("span", { class: "mark" }, " ← chosen") : null),
      el("span", { class: "bar" }, el("i", { class: "fill" }), el("i", { class: "maybe" }), ghost),
      el("output", {}), el("small", {}, note), el("em", {}));
  }

  makeOthers() {
    return el("li", { class: "others" }, el("span", { class: "rank" }), el("span", { class: "word" }, "all others"),
      el("span", { class: "bar" }, el("i", { class: "fill" }), el("i", { class: "maybe" })), el("output", {}), el("small", {}), el("em", {}));
  }

  fillRows({ rows, others }) {
    const items = [...$("candidates").children], unlisted = items.slice(rows.length, -1)[0];
    rows.forEach((row, i) => fillRow(items[i], row));
    fillRow(items.at(-1), { ...others, removedBy: null });
    if (unlisted) fillUnlisted(unlisted, this.step, this.stage, this.stages.at(-1).id);
  }

  // What if

  knobs() {
    return Object.fromEntries(KNOBS.map((name) => [name, Number($(`if-${name}`).value)]));
  }

  setKnobs(values) {
    for (const name of KNOBS) {
      $(`if-${name}`).value = values[name];
      $(`if-${name}-now`).textContent = $(`if-${name}`).value;
    }
  }

  reset() {
    this.setKnobs(this.request);
    this.showStage(this.stages.at(-1).id);
  }

  ask() {
    const knobs = this.knobs();
    this.setKnobs(knobs);
    this.answer = whatIf(this.step, { temperature: this.request.temperature, vocabulary: this.vocabulary }, knobs);
    this.showStage("if");
  }

  showVerdict() {
    const box = $("if-verdict"), { answer, step } = this;
    if (!answer) box.textContent = "Move a slider: the shares are computed anew here, from what the step lists.";
    else if (answer.chosen !== null) box.textContent = sayChosen(step, answer.chosen);
    else if (!answer.exact) box.textContent = "Ranges: of the tokens that are not listed only the joint share is known. A top-k of at most " +
      `${step.candidates.length} makes it exact.`;
    else box.textContent = "Exact. Nothing was drawn at temperature 0, so there is no number to draw by.";
  }
}

function sayChosen(step, id) {
  const text = visible(step.candidates.find((c) => c.token_id === id).text);
  if (step.draw === null) return `Exact: the highest logit is “${text}”.`;
  const verb = id === step.token_id ? "would still choose" : "would choose";
  return `Exact. The same draw, ${step.draw.toFixed(4)}, ${verb} “${text}”.`;
}

function fillRow(item, { low, high, removedBy }) {
  const [fill, maybe] = item.querySelectorAll(".fill, .maybe");
  fill.style.width = `${low * 100}%`;
  maybe.style.left = `${low * 100}%`;
  maybe.style.width = `${(high - low) * 100}%`;
  Object.assign(item.dataset, { low, high, removedBy: removedBy ?? "" });
  item.classList.toggle("removed", Boolean(removedBy));
  item.querySelector("output").textContent = removedBy ? "–" : share({ low, high });
  item.querySelector("em").textContent = removedBy ? `removed by ${REMOVALS[removedBy]}` : "";
}

/** The chosen token when it is not among the listed: its share is known at both ends of the pipeline. */
function fillUnlisted(item, step, stage, last) {
  const share = { model: step.prob_raw, [last]: step.prob }[stage];
  fillRow(item, { low: share ?? 0, high: share ?? 0, removedBy: null });
  if (share === undefined) item.querySelector("output").textContent = "one of the others";
}
