// The filters of the sampling pipeline in the order in which they run: all that the page knows of
// them. A test compares the list with the server's.
//
// A row has the filter's name in the API, the value that switches it off, the form's own first
// value, and the attributes of its number and its slider. `keep` is the filter for "what if": it
// gets the scenario of whatif.js and the value, and returns what changes of the scenario; with
// `isUnknown` what is left cannot be told. A filter with `isFixed` has no slider there: it stays as
// the request had it.

export const FILTERS = [
  { id: "top_n_sigma", off: 0, first: 0, number: { min: 0, step: "any" },
    slider: { min: 0, max: 4, step: 0.1 }, isFixed: true, keep: topNSigma },
  { id: "top_k", off: 0, first: 20, number: { min: 0, step: 1 },
    slider: { min: 0, max: 100, step: 1 }, keep: topK },
  { id: "typical_p", off: 1, first: 1, number: { min: 0, max: 1, step: "any" },
    slider: { min: 0.01, max: 1, step: 0.01 }, keep: typicalP },
  { id: "top_p", off: 1, first: 0.95, number: { min: 0, max: 1, step: "any" },
    slider: { min: 0.01, max: 1, step: 0.01 }, keep: topP },
  { id: "min_p", off: 0, first: 0, number: { min: 0, max: 1, step: "any" },
    slider: { min: 0, max: 0.5, step: 0.01 }, keep: minP },
];

/** {id: the value that switches it off} of every filter. */
export const OFF = Object.fromEntries(FILTERS.map(({ id, off }) => [id, off]));

/** "top-k" of "top_k" */
export function nameOf(id) {
  return id.replaceAll("_", "-");
}

export function isOff({ off }, value) {
  return off > 0 ? value >= off : value <= off;
}

/**
 * As many of the highest as in the step: the deviation of all logits is not known, but no
 * temperature changes what it leaves. A greedy step ran without it.
 */
function topNSigma(scenario) {
  const { strategy, kept } = scenario.step;
  return strategy === "greedy" ? { isUnknown: true } : topK(scenario, kept.after_top_n_sigma);
}

/** The k highest and those that equal the last of them. */
function topK({ weights, kept, n, total, cap, heavy }, k) {
  const listed = weights.filter((_, i) => kept[i]), more = k - listed.length;
  if (more >= n) return {};
  const left = kept.map((is, i) => is && weights[i] >= listed[Math.min(k, listed.length) - 1]);
  if (more <= 0) return { kept: left, n: 0, total: 0 };
  return { n: more, total: heavy ? Math.min(total, more * cap) : (more / n) * total };
}

/** Those closest to the mean logarithm, by probability, that hold p of the whole; ties too. */
function typicalP({ weights, kept, total }, p) {
  if (total > 0) return { isUnknown: true };
  const mass = (is) => weights.reduce((sum, w, i) => sum + (is(i) ? w : 0), 0);
  const whole = mass((i) => kept[i]);
  const logs = weights.map((w) => (w > 0 ? Math.log(w) : -Number.MAX_VALUE));
  const mean = weights.reduce((sum, w, i) => sum + (kept[i] && w > 0 ? w * logs[i] : 0), 0) / whole;
  const distances = logs.map((log) => Math.abs(log - mean));
  const reaches = (border) => mass((i) => kept[i] && distances[i] <= border) >= p * whole;
  const border = [...distances].sort((a, b) => a - b).find(reaches) ?? Infinity;
  return { kept: kept.map((is, i) => is && distances[i] <= border) };
}

/** The shortest beginning of the ranking that holds p of the whole. */
function topP({ weights, kept, total, cap, heavy }, p) {
  const wanted = p * weights.reduce((sum, w, i) => sum + (kept[i] ? w : 0), total);
  let mass = 0;
  const left = kept.map((is, i) => {
    const isLeft = is && mass < wanted;
    mass += isLeft ? weights[i] : 0;
    return isLeft;
  });
  if (mass >= wanted) return { kept: left, total: 0 };
  return { total: Math.min(wanted - mass + (heavy ? cap : 0), total) };
}

/** Those that have at least p of the highest weight. */
function minP({ weights, kept, total, cap, heavy }, p) {
  const least = p * (weights.find((_, i) => kept[i]) ?? 0);
  const left = kept.map((is, i) => is && weights[i] >= least);
  return { kept: left, total: heavy && least <= cap ? total : 0 };
}
