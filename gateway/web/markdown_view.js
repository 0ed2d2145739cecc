// Markdown's tree as elements. Texts become text nodes, never markup.

import { parseBlocks } from "./markdown_blocks.js";
import { copyButton, el } from "./dom.js";

const TURN_LEVEL = 2; // of the heading of a turn in a chat

/** One growing text in one element; blocks that did not change keep their elements. */
export class MarkdownView {
  /** cut(value, at) makes the nodes of a text that stands at `at` in the source. */
  constructor(box, cut = (value) => [value]) {
    Object.assign(this, { box, cut, shown: [] });
  }

  update(text) {
    const blocks = parseBlocks(text);
    const keys = blocks.map(({ type, from, to }) => type + text.slice(from, to));
    let same = 0;
    const isSame = (i) => this.shown[i]?.from === blocks[i].from && this.shown[i].key === keys[i];
    while (same < blocks.length - 1 && isSame(same)) same++;
    for (const { element } of this.shown.splice(same)) element.remove();
    this.level = this.shown.at(-1)?.level ?? TURN_LEVEL;
    for (let i = same; i < blocks.length; i++) {
      const element = this.block(blocks[i]);
      this.shown.push({ key: keys[i], from: blocks[i].from, element, level: this.level });
      this.box.append(element);
    }
  }

  clear() {
    this.shown = [];
    this.box.replaceChildren();
  }

  blocks(list) {
    return list.map((block) => this.block(block));
  }

  block(block) {
    if (block.type === "code") return this.code(block);
    if (block.type === "rule") return el("hr");
    if (block.type === "list") return this.list(block);
    if (block.type === "table") return this.table(block);
    if (block.type === "quote") return el("blockquote", {}, ...this.blocks(block.children));
    if (block.type === "heading") return this.heading(block);
    return el("p", { dir: "auto" }, ...this.inline(block.children));
  }

  /** It looks as its author wrote it, and skips no level of the page's outline. */
  heading({ level, children }) {
    this.level = Math.min(level + TURN_LEVEL, this.level + 1, 6);
    return el(`h${this.level}`, { class: `level-${level}`, dir: "auto" }, ...this.inline(children));
  }

  code({ language, lines }) {
    const text = lines.map((line) => line.text).join("\n");
    const name = language || "text";
    const parts = lines.flatMap((line, i) =>
      [...(i ? ["\n"] : []), ...this.cut(line.text, line.at)]);
    return el("figure", { class: "code" },
      el("figcaption", {}, el("span", {}, name), copyButton("Copy", () => text)),
      el("pre", { tabindex: 0, dir: "ltr", role: "region", "aria-label": `Code, ${name}` },
        el("code", {}, ...parts)));
  }

  list({ start, items }) {
    const attributes = start === null || start === 1 ? {} : { start };
    return el(start === null ? "ul" : "ol", { dir: "auto", ...attributes },
      ...items.map((item) => this.item(item)));
  }

  item({ isDone, children }) {
    const box = isDone === null ? null : el("input", { type: "checkbox", disabled: true,
      checked: isDone, "aria-label": isDone ? "done" : "to do" });
    const [first, ...others] = children;
    const words = first?.type === "paragraph"
      ? [...this.inline(first.children), ...this.blocks(others)] : this.blocks(children);
    return el("li", {}, box, ...words);
  }

  table({ align, head, rows }) {
    const cell = (tag) => (children, i) =>
      el(tag, { class: align[i], scope: tag === "th" ? "col" : null, dir: "auto" },
        ...this.inline(children));
    return el("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head.map(cell("th")))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell("td")))))));
  }

  inline(nodes) {
    return nodes.flatMap((node) => this.node(node));
  }

  node(node) {
    if (node.type === "text") return this.cut(node.value, node.at);
    if (node.type === "break") return ["\n"];
    if (node.type === "code") return [el("code", {}, ...this.cut(node.value, node.at))];
    const children = this.inline(node.children);
    if (node.type !== "link") return [el(node.type, {}, ...children)];
    return [el("a", { href: node.href, target: "_blank", rel: "noopener noreferrer nofollow" },
      ...children)];
  }
}
