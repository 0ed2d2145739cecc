// The view that answers a conversation. The tree is conversation.js's, the elements message.js's;
// this joins them to the gateway, to the store and to the reasons beside the text.

import { $, eachFrame } from "./dom.js";
import { AnswerRun, STREAM } from "./answer_run.js";
import { chat as ask } from "./api.js";
import { ChatError } from "./chat_error.js";
import { chatOfLink, describeAnswer, judgeAnswer, requestOfLink } from "./chat_links.js";
import { ChatSettings } from "./chat_settings.js";
import { Composer } from "./composer.js";
import { add, choose, messagesOf, newChat, path, pathTo, remove, resultsOf, versions }
  from "./conversation.js";
import { samplingOf, withSeed } from "./form.js";
import { History } from "./history.js";
import { AnswerView, questionView } from "./message.js";
import { forkAt, mostSurprising, textOf } from "./pieces.js";
import { shareMenu } from "./share.js";
import { Store } from "./store.js";

export class Chat {
  constructor(model, why, onKey) {
    Object.assign(this, { model, why, store: new Store(), run: null, chosen: null });
    this.pieces = new Map(); // of answers, by node id
    this.views = new Map(); // of answers, by node id
    this.settings = new ChatSettings((kept) => this.changed(kept));
    this.error = new ChatError(this.settings, () => this.again(), onKey);
    this.composer = new Composer((text, files) => this.send(text, files), () => this.stop());
    this.history = new History(this.store, (chat) => this.show(chat ?? newChat({})),
      (chat) => chat === this.chat && this.show(newChat({})));
    this.follow = eachFrame(() => this.isAtEnd && ($("thread").scrollTop = 1e9));
    this.isAtEnd = true;
    $("thread").addEventListener("scroll", ({ target: t }) =>
      (this.isAtEnd = t.scrollHeight - t.scrollTop - t.clientHeight < 60));
    for (const idea of document.querySelectorAll("#welcome [data-say]"))
      idea.addEventListener("click", () => this.send(idea.textContent, []));
    $("why-close").addEventListener("click", () => this.closeWhy());
    window.addEventListener("pagehide", () => this.run && this.keep());
    this.show(newChat({}));
  }

  /** Once, when the model is known. */
  async begin() {
    await this.store.open();
    await this.history.load();
  }

  // The chat that is open

  async show(chat) {
    this.stop();
    this.error.hide();
    Object.assign(this, { chat, chosen: null, isAtEnd: true });
    this.views.clear();
    this.settings.load(chat.settings);
    this.history.setCurrent(chat);
    this.history.toggle(false);
    this.closeWhy();
    for (const node of Object.values(chat.nodes)) {
      if (node.role !== "assistant") continue;
      node.isOver = true; // also where the page was left before the end
      if (!this.pieces.has(node.id))
        this.pieces.set(node.id, await this.store.pieces(node.id));
    }
    if (this.chat !== chat) return;
    this.draw();
    this.openLast();
    $("message").focus({ preventScroll: true });
  }

  openLast() {
    const last = path(this.chat).findLast((node) => node.role === "assistant");
    if (last?.isOver) this.openMostSurprising(last);
    else this.why.clear();
  }

  changed(settings) {
    this.chat.settings = settings;
    if (Object.keys(this.chat.nodes).length) this.keep();
  }

  keep() {
    this.history.keep(this.chat);
  }

  /** The shown path as elements; those of answers that were there stay. */
  draw() {
    const nodes = path(this.chat), results = resultsOf(nodes);
    const elements = nodes.filter((node) => node.role !== "tool").map((node) =>
      (node.role === "user" ? this.question(node) : this.answerView(node, results).element));
    $("messages").replaceChildren(...elements);
    $("welcome").hidden = nodes.length > 0;
    for (const node of nodes) this.views.get(node.id)?.draw.now();
    this.follow();
  }

  question(node) {
    return questionView(node, versions(this.chat, node), { choose: (other, arrow) =>
      this.choose(other, arrow), edit: (old, text) => this.editQuestion(old, text),
    cancel: () => this.draw() });
  }

  answerView(node, results) {
    const all = versions(this.chat, node), own = node.calls?.length ? results[node.id] : null;
    const old = this.views.get(node.id);
    const isSame = (view) => view.versions.length === all.length &&
      JSON.stringify(view.results) === JSON.stringify(own);
    if (old && isSame(old)) return old;
    const view = new AnswerView(node, this.pieces.get(node.id) ?? [], { versions: all, results: own,
      menu: shareMenu(() => describeAnswer(node, this.pieces.get(node.id), this.model)), acts: {
        select: (step, isAsked) => this.select(node, step, isAsked),
        regenerate: () => this.answer(node.parent), goOn: () => this.goOn(node),
        edit: (_, text) => this.editAnswer(node, text), choose: (other, arrow) =>
          this.choose(other, arrow), cancel: () => this.redraw(node), drawn: () => this.follow(),
        results: (list) => this.sendResults(node, list) } });
    this.views.set(node.id, view);
    view.draw();
    return view;
  }

  redraw(node) {
    this.views.delete(node.id);
    this.draw();
  }

  choose(node, arrow) {
    this.stop();
    choose(this.chat, node);
    this.draw();
    this.openLast();
    this.keep();
    const shown = [...document.querySelectorAll(`#messages [aria-label="${arrow}"]:enabled`)];
    shown.at(-1)?.focus();
  }

  // Turns

  send(text, files) {
    if (this.run) return;
    const last = path(this.chat).at(-1);
    const node = add(this.chat, last?.id ?? "", { role: "user", text, files });
    this.isAtEnd = true;
    this.answer(node.id);
  }

  editQuestion(old, text) {
    this.stop();
    const node = add(this.chat, old.parent, { role: "user", text, files: old.files });
    this.answer(node.id);
  }

  editAnswer(old, text) {
    const { reasoning, calls } = old;
    add(this.chat, old.parent, { role: "assistant", text, reasoning, calls, isOver: true,
      stats: "Edited by you" });
    this.draw();
    this.openLast();
    this.keep();
  }

  sendResults(node, list) {
    let parent = node.id;
    for (const result of list) parent = add(this.chat, parent, { role: "tool", ...result }).id;
    this.answer(parent);
  }

  goOn(node) {
    this.answer(node.parent, { node, pieces: this.pieces.get(node.id) ?? [], text: node.text });
  }

  fork(node, step, candidate) {
    const pieces = forkAt(this.pieces.get(node.id), step, candidate);
    this.answer(node.parent, { pieces, text: textOf(pieces, "text"), seed: node.request?.seed });
  }

  /** An answer behind a node; after `begun`, {pieces, text}, if it has begun already. */
  async answer(parent, begun = null, asked = null) {
    this.stop();
    this.error.hide();
    await this.run?.ended; // which comes before this beginning
    let request;
    try {
      request = asked ?? this.request(parent, begun);
    } catch (error) {
      this.draw();
      this.error.show(error, false);
      return;
    }
    const node = begun?.node ?? add(this.chat, parent, { role: "assistant" });
    Object.assign(node, { text: begun?.text ?? "", isOver: false, stats: "", request,
      nBefore: begun?.pieces.length ?? 0 });
    this.pieces.set(node.id, begun ? [...begun.pieces] : []);
    this.views.delete(node.id);
    this.why.clear();
    await this.stream(node);
  }

  /** {body, seed}: of a request for the answer behind a node. */
  request(parent, begun) {
    const { system, body, seed } = this.settings.read();
    const messages = messagesOf(pathTo(this.chat, parent), system);
    const isAgain = versions(this.chat, { parent }).length > 0; // the same seed would say the same
    const own = begun?.seed ?? (isAgain && !begun ? "" : seed);
    const drawn = own || String(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));
    if (!begun?.text) return { body: { messages, ...body }, seed: drawn };
    messages.push({ role: "assistant", content: begun.text });
    const open = { continue_final_message: true, add_generation_prompt: false };
    return { body: { messages, ...body, ...open }, seed: drawn };
  }

  async stream(node) {
    const { body, seed } = node.request;
    const json = withSeed({ ...this.model.named, ...body, ...STREAM }, seed);
    const run = new AnswerRun(node, this.pieces.get(node.id), this.model.info.context_length,
      performance.now());
    this.run = run;
    run.chat = this.chat;
    this.composer.setRunning(true);
    this.draw();
    this.keep();
    $("chat-status").textContent = "The answer is on its way.";
    let error = null;
    try {
      for await (const { data } of ask(json, run.abort.signal))
        if (run.take(data, performance.now())) this.views.get(node.id)?.draw();
    } catch (cause) {
      error = cause;
    }
    this.end(run, error);
  }

  end(run, error) {
    const { node, chat } = run, isStopped = error?.name === "AbortError";
    const isRefused = error && run.isEmpty;
    run.finish(performance.now(), isStopped);
    this.run = null;
    this.composer.setRunning(false);
    if (isRefused) remove(chat, node);
    this.store.savePieces(node.id, run.pieces).catch(() => {});
    if (this.history.has(chat)) this.history.keep(chat); // else it was deleted meanwhile
    if (chat === this.chat) this.showEnd(run, error, isStopped, isRefused);
    run.end();
  }

  showEnd(run, error, isStopped, isRefused) {
    const { node } = run, view = this.views.get(node.id);
    this.draw();
    view?.draw();
    view?.draw.now();
    $("chat-status").textContent = error ? "" : "The answer is complete.";
    if (error && !isStopped) this.error.show(error, !isRefused);
    else this.openMostSurprising(node);
    const { link, ...request } = node.request;
    node.request = request;
    if (!link || error) return;
    node.stats = `${judgeAnswer(link, run, this.model)} ${node.stats}`;
    this.redraw(node);
  }

  stop() {
    this.run?.abort.abort();
  }

  // Why

  select(node, step, isAsked) {
    const { request } = node;
    if (this.chosen && this.chosen.node !== node) this.views.get(this.chosen.node.id)?.mark(null);
    this.chosen = { node, step };
    this.views.get(node.id)?.mark(step);
    const isText = this.pieces.get(node.id)?.some((p) => p.step === step && p.part === "text");
    this.why.show(step, samplingOf(request?.body ?? {}), this.model.info.vocab_size,
      isText && request ? (candidate) => this.fork(node, step, candidate) : null);
    if (isAsked) $("why").classList.add("open");
  }

  openMostSurprising(node) {
    const steps = (this.pieces.get(node.id) ?? [])
      .filter(({ part, step }) => step && part === "text").map(({ step }) => step);
    if (steps.length) this.select(node, mostSurprising(steps), false);
  }

  closeWhy() {
    $("why").classList.remove("open");
  }

  resume() {
    if (this.chosen) this.select(this.chosen.node, this.chosen.step, false);
    else this.why.clear();
  }

  // Permalinks

  open(link) {
    this.show(chatOfLink(link, this.settings.form));
  }

  reproduce(link) {
    const { parent, begun, asked } = requestOfLink(this.chat, link);
    this.answer(parent, begun, asked);
  }

  /** Asks again what failed; an answer that had begun goes on. */
  again() {
    const last = path(this.chat).at(-1);
    if (!last) return;
    if (last.role === "assistant" && last.text) this.goOn(last);
    else this.answer(last.role === "assistant" ? last.parent : last.id);
  }
}
