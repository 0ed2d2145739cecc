// The controls, and the request they make. The server checks ranges; its errors name the field.

import { $, el } from "./dom.js";
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
};

/** "11: 4, 13: -3.5" -> {"11": 4, "13": -3.5} */
function readBias(text) {
  const lines = text.split(/[\n,]+/).map((line) => line.trim()).filter(Boolean);
  const pairs = lines.map((line) => line.split(":"));
  if (!pairs.length) return undefined;
  const read = ([id, value]) => [id.trim(), READERS.number(value ?? "") ?? null];
  return Object.fromEntries(pairs.map(read));
}

function fields() {
  return document.querySelectorAll("[data-field]");
}

function valueOf(input) {
  const isUntouched = input.checked === input.defaultChecked;
  if (input.type === "checkbox") return isUntouched ? undefined : input.checked;
  if (input.validity.badInput) return "no number"; // which the browser hides from us
  const read = READERS[input.dataset.kind];
  return read ? read(input.value) : input.value;
}

/**
 * {body: JSON text, request: every sampling field with its value, seed: as typed, "" for a random
 * one}
 */
export function readForm() {
  const body = { timeline: true };
  for (const input of fields()) {
    const value = valueOf(input);
    if (value !== undefined) body[input.dataset.field] = value;
  }
  const seed = $("seed").value.trim();
  return { body: withSeed(JSON.stringify(body), seed), request: { ...DEFAULTS, ...body }, seed };
}

/** Seeds go up to 2^63, more than a JavaScript number holds exactly, so they are sent as digits. */
function withSeed(json, seed) {
  if (seed === "") return json;
  const digits = /^(0|[1-9]\d*)$/.test(seed) ? seed : JSON.stringify(seed);
  return `${json.slice(0, -1)},"seed":${digits}}`;
}

/** Marks the field an error is about, or none. */
export function markField(name) {
  for (const input of [...fields(), $("seed")]) {
    const wrong = name !== null && (input.dataset.field ?? "seed") === name;
    if (wrong) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (wrong) reveal(input);
  }
}

function reveal(input) {
  const details = input.closest("details");
  if (details) details.open = true;
  input.focus();
}

/** "Top-k  0: off", its number and its slider. */
function makeKnob({ id, off, first, number, slider }) {
  const name = nameOf(id).replace(/^./, (letter) => letter.toUpperCase());
  return el("div", { class: "knob" },
    el("label", { for: id }, `${name} `, el("small", {}, `${off}: off`)),
    el("input", { id, "data-field": id, "data-kind": "number", type: "number", ...number,
      value: first }),
    el("input", { type: "range", "data-slides": id, ...slider, value: first,
      "aria-label": `${name}, slider` }));
}

export function makeKnobs() {
  $("temperature").parentElement.after(...FILTERS.map(makeKnob));
}

/** A slider and a number that say the same. */
export function pairSliders() {
  for (const slider of document.querySelectorAll("[data-slides]")) {
    const number = $(slider.dataset.slides);
    slider.addEventListener("input", () => (number.value = slider.value));
    number.addEventListener("input", () => (slider.value = number.value));
  }
}
