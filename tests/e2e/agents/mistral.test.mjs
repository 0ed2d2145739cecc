// Baton seen by the client of Mistral: chats, streams, forced calls, embeddings, models.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mistral } from '@mistralai/mistralai';

const client = new Mistral({ serverURL: process.env.BASE_URL, apiKey: 'any' });
const asked = { model: 'tale', temperature: 0, maxTokens: 12,
  messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hello' }] };
const weather = { type: 'function', function: { name: 'weather', description: 'Tells it',
  parameters: { type: 'object', properties: { city: { enum: ['Oslo', 'Rome'] } },
    required: ['city'] } } };

test('a chat, and the same one as a stream', async () => {
  const answer = await client.chat.complete(asked);
  const { content } = answer.choices[0].message;
  assert.equal(answer.usage.completionTokens, 12);
  let gathered = '';
  for await (const { data } of await client.chat.stream(asked))
    gathered += data.choices[0]?.delta.content ?? '';
  assert.equal(gathered, content);
});

for (const toolChoice of ['any', 'required', { type: 'function', function: { name: 'weather' } }])
  test(`a forced call: ${JSON.stringify(toolChoice)}`, async () => {
    const { choices: [{ message, finishReason }] } = await client.chat.complete({
      ...asked, maxTokens: 200, tools: [weather], toolChoice });
    assert.equal(finishReason, 'tool_calls');
    const [call] = message.toolCalls;
    assert.equal(call.function.name, 'weather');
    const told = call.function.arguments;
    assert.match((typeof told === 'string' ? JSON.parse(told) : told).city, /Oslo|Rome/);
  });

test('an answer keeps to its schema', async () => {
  const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 0,
    maximum: 9 } }, required: ['age'], additionalProperties: false };
  const { choices: [{ message }] } = await client.chat.complete({ ...asked, maxTokens: 100,
    responseFormat: { type: 'json_schema',
      jsonSchema: { name: 'age', schemaDefinition: schema, strict: true } } });
  assert.ok(JSON.parse(message.content).age <= 9);
});

test('embeddings and models', async () => {
  const { data } = await client.embeddings.create({ model: 'tale', inputs: ['a', 'b'] });
  assert.equal(data.length, 2);
  const models = await client.models.list();
  assert.match(JSON.stringify(models.data[0]), /"tale"/); // its type wants Mistral's own members
});
