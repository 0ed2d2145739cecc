// Where a message is written: Enter sends, Shift+Enter begins a line, text files may be dropped in.

import { $, el } from "./dom.js";

const MAX_FILE_BYTES = 256 << 10, MAX_ROWS = 10;

/** A file's text; throws an Error that says why it has none. */
async function textOf(file) {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${file.name} has more than ${MAX_FILE_BYTES >> 10} KiB`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is no text in UTF-8`);
  }
}

export class Composer {
  /** onSend(text, files) gets what was written; onStop() ends the answer. */
  constructor(onSend, onStop) {
    Object.assign(this, { onSend, files: [], isRunning: false });
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    $("message").addEventListener("keydown", (event) => this.key(event));
    $("message").addEventListener("input", () => this.fit());
    $("chat-stop").addEventListener("click", onStop);
    $("attach").addEventListener("change", () => this.take([...$("attach").files]));
    const panel = $("panel-chat");
    panel.addEventListener("dragover", (event) => {
      if (event.dataTransfer.types.includes("Files")) event.preventDefault();
      panel.classList.add("dropping");
    });
    panel.addEventListener("dragleave", () => panel.classList.remove("dropping"));
    panel.addEventListener("drop", (event) => {
      event.preventDefault();
      panel.classList.remove("dropping");
      this.take([...event.dataTransfer.files]);
    });
  }

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.send();
  }

  send() {
    const text = $("message").value.trim();
    if (this.isRunning || (!text && !this.files.length)) return;
    const files = this.files.splice(0);
    $("message").value = "";
    this.fit();
    this.drawFiles();
    this.onSend(text, files);
  }

  write(text) {
    $("message").value = text;
    this.fit();
    $("message").focus();
  }

  fit() {
    $("message").rows = Math.min($("message").value.split("\n").length, MAX_ROWS);
  }

  async take(files) {
    $("composer-said").textContent = "";
    for (const file of files) {
      try {
        this.files.push({ name: file.name, text: await textOf(file) });
      } catch (error) {
        $("composer-said").textContent = `${error.message}, so it was left out.`;
      }
    }
    $("attach").value = "";
    this.drawFiles();
  }

  drawFiles() {
    $("files").replaceChildren(...this.files.map((file) => el("li", {}, file.name,
      el("button", { type: "button", class: "quiet", "aria-label": `Leave out ${file.name}`,
        onclick: () => this.leaveOut(file) }, "×"))));
  }

  leaveOut(file) {
    this.files = this.files.filter((other) => other !== file);
    this.drawFiles();
    $("message").focus();
  }

  setRunning(isRunning) {
    this.isRunning = isRunning;
    $("send").hidden = isRunning;
    $("chat-stop").hidden = !isRunning;
    if (!isRunning && document.activeElement === document.body) $("message").focus();
  }
}
