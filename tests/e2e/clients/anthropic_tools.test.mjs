// A round of a conversation with a tool; the caller says what the model is made to write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: 'any', maxRetries: 0 });
const writes = (value) => ({ type: 'structural_tag', format: { type: 'const_string', value } });
const input_schema = { type: 'object', properties: { city: { type: 'string' } } };
const tools = [{ name: 'weather', input_schema }];
const messages = [{ role: 'user', content: 'How is it?' }];
const asked = {
  model: 'tale', max_tokens: 200, messages, tools, response_format: writes(process.env.CALL) };

function check({ content, stop_reason: reason }) {
  assert.equal(reason, 'tool_use');
  const types = content.map((block) => block.type);
  assert.deepEqual(types, ['thinking', 'text', 'tool_use', 'tool_use']);
  assert.equal(content[0].thinking, 'Hm.');
  assert.equal(content[2].name, 'weather');
  assert.ok(content[2].input.city);
}

test('a call is a block, and its result goes back', async () => {
  const first = await client.messages.create(asked);
  check(first);
  const results = first.content.filter((block) => block.type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Rain.' }));
  const second = await client.messages.create({ ...asked, response_format: writes('It rains.'),
    messages: [...messages, { role: 'assistant', content: first.content },
      { role: 'user', content: results }] });
  assert.deepEqual(second.content, [{ type: 'text', text: 'It rains.' }]);
  assert.equal(second.stop_reason, 'end_turn');
});

test('the stream helper puts the same blocks together', async () => {
  const whole = await client.messages.create(asked);
  const message = await client.messages.stream(asked).finalMessage();
  check(message);
  const plain = ({ content }) => content.map(({ id, ...block }) => block);
  assert.deepEqual(plain(message), plain(whole));
});
