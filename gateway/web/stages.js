// The pipeline's stages of one step, each with the probabilities of its candidates.

import { whatIf } from "./whatif.js";

const NO_FILTERS = { top_k: 0, top_p: 1, min_p: 0 };

function known(step, key) {
  const isLast = key === "prob";
  const rows = step.candidates.map((c) => ({ low: c[key], high: c[key], removedBy: isLast ? c.removed_by : null,
    removedAt: isLast ? c.removed_at : null }));
  const rest = Math.max(1 - rows.reduce((sum, row) => sum + row.low, 0), 0);
  const others = rest < 1e-9 ? 0 : rest;
  return { rows, others: { low: others, high: others }, exact: true };
}

function hasPenalties(request) {
  return request.repetition_penalty !== 1 || request.presence_penalty !== 0 || request.frequency_penalty !== 0 ||
    Object.keys(request.logit_bias).length > 0;
}

/**
 * request: every sampling field with its value. vocabulary: tokens.
 * [{id, name, setting ("off" where the stage did nothing), left (tokens), rows, others}], from the model to the draw.
 */
export function stagesOf(step, request, vocabulary) {
  const base = { temperature: request.temperature, vocabulary }, { kept } = step;
  const greedy = step.strategy === "greedy", penalties = hasPenalties(request);
  const upTo = (filters) => whatIf(step, base, { temperature: request.temperature, ...NO_FILTERS, ...filters });
  const model = known(step, "prob_raw");
  const shaped = { id: "temperature", name: "temperature", setting: String(request.temperature), left: vocabulary };
  const first = [
    { id: "model", name: "model", setting: "as it is", left: vocabulary, ...model },
    { id: "penalties", name: "penalties", setting: penalties ? "and bias" : "off", left: vocabulary,
      ...(penalties ? whatIf(step, base, { temperature: 1, ...NO_FILTERS }) : model) },
  ];
  if (greedy) return [...first, { ...shaped, setting: "0: the highest", left: 1, ...upTo({}) }];
  const { top_k, top_p, min_p } = request;
  return [
    ...first,
    { ...shaped, ...known(step, "prob_shaped") },
    { id: "top_k", name: "top-k", setting: top_k ? String(top_k) : "off", left: kept.after_top_k, ...upTo({ top_k }) },
    { id: "top_p", name: "top-p", setting: top_p < 1 ? String(top_p) : "off", left: kept.after_top_p, ...upTo({ top_k, top_p }) },
    { id: "min_p", name: "min-p", setting: min_p ? String(min_p) : "off", left: kept.after_min_p, ...known(step, "prob") },
  ];
}
