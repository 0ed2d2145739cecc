// What Markdown becomes, written as an outline; and that every leaf stands where it says.
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseBlocks } from "../../../../gateway/web/markdown_blocks.js";
import { safeAddress } from "../../../../gateway/web/markdown_inline.js";

const inline = (nodes) => nodes.map((node) => {
  if (node.type === "text") return node.value;
  if (node.type === "break") return "/";
  if (node.type === "code") return `code(${node.value})`;
  const name = node.type === "link" ? `link ${node.href}` : node.type;
  return `${name}(${inline(node.children)})`;
}).join("");

const outline = (blocks) => blocks.map((block) => {
  if (block.type === "rule") return "rule";
  if (block.type === "code")
    return `code ${block.language}${block.isClosed ? "" : " open"}[${
      block.lines.map(({ text }) => text).join("/")}]`;
  if (block.type === "quote") return `quote[${outline(block.children)}]`;
  if (block.type === "table")
    return `table ${block.align.join()}[${[block.head, ...block.rows].map((row) =>
      row.map(inline).join("|")).join(" / ")}]`;
  if (block.type === "list")
    return `list${block.start ?? ""}[${block.items.map((item) =>
      `${item.isDone === null ? "" : item.isDone ? "x " : "o "}${outline(item.children)}`)
      .join(" / ")}]`;
  return `${block.type === "heading" ? `h${block.level}` : "p"}(${inline(block.children)})`;
}).join(" ");

const CASES = {
  "plain words": "p(plain words)",
  "a\nb\n\nc": "p(a/b) p(c)",
  "# One\n###### six ##\n#no": "h1(One) h6(six) p(#no)",
  "a *b* **c** ***d*** ~~e~~ `f`": "p(a em(b) strong(c) em(strong(d)) del(e) code(f))",
  "**bold *and* more**": "p(strong(bold em(and) more))",
  "*a **b** c*": "p(em(a strong(b) c))",
  "2 * 3 * 4, snake_case_name, _it_": "p(2 * 3 * 4, snake_case_name, em(it))",
  "**open and *never closed": "p(**open and *never closed)",
  "\\*not\\* \\q": "p(*not* \\q)",
  "`` a`b `` and ` open": "p(code( a`b ) and ` open)",
  "[a *b*](https://x.example/q?a=(1)) https://y.example/z.":
    "p(link https://x.example/q?a=(1)(a em(b)) link https://y.example/z(https://y.example/z).)",
  "[x](javascript:alert(1)) [y](/local) <script>alert(1)</script>":
    "p(x y <script>alert(1)</script>)",
  "![a picture](https://x.example/p.png)": "p(link https://x.example/p.png(a picture))",
  "<https://x.example> <b>": "p(link https://x.example(https://x.example) <b>)",
  "```js\nlet a = `1`;\n# no\n```\nafter": "code js[let a = `1`;/# no] p(after)",
  "~~~\na\n```\n~~~": "code [a/```]",
  "```py\nx = 1": "code py open[x = 1]",
  "- a\n- b\n  - c\n    more\n- d": "list[p(a) / p(b) list[p(c/more)] / p(d)]",
  "1. a\n2. b\n\n   c\n10. d": "list1[p(a) / p(b) p(c) / p(d)]",
  "1. a\n   ```sh\n   ls\n   ```\n2. b": "list1[p(a) code sh[ls] / p(b)]",
  "- [x] done\n- [ ] open": "list[x p(done) / o p(open)]",
  "* a\n\n* b\n\nafter": "list[p(a) / p(b)] p(after)",
  "> a\n> > b\nlazy\n\nout": "quote[p(a) quote[p(b/lazy)]] p(out)",
  "a\n\n---\n***\nb": "p(a) rule rule p(b)",
  "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 |\nend":
    "table start,center[a|b / 1|code(x|y) / 2|] p(end)",
  "a | b\n--|--:\n\\| | *c*": "table start,end[a|b / ||em(c)]",
  "no | table": "p(no | table)",
  "": "",
};

for (const [source, expected] of Object.entries(CASES))
  test(`markdown: ${JSON.stringify(source)}`, () =>
    assert.equal(outline(parseBlocks(source)), expected));

function* leaves(node) {
  if (Array.isArray(node)) for (const child of node) yield* leaves(child);
  else if (node && typeof node === "object") {
    if (typeof node.at === "number") yield node;
    for (const child of Object.values(node)) if (typeof child === "object") yield* leaves(child);
  }
}

test("every leaf stands at its place in the source", () => {
  for (const source of Object.keys(CASES))
    for (const { value, text, at } of leaves(parseBlocks(source)))
      assert.equal(source.slice(at, at + (value ?? text).length), value ?? text, source);
});

test("a text that grows changes only its end", () => {
  const source = Object.keys(CASES).join("\n\n");
  const whole = parseBlocks(source);
  for (let n = 1; n < source.length; n += 7) {
    const part = parseBlocks(source.slice(0, n));
    for (const [i, block] of part.slice(0, -1).entries())
      if (whole[i].to < n - 200) assert.deepEqual(block, whole[i]);
  }
});

test("hostile texts take time in proportion to their length", () => {
  const n = 100000; // squared it would not end
  for (const unit of ["*a ", "**", "_a_b", "`a ``b ", "[", "[a](", "![", "> ", "- ", "<", "| a\n|-",
    "\\", "~~a", "1. ", "  - a\n", "- a\n\n", "*a **b ***c ", "a | b\n", "```\n"])
    assert.ok(parseBlocks(unit.repeat(n / unit.length)).length > 0);
});

test("only addresses that a click may follow are links", () => {
  for (const good of ["https://a.example", "http://a.example/b", "mailto:a@b.example"])
    assert.equal(safeAddress(good), good);
  for (const bad of ["javascript:alert(1)", "JAVASCRIPT:1", "data:text/html,x", "/a", "vb:x", ""])
    assert.equal(safeAddress(bad), null);
});
