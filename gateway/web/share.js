// What can be taken away from an answer: a permalink, its request as code, its explanation.

import { copy, download, el } from "./dom.js";
import { SAMPLES } from "./code_samples.js";
import { encodeLink, sumOf } from "./permalink.js";

const TOLD_MS = 1500;

/** {n, sum} of an answer: of its token ids if it was explained, else of its text. */
export function fingerprint(steps, text, n) {
  const ids = steps.map((step) => step.token_id);
  return ids.length ? { n: ids.length, sum: sumOf(ids) } : { n, sum: sumOf(text) };
}

/**
 * A menu. of() describes the answer: {kind, body (of the request, without its seed), json (the body
 * as it was sent), seed, path, text, steps, n, model, served}.
 */
export function shareMenu(of) {
  const menu = el("details", { class: "menu" }, el("summary", {}, "Share"));
  const entry = (name, act) => {
    const button = el("button", { type: "button" }, name);
    button.addEventListener("click", async () => {
      const told = await act();
      button.textContent = told;
      setTimeout(() => {
        button.textContent = name;
        menu.open = false;
      }, TOLD_MS);
    });
    return el("li", {}, button);
  };
  const copied = (text) => copy(text).then(() => "Copied");
  const address = (path) => new URL(path, location.href.split("#")[0]).href;
  const code = (language) => entry(`Copy as ${language}`, () => {
    const { path, json } = of();
    return copied(SAMPLES[language](address(path), json));
  });
  menu.append(el("ul", {}, entry("Copy link", async () => copied(await linkOf(of()))),
    ...Object.keys(SAMPLES).map(code), entry("Export with explanation", () => {
      download("answer.json", JSON.stringify(explanationOf(of()), null, 1));
      return "Saved";
    })));
  closeLightly(menu);
  return menu;
}

/** Escape, and a click or a focus elsewhere, close a menu. */
function closeLightly(menu) {
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu.addEventListener("focusout", ({ relatedTarget: to }) => {
    if (to && !menu.contains(to)) menu.open = false;
  });
}

async function linkOf({ kind, body, seed, model, served, steps, text, n }) {
  const link = { kind, body, seed, model, ...served, ...fingerprint(steps, text, n) };
  return location.href.split("#")[0] + await encodeLink(link);
}

function explanationOf({ json, path, text, steps, model, served }) {
  const request = { path, body: JSON.parse(json) };
  return { baton_answer: 1, model, ...served, request, text, steps };
}
