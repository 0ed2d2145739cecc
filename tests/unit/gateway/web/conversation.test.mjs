// Conversations as trees, and what of them goes to the model.
import assert from "node:assert/strict";
import { test } from "node:test";

import { add, choose, matches, messagesOf, newChat, path, pathTo, readChats, remove, titleOf,
  versions } from "../../../../gateway/web/conversation.js";

function talk() {
  const chat = newChat({ temperature: "0.5" });
  const asked = add(chat, "", { role: "user", text: "What is a fox?" });
  const first = add(chat, asked.id, { role: "assistant", text: "An animal." });
  const second = add(chat, asked.id, { role: "assistant", text: "A story." });
  const more = add(chat, second.id, { role: "user", text: "Go on." });
  return { chat, asked, first, second, more };
}

test("the last version is shown, and each of them can be chosen with what follows it", () => {
  const { chat, asked, first, second, more } = talk();
  assert.deepEqual(path(chat), [asked, second, more]);
  assert.deepEqual(versions(chat, first), [first, second]);
  choose(chat, first);
  assert.deepEqual(path(chat), [asked, first]);
  choose(chat, second);
  assert.deepEqual(path(chat), [asked, second, more]);
  assert.deepEqual(pathTo(chat, first.id), [asked, first]);
});

test("a version that is removed takes what follows with it, and another is shown", () => {
  const { chat, asked, first, second } = talk();
  remove(chat, second);
  assert.deepEqual(path(chat), [asked, first]);
  assert.equal(Object.keys(chat.nodes).length, 2);
  remove(chat, asked);
  assert.deepEqual(path(chat), []);
  assert.deepEqual(chat.nodes, {});
});

test("messages have the system's words, files, reasoning, calls and their results", () => {
  const { chat } = talk(), asked = add(chat, "", { role: "user", text: "Look.",
    files: [{ name: "a.txt", text: "one" }] });
  const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }];
  const called = add(chat, asked.id, { role: "assistant", text: "", reasoning: "hm", calls });
  add(chat, called.id, { role: "tool", text: "42", callId: "c1", name: "f" });
  assert.deepEqual(messagesOf(path(chat), "Be kind."), [
    { role: "system", content: "Be kind." },
    { role: "user", content: "a.txt:\n```\none\n```\n\nLook." },
    { role: "assistant", content: "", reasoning_content: "hm", tool_calls: calls },
    { role: "tool", tool_call_id: "c1", name: "f", content: "42" }]);
  assert.equal(messagesOf(path(chat), "  ")[0].role, "user");
});

test("a chat is called by its first question, and found by all its words", () => {
  const { chat } = talk();
  assert.equal(titleOf(chat), "What is a fox?");
  assert.equal(titleOf(newChat({})), "New chat");
  assert.ok(matches(chat, "STORY animal") && !matches(chat, "story wolf"));
  chat.title = "Mine";
  assert.equal(titleOf(chat), "Mine");
});

test("a file of chats is read back, and a damaged one is refused in words", () => {
  const { chat } = talk();
  const again = readChats(JSON.stringify({ baton_chats: [chat] }))[0];
  assert.deepEqual(path(again), path(chat));
  const broken = (change) => {
    const copy = structuredClone(chat);
    change(copy);
    return JSON.stringify({ baton_chats: [copy] });
  };
  const [id] = Object.keys(chat.nodes);
  for (const [text, why] of [["{", /JSON/], ["[]", /baton_chats/],
    [broken((c) => delete c.nodes), /chat 1: no id/],
    [broken((c) => delete c.nodes[id].role), /without role/],
    [broken((c) => (c.nodes[id].parent = "none")), /follows none/],
    [broken((c) => (c.nodes[id].parent = id)), /follows none/]])
    assert.throws(() => readChats(text), why);
  assert.deepEqual(path(readChats(broken((c) => (c.chosen[""] = "none")))[0]), []);
});
