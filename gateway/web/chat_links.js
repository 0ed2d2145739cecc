// Permalinks of a chat's answers: how one is described, opened, made again and judged.

import { PATH, STREAM } from "./answer_run.js";
import { add, newChat, nodeOf, path, remove } from "./conversation.js";
import { withSeed } from "./form.js";
import { verdict } from "./permalink.js";
import { fingerprint } from "./share.js";

/** The steps of a node's last request, without those before a fork or a continuation. */
function newSteps(node, pieces) {
  return pieces.slice(node.nBefore).map(({ step }) => step).filter(Boolean);
}

/** An answer as share.js wants it. */
export function describeAnswer(node, pieces, model) {
  const { body, seed } = node.request, steps = newSteps(node, pieces);
  return { kind: "chat", body, seed, path: PATH, text: node.text, steps, n: steps.length,
    json: withSeed({ ...model.named, ...body, ...STREAM }, seed), model: model.info.id,
    served: model.served };
}

/** A new chat with a permalink's conversation, whose answer is not there yet. */
export function chatOfLink({ body: { messages, ...body }, seed }, form) {
  const chat = newChat({}), isSystem = ({ role }) => role === "system";
  const words = messages.filter(isSystem).map(({ content }) => content).join("\n");
  form.fill({ ...body, system: words, seed });
  chat.settings = form.save();
  let parent = "";
  for (const message of messages.filter((other) => !isSystem(other)))
    parent = add(chat, parent, nodeOf(message)).id;
  return chat;
}

/** What to ask for a permalink's answer in its chat: {parent, begun, asked} of Chat.answer. */
export function requestOfLink(chat, link) {
  const last = path(chat).at(-1), { body, seed } = link, asked = { body, seed, link };
  if (!body.continue_final_message || last.role !== "assistant")
    return { parent: last.id, begun: null, asked };
  remove(chat, last);
  const pieces = [{ text: last.text, step: null, part: "text" }];
  return { parent: last.parent, begun: { pieces, text: last.text }, asked };
}

/** Whether a permalink's answer came again, in words. */
export function judgeAnswer(link, { node, pieces, timings }, model) {
  const steps = newSteps(node, pieces);
  const answer = { ...fingerprint(steps, node.text, steps.length),
    classChanged: timings?.class_changed };
  return verdict(link, answer, model.served).text;
}
