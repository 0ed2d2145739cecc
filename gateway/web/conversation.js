// A conversation as a tree: an edited question or a regenerated answer is a sibling of the first.
//
// chat: {id, title, created, updated, settings, nodes: {id: node}, chosen: {parent id: child id}}.
// node: {id, parent, role ("user", "assistant", "tool"), text, files, reasoning, calls, ...}. The
// first nodes have the parent "". The chosen children make the path that is shown.

export function newId() {
  const random = () => Math.random().toString(36).slice(2, 10);
  return `${Date.now().toString(36)}-${random()}`;
}

export function newChat(settings) {
  const now = Date.now();
  return { id: newId(), title: "", created: now, updated: now, settings, nodes: {}, chosen: {} };
}

/** Appends a node to its parent ("" at first), chooses it and returns it. */
export function add(chat, parent, fields) {
  const node = { id: newId(), parent, at: Date.now(), text: "", ...fields };
  chat.nodes[node.id] = node;
  chat.chosen[parent] = node.id;
  chat.updated = node.at;
  return node;
}

/** The nodes that are shown, from the first to the last. */
export function path(chat) {
  const nodes = [];
  for (let id = chat.chosen[""]; id; id = chat.chosen[id]) nodes.push(chat.nodes[id]);
  return nodes;
}

/** The nodes from the first to this one. */
export function pathTo(chat, id) {
  const nodes = [];
  for (; id; id = chat.nodes[id].parent) nodes.unshift(chat.nodes[id]);
  return nodes;
}

/** A node and its siblings, the oldest first. */
export function versions(chat, { parent }) {
  return Object.values(chat.nodes).filter((node) => node.parent === parent);
}

export function choose(chat, node) {
  chat.chosen[node.parent] = node.id;
}

/** Removes a node with all that follows it; the version before it is shown. */
export function remove(chat, node) {
  const all = versions(chat, node), at = all.indexOf(node), next = all[at - 1] ?? all[at + 1];
  for (const child of Object.values(chat.nodes))
    if (child.parent === node.id && chat.nodes[child.id]) remove(chat, child);
  delete chat.nodes[node.id];
  delete chat.chosen[node.id];
  if (next) chat.chosen[node.parent] = next.id;
  else delete chat.chosen[node.parent];
}

/** What a user's node says to the model: the text, and each file behind its name. */
export function contentOf({ text, files = [] }) {
  const parts = files.map(({ name, text: content }) => `${name}:\n\`\`\`\n${content}\n\`\`\``);
  return [...parts, text].filter(Boolean).join("\n\n");
}

/** The API's messages of nodes, after the system's words if there are any. */
export function messagesOf(nodes, system) {
  const first = system?.trim() ? [{ role: "system", content: system }] : [];
  return [...first, ...nodes.map(messageOf)];
}

function messageOf(node) {
  if (node.role === "user") return { role: "user", content: contentOf(node) };
  if (node.role === "tool")
    return { role: "tool", tool_call_id: node.callId, name: node.name, content: node.text };
  const message = { role: "assistant", content: node.text };
  if (node.reasoning) message.reasoning_content = node.reasoning;
  if (node.calls?.length) message.tool_calls = node.calls;
  return message;
}

/** The fields of a node that says what a message of the API does. */
export function nodeOf(message) {
  const text = message.content ?? "";
  if (message.role === "tool")
    return { role: "tool", text, callId: message.tool_call_id, name: message.name };
  if (message.role === "user") return { role: "user", text };
  return { role: "assistant", text, reasoning: message.reasoning_content, isOver: true,
    calls: message.tool_calls };
}

/** {node id of an answer: {call id: result}} of the answers whose calls were answered. */
export function resultsOf(nodes) {
  const results = {};
  let caller = null;
  for (const node of nodes) {
    if (node.role === "assistant") caller = node;
    if (node.role === "tool" && caller) (results[caller.id] ??= {})[node.callId] = node.text;
  }
  return results;
}

const TITLE_LENGTH = 60;

/** A chat's own title, or the beginning of its first question. */
export function titleOf(chat) {
  if (chat.title) return chat.title;
  const first = path(chat)[0], words = (first?.text || first?.files?.[0]?.name || "").trim();
  const line = words.split("\n")[0];
  if (!line) return "New chat";
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1)}…` : line;
}

/** Whether all words of a search stand in a chat's title or in one of its texts. */
export function matches(chat, search) {
  const texts = [titleOf(chat), ...Object.values(chat.nodes).map(contentOf)];
  const all = texts.join("\n").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

/** Checks chats from a file; throws an Error that says what is wrong. Unknown members go. */
export function readChats(text) {
  const { baton_chats: chats } = JSON.parse(text);
  if (!Array.isArray(chats)) throw new Error("it has no list “baton_chats”");
  return chats.map((chat, i) => {
    const fail = (why) => { throw new Error(`chat ${i + 1}: ${why}`); };
    if (typeof chat?.id !== "string" || typeof chat.nodes !== "object" || !chat.nodes)
      fail("no id or no messages");
    const nodes = Object.fromEntries(Object.values(chat.nodes).map((node) => [node?.id, node]));
    for (const node of Object.values(nodes)) checkNode(node, nodes, fail);
    const chosen = Object.entries(chat.chosen ?? {})
      .filter(([parent, id]) => nodes[id]?.parent === parent);
    const { id, created = Date.now(), updated = created, settings = {} } = chat;
    return { id, title: String(chat.title ?? ""), created, updated, settings, nodes,
      chosen: Object.fromEntries(chosen) };
  });
}

function checkNode(node, nodes, fail) {
  const isKnown = ["user", "assistant", "tool"].includes(node?.role);
  if (!isKnown || typeof node.text !== "string") fail("a message without role or text");
  const seen = new Set();
  for (let at = node; at.parent !== ""; at = nodes[at.parent]) {
    if (seen.has(at.id) || !nodes[at.parent]) fail("a message that follows none");
    seen.add(at.id);
  }
}
