// Markdown's blocks as a tree of data: headings, paragraphs, code, lists, quotes, tables, rules.
//
// It reads what models write, not all of CommonMark: no HTML, no references, no pictures (a page
// that loads nothing from other hosts has no use for them). Every line knows its place in the
// source. A text that grows changes only the blocks at its end, so a view can keep the others.

import { parseInline } from "./markdown_inline.js";

const MAX_DEPTH = 12;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])(?: {1,4}(?=\S)|[ \t]|$)/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+/;

/** [{type, from, to, ...}] of a text: `from` and `to` are the places of a block in it. */
export function parseBlocks(text) {
  const lines = [];
  let at = 0;
  for (const line of text.split("\n")) {
    lines.push({ text: line, at });
    at += line.length + 1;
  }
  return blocksOf(lines, 0);
}

function blocksOf(lines, depth) {
  const blocks = [];
  let i = 0;
  while (i < lines.length) {
    if (!lines[i].text.trim()) {
      i++;
      continue;
    }
    const { block, next } = readBlock(lines, i, depth), last = lines[next - 1];
    blocks.push({ ...block, from: lines[i].at, to: last.at + last.text.length });
    i = next;
  }
  return blocks;
}

function readBlock(lines, i, depth) {
  const { text } = lines[i];
  if (FENCE.test(text)) return readCode(lines, i);
  if (HEADING.test(text)) return readHeading(lines, i);
  if (RULE.test(text)) return { block: { type: "rule" }, next: i + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(text)) return readQuote(lines, i, depth);
  if (depth < MAX_DEPTH && ITEM.test(text)) return readList(lines, i, depth);
  if (isTable(lines, i)) return readTable(lines, i);
  return readParagraph(lines, i, depth);
}

function startsBlock({ text }) {
  return FENCE.test(text) || HEADING.test(text) || RULE.test(text) || QUOTE.test(text) ||
    ITEM.test(text);
}

/** A line without its first n characters. */
function cut({ text, at }, n) {
  return { text: text.slice(n), at: at + n };
}

function indentOf(text) {
  return text.length - text.trimStart().length;
}

function readCode(lines, i) {
  const [, fence, info] = FENCE.exec(lines[i].text), indent = indentOf(lines[i].text);
  const isEnd = ({ text }) => {
    const found = FENCE.exec(text);
    return found && found[1][0] === fence[0] && found[1].length >= fence.length && !found[2].trim();
  };
  const inside = [];
  let next = i + 1;
  while (next < lines.length && !isEnd(lines[next])) inside.push(lines[next++]);
  const isClosed = next < lines.length;
  const block = { type: "code", language: info.trim().split(/\s+/)[0], isClosed,
    lines: inside.map((line) => cut(line, Math.min(indent, indentOf(line.text)))) };
  return { block, next: isClosed ? next + 1 : next };
}

function readHeading(lines, i) {
  const { text } = lines[i], [mark, { length: level }] = HEADING.exec(text);
  const words = text.slice(mark.length).replace(/[ \t]+#+[ \t]*$/, "");
  const children = parseInline([{ text: words, at: lines[i].at + mark.length }]);
  return { block: { type: "heading", level, children }, next: i + 1 };
}

function readQuote(lines, i, depth) {
  const inside = [];
  let next = i;
  for (; next < lines.length; next++) {
    const found = QUOTE.exec(lines[next].text);
    if (found) inside.push(cut(lines[next], found[0].length));
    else if (!lines[next].text.trim() || startsBlock(lines[next])) break;
    else inside.push(lines[next]);
  }
  return { block: { type: "quote", children: blocksOf(inside, depth + 1) }, next };
}

function readList(lines, i, depth) {
  const [, , mark, number] = ITEM.exec(lines[i].text), items = [];
  const isSame = (found) => found && (found[3] !== undefined) === (number !== undefined) &&
    (number !== undefined || found[2] === mark);
  let next = i;
  while (next < lines.length) {
    const found = ITEM.exec(lines[next].text);
    if (!isSame(found) || RULE.test(lines[next].text)) break;
    const { item, next: after } = readItem(lines, next, found, depth);
    items.push(item);
    next = after;
    while (next < lines.length && !lines[next].text.trim()) next++; // blanks between items
  }
  while (next > i && !lines[next - 1].text.trim()) next--;
  const start = number === undefined ? null : Number(number);
  return { block: { type: "list", start, items }, next };
}

/** An item: its line, those indented below it, and lines that go on with its paragraph. */
function readItem(lines, i, [mark, before], depth) {
  const width = mark.length, inside = [cut(lines[i], width)];
  const least = before.length + 2;
  let next = i + 1;
  for (; next < lines.length; next++) {
    const { text } = lines[next], indent = indentOf(text);
    const isBlank = !text.trim();
    if (isBlank && !goesOn(lines, next, least)) break;
    if (!isBlank && indent < least && (startsBlock(lines[next]) || !lines[next - 1].text.trim()))
      break;
    inside.push(isBlank ? lines[next] : cut(lines[next], Math.min(indent, width)));
  }
  const task = TASK.exec(inside[0].text);
  if (task) inside[0] = cut(inside[0], task[0].length);
  const isDone = task ? task[1] !== " " : null;
  return { item: { isDone, children: blocksOf(inside, depth + 1) }, next };
}

/** Whether the next line that is not blank still belongs to an item. */
function goesOn(lines, i, least) {
  while (i < lines.length && !lines[i].text.trim()) i++;
  return i < lines.length && indentOf(lines[i].text) >= least;
}

function isTable(lines, i) {
  const below = lines[i + 1]?.text;
  return lines[i].text.includes("|") && below !== undefined && DELIMITERS.test(below) &&
    below.includes("-") && cellsOf(lines[i]).length === cellsOf(lines[i + 1]).length;
}

function cellsOf(line) {
  const cells = [], { text } = line;
  let from = indentOf(text), isCode = false;
  const end = text.trimEnd().length;
  if (text[from] === "|") from++;
  for (let i = from; i <= end; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "`") isCode = !isCode;
    else if (i === end || (text[i] === "|" && !isCode)) {
      if (i === end && !text.slice(from, i).trim() && cells.length) break;
      const raw = text.slice(from, i), blank = indentOf(raw);
      cells.push({ text: raw.trim(), at: line.at + from + (raw.trim() ? blank : 0) });
      from = i + 1;
    }
  }
  return cells;
}

function readTable(lines, i) {
  const align = cellsOf(lines[i + 1]).map(({ text }) =>
    (text.endsWith(":") ? (text.startsWith(":") ? "center" : "end") : "start"));
  const rows = [];
  let next = i;
  for (; next < lines.length && (next < i + 2 || lines[next].text.includes("|")); next++)
    if (next !== i + 1)
      rows.push(align.map((_, at) => cellsOf(lines[next])[at]).map((cell) =>
        (cell ? parseInline([cell]) : [])));
  return { block: { type: "table", align, head: rows[0], rows: rows.slice(1) }, next };
}

function readParagraph(lines, i, depth) {
  const inside = [];
  let next = i;
  do {
    inside.push(cut(lines[next], indentOf(lines[next].text)));
    next++;
  } while (next < lines.length && lines[next].text.trim() &&
           !(startsBlock(lines[next]) && depth < MAX_DEPTH) && !isTable(lines, next));
  return { block: { type: "paragraph", children: parseInline(inside) }, next };
}
