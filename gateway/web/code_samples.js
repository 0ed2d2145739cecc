// A request as code that others can run: curl, JavaScript, Python.

const TYPE = "Content-Type: application/json";

/** A word of a shell. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** JSON as Python writes it. */
function python(value, indent = "") {
  const inner = `${indent}    `;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((v) => python(v, inner)).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const member = ([name, inside]) => `${JSON.stringify(name)}: ${python(inside, inner)}`;
  const members = Object.entries(value).map(member);
  return members.length ? `{\n${inner}${members.join(`,\n${inner}`)},\n${indent}}` : "{}";
}

/** A literal of JavaScript that holds any text. */
function template(text) {
  return `\`${text.replace(/[\\`]|\$\{/g, "\\$&")}\``;
}

/** The last member of a body, whose digits may be more than a number holds. */
function apart(json) {
  const [, seed] = /"seed":(\d+)}$/.exec(json) ?? [], { seed: _, ...body } = JSON.parse(json);
  return { body, seed };
}

function withSeed(text, seed, before, after) {
  if (seed === undefined) return text;
  return text.replace(/,?\n}$/, `,\n${before}"seed": ${seed}${after}\n}`);
}

function pretty(json) {
  const { body, seed } = apart(json);
  return withSeed(JSON.stringify(body, null, 2), seed, "  ", "");
}

function dictionary(json) {
  const { body, seed } = apart(json);
  return withSeed(python(body), seed, "    ", ",");
}

/** {language: (url, json) => code}; json is the request's body as text. */
export const SAMPLES = {
  curl: (url, json) =>
    `curl -N ${quoted(url)} -H ${quoted(TYPE)} \\\n     -d ${quoted(json)}`,
  JavaScript: (url, json) => `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: ${template(pretty(json))},
});
for await (const part of response.body.pipeThrough(new TextDecoderStream()))
  process.stdout.write(part);
`,
  Python: (url, json) => `import json
import urllib.request

body = ${dictionary(json)}
request = urllib.request.Request(
    ${JSON.stringify(url)}, json.dumps(body).encode(), {"Content-Type": "application/json"})
with urllib.request.urlopen(request) as answer:
    for line in answer:
        print(line.decode(), end="")
`,
};
