// What the gateway serves: its model, as a card, and what makes an answer reproducible here.

import { $, el } from "./dom.js";
import { get } from "./api.js";

const NO_MODEL = { id: "", vocab_size: 0, context_length: 0, chat_template: "none" };

export class Model {
  info = NO_MODEL;
  all = []; // that generate text, each under its first name
  workers = [];

  /** onChoose() when the reader takes another model. */
  constructor(onChoose) {
    this.onChoose = onChoose;
    $("model-pick").addEventListener("change", () => this.choose($("model-pick").value));
  }

  get isLoaded() {
    return this.info.id !== "";
  }

  get canChat() {
    return ![null, "none"].includes(this.info.chat_template);
  }

  /** {digest, numericClass}: of the weights, and of the workers; "" where they differ. */
  get served() {
    const one = (key) => {
      const own = this.workers.filter(({ model }) => this.all.length < 2 || model === this.info.id);
      const all = new Set(own.map((worker) => worker[key]));
      return all.size === 1 ? [...all][0] : "";
    };
    return { digest: one("fingerprint"), numericClass: one("numeric_class") };
  }

  /** The field that chooses among several models. */
  get named() {
    return this.all.length > 1 ? { model: this.info.id } : {};
  }

  async load() {
    const { data } = await get("v1/models");
    const isFirst = ({ id, aliases, kind, parent }) =>
      kind === "generation" && parent === null && aliases[0] === id;
    this.all = data.filter(isFirst);
    this.info = this.all[0] ?? data[0];
    $("model-pick").replaceChildren(...this.all.map(({ id }) => el("option", { value: id }, id)));
    $("model-row").hidden = this.all.length < 2;
    this.draw();
  }

  /** Takes the model of this name, if it is served. */
  choose(id) {
    const chosen = this.all.find((other) => other.id === id);
    if (!chosen || chosen === this.info) return;
    this.info = chosen;
    $("model-pick").value = id;
    this.draw();
    this.onChoose();
  }

  draw() {
    const { info } = this;
    $("model").replaceChildren(el("b", {}, info.id),
      el("span", {}, ` ${countOf(info.parameters)}${info.dtype ?? ""}`));
    $("model").hidden = false;
    this.drawCard();
  }

  /** The workers as GET /workers has them, whenever they are asked for. */
  setWorkers(workers) {
    this.workers = workers;
  }

  showCard() {
    this.drawCard();
    $("card").showModal();
  }

  drawCard() {
    const { info, served } = this, { meta = {}, sampling_defaults: defaults } = info;
    const facts = {
      Family: info.family, Parameters: info.parameters?.toLocaleString("en"),
      "Format of the files": info.quantization, "Weights in memory": info.dtype,
      Context: `${info.context_length.toLocaleString("en")} tokens` +
        (meta.n_ctx_train > info.context_length
          ? `, of ${meta.n_ctx_train.toLocaleString("en")} that the model has` : ""),
      Vocabulary: `${info.vocab_size.toLocaleString("en")} tokens`,
      "Chat template": this.canChat ? info.chat_template : "none: it continues text",
      "Calls of tools": info.tool_call_form, Reasoning: info.reasoning ? "yes" : "no",
      "Authors' sampling": authors(defaults), Digest: served.digest,
      "Numeric class": served.numericClass || "several, or no worker yet",
    };
    const rows = Object.entries(facts).filter(([, value]) => value)
      .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]);
    $("card-title").textContent = info.id;
    $("card-facts").replaceChildren(...rows);
  }
}

/** "3.9M · " of 3945984; "" if nobody knows. */
function countOf(n) {
  if (!n) return "";
  const [unit, size] = n >= 1e9 ? ["B", 1e9] : n >= 1e6 ? ["M", 1e6] : ["K", 1e3];
  return `${(n / size).toFixed(n / size < 10 ? 1 : 0)}${unit} · `;
}

function authors(defaults) {
  return Object.entries(defaults ?? {}).filter(([, value]) => typeof value === "number")
    .map(([name, value]) => `${name.replace("_", "-")} ${Number(value.toPrecision(3))}`).join(", ");
}
