// A step's distribution under other settings, computed from the candidates that `explain` lists.
//
// The step lists the L most likely of V tokens. Of the others only the joint probability is known.
// Weights are exp(logit / temperature) relative to the most likely token, which has weight 1. From
// temperature t to u a weight w becomes w^a, a = t/u. The others' new total depends on how their
// weight is spread, between "evenly" and "over as few tokens as possible". So every answer is a
// range [low, high], and it is exact where the others do not count (for example, top-k <= L).

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

/** How many of the listed pass top-k (ties at the k-th do), and what remains of the others. */
function topK(state, k) {
  const { weights, n, others, cap } = state, L = weights.length;
  if (!k || k >= L + n) return { kept: L, others };
  if (k <= L) return { kept: weights.filter((w) => w >= weights[k - 1]).length, others: { low: 0, high: 0 } };
  const share = (k - L) / n;
  return { kept: L, others: { low: share * others.low, high: Math.min(others.high, (k - L) * cap) } };
}

/** The shortest prefix of the ranking that holds p of the whole, if the others weigh `total`. */
function topP(weights, kept, total, cap, p) {
  const whole = weights.slice(0, kept).reduce((sum, w) => sum + w, total);
  let mass = 0;
  if (p >= 1) return { kept, low: total, high: total };
  for (let i = 0; i < kept; i++) {
    mass += weights[i];
    if (mass >= p * whole) return { kept: i + 1, low: 0, high: 0 };
  }
  const wanted = p * whole - mass;
  return { kept, low: Math.min(wanted, total), high: Math.min(wanted + cap, total) };
}

function minP(weights, state, least, cap) {
  const kept = weights.slice(0, state.kept).filter((w) => w >= least).length;
  if (least > cap) return { kept, low: 0, high: 0 };
  return { kept, low: least > 0 ? 0 : state.low, high: state.high };
}

/** The filters in order, if the others weigh `total` after top-k. */
function filter(state, kept, total, settings) {
  const afterP = topP(state.weights, kept, total, state.cap, settings.top_p);
  const left = minP(state.weights, afterP, settings.min_p, state.cap);
  const mass = state.weights.slice(0, left.kept).reduce((sum, w) => sum + w, 0);
  return { ...left, mass, after: [kept, afterP.kept, left.kept] };
}

function removal(index, { after }) {
  return ["top_k", "top_p", "min_p"].find((_, i) => index >= after[i]) ?? null;
}

function range(index, weights, light, heavy) {
  const w = weights[index];
  const inLight = index < light.kept, inHeavy = index < heavy.kept;
  const upTo = weights.slice(0, index + 1).reduce((sum, x) => sum + x, 0);
  const low = inLight && inHeavy ? w / (heavy.mass + heavy.high) : 0;
  const high = inLight ? w / (light.mass + light.low) : inHeavy ? w / upTo : 0;
  return { low: Math.min(low, high), high, removedBy: inLight || inHeavy ? null : removal(index, light) };
}

/** The token that `draw` falls on when the kept lie in order of their ids, as in the server. */
function drawn(candidates, rows, draw) {
  const kept = candidates.map((c, i) => ({ id: c.token_id, share: rows[i].high })).filter((c) => c.share > 0);
  let end = 0;
  kept.sort((a, b) => a.id - b.id);
  return (kept.find((c) => draw < (end += c.share)) ?? kept.at(-1)).id;
}

/**
 * step: of `explain`. base: {temperature (as requested), vocabulary (tokens)}. settings: {temperature, top_k, top_p, min_p}.
 * {rows: [{low, high, removedBy}], others: {low, high}, exact, chosen: token id or null where it cannot be told}
 */
export function whatIf(step, base, settings) {
  const { candidates } = step;
  if (settings.temperature === 0) {
    const rows = candidates.map((_, i) => ({ low: i ? 0 : 1, high: i ? 0 : 1, removedBy: null }));
    return { rows, others: { low: 0, high: 0 }, exact: true, chosen: candidates[0].token_id };
  }
  const state = weigh(step, base, settings.temperature), afterK = topK(state, settings.top_k);
  const light = filter(state, afterK.kept, afterK.others.low, settings);
  const heavy = filter(state, afterK.kept, afterK.others.high, settings);
  const rows = candidates.map((_, i) => range(i, state.weights, light, heavy));
  const others = { low: light.low / (light.mass + light.low), high: heavy.high / (heavy.mass + heavy.high) };
  const exact = others.high === 0 && light.kept === heavy.kept;
  return { rows, others, exact, chosen: exact && step.draw !== null ? drawn(candidates, rows, step.draw) : null };
}
