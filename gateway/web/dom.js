// Elements without markup in strings: the page's policy forbids innerHTML, and so do we.

/** el("li", {class: "row", onclick: f}, "text", child, ...); null children are left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const $ = (id) => document.getElementById(id);

/** 0.5943 -> "59.4 %"; a small share keeps two significant digits. */
export function percent(share) {
  const value = share * 100;
  if (value >= 99.95) return value >= 100 ? "100 %" : `${Math.min(value, 99.999).toPrecision(5)} %`;
  if (value >= 1) return `${value.toFixed(1)} %`;
  if (value >= 0.01) return `${value.toPrecision(2)} %`;
  return value > 0 ? `${value.toExponential(0)} %` : "0 %";
}

/** 0.0000366 -> "36.6 µs", 0.00366 -> "3.66 ms", 1.5 -> "1.50 s" */
export function seconds(s) {
  if (s === null || s === undefined) return "–";
  if (s >= 1) return `${s.toFixed(2)} s`;
  const [n, unit] = s >= 1e-4 ? [s * 1e3, "ms"] : [s * 1e6, "µs"];
  return `${Number(n.toPrecision(3))} ${unit}`;
}

/** A token's text so that blanks can be seen: " two" -> "␣two", a line's end -> "↵". */
export function visible(text) {
  return text === "" ? "∅" : text.replaceAll("\n", "↵").replaceAll("\t", "⇥")
    .replace(/^ +| +$/g, (s) => "␣".repeat(s.length));
}

/** Puts a text into the clipboard, also where the page came over plain HTTP from another host. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el("textarea", { class: "off-screen" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

const TOLD_MS = 1500;

/** A button that copies what textOf() gives, and says so for a moment. */
export function copyButton(name, textOf) {
  const button = el("button", { type: "button", class: "quiet" }, name);
  button.addEventListener("click", async () => {
    await copy(textOf());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = name), TOLD_MS);
  });
  return button;
}

/** Offers a text as a file. */
export function download(name, text, type = "application/json") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

/**
 * Does `work` once in the next frame, however often it is asked for: one layout a frame. `now` does
 * it at once if it was asked for. A hidden page has no frames, so there it happens by a timer.
 */
export function eachFrame(work) {
  let isAsked = false;
  const run = () => {
    if (!isAsked) return;
    isAsked = false;
    work();
  };
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    if (document.hidden) setTimeout(run, 100);
    else requestAnimationFrame(run);
  };
  ask.now = run;
  return ask;
}
