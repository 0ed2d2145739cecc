// The draw: [0, 1) divided among the tokens by the order of their ids, and where the number fell.

import { el, percent, visible } from "./dom.js";

/** null for a greedy step, where nothing is drawn. */
export function drawBand(step) {
  if (step.draw === null) return null;
  const fell = `fell on “${visible(step.text)}”, ${percent(step.prob)} of the whole.`;
  const band = el("div", { class: "band", role: "img",
    "aria-label": `The draw ${step.draw.toFixed(4)} ${fell}` });
  for (const candidate of listed(step))
    band.append(segment(candidate, candidate.token_id === step.token_id));
  const needle = el("div", { class: "needle" });
  needle.style.left = `${step.draw * 100}%`;
  band.append(needle);
  return el("figure", { class: "draw" }, band,
    el("figcaption", {}, `0 ≤ draw = ${step.draw.toFixed(4)} < 1, tokens in order of their ids`));
}

/** The candidates that have an interval, and the chosen one when it is not among them. */
function listed(step) {
  const shown = step.candidates.filter((c) => c.interval);
  return shown.some((c) => c.token_id === step.token_id) ? shown : [...shown, step];
}

function segment({ text, prob, interval: [begin, end] }, chosen) {
  const title = `“${visible(text)}” ${percent(prob)}`;
  const part = el("div", { class: chosen ? "part chosen" : "part", title },
    end - begin > 0.08 ? visible(text) : "");
  part.style.left = `${begin * 100}%`;
  part.style.width = `${(end - begin) * 100}%`;
  return part;
}
