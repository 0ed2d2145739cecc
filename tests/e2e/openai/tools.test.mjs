// A round of a conversation with a tool; the caller says what the model is made to write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: 'any' });
const writes = (value) => ({ type: 'structural_tag', format: { type: 'const_string', value } });
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
const messages = [{ role: 'user', content: 'How is it?' }];
const asked = { model: 'tale', messages, tools, response_format: writes(process.env.CALL) };

test('a call comes whole, and its result goes back', async () => {
  const { choices: [first] } = await client.chat.completions.create(asked);
  assert.equal(first.finish_reason, 'tool_calls');
  const [call] = first.message.tool_calls;
  assert.equal(call.function.name, 'weather');
  assert.ok(JSON.parse(call.function.arguments).city);
  const result = { role: 'tool', tool_call_id: call.id, content: 'Rain.' };
  const { choices: [second] } = await client.chat.completions.create({
    ...asked, messages: [...messages, first.message, result], response_format: writes('It rains.'),
  });
  assert.equal(second.message.content, 'It rains.');
});

test('the stream helper puts the same call together', async () => {
  const stream = client.chat.completions.stream(asked);
  const { choices: [{ message }] } = await stream.finalChatCompletion();
  assert.equal(message.tool_calls[0].function.name, 'weather');
  assert.ok(JSON.parse(message.tool_calls[0].function.arguments).city);
});
