// Server-sent events from a body that arrives in chunks (the HTML standard, section 9.2.6).

/** Yields {name, data}, without an event that the stream's end cuts short, as the standard says. */
export async function* events(body) {
  let name = "message", data = [];
  for await (const line of lines(body)) {
    if (line === "") {
      if (data.length) yield { name, data: data.join("\n") };
      name = "message";
      data = [];
    } else if (line[0] !== ":") {
      const [field, value] = split(line);
      if (field === "event") name = value;
      else if (field === "data") data.push(value);
    }
  }
}

function split(line) {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  const from = line[colon + 1] === " " ? colon + 2 : colon + 1;
  return [line.slice(0, colon), line.slice(from)];
}

async function* lines(body) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const whole = rest.split(/\r\n|\n|\r(?=[^])/); // a last \r may be half of \r\n
    rest = whole.pop();
    yield* whole;
  }
}
