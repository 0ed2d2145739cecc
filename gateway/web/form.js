// The fields of a request as a form has them. The server checks ranges; its errors name the field.

import { ApiError } from "./api.js";
import { el } from "./dom.js";
import { FILTERS, OFF, nameOf } from "./filters.js";

const DEFAULTS = { temperature: 1, ...OFF, repetition_penalty: 1, presence_penalty: 0,
  frequency_penalty: 0, logit_bias: {}, explain: 0 };

const READERS = {
  number: (text) => {
    if (text.trim() === "") return undefined;
    return Number.isNaN(Number(text)) ? text : Number(text);
  },
  lines: (text) => (text === "" ? undefined : text.split("\n").filter((line) => line !== "")),
  ids: (text) => (text.trim() === "" ? undefined
    : text.split(/[\s,]+/).filter(Boolean).map(READERS.number)),
  bias: (text) => readBias(text),
  choice: (text) => ({ "": undefined, on: true, off: false })[text],
  json: (text, name) => {
    if (text.trim() === "") return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new ApiError(0, { message: `${name}: is no JSON: ${error.message}`, param: name,
        code: "invalid_json" });
    }
  },
};

/** "11: 4, 13: -3.5" -> {"11": 4, "13": -3.5} */
function readBias(text) {
  const lines = text.split(/[\n,]+/).map((line) => line.trim()).filter(Boolean);
  const pairs = lines.map((line) => line.split(":"));
  if (!pairs.length) return undefined;
  const read = ([id, value]) => [id.trim(), READERS.number(value ?? "") ?? null];
  return Object.fromEntries(pairs.map(read));
}

/** Every sampling field of a body with its value. */
export function samplingOf(body) {
  return { ...DEFAULTS, ...body };
}

/** Seeds go up to 2^63, more than a JavaScript number holds exactly, so they are sent as digits. */
export function withSeed(body, seed) {
  const json = JSON.stringify(body);
  if (seed === "") return json;
  const digits = /^(0|[1-9]\d*)$/.test(seed) ? seed : JSON.stringify(seed);
  return `${json.slice(0, -1)},"seed":${digits}}`;
}

/** The filters' knobs: their names, numbers and sliders. */
function makeKnob({ id, off, first, number, slider }, prefix) {
  const name = nameOf(id).replace(/^./, (letter) => letter.toUpperCase());
  return el("div", { class: "knob" },
    el("label", { for: prefix + id }, `${name} `, el("small", {}, `${off}: off`)),
    el("input", { id: prefix + id, "data-field": id, "data-kind": "number", type: "number",
      ...number, value: first }),
    el("input", { type: "range", "data-slides": id, ...slider, value: first,
      "aria-label": `${name}, slider` }));
}

export class Form {
  /** root: a form with elements that have data-field, one of them the temperature. */
  constructor(root, prefix = "") {
    this.root = root;
    this.field("temperature").parentElement.after(...FILTERS.map((row) => makeKnob(row, prefix)));
    for (const slider of root.querySelectorAll("[data-slides]")) {
      const number = this.field(slider.dataset.slides);
      slider.addEventListener("input", () => (number.value = slider.value));
      number.addEventListener("input", () => (slider.value = number.value));
    }
  }

  field(name) {
    return this.root.querySelector(name === "seed" ? "[data-seed]" : `[data-field=${name}]`);
  }

  fields() {
    return [...this.root.querySelectorAll("[data-field]")];
  }

  get seed() {
    return this.field("seed").value.trim();
  }

  valueOf(input) {
    const isUntouched = input.checked === input.defaultChecked;
    if (input.type === "checkbox") return isUntouched ? undefined : input.checked;
    if (input.validity.badInput) return "no number"; // which the browser hides from us
    const read = READERS[input.dataset.kind];
    return read ? read(input.value, input.dataset.field) : input.value;
  }

  /** {body: the fields that have a value, seed: as typed, "" for a random one} */
  read() {
    const body = {};
    for (const input of this.fields()) {
      const value = this.valueOf(input);
      if (value !== undefined) body[input.dataset.field] = value;
    }
    return { body, seed: this.seed };
  }

  /** The fields as they are written, to be kept; and back, others as they were at first. */
  save() {
    const kept = { seed: this.seed };
    for (const input of this.fields())
      kept[input.dataset.field] = input.type === "checkbox" ? input.checked : input.value;
    return kept;
  }

  load(kept) {
    this.field("seed").value = kept.seed ?? "";
    for (const input of this.fields()) {
      const value = kept[input.dataset.field];
      if (input.type === "checkbox") input.checked = value ?? input.defaultChecked;
      else input.value = value ?? input.dataset.first ?? input.defaultValue;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  /** Fills the fields from the body of a request. */
  fill(body) {
    const kept = {};
    for (const { dataset: { field, kind } } of this.fields()) {
      const value = body[field];
      if (value === undefined) continue;
      kept[field] = kind === "json" ? JSON.stringify(value, null, 2)
        : kind === "lines" ? [value].flat().join("\n") : kind === "ids" ? value.join(" ")
          : kind === "bias" ? Object.entries(value).map((pair) => pair.join(": ")).join("\n")
            : kind === "choice" ? (value ? "on" : "off")
              : typeof value === "boolean" ? value : String(value);
    }
    this.load({ ...kept, seed: body.seed === undefined ? "" : String(body.seed) });
  }

  /** The label of a field, in the page's words. */
  labelOf(name) {
    const label = this.field(name)?.labels?.[0]?.firstChild?.textContent.trim();
    return label || name;
  }

  /** Marks the field an error is about, or none. Whether there is such a field. */
  mark(name) {
    for (const input of [...this.fields(), this.field("seed")]) {
      const wrong = name !== null && (input.dataset.field ?? "seed") === name;
      if (wrong) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
    return name !== null && Boolean(this.field(name));
  }

  reveal(name) {
    const input = this.field(name);
    for (let at = input; (at = at.parentElement.closest("details"));) at.open = true;
    input.focus();
  }
}

/** An error in the page's words: the field by its label, and when to try again. */
export function wordsOf(error, form) {
  const again = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  if (error.status === 401) return "This server needs an API key: type it in the field above.";
  const { param, message } = error;
  if (!param || !message.startsWith(`${param}:`) || !form.field(param)) return message + again;
  return `${form.labelOf(param)} (${param})${message.slice(param.length)}${again}`;
}
