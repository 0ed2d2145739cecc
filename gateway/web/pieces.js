// An answer as pieces: each token's own text, the step that explains it, and the part of the answer
// ("text", "reasoning" or "call") that it belongs to.

/**
 * Gives the steps that wait the text they made: each its own, the last one the rest. A step without
 * text in the answer (an end-of-text token, a marker, half a character) gets "".
 */
export function attribute(steps, text, part = "text") {
  if (!steps.length) return text ? [{ text, step: null, part }] : [];
  return steps.map((step, i) => {
    const isLast = i === steps.length - 1;
    const own = isLast ? text : text.startsWith(step.text) ? step.text : "";
    text = text.slice(own.length);
    return { text: own, step, part };
  });
}

export function textOf(pieces, part) {
  return pieces.filter((piece) => piece.part === part).map(({ text }) => text).join("");
}

/** The pieces of one part with their places in its text: [{piece, start, end}], none empty. */
export function placed(pieces, part) {
  let end = 0;
  return pieces.filter((piece) => piece.part === part && piece.text).map((piece) => {
    const start = end;
    end += piece.text.length;
    return { piece, start, end };
  });
}

/** The step that was the least likely to come; undefined without steps. */
export function mostSurprising(steps) {
  return steps.reduce((least, step) => (!least || step.prob < least.prob ? step : least),
    undefined);
}

/** Whether a schema, a pattern or a forced call had a say: a candidate was not allowed. */
export function isConstrained(step) {
  return step.candidates.some(({ removed_by: by }) => by === "schema" || by === "grammar");
}

/** The pieces before a step, and the chosen candidate in its place: where a fork begins. */
export function forkAt(pieces, step, candidate) {
  const at = pieces.findIndex((piece) => piece.step === step);
  const { part } = pieces[at];
  const own = { ...step, ...candidate, candidates: step.candidates, isForked: true,
    rank: step.candidates.indexOf(candidate) + 1, reason: "You chose this token." };
  return [...pieces.slice(0, at), { text: candidate.text, step: own, part }];
}

/** Tokens of the last second, to tell a rate while they arrive. Times are in milliseconds. */
export class Rate {
  times = [];

  add(now) {
    this.times.push(now);
  }

  perSecond(now) {
    while (this.times.length && this.times[0] < now - 1000) this.times.shift();
    const [first] = this.times, span = now - first;
    return span > 50 ? (this.times.length * 1000) / span : 0;
  }
}
