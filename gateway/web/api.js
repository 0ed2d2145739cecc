// The gateway's API. Addresses are relative to the page, so that it works behind a path of a proxy.

import { events } from "./sse.js";

let key = ""; // in memory only: gone with the page

export function setKey(text) {
  key = text.trim();
}

/** The error that the server reported, or the reason why no answer came. */
export class ApiError extends Error {
  constructor(status, error, retryAfter = null) {
    super(error.message);
    const { code, param } = error;
    Object.assign(this, { status, retryAfter, code: code ?? null, param: param ?? null });
  }
}

async function refusal(response) {
  let error = { message: `the server answered ${response.status} ${response.statusText}` };
  try {
    error = (await response.json()).error ?? error;
  } catch {
    // not ours: a proxy's page, perhaps
  }
  return new ApiError(response.status, error, response.headers.get("Retry-After"));
}

async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (cause) {
    if (cause.name === "AbortError") throw cause;
    throw new ApiError(0, { message: "the gateway cannot be reached", code: "unreachable" });
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", body: JSON.stringify(body), headers, signal }))
    .json();
}

/**
 * Posts JSON text and yields what read({name, data}, status) makes of each event; "end" of it ends
 * the stream well. Throws ApiError for a refusal, an error event, and a stream that breaks off.
 */
async function* stream(path, body, signal, read) {
  const headers = { "Content-Type": "application/json" };
  const response = await request(path, { method: "POST", body, signal, headers });
  let ended = false;
  try {
    for await (const event of events(response.body)) {
      const value = read(event, response.status);
      ended ||= value.isEnd;
      if (value.data !== undefined) yield value;
    }
  } catch (cause) {
    if (cause instanceof ApiError || cause.name === "AbortError") throw cause;
    const message = `the stream broke off: ${cause.message}`;
    throw new ApiError(0, { message, code: "connection_lost" });
  }
  const message = "the stream ended without its last event";
  if (!ended) throw new ApiError(0, { message, code: "connection_lost" });
}

/** Continues a text: {name, data}; data is text for "token", else an object. body is JSON text. */
export function generate(body, signal) {
  return stream("generate/stream", body, signal, ({ name, data }, status) => {
    const value = name === "token" ? data : JSON.parse(data);
    if (name === "error") throw new ApiError(status, value.error);
    if (name === "token_json") return { name: "token", data: value.text };
    return { name, data: value, isEnd: name === "summary" };
  });
}

/** Answers a conversation: {data} with each chunk of OpenAI's stream. body is JSON text. */
export function chat(body, signal) {
  return stream("v1/chat/completions", body, signal, ({ data }, status) => {
    if (data === "[DONE]") return { isEnd: true };
    const value = JSON.parse(data);
    if (value.error) throw new ApiError(status, value.error);
    return { data: value };
  });
}

/** Follows a stream of GET: {name, data} of each event, until it ends or `signal` aborts. */
export async function* follow(path, signal) {
  const response = await request(path, { signal });
  for await (const { name, data } of events(response.body)) yield { name, data: JSON.parse(data) };
}
