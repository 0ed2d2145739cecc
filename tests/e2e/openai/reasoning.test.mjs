// Reasoning beside the text; the caller says what the model is made to write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: 'any' });
const value = process.env.TEXT;
const written = { type: 'structural_tag', format: { type: 'const_string', value } };
const messages = [{ role: 'user', content: 'How is it?' }];
const asked = { model: 'tale', messages, response_format: written };

test('reasoning comes beside the text', async () => {
  const { choices: [{ message }] } = await client.chat.completions.create(asked);
  assert.equal(message.reasoning_content, 'Hm. It <may> rain.');
  assert.equal(message.content, 'Yes.');
});

test('a stream tells reasoning first', async () => {
  let reasoning = '', content = '';
  for await (const { choices: [{ delta }] } of
    await client.chat.completions.create({ ...asked, stream: true })) {
    reasoning += delta.reasoning_content ?? '';
    content += delta.content ?? '';
  }
  assert.equal(reasoning, 'Hm. It <may> rain.');
  assert.equal(content, 'Yes.');
});
