// What the gateway serves: its model, as a card, and what makes an answer reproducible here.

import { $, el } from "./dom.js";
import { get } from "./api.js";

const NO_MODEL = { id: "", vocab_size: 0, context_length: 0, chat_template: "none" };

export class Model {
  info = NO_MODEL;
  workers = [];

  get isLoaded() {
    return this.info.id !== "";
  }

  get canChat() {
    return ![null, "none"].includes(this.info.chat_template);
  }

  /** {digest, numericClass}: of the weights, and of the workers; "" where they differ. */
  get served() {
    const one = (key) => {
      const all = new Set(this.workers.map((worker) => worker[key]));
      return all.size === 1 ? [...all][0] : "";
    };
    return { digest: one("fingerprint"), numericClass: one("numeric_class") };
  }

  async load() {
    [this.info] = (await get("v1/models")).data;
    const { info } = this;
    $("model").replaceChildren(el("b", {}, info.id),
      el("span", {}, ` ${countOf(info.parameters)}${info.dtype ?? ""}`));
    $("model").hidden = false;
  }

  /** The workers as GET /workers has them, whenever they are asked for. */
  setWorkers(workers) {
    this.workers = workers;
  }

  showCard() {
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
    $("card").showModal();
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
