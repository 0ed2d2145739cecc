// The list of chats: search, rename, delete, export and import.

import { $, download, el } from "./dom.js";
import { matches, newId, readChats, titleOf } from "./conversation.js";

export class History {
  /** onOpen(chat or null for a new one); onDelete(chat) after it is gone. */
  constructor(store, onOpen, onDelete) {
    Object.assign(this, { store, onOpen, onDelete, chats: [], current: null });
    $("new-chat").addEventListener("click", () => onOpen(null));
    $("history-search").addEventListener("input", () => this.draw());
    $("export-chats").addEventListener("click", () => save("chats.json", this.chats));
    $("import-chats").addEventListener("change", () => this.import());
    $("history-toggle").addEventListener("click", () => this.toggle());
  }

  async load() {
    this.chats = await this.store.chats();
    this.draw();
  }

  toggle(isOpen = $("history-toggle").ariaExpanded !== "true") {
    $("history-toggle").setAttribute("aria-expanded", String(isOpen));
    $("history").classList.toggle("open", isOpen);
  }

  /** Shows which chat is open, which comes to the list with its first question. */
  setCurrent(chat) {
    this.current = chat;
    this.draw();
  }

  has(chat) {
    return this.chats.includes(chat);
  }

  async keep(chat) {
    if (!this.chats.includes(chat)) this.chats.unshift(chat);
    this.chats.sort((a, b) => b.updated - a.updated);
    this.draw();
    await this.store.save(chat);
  }

  draw() {
    const search = $("history-search").value.trim();
    const shown = this.chats.filter((chat) => matches(chat, search));
    $("chats").replaceChildren(...shown.map((chat) => this.row(chat)));
    $("chats-empty").hidden = shown.length > 0;
    $("chats-empty").textContent = search ? "No chat has these words."
      : this.store.isKept ? "Chats are kept in this browser only."
        : "This browser keeps no chats: they end with the page.";
    $("export-chats").disabled = !this.chats.length;
  }

  row(chat) {
    const title = titleOf(chat), isCurrent = chat === this.current;
    const open = el("button", { type: "button", class: "chat-title", dir: "auto",
      "aria-current": isCurrent ? "true" : null, onclick: () => this.onOpen(chat) }, title);
    const entry = (name, act) => el("li", {}, el("button", { type: "button", onclick: act }, name));
    const menu = el("details", { class: "menu" },
      el("summary", { "aria-label": `More of “${title}”` }, "⋯"),
      el("ul", {}, entry("Rename", () => this.rename(chat, row)),
        entry("Export", () => save("chat.json", [chat])),
        entry("Delete", () => this.delete(chat))));
    const row = el("li", {}, open, menu);
    return row;
  }

  rename(chat, row) {
    const input = el("input", { "aria-label": "Name of the chat", value: titleOf(chat) });
    const end = (keep) => {
      if (!input.isConnected) return;
      if (keep) chat.title = input.value.trim();
      this.keep(chat);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" || event.key === "Escape") end(event.key === "Enter");
    });
    input.addEventListener("blur", () => end(true));
    row.replaceChildren(input);
    input.select();
  }

  async delete(chat) {
    this.chats = this.chats.filter((other) => other !== chat);
    this.draw();
    this.onDelete(chat);
    await this.store.remove(chat);
  }

  async import() {
    const [file] = $("import-chats").files;
    if (!file) return;
    try {
      const chats = readChats(await file.text()), known = new Set(this.chats.map(({ id }) => id));
      for (const chat of chats)
        await this.keep(known.has(chat.id) ? { ...chat, id: newId() } : chat);
      this.say(`${chats.length} chat${chats.length === 1 ? "" : "s"} imported.`);
    } catch (error) {
      this.say(`${file.name} cannot be imported: ${error.message}.`);
    }
    $("import-chats").value = "";
  }

  say(text) {
    $("history-said").textContent = text;
  }
}

function save(name, chats) {
  download(name, JSON.stringify({ baton_chats: chats }, null, 1));
}
