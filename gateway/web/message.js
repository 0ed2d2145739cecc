// One message of a chat as an element: its text as Markdown, its tokens, its reasons, its tools.

import { copyButton, eachFrame, el, seconds } from "./dom.js";
import { EntropyLine } from "./entropy.js";
import { MarkdownView } from "./markdown_view.js";
import { isConstrained, placed } from "./pieces.js";
import { Tokens, describe, levelOf } from "./tokens.js";
import { callCards } from "./tool_calls.js";

function button(name, act, title = null) {
  return el("button", { type: "button", class: "quiet", title, onclick: act }, name);
}

/** A turn's heading, for readers who move by headings. */
function turn(who) {
  return el("h2", { class: "off-screen" }, who);
}

/** "‹ 2 / 3 ›" for a message with versions; null if there is but one. */
function versionArrows(node, all, onChoose) {
  if (all.length < 2) return null;
  const at = all.indexOf(node), arrow = (sign, name, to) => {
    const made = button(sign, () => onChoose(all[to], name));
    made.setAttribute("aria-label", name);
    made.disabled = !all[to];
    return made;
  };
  return el("span", { class: "versions" }, arrow("‹", "Earlier version", at - 1),
    el("span", {}, `${at + 1} / ${all.length}`), arrow("›", "Later version", at + 1));
}

/** A question: its words, its files, and what can be done with it. acts: {edit, choose}. */
export function questionView(node, all, acts) {
  const words = el("div", { class: "words", dir: "auto" }, node.text);
  const files = (node.files ?? []).map(({ name, text }) => el("details", { class: "file" },
    el("summary", {}, name), el("pre", { tabindex: 0 }, text)));
  const element = el("article", { class: "message question", "aria-label": "You" }, turn("You"),
    el("div", { class: "bubble" }, ...files, words));
  const edit = () => element.replaceChildren(editor(node.text, (text) => acts.edit(node, text),
    () => acts.cancel()));
  element.append(el("div", { class: "tools" }, versionArrows(node, all, acts.choose),
    button("Edit", edit), copyButton("Copy", () => node.text)));
  return element;
}

function editor(text, onSave, onCancel) {
  const area = el("textarea", { rows: Math.min(text.split("\n").length + 1, 14), dir: "auto",
    "aria-label": "Edit the message" });
  area.value = text;
  area.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") onCancel();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSave(area.value);
  });
  queueMicrotask(() => area.focus());
  return el("div", { class: "editor" }, area, el("div", { class: "row" },
    el("button", { type: "button", class: "primary", onclick: () => onSave(area.value) }, "Save"),
    button("Cancel", onCancel)));
}

export class AnswerView {
  /**
   * node: {text, reasoning, reasoningS, calls, stats, isOver}. acts: what the reader can do
   * (select, regenerate, goOn, edit, choose, results). menu: the share menu.
   */
  constructor(node, pieces, { versions, results, acts, menu }) {
    Object.assign(this, { node, pieces, versions, results, acts, menu, places: [] });
    this.body = el("div", { class: "words markdown" });
    this.markdown = new MarkdownView(this.body, (value, at) => this.cut(value, at));
    this.reasoning = el("details", { class: "reasoning", hidden: true },
      this.thought = el("summary", {}), this.thoughts = el("div", { class: "words", dir: "auto" }));
    this.calls = el("div", { class: "calls" });
    this.list = el("div", { class: "tokens", role: "group", "aria-label": "Tokens of the answer",
      hidden: true });
    this.tokens = new Tokens(this.list, (step) => acts.select(step, true));
    this.entropy = new EntropyLine((step) => acts.select(step, true));
    this.stats = el("p", { class: "stats" });
    this.tools = el("div", { class: "tools" });
    this.element = el("article", { class: "message answer", "aria-label": "Answer" },
      turn("Answer"), this.reasoning, this.body, this.list, this.calls, this.entropy.element,
      this.tools, this.stats);
    this.body.addEventListener("click", (event) => {
      const { step } = event.target.closest(".tok") ?? {};
      if (step && getSelection().isCollapsed) acts.select(step, true);
    });
    this.draw = eachFrame(() => this.render());
  }

  /** The nodes of a text that stands at `at`: one for each token that wrote a part of it. */
  cut(value, at) {
    const nodes = [], end = at + value.length;
    let i = this.placeAt(at);
    for (let from = at; from < end; i++) {
      const place = this.places[i], to = place ? Math.min(place.end, end) : end;
      const text = value.slice(from - at, to - at);
      nodes.push(...(place?.piece.step ? token(place.piece.step, text) : [text]));
      from = to;
    }
    return nodes;
  }

  placeAt(at) {
    let low = 0, high = this.places.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.places[middle].end > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  render() {
    const { node, pieces } = this;
    this.places = placed(pieces, "text");
    this.markdown.update(node.text);
    this.renderReasoning();
    if (!node.isOver || !this.isDrawn) this.renderCalls();
    this.stats.textContent = node.stats ?? "";
    this.element.setAttribute("aria-busy", String(!node.isOver));
    if (node.isOver) this.finish();
    this.acts.drawn();
  }

  renderReasoning() {
    const { reasoning = "", reasoningS: s, isOver, text } = this.node;
    this.reasoning.hidden = !reasoning;
    if (!reasoning) return;
    const isThinking = !isOver && !text;
    this.thought.textContent = isThinking ? "Thinking …"
      : s ? `Thought for ${seconds(s)}` : "Thoughts";
    if (this.thoughts.textContent !== reasoning) this.thoughts.textContent = reasoning;
  }

  renderCalls() {
    const { calls = [], isOver } = this.node;
    const onResults = isOver ? this.acts.results : null;
    this.calls.replaceChildren(...callCards(calls, this.results, onResults));
  }

  /** The last rendering of an answer that is over. */
  finish() {
    if (this.isDrawn) return;
    this.isDrawn = true;
    this.renderCalls();
    this.entropy.show(this.steps());
    const { node, acts, versions } = this, hasSteps = this.steps().length > 0;
    this.toggle = button("Tokens", () => this.showTokens(this.list.hidden));
    this.toggle.setAttribute("aria-pressed", "false");
    this.tools.replaceChildren(...[versionArrows(node, versions, acts.choose),
      copyButton("Copy", () => node.text), button("Regenerate", () => acts.regenerate(node)),
      node.calls?.length ? null : button("Continue", () => acts.goOn(node)),
      button("Edit", () => this.edit()), hasSteps ? this.toggle : null,
      node.request ? this.menu : null].filter(Boolean));
  }

  edit() {
    this.body.replaceChildren(editor(this.node.text, (text) => this.acts.edit(this.node, text),
      () => this.acts.cancel()));
  }

  steps() {
    return this.pieces.map(({ step }) => step).filter(Boolean);
  }

  /** All tokens, those that Markdown hides too, as a list for the keyboard. */
  showTokens(isShown) {
    this.toggle.setAttribute("aria-pressed", String(isShown));
    this.list.hidden = !isShown;
    this.body.hidden = isShown;
    if (!isShown) return;
    this.tokens.clear("");
    for (const { text, step } of this.pieces)
      this.tokens.append(step, text || (step ? "" : text), step && !text ? "unseen" : null);
    this.tokens.flush.now();
    if (this.selected) this.tokens.markStep(this.selected);
  }

  mark(step) {
    this.selected = step;
    for (const shown of this.body.querySelectorAll(".tok"))
      shown.classList.toggle("selected", shown.step === step);
    this.entropy.select(step);
    this.tokens.markStep(step);
  }
}

/** A token's element; blanks before its word stay outside, so that a mark fits the word. */
function token(step, text) {
  const word = text.trimStart() || text, blanks = text.slice(0, text.length - word.length);
  const kinds = ["tok", step.isForked && "forked", isConstrained(step) && "held"].filter(Boolean);
  const made = el("span", { class: kinds.join(" "), "data-level": levelOf(step.prob),
    title: describe(step) }, word);
  made.step = step;
  return [blanks, made].filter(Boolean);
}
