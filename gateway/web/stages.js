// The pipeline's stages of one step, each with the probabilities of its candidates.

import { FILTERS, isOff, nameOf } from "./filters.js";
import { whatIf } from "./whatif.js";

function sumOf(candidates, key) {
  return candidates.reduce((sum, candidate) => sum + candidate[key], 0);
}

function known(step, key) {
  const isLast = key === "prob";
  const rows = step.candidates.map((c) => ({ low: c[key], high: c[key],
    removedBy: isLast ? c.removed_by : null, removedAt: isLast ? c.removed_at : null }));
  const rest = Math.max(1 - sumOf(step.candidates, key), 0);
  const others = rest < 1e-9 ? 0 : rest;
  return { rows, others: { low: others, high: others }, exact: true };
}

/**
 * What n of the nUnlisted tokens that are not listed have together of the probability before the
 * filters. What the nAtEnd of them that passed every filter have follows from a listed one's share.
 */
function restOf(step, n, nAtEnd, nUnlisted) {
  const [first] = step.candidates.filter((c) => c.kept), cap = step.candidates.at(-1).prob_shaped;
  const whole = Math.max(1 - sumOf(step.candidates, "prob_shaped"), 0);
  const listed = sumOf(step.candidates.filter((c) => c.kept), "prob_shaped");
  const atEnd = first ? Math.max(first.prob_shaped / first.prob - listed, 0) : 0;
  if (n <= 0) return { low: 0, high: 0 };
  if (n >= nUnlisted) return { low: whole, high: whole };
  if (n === nAtEnd && first) return { low: atEnd, high: atEnd };
  return { low: Math.min(atEnd, whole), high: Math.min(whole, n * cap) };
}

/** After filter number `index`, from who was removed and how many were left. */
function after(step, index, vocabulary) {
  const later = FILTERS.slice(index + 1).map(({ id }) => id), last = FILTERS.at(-1).id;
  const isLeft = (c) => c.kept || later.includes(c.removed_by);
  const listed = step.candidates.filter(isLeft), mass = sumOf(listed, "prob_shaped");
  const n = step.kept[`after_${FILTERS[index].id}`] - listed.length;
  const nAtEnd = step.kept[`after_${last}`] - step.candidates.filter((c) => c.kept).length;
  const rest = restOf(step, n, nAtEnd, vocabulary - step.candidates.length);
  const share = (part, others) => (part ? part / (mass + others) : 0);
  const rowOf = ({ prob_shaped: part }) =>
    ({ low: share(part, rest.high), high: share(part, rest.low), removedBy: null });
  const rows = step.candidates.map((c) =>
    (isLeft(c) ? rowOf(c) : { low: 0, high: 0, removedBy: c.removed_by }));
  return { rows, others: { low: share(rest.low, rest.low), high: share(rest.high, rest.high) } };
}

function hasPenalties(request) {
  return request.repetition_penalty !== 1 || request.presence_penalty !== 0 ||
    request.frequency_penalty !== 0 || Object.keys(request.logit_bias).length > 0;
}

/**
 * request: every sampling field with its value. vocabulary: tokens. From the model to the draw:
 * [{id, name, setting ("off" where the stage did nothing), left (tokens), rows, others}]
 */
export function stagesOf(step, request, vocabulary) {
  const { temperature } = request, base = { temperature, vocabulary };
  const model = known(step, "prob_raw"), penalties = hasPenalties(request);
  const shaped = { id: "temperature", name: "temperature", left: vocabulary };
  const first = [
    { id: "model", name: "model", setting: "as it is", left: vocabulary, ...model },
    { id: "penalties", name: "penalties", setting: penalties ? "and bias" : "off", left: vocabulary,
      ...(penalties ? whatIf(step, base, { temperature: 1 }) : model) },
  ];
  if (step.strategy === "greedy") {
    const highest = whatIf(step, base, { temperature: 0 });
    return [...first, { ...shaped, setting: "0: the highest", left: 1, ...highest }];
  }
  const filters = FILTERS.map((row, i) => ({ id: row.id, name: nameOf(row.id),
    setting: isOff(row, request[row.id]) ? "off" : String(request[row.id]),
    left: step.kept[`after_${row.id}`],
    ...(i + 1 < FILTERS.length ? after(step, i, vocabulary) : known(step, "prob")) }));
  const divided = { ...shaped, setting: String(temperature), ...known(step, "prob_shaped") };
  return [...first, divided, ...filters];
}
