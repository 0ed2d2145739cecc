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

/**
 * Generates, and yields the stream's events {name, data}: data is text for "token", else an object.
 * body is JSON text. Throws ApiError for a refusal, an error event, and a stream that breaks off.
 */
export async function* generate(body, signal) {
  const response = await request("generate/stream",
    { method: "POST", body, signal, headers: { "Content-Type": "application/json" } });
  let ended = false;
  try {
    for await (const { name, data } of events(response.body)) {
      const value = name === "token" ? data : JSON.parse(data);
      if (name === "error") throw new ApiError(response.status, value.error);
      ended ||= name === "summary";
      if (name === "token_json") yield { name: "token", data: value.text };
      else yield { name, data: value };
    }
  } catch (cause) {
    if (cause instanceof ApiError || cause.name === "AbortError") throw cause;
    const message = `the stream broke off: ${cause.message}`;
    throw new ApiError(0, { message, code: "connection_lost" });
  }
  const message = "the stream ended without a summary";
  if (!ended) throw new ApiError(0, { message, code: "connection_lost" });
}
