// A chat's settings, in a dialog: the system's words, sampling, a form for the answer, tools.

import { $ } from "./dom.js";
import { Form } from "./form.js";

const SCHEMA = { type: "object", additionalProperties: false,
  properties: { answer: { type: "string", maxLength: 80 }, confidence: { enum: ["low", "high"] } },
  required: ["answer", "confidence"] };
const TOOLS = [{ type: "function", function: { name: "get_weather",
  description: "The weather of a city", parameters: { type: "object",
    properties: { city: { type: "string" } }, required: ["city"] } } }];
const EXAMPLES = { json_schema: SCHEMA, tools: TOOLS };

export class ChatSettings {
  /** onChange(settings) when the reader has changed them. */
  constructor(onChange) {
    this.form = new Form($("settings-form"), "chat-");
    this.dialog = $("settings");
    $("settings-open").addEventListener("click", () => this.open());
    this.dialog.addEventListener("close", () => onChange(this.form.save()));
    for (const button of this.dialog.querySelectorAll("[data-example]"))
      button.addEventListener("click", () => this.fillIn(button.dataset.example));
    for (const input of this.dialog.querySelectorAll("[data-kind=json]"))
      input.addEventListener("input", () => checkJson(input));
  }

  /** The model's own sampling is where the knobs begin. */
  setModel({ sampling_defaults: own, reasoning, context_length: context }) {
    for (const name of ["temperature", "top_k", "top_p"]) {
      const value = own?.[name];
      if (typeof value === "number") this.form.field(name).dataset.first =
        String(Number(value.toPrecision(6)));
    }
    this.form.field("max_tokens").placeholder = context;
    $("thinking-row").hidden = !reasoning;
  }

  load(settings) {
    this.form.load(settings);
  }

  open() {
    this.dialog.showModal();
  }

  /** Opens at the field that an error is about. */
  reveal(name) {
    this.open();
    this.form.reveal(name);
  }

  fillIn(name) {
    const field = this.form.field(name);
    field.value = JSON.stringify(EXAMPLES[name], null, 2);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  }

  /** {system, body, seed}; throws an ApiError that names the field. */
  read() {
    const { body: { system, ...body }, seed } = this.form.read();
    return { system: system ?? "", body, seed };
  }
}

function checkJson(input) {
  let said = "";
  try {
    if (input.value.trim()) JSON.parse(input.value);
  } catch (error) {
    said = error.message;
  }
  input.setAttribute("aria-invalid", String(Boolean(said)));
  $(`${input.id}-said`).textContent = said;
}
