// What LlamaIndex sees of Baton: chats and streams by its class for OpenAI, with a structure too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenAI } from '@llamaindex/openai';
import { Settings, SimpleChatEngine } from 'llamaindex';
import { z } from 'zod';

const { BASE_URL, API_KEY: apiKey } = process.env;
const options = {
  model: 'tale', apiKey, baseURL: `${BASE_URL}/v1`, temperature: 0, maxTokens: 12, maxRetries: 0 };
const llm = new OpenAI(options);
const messages = [
  { role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Tell me a story' }];

async function gather(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part.delta);
  return parts.join('');
}

test('a chat has text, and its stream the pieces of it', async () => {
  const { message } = await llm.chat({ messages });
  assert.equal(message.role, 'assistant');
  assert.ok(message.content.length > 0);
  assert.equal(await gather(await llm.chat({ messages, stream: true })), message.content);
});

test('a prompt is a chat of one turn', async () => {
  const { text } = await llm.complete({ prompt: 'Tell me a story' });
  const { message } = await llm.chat({ messages: messages.slice(1) });
  assert.equal(text, message.content);
});

test('a chat engine keeps the conversation', async () => {
  Settings.llm = llm;
  const engine = new SimpleChatEngine();
  const first = await engine.chat({ message: 'Tell me a story' });
  assert.ok(first.message.content.length > 0);
  assert.ok((await gather(await engine.chat({ message: 'And then?', stream: true }))).length > 0);
});

test('an answer keeps to its schema', async () => {
  const schema = z.object({ name: z.string().max(6), age: z.number().int().min(0).max(9) });
  const longer = new OpenAI({ ...options, maxTokens: 200 });
  const { message } = await longer.chat({ messages, responseFormat: schema });
  assert.ok(schema.parse(JSON.parse(message.content)));
});

test('a stream can be left', async () => {
  const stream = await new OpenAI({ ...options, maxTokens: 400 }).chat({ messages, stream: true });
  for await (const part of stream) if (part.delta) break;
});

test('a refusal carries its status and words', async () => {
  const bad = new OpenAI({ ...options, temperature: -1 });
  await assert.rejects(bad.chat({ messages }),
    (error) => error.status === 400 && /temperature/.test(error.message));
});
