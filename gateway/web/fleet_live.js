// The live view of the fleet: follows GET /events while it is in sight, draws, and tells in words.

import { $, el } from "./dom.js";
import { follow, post } from "./api.js";
import { FleetPicture } from "./fleet_picture.js";
import { FleetState, levelsOf, sumsOf } from "./fleet_state.js";

const AGAIN_MS = 1000, SHOWN_LINES = 8, POINTS = 60; // of a minute: one a second

export class FleetLive {
  constructor() {
    this.isShown = false;
    this.state = new FleetState();
    this.picture = new FleetPicture($("fleet-live"));
    document.addEventListener("visibilitychange", () => this.show(this.isShown));
    $("drain").addEventListener("submit", (event) => {
      event.preventDefault();
      this.drain($("drain-worker").value);
    });
  }

  /** Whether the view is in sight: nothing is asked for, or drawn, while it is not. */
  show(isShown) {
    this.isShown = isShown;
    const isWanted = isShown && !document.hidden;
    if (isWanted === Boolean(this.abort)) return;
    this.abort?.abort();
    this.abort = isWanted ? new AbortController() : null;
    if (isWanted) {
      this.run(this.abort.signal);
      this.frame(this.abort.signal);
    }
  }

  /** The last minute of a worker, a figure a second; null: it is not followed. */
  past(id) {
    const worker = this.abort && this.state.workers.get(id), { now } = this.state;
    if (!worker) return null;
    const levels = (key) => levelsOf(worker.samples, key, now, POINTS);
    return { running: levels("running"), queued: levels("queued"), kv: levels("kv"),
      rate: sumsOf(worker.marks, now, POINTS),
      received: sumsOf(worker.received, now, POINTS).map((bytes) => bytes / 1e6) };
  }

  async run(signal) {
    while (!signal.aborted) {
      try {
        for await (const { name, data } of follow("events", signal)) this.take(name, data);
        this.tell("The gateway has ended the stream of its events.");
      } catch (error) {
        if (signal.aborted) return;
        this.tell(wordsOf(error));
        if (error.status === 401 || error.status === 403) return;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  take(name, data) {
    this.state.apply(name, data);
    if (name === "fleet") this.tell("");
    this.ahead = this.state.now - performance.now() / 1000;
    this.isChanged = true;
  }

  /** A picture in each frame, and the words beside it when something has happened. */
  frame(signal) {
    if (signal.aborted) return;
    if (this.isChanged) this.offerDrains();
    if (this.state.now) this.picture.draw(this.state, performance.now() / 1000 + this.ahead);
    if (this.isChanged) this.words();
    this.isChanged = false;
    requestAnimationFrame(() => this.frame(signal));
  }

  words() {
    const newest = this.state.lines[0];
    if (newest === this.told) return;
    this.told = newest;
    const shown = this.state.lines.slice(0, SHOWN_LINES);
    $("fleet-lines").replaceChildren(
      ...shown.map(({ text, kind }) => el("li", { "data-kind": kind }, text)));
  }

  // What an operator may do

  offerDrains() {
    const ids = [...this.state.workers.values()].filter(({ state }) => state === "ready")
      .map(({ id }) => id).sort();
    const list = $("drain-worker");
    $("drain").hidden = !this.state.now;
    if (ids.join() === [...list.options].map(({ value }) => value).join()) return;
    const chosen = list.value;
    list.replaceChildren(...ids.map((id) => el("option", {}, id)));
    if (ids.includes(chosen)) list.value = chosen;
  }

  async drain(id) {
    try {
      await post(`workers/${encodeURIComponent(id)}/drain`);
      $("drain-said").textContent = `${id} drains: its requests move to other workers.`;
    } catch (error) {
      $("drain-said").textContent = error.message;
    }
  }

  tell(text) {
    $("fleet-words").textContent = text;
    $("fleet-words").hidden = text === "";
  }
}

function wordsOf(error) {
  if (error.status === 403)
    return "The live picture is for operators: give an admin key, or open this page on the " +
      "gateway's own host.";
  if (error.status === 401) return "The live picture needs an operator's key.";
  return `${error.message}; trying again`;
}
