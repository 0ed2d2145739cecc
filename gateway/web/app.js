// The page: one generation at a time, from the form to the text, the reasons and the times.

import { $, el, seconds } from "./dom.js";
import { ApiError, generate, get, setKey } from "./api.js";
import { Candidates } from "./candidates.js";
import { Fleet } from "./fleet.js";
import { makeKnobs, markField, pairSliders, readForm } from "./form.js";
import { Tokens } from "./tokens.js";
import { Waterfall } from "./waterfall.js";

const waterfall = new Waterfall(), candidates = new Candidates();
const tokens = new Tokens((step) => candidates.show(step, run.request, model.vocab_size));
let model = { id: "", vocab_size: 0 };
let run = null; // {abort, request, seed, meta, n}

// Before a run

async function loadModel() {
  model = (await get("v1/models")).data[0];
  const vocabulary = `${model.vocab_size.toLocaleString("en")} tokens`;
  $("model").textContent = `${model.id} · ${vocabulary} · context ${model.context_length}`;
}

function onFleet(error) {
  if (error?.status === 401) $("key-row").hidden = false;
  if (!error && !model.id) loadModel().catch(() => {}); // start() tries again, and tells
}

// A run

async function start() {
  if (run?.abort) return;
  const { body, request, seed } = readForm();
  run = { abort: new AbortController(), request, seed, n: 0, meta: null };
  begin(request.prompt);
  try {
    if (!model.id) await loadModel(); // what-if needs the vocabulary's size
    for await (const { name, data } of generate(body, run.abort.signal)) HANDLERS[name]?.(data);
  } catch (error) {
    fail(error);
  }
  end();
}

function begin(prompt) {
  hideError();
  tokens.clear(prompt);
  candidates.clear();
  waterfall.start();
  setRunning(true);
  say("Waiting for the first token …");
}

const HANDLERS = {
  meta(meta) {
    run.meta = meta;
    waterfall.first(meta.ttft_s);
    say("Writing …");
  },
  step(step) {
    run.n++;
    tokens.addStep(step);
  },
  token(text) {
    tokens.addText(text);
  },
  summary(summary) {
    waterfall.finish(summary.timeline.stages, summary.e2el_s);
    say(...summaryOf(summary));
  },
};

function summaryOf(summary) {
  const { output_tokens: n, served_by: by } = summary, { ttft_s, prompt_tokens } = run.meta;
  const seed = run.seed || run.meta.seed;
  const again = el("button", { type: "button", class: "link",
    onclick: () => ($("seed").value = seed) }, `seed ${seed}`);
  again.title = "use this seed again";
  const workers = by.decode && by.decode !== by.prefill
    ? `${by.prefill ?? by.decode} and ${by.decode}` : by.prefill;
  return [`${n} token${n === 1 ? "" : "s"} in ${seconds(summary.e2el_s)}, ` +
    `the first after ${seconds(ttft_s)}` +
    `${summary.tpot_s ? `, then ${seconds(summary.tpot_s)} each` : ""} · ` +
    `${prompt_tokens} in the prompt` +
    `${summary.cached_tokens ? `, ${summary.cached_tokens} of them cached` : ""} · ` +
    `ended by ${summary.finish_reason} · ${workers} · `, classOf(by), " · ", again];
}

function classOf(by) {
  const changed = by.class_changed ? ", changed on the way" : "";
  const shown = el("span", { id: "numeric-class" }, `numeric class ${by.numeric_class}${changed}`);
  shown.title = by.class_changed
    ? "a worker of another class made the first tokens: the text may differ from one that a " +
      "single class makes"
    : "workers of this class give the same text for the same seed";
  return shown;
}

function fail(error) {
  if (run.meta) waterfall.stop();
  else waterfall.clear(); // refused: there is no time to show
  if (error.name === "AbortError") {
    say(`Stopped by you after ${run.n} tokens.`);
    return;
  }
  if (!(error instanceof ApiError)) console.error(error);
  say(run.meta ? `Broken off after ${run.n} tokens; the text so far is kept.`
    : "Nothing was generated.");
  showError(error);
}

function end() {
  tokens.finish();
  setRunning(false);
  run.abort = null;
}

function setRunning(running) {
  $("go").disabled = running;
  $("stop").disabled = !running;
  $("tokens").setAttribute("aria-busy", String(running));
  if (!running && document.activeElement === $("stop")) $("go").focus();
}

function stop() {
  run?.abort?.abort();
}

// Messages

function say(...parts) {
  $("status").replaceChildren(...parts);
}

function showError(error) {
  const after = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  const status = run?.meta === null ? error.status : null;
  $("error-title").textContent = [status, error.code].filter(Boolean).join(" · ") || "error";
  $("error-text").textContent = error.message + after;
  $("error").hidden = false;
  if (error.status === 401) {
    $("key-row").hidden = false;
    $("key").focus();
  }
  markField(error.param ?? null);
}

function hideError() {
  $("error").hidden = true;
  markField(null);
}

// Events

const fleet = new Fleet(onFleet);
makeKnobs();
pairSliders();
$("controls").addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});
$("stop").addEventListener("click", stop);
$("error-close").addEventListener("click", hideError);
$("key-row").addEventListener("submit", (event) => event.preventDefault());
$("key").addEventListener("input", () => setKey($("key").value));
$("key").addEventListener("change", () => fleet.refresh());
for (const radio of document.querySelectorAll("[name=colour]"))
  radio.addEventListener("change", () => tokens.colourBy(radio.value));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") stop();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
});
