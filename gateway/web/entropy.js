// The entropy of an answer's steps as a line: where the model was sure, and where it was open.

import { el, svg } from "./dom.js";

const HEIGHT = 28, WIDTH = 1000;

export class EntropyLine {
  /** onSelect(step) when the reader clicks at a step. */
  constructor(onSelect) {
    this.path = svg("path");
    this.mark = svg("line", { y1: 0, y2: HEIGHT, class: "mark" });
    this.svg = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
      role: "img" }, this.path, this.mark);
    this.caption = el("figcaption", {});
    this.element = el("figure", { class: "entropy", hidden: true }, this.svg, this.caption);
    this.svg.addEventListener("click", (event) => {
      const box = this.svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width;
      onSelect(this.steps[Math.min(Math.floor(at * this.steps.length), this.steps.length - 1)]);
    });
  }

  show(steps) {
    this.steps = steps;
    this.element.hidden = steps.length < 2;
    this.mark.style.display = "none";
    if (steps.length < 2) return;
    const bits = steps.map((step) => step.entropy_bits);
    const top = bits.reduce((a, b) => Math.max(a, b), 1);
    const x = (i) => ((i + 0.5) / steps.length) * WIDTH;
    const y = (b) => HEIGHT - 1 - (b / top) * (HEIGHT - 3);
    const line = bits.map((b, i) => `${x(i).toFixed(1)} ${y(b).toFixed(1)}`).join("L");
    const end = `L${x(bits.length - 1).toFixed(1)} ${HEIGHT}L${x(0).toFixed(1)} ${HEIGHT}Z`;
    this.path.setAttribute("d", `M${line}${end}`);
    const mean = bits.reduce((sum, b) => sum + b, 0) / bits.length;
    const most = bits.reduce((a, b) => Math.max(a, b));
    const words = `Entropy: ${mean.toFixed(1)} bits a token, at most ${most.toFixed(1)}`;
    this.svg.setAttribute("aria-label", `${words}, over ${steps.length} tokens`);
    this.caption.textContent = words;
  }

  select(step) {
    const { steps = [] } = this, at = steps.indexOf(step);
    const x = ((at + 0.5) / (steps.length || 1)) * WIDTH;
    this.mark.style.display = at < 0 ? "none" : "";
    this.mark.setAttribute("x1", x);
    this.mark.setAttribute("x2", x);
  }
}
