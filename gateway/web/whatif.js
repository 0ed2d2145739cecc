// A step's distribution under other settings, computed from the candidates that `explain` lists.
//
// The step lists the L most likely of V tokens. Of the others only the joint probability is known.
// Weights are exp(logit / temperature) relative to the most likely token, which has weight 1. From
// temperature t to u a weight w becomes w^a, a = t/u. The others' new total depends on how their
// weight is spread, between "evenly" and "over as few tokens as possible". So every answer is a
// range [low, high], and it is exact where the others do not count (for example, top-k <= L).

import { FILTERS, isOff } from "./filters.js";

const ROUNDING = 1e-9; // of a share that is one minus the sum of the listed

/** The total of the others' weights at exponent a: n tokens, each at most `cap`, `total` in all. */
export function othersAt(n, total, cap, a) {
  const spread = (s) => [n * (s / n) ** a, s * cap ** (a - 1)];
  if (n <= 0 || cap <= 0) return { low: 0, high: 0 };
  const low = Math.min(...spread(Math.max(total - ROUNDING, 0)));
  const high = Math.max(...spread(Math.min(total + ROUNDING, n * cap)));
  return { low: Number.isFinite(low) ? low : 0, high: Math.min(high, n * cap ** a) };
}

/** Listed weights and the others' total at temperature u. step was made at base.temperature. */
function weigh(step, base, u) {
  const { candidates } = step, first = candidates[0], last = candidates.at(-1);
  const t = base.temperature || 1; // a greedy step's shares are those of temperature 1
  const weights = candidates.map((c) => Math.exp((c.logit_penalized - first.logit_penalized) / u));
  const listed = candidates.reduce((sum, c) => sum + c.prob_shaped, 0);
  const share = Math.max(1 - listed, 0) / first.prob_shaped;
  const cap = Math.exp((last.logit_penalized - first.logit_penalized) / t);
  const n = Math.max(base.vocabulary - candidates.length, 0);
  return { weights, n, cap: weights.at(-1), others: othersAt(n, share, cap, t / u) };
}

/**
 * What the filters leave, if the tokens that are not listed weigh as little or as much (heavy) as
 * they may. A scenario: {step, weights and kept of the listed, n and total of the others, cap: the
 * most that one of them weighs}; removedBy tells which filter removed a listed one.
 */
function filter(step, { weights, n, cap, others }, settings, heavy) {
  const removedBy = weights.map(() => null);
  let scenario = { step, weights, kept: weights.map(() => true), n, cap, heavy,
    total: heavy ? others.high : others.low };
  for (const row of FILTERS) {
    const value = settings[row.id] ?? row.off;
    if (isOff(row, value)) continue;
    scenario = { ...scenario, ...row.keep(scenario, value) };
    scenario.kept.forEach((is, i) => (removedBy[i] ??= is ? null : row.id));
  }
  const mass = weights.reduce((sum, w, i) => sum + (scenario.kept[i] ? w : 0), 0);
  return { ...scenario, mass, removedBy };
}

function range(index, weights, light, heavy) {
  const w = weights[index], inLight = light.kept[index], inHeavy = heavy.kept[index];
  const upTo = weights.slice(0, index + 1).reduce((sum, x) => sum + x, 0);
  const low = inLight && inHeavy ? w / (heavy.mass + heavy.total) : 0;
  const high = inLight ? w / (light.mass + light.total) : inHeavy ? w / upTo : 0;
  const removedBy = inLight || inHeavy ? null : light.removedBy[index];
  return { low: Math.min(low, high), high, removedBy };
}

function unknown(candidates) {
  const any = { low: 0, high: 1 }, rows = candidates.map(() => ({ ...any, removedBy: null }));
  return { rows, others: any, exact: false, chosen: null };
}

/** The token that `draw` falls on when the kept lie in order of their ids, as in the server. */
function drawn(candidates, rows, draw) {
  const shares = candidates.map((c, i) => ({ id: c.token_id, share: rows[i].high }));
  const kept = shares.filter(({ share }) => share > 0);
  let end = 0;
  kept.sort((a, b) => a.id - b.id);
  return (kept.find((c) => draw < (end += c.share)) ?? kept.at(-1)).id;
}

/**
 * step: of `explain`. base: {temperature (as requested), vocabulary (tokens)}. settings:
 * temperature and, by their names, the filters that are on. The answer: {rows: [{low, high,
 * removedBy}], others: {low, high}, exact, chosen: token id or null where it cannot be told}
 */
export function whatIf(step, base, settings) {
  const { candidates } = step;
  if (settings.temperature === 0) {
    const rows = candidates.map((_, i) => ({ low: i ? 0 : 1, high: i ? 0 : 1, removedBy: null }));
    return { rows, others: { low: 0, high: 0 }, exact: true, chosen: candidates[0].token_id };
  }
  const state = weigh(step, base, settings.temperature);
  const light = filter(step, state, settings, false), heavy = filter(step, state, settings, true);
  if (light.isUnknown || heavy.isUnknown) return unknown(candidates);
  const rows = candidates.map((_, i) => range(i, state.weights, light, heavy));
  const others = { low: light.total / (light.mass + light.total),
    high: heavy.total / (heavy.mass + heavy.total) };
  const exact = others.high === 0 && light.kept.every((is, i) => is === heavy.kept[i]);
  const chosen = exact && step.draw !== null ? drawn(candidates, rows, step.draw) : null;
  return { rows, others, exact, chosen };
}
