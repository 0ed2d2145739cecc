// What went wrong with an answer, in the page's words, and what can be done.

import { $, el } from "./dom.js";
import { ApiError } from "./api.js";
import { wordsOf } from "./form.js";

function button(name, act) {
  return el("button", { type: "button", class: "quiet", onclick: act }, name);
}

export class ChatError {
  /** settings: the chat's. onAgain() asks again, onKey() for the API key. */
  constructor(settings, onAgain, onKey) {
    Object.assign(this, { settings, onAgain, onKey });
  }

  /** isBegun: a part of the answer had come, which is kept. */
  show(error, isBegun) {
    if (!(error instanceof ApiError)) console.error(error);
    const { form } = this.settings, param = error.param ?? null;
    const what = isBegun ? "The answer broke off; what came is kept. " : "";
    const parts = [el("b", {}, error.code ?? "error"), el("span", {}, what + wordsOf(error, form))];
    if (form.mark(param)) parts.push(button("Settings", () => this.settings.reveal(param)));
    $("chat-error").replaceChildren(...parts, button("Try again", this.onAgain));
    $("chat-error").hidden = false;
    if (error.status === 401) this.onKey();
  }

  hide() {
    $("chat-error").hidden = true;
  }
}
