// Markdown within a block: emphasis, code, links, as a tree whose leaves know their places.
//
// A leaf {type: "text", value, at} stands at `at` in the source, character by character, so that a
// view can tell which token wrote it. Nothing here makes markup: the tree is data.

const MAX_DEPTH = 16;
const LINK = /^\[((?:\\.|[^[\]\\])*)\]\(\s*<?((?:[^\s()<>]|\([^\s()]*\))*)>?(?:\s+"[^"]*")?\s*\)/;
const ADDRESS = /^(?:https?:\/\/)[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}*_~]/;
const ESCAPED = /^\\[!-/:-@[-`{-~]/;
const STOPS = /[\\`*_~[!<h\n]/g;

/** lines: [{text, at}], which a line break separates. */
export function parseInline(lines) {
  const text = lines.map((line) => line.text).join("\n"), starts = [];
  let end = 0;
  for (const line of lines) {
    starts.push(end);
    end += line.text.length + 1;
  }
  return new Reader(text, lines, starts).read(0, text.length, 0);
}

/** Only addresses that a click may follow; null for others, such as javascript: and relative. */
export function safeAddress(href) {
  return /^(https?:\/\/|mailto:)/i.test(href) ? href : null;
}

class Reader {
  constructor(text, lines, starts) {
    Object.assign(this, { text, lines, starts, unclosed: new Map() });
  }

  /** The place in the source of a place in the joined lines. */
  sourceAt(i) {
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= i) low = middle;
      else high = middle - 1;
    }
    return this.lines[low].at + i - this.starts[low];
  }

  leaf(type, from, to) {
    return { type, value: this.text.slice(from, to), at: this.sourceAt(from) };
  }

  read(from, to, depth) {
    const nodes = [];
    let plain = from, i = from;
    const flush = (until) => {
      if (until > plain) nodes.push(this.leaf("text", plain, until));
    };
    while (i < to) {
      STOPS.lastIndex = i;
      const stop = STOPS.exec(this.text);
      if (!stop || stop.index >= to) break;
      i = stop.index;
      const found = this.at(i, to, depth);
      if (found) {
        flush(i);
        nodes.push(...found.nodes);
        plain = i = found.end;
      } else {
        i++;
      }
    }
    flush(to);
    return nodes;
  }

  at(i, to, depth) {
    const c = this.text[i];
    if (c === "\n") return { nodes: [{ type: "break" }], end: i + 1 };
    if (c === "\\") return this.escape(i, to);
    if (c === "`") return this.code(i, to);
    if (depth >= MAX_DEPTH) return null;
    if (c === "[" || c === "!") return this.link(i, to, depth);
    if (c === "<") return this.angled(i, to);
    if (c === "h") return this.address(i, to);
    return this.emphasis(i, to, depth);
  }

  escape(i, to) {
    if (i + 2 > to || !ESCAPED.test(this.text.slice(i, i + 2))) return null;
    return { nodes: [this.leaf("text", i + 1, i + 2)], end: i + 2 };
  }

  code(i, to) {
    const [ticks] = /^`+/.exec(this.text.slice(i, to)), n = ticks.length;
    const key = `\`${n}`;
    if (this.unclosed.get(key) <= i) return { nodes: [this.leaf("text", i, i + n)], end: i + n };
    for (let at = i + n; (at = this.text.indexOf("`", at)) >= 0 && at < to;) {
      const [run] = /^`+/.exec(this.text.slice(at, at + n + 1));
      if (run.length === n && this.text[at + n] !== "`")
        return { nodes: [this.leaf("code", i + n, at)], end: at + n };
      while (this.text[at] === "`") at++;
    }
    if (to === this.text.length) this.unclosed.set(key, i);
    return { nodes: [this.leaf("text", i, i + n)], end: i + n };
  }

  link(i, to, depth) {
    const isImage = this.text[i] === "!", begin = isImage ? i + 1 : i;
    if (this.text[begin] !== "[") return null;
    const found = LINK.exec(this.text.slice(begin, Math.min(to, begin + 2048)));
    if (!found) return null;
    const inner = this.read(begin + 1, begin + 1 + found[1].length, depth + 1);
    const href = safeAddress(found[2]), end = begin + found[0].length;
    return { nodes: href ? [{ type: "link", href, children: inner }] : inner, end };
  }

  angled(i, to) {
    const end = this.text.indexOf(">", i);
    if (end < 0 || end >= to) return null;
    const href = this.text.slice(i + 1, end);
    if (!safeAddress(href) || /\s/.test(href)) return null;
    return { nodes: [{ type: "link", href, children: [this.leaf("text", i + 1, end)] }],
      end: end + 1 };
  }

  address(i, to) {
    if (i > 0 && /\w/.test(this.text[i - 1])) return null;
    const found = ADDRESS.exec(this.text.slice(i, Math.min(to, i + 2048)));
    if (!found) return null;
    const end = i + found[0].length;
    return { nodes: [{ type: "link", href: found[0], children: [this.leaf("text", i, end)] }],
      end };
  }

  emphasis(i, to, depth) {
    const c = this.text[i];
    let n = 1;
    while (i + n < to && this.text[i + n] === c) n++;
    if (c === "~" ? n !== 2 : n > 3) return null;
    for (let size = n; size > (c === "~" ? 1 : 0) && this.opens(i, n); size--) {
      const close = this.closer(i + n, to, c, size);
      if (close >= 0) return this.emphasised(i + n - size, close, size, c, depth, i);
    }
    return { nodes: [this.leaf("text", i, i + n)], end: i + n };
  }

  emphasised(open, close, size, c, depth, from) {
    const children = this.read(open + size, close, depth + 1);
    const before = open > from ? [this.leaf("text", from, open)] : [];
    const strong = (inside) => ({ type: "strong", children: inside });
    const node = c === "~" ? { type: "del", children } : size === 2 ? strong(children)
      : size === 3 ? { type: "em", children: [strong(children)] } : { type: "em", children };
    return { nodes: [...before, node], end: close + size };
  }

  opens(i, n) {
    const after = this.text[i + n], before = this.text[i - 1];
    if (after === undefined || /\s/.test(after)) return false;
    return this.text[i] !== "_" || before === undefined || !/[\p{L}\p{N}]/u.test(before);
  }

  /** The place of a run of `size` or more that ends the emphasis, -1 if there is none. */
  closer(from, to, c, size) {
    const key = `${c}${size}`;
    if (to === this.text.length && this.unclosed.get(key) <= from) return -1;
    for (let at = from; at < to; at++) {
      if (this.text[at] === "\\") at++;
      else if (this.text[at] === "`") at = Math.max(this.code(at, to).end - 1, at);
      else if (this.text[at] === c) {
        let n = 1;
        while (at + n < to && this.text[at + n] === c) n++;
        if (this.closes(at, n, c) && (size === 1 ? n !== 2 : n >= size)) return at + n - size;
        at += n - 1;
      }
    }
    if (to === this.text.length) this.unclosed.set(key, from);
    return -1;
  }

  closes(at, n, c) {
    const before = this.text[at - 1], after = this.text[at + n];
    if (before === undefined || /\s/.test(before)) return false;
    return c !== "_" || after === undefined || !/[\p{L}\p{N}]/u.test(after);
  }
}
