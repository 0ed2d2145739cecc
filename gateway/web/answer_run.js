// An answer on its way: what the chunks of OpenAI's stream add to its node, and its figures.

import { seconds } from "./dom.js";
import { Rate, attribute } from "./pieces.js";
import { mergeCalls } from "./tool_calls.js";

export const PATH = "v1/chat/completions";
/** Fields of every request, beside those of the chat's settings. */
export const STREAM = { stream: true,
  stream_options: { include_usage: true, continuous_usage_stats: true } };

export class AnswerRun {
  /** node: of the conversation; pieces: of its answer, a list that grows. now: in milliseconds. */
  constructor(node, pieces, contextLength, now) {
    Object.assign(this, { node, pieces, contextLength, began: now, n: 0, waiting: [],
      abort: new AbortController(), rate: new Rate() });
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  /** One chunk. Whether it changes what is shown. */
  take({ choices: [choice], usage, timings }, now) {
    Object.assign(this, { usage: usage ?? this.usage, timings: timings ?? this.timings });
    if (!choice) return false;
    const { delta, steps = [], finish_reason: reason } = choice, { node } = this;
    this.reason = reason ?? this.reason;
    this.waiting.push(...steps);
    this.count(steps.length || (delta.content || delta.reasoning_content ? 1 : 0), now);
    if (delta.reasoning_content) {
      node.reasoning = (node.reasoning ?? "") + delta.reasoning_content;
      this.write(delta.reasoning_content, "reasoning");
    }
    if (delta.content) {
      if (node.reasoning) node.reasoningS ??= (now - this.began) / 1e3;
      node.text += delta.content;
      this.write(delta.content, "text");
    }
    if (delta.tool_calls) node.calls = mergeCalls(node.calls ?? [], delta.tool_calls);
    node.stats = this.stats(now);
    return true;
  }

  count(n, now) {
    if (n) this.firstS ??= (now - this.began) / 1e3;
    for (let i = 0; i < n; i++) this.rate.add(now);
    this.n += n;
  }

  write(text, part) {
    this.pieces.push(...attribute(this.waiting.splice(0), text, part));
  }

  /** The answer is over; isStopped: by its reader. The steps left wrote a call, or nothing. */
  finish(now, isStopped) {
    const { node } = this, rest = this.waiting.splice(0);
    this.pieces.push(...rest.map((step) => ({ step, text: "", part: "call" })));
    node.isOver = true;
    node.calls = node.calls?.filter(Boolean);
    node.stats = (isStopped ? "Stopped by you · " : "") + this.stats(now);
  }

  get isEmpty() {
    const { node } = this;
    return !node.text && !node.reasoning && !node.calls?.length && !this.pieces.length;
  }

  stats(now) {
    const { usage, firstS, timings, reason, n } = this;
    const perSecond = timings?.predicted_per_second ?? this.rate.perSecond(now);
    const number = (value) => value.toLocaleString("en");
    return [
      firstS ? `first token after ${seconds(firstS)}` : "",
      `${n} token${n === 1 ? "" : "s"}`,
      perSecond && n > 1 ? `${number(Math.round(perSecond))} tokens/s` : "",
      usage
        ? `${number(usage.total_tokens)} of ${number(this.contextLength)} tokens of context` : "",
      timings?.migrations
        ? `continued by another worker after ${seconds(timings.migration_gap_s)}` : "",
      reason === "length" ? "cut off at the most tokens" : "",
      reason ? `seed ${this.node.request.seed}` : "",
    ].filter(Boolean).join(" · ");
  }
}
