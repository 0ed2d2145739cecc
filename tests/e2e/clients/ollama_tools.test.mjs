// A round of a conversation with a tool; the caller says what the model is made to write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ollama } from 'ollama';

// The library sends what it is given, also fields that Ollama does not have.
const ollama = new Ollama({ host: process.env.BASE_URL });
const writes = (value) => ({ type: 'structural_tag', format: { type: 'const_string', value } });
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
const messages = [{ role: 'user', content: 'How is it?' }];
const asked = {
  model: 'tale', messages, tools, think: false, response_format: writes(process.env.CALL) };

test('a call comes with an object, and its result goes back', async () => {
  const { message } = await ollama.chat(asked);
  assert.equal(message.thinking, 'Hm.');
  assert.equal(message.tool_calls.length, 2);
  assert.equal(message.tool_calls[0].function.name, 'weather');
  assert.ok(message.tool_calls[0].function.arguments.city);
  const result = { role: 'tool', tool_name: 'weather', content: 'Rain.' };
  const results = message.tool_calls.map(() => result);
  const second = await ollama.chat({ ...asked, messages: [...messages, message, ...results],
    response_format: writes('It rains.') });
  assert.equal(second.message.content, 'It rains.');
  assert.equal(second.message.tool_calls, undefined);
});

test('a stream tells the same parts', async () => {
  const { message } = await ollama.chat(asked);
  let content = '', thinking = '';
  const calls = [];
  for await (const part of await ollama.chat({ ...asked, stream: true })) {
    content += part.message.content;
    thinking += part.message.thinking ?? '';
    calls.push(...part.message.tool_calls ?? []);
  }
  assert.deepEqual([content, thinking], [message.content, message.thinking]);
  const plain = (all) => all.map((call) => call.function);
  assert.deepEqual(plain(calls), plain(message.tool_calls));
});
