// A round of a conversation with a tool by Responses; the caller sets what the model writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: 'any', maxRetries: 0 });
const writes = (value) =>
  ({ format: { type: 'structural_tag', format: { type: 'const_string', value } } });
const parameters = { type: 'object' };
const tools = [{ type: 'function', name: 'weather', strict: false, parameters }];
const asked = { model: 'tale', input: 'How is it?', tools, text: writes(process.env.CALL) };

test('a call is an item, and its result goes back', async () => {
  const first = await client.responses.create(asked);
  const [call] = first.output;
  assert.equal(call.type, 'function_call');
  assert.ok(JSON.parse(call.arguments).city);
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'Rain.' };
  const more = { ...asked, text: writes('It rains.') };
  const said = { role: 'user', content: asked.input };
  const kept = await client.responses.create({
    ...more, previous_response_id: first.id, input: [result] });
  const sent = await client.responses.create({ ...more, input: [said, call, result] });
  assert.equal(kept.output_text, 'It rains.');
  assert.equal(kept.usage.input_tokens, sent.usage.input_tokens);
});

test('the stream helper puts the same call together', async () => {
  const stream = client.responses.stream({
    ...asked, text: writes(`Let me look. ${process.env.CALL}`) });
  const deltas = [];
  stream.on('response.function_call_arguments.delta', (event) => deltas.push(event.delta));
  const { output } = await stream.finalResponse();
  assert.deepEqual(output.map((item) => item.type), ['message', 'function_call']);
  assert.equal(deltas.join(''), output[1].arguments);
  assert.equal(output[1].name, 'weather');
});
