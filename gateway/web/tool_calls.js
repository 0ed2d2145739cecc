// The model's calls of tools as cards. The reader is the tool: the results are typed in.

import { el } from "./dom.js";

/** Adds the pieces of a stream's delta to the calls so far. */
export function mergeCalls(calls, deltas) {
  for (const { index = 0, id, function: fn = {} } of deltas) {
    const call = (calls[index] ??= { id: "", type: "function",
      function: { name: "", arguments: "" } });
    if (id) call.id = id;
    call.function.name += fn.name ?? "";
    call.function.arguments += fn.arguments ?? "";
  }
  return calls;
}

/** Arguments as a reader likes them; as they are while they are no JSON yet. */
export function prettyArguments(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** results: of earlier answers by call id. onResults([{callId, name, text}]): null if answered. */
export function callCards(calls, results, onResults) {
  const fields = calls.map((call, i) => el("textarea", { rows: 2, spellcheck: "false",
    "aria-label": `Result of ${call.function.name}, call ${i + 1}`,
    placeholder: "Its result, as text or JSON" }));
  const box = (name, text) => el("pre", { class: name.toLowerCase(), tabindex: 0, role: "region",
    "aria-label": name }, text);
  const cards = calls.map(({ id, function: fn }, i) =>
    el("section", { class: "call", "aria-label": `Call of ${fn.name}` },
      el("h3", {}, "⚙ ", el("code", {}, fn.name || "…")),
      box("Arguments", prettyArguments(fn.arguments)),
      results ? box("Result", results[id] ?? "") : onResults ? fields[i] : null));
  if (results || !onResults || !calls.length) return cards;
  const typed = () => calls.map(({ id, function: fn }, i) =>
    ({ callId: id, name: fn.name, text: fields[i].value }));
  return [...cards, el("button", { type: "button", class: "primary",
    onclick: () => onResults(typed()) }, calls.length > 1 ? "Send results" : "Send result")];
}
