// A permalink: one request and what came of it, in the page's address behind the #, which browsers
// do not send to servers.

const MARK = "#r=", VERSION = 1, MAX_CODED = 32 << 10, MAX_BYTES = 1 << 20;

/**
 * link: {kind ("completion" or "chat"), body (of the request, without its seed), seed (its digits),
 * model, digest, numericClass, n (tokens), sum}
 */
export async function encodeLink(link) {
  const json = JSON.stringify({ v: VERSION, ...link });
  const squeezed = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(squeezed).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** null if the address is no permalink; throws an Error for a damaged one. */
export async function decodeLink(hash) {
  if (!hash.startsWith(MARK)) return null;
  if (hash.length > MAX_CODED) throw new Error("the link is too long");
  const letters = atob(hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const link = JSON.parse(await readAll(stream));
  if (link.v !== VERSION || !["chat", "completion"].includes(link.kind) || !link.body)
    throw new Error("the link is of another release");
  return link;
}

async function readAll(stream) {
  const decoder = new TextDecoder(), reader = stream.getReader();
  let text = "", n = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if ((n += value.length) > MAX_BYTES) throw new Error("the link holds too much");
    text += decoder.decode(value, { stream: true });
  }
}

/** 53 bits of a list of token ids (or of a text): FNV-like mixing, to compare answers. */
export function sumOf(values) {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (const value of values) {
    const code = typeof value === "number" ? value : value.codePointAt(0);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(16);
}

/** Whether the answer {n, sum} is the link's, served by {digest, numericClass}; and why not. */
export function verdict(link, answer, served) {
  const tokens = `${answer.n} token${answer.n === 1 ? "" : "s"}`;
  if (answer.sum === link.sum && answer.n === link.n)
    return { same: true, text: `Reproduced: the same ${tokens}, bit for bit.` };
  const why = answer.n < link.n && answer.isStopped ? "you stopped it"
    : link.digest !== served.digest
      ? `the link is of ${link.model} with other weights (${short(link.digest)}, here ` +
        `${short(served.digest)})`
      : link.numericClass !== served.numericClass
        ? `the workers are of another numeric class (${link.numericClass}, here ` +
          `${served.numericClass}), which rounds differently`
        : answer.classChanged ? "workers of two numeric classes made it"
          : "weights and numeric class are the same, so the request was not the same";
  return { same: false, text: `Not the same answer: ${why}.` };
}

function short(digest) {
  return digest ? digest.slice(0, 12) : "unknown";
}
