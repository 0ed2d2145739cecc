// The fleet as a picture that moves: sessions on their workers, prompts that arrive, contexts that
// fly from prefill to decode, steps that tick.

import { HISTORY_S, sumsOf } from "./fleet_state.js";
import { layoutOf, pathBetween } from "./fleet_layout.js";
import { svg } from "./dom.js";

const MAX_DOTS = 12, MAX_BLOCKS = 8, COLOURS = 6, SEEN_S = 0.7, BYTES_A_BLOCK = 64 << 10;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class FleetPicture {
  constructor(figure) {
    this.figure = figure;
    this.boxes = new Map();
    this.flights = []; // {element, path, begin, s, offset}
    this.shape = "";
  }

  /** Draws the state; `clock` is the gateway's clock at this moment. */
  draw(state, clock) {
    this.arrange(state);
    this.gateway.update(state);
    for (const [id, box] of this.boxes) box.update(state.workers.get(id), state, clock);
    for (const move of state.takeMoves()) this.launch(move);
    this.fly();
  }

  /** Builds the picture anew when workers came or went, or the view has another width. */
  arrange(state) {
    const ids = ["prefill", "decode"].map((role) => state.workersOf(role).map(({ id }) => id));
    const width = this.figure.clientWidth;
    const shape = JSON.stringify([ids, Math.round(width / 20)]);
    if (shape === this.shape) return;
    this.shape = shape;
    this.layout = layoutOf(width, ...ids);
    const root = svg("svg", { viewBox: `0 0 ${this.layout.width} ${this.layout.height}`,
      class: `fleet-picture ${this.layout.kind}`, role: "img",
      "aria-label": "The gateway, its workers and the requests that they have" });
    this.paths = svg("g", { class: "paths" });
    this.air = svg("g");
    this.labels = svg("g");
    this.gateway = new Gateway(this.layout.gateway);
    this.boxes = new Map([...this.layout.boxes].map(([id, box]) => [id, new Box(id, box)]));
    this.connect(...ids);
    root.append(this.paths, this.gateway.root, ...[...this.boxes.values()].map((b) => b.root),
      this.air, this.labels);
    this.flights = [];
    this.figure.replaceChildren(root);
  }

  connect(prefill, decode) {
    const { gateway, boxes } = this.layout;
    const add = (kind, from, to) =>
      this.paths.append(svg("path", { class: kind, d: pathBetween(from, to) }));
    for (const id of prefill) add("to-prefill", gateway, boxes.get(id));
    for (const p of prefill) for (const d of decode) add("handoff", boxes.get(p), boxes.get(d));
  }

  // What flies

  launch({ kind, request, from, to, bytes, transfer_s }) {
    const { boxes, gateway } = this.layout;
    const target = boxes.get(to), source = kind === "prompt" ? gateway : boxes.get(from);
    if (!target || !source || source === target || STILL.matches) return;
    const n = kind === "handoff" ? Math.min(Math.ceil(bytes / BYTES_A_BLOCK), MAX_BLOCKS) : 1;
    const path = svg("path", { d: pathBetween(source, target), fill: "none" });
    this.air.append(path);
    const flight = { path, begin: performance.now(), s: Math.max(transfer_s ?? 0, SEEN_S) };
    flight.parts = Array.from({ length: n }, (_, i) => {
      const part = svg("rect", { width: 8, height: 8, rx: kind === "handoff" ? 2 : 4,
        class: `flying ${kind} hue-${hueOf(request.request)}` });
      this.air.append(part);
      return { part, lag: n > 1 ? (i / n) * 0.45 : 0 };
    });
    if (kind === "handoff") flight.label = this.label(path, bytes, transfer_s);
    this.flights.push(flight);
  }

  label(path, bytes, s) {
    const { x, y } = path.getPointAtLength(path.getTotalLength() / 2);
    const text = svg("text", { x, y: y - 10, class: "rate" }, handoffWords(bytes, s));
    this.labels.append(text);
    return text;
  }

  fly() {
    this.flights = this.flights.filter((flight) => {
      const age = (performance.now() - flight.begin) / 1000 / flight.s;
      const length = flight.path.getTotalLength();
      for (const { part, lag } of flight.parts) {
        const share = Math.min(Math.max((age - lag) / 0.55, 0), 1);
        const { x, y } = flight.path.getPointAtLength(share * length);
        part.setAttribute("transform", `translate(${x - 4} ${y - 4})`);
        part.setAttribute("opacity", share > 0 && share < 1 ? 1 : 0);
      }
      if (age < 1.6) return true;
      for (const { part } of flight.parts) part.remove();
      flight.label?.remove();
      flight.path.remove();
      return false;
    });
  }
}

/** "1.2 MB in 2.31 ms" */
function handoffWords(bytes, s) {
  const [size, unit] = bytes >= 1e6 ? [bytes / 1e6, "MB"] : [bytes / 1e3, "kB"];
  return `${size.toPrecision(3)} ${unit} in ${(s * 1e3).toPrecision(3)} ms`;
}

/** A request keeps its colour. */
export function hueOf(id) {
  return parseInt(id.slice(-4), 16) % COLOURS;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The dots of requests: as many as there is room for, and a number for the rest. */
class Dots {
  constructor(x, y, columns) {
    this.root = svg("g", { transform: `translate(${x} ${y})` });
    this.dots = Array.from({ length: Math.min(columns, MAX_DOTS) }, (_, i) =>
      svg("circle", { cx: 6 + i * 14, cy: 0, r: 5, class: "session", visibility: "hidden" }));
    this.more = svg("text", { x: this.dots.length * 14 + 2, y: 4, class: "small" });
    this.root.append(...this.dots, this.more);
  }

  update(requests) {
    this.dots.forEach((dot, i) => {
      dot.setAttribute("visibility", i < requests.length ? "visible" : "hidden");
      if (i < requests.length)
        dot.setAttribute("class", `session hue-${hueOf(requests[i].request)}`);
    });
    setText(this.more, requests.length > this.dots.length
      ? `+${requests.length - this.dots.length}` : "");
  }
}

class Gateway {
  constructor(box) {
    this.words = svg("text", { x: 14, y: 44, class: "small" });
    this.dots = new Dots(12, box.height > 80 ? 72 : 52, Math.floor((box.width - 50) / 14));
    this.root = svg("g", { class: "box gateway", transform: `translate(${box.x} ${box.y})` },
      svg("rect", { class: "frame", width: box.width, height: box.height, rx: 12 }),
      svg("text", { x: 14, y: 25, class: "name" }, "gateway"), this.words, this.dots.root);
  }

  update(state) {
    const { waiting, requests } = state;
    setText(this.words, `${requests.size} open, ${waiting.length} waiting`);
    this.dots.update(waiting);
  }
}

class Box {
  constructor(id, { x, y, width, height }) {
    this.width = width - 28;
    this.state = svg("text", { x: width - 14, y: 24, class: "small end" });
    this.dots = new Dots(13, 42, Math.floor((width - 56) / 14));
    this.used = svg("rect", { x: 14, y: 56, height: 5, rx: 2.5, class: "used" });
    this.kept = svg("rect", { x: 14, y: 56, height: 5, class: "kept" });
    this.ticks = svg("path", { class: "ticks", transform: `translate(14 ${height - 12})` });
    this.rate = svg("text", { x: width - 14, y: 78, class: "small end" });
    this.root = svg("g", { transform: `translate(${x} ${y})` },
      svg("rect", { class: "frame", width, height, rx: 12 }),
      svg("text", { x: 14, y: 24, class: "name" }, id), this.state, this.dots.root,
      svg("rect", { x: 14, y: 56, width: this.width, height: 5, rx: 2.5, class: "memory-well" }),
      this.kept, this.used, this.ticks, this.rate);
    this.title = svg("title");
    this.root.append(this.title);
  }

  update(worker, state, clock) {
    const here = state.requestsAt(worker.id);
    this.root.setAttribute("class", `box ${worker.role}`);
    this.root.setAttribute("data-state", worker.state);
    setText(this.state, worker.state === "ready" ? "" : worker.state);
    this.dots.update(worker.goneAt ? [] : here);
    this.memory(worker);
    this.tick(worker, clock);
    setText(this.title, `${worker.id}: ${worker.state}, ${here.length} requests, ` +
      `${worker.cores} cores`);
  }

  memory({ kv_blocks_total: total, kv_blocks_free: free, kv_blocks_cached: cached }) {
    const used = total ? (total - free) / total : 0;
    const kept = total ? Math.min(cached, free) / total : 0;
    this.used.setAttribute("width", used * this.width);
    this.kept.setAttribute("x", 14 + used * this.width);
    this.kept.setAttribute("width", kept * this.width);
  }

  /** A minute of tokens: a bar for each half second, the newest at the right. */
  tick({ marks, role }, clock) {
    const per = 0.5, n = HISTORY_S / per, sums = sumsOf(marks, clock, n);
    const most = Math.max(...sums, 1), step = this.width / n;
    this.ticks.setAttribute("d", sums.map((sum, i) => sum
      ? `M${(i * step).toFixed(1)},0v${(-1 - (sum / most) * 20).toFixed(1)}` : "").join(""));
    const last = sums.slice(-5, -1).reduce((a, b) => a + b, 0) / (4 * per);
    setText(this.rate, last ? `${Math.round(last).toLocaleString("en")} ` +
      `${role === "prefill" ? "prompt tok/s" : "tok/s"}` : "");
  }
}
