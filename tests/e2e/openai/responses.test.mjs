// What the official client sees of Baton's responses: whole, streamed, kept, and gone on from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const greedy = { model: 'tale', temperature: 0, max_output_tokens: 12, input: 'Tell me a story' };

test('a response has text, a status and usage', async () => {
  const response = await client.responses.create(greedy);
  assert.ok(response.output_text.length > 0);
  assert.equal(response.object, 'response');
  assert.equal(response.status, 'incomplete');
  assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  assert.equal(response.usage.output_tokens, 12);
  assert.equal(response.usage.total_tokens, response.usage.input_tokens + 12);
  assert.match(response.id, /^resp-[0-9a-f]{32}$/); // a secret, unlike _request_id
  assert.ok(response._request_id);
});

test('a stream gathers to the same response', async () => {
  const whole = await client.responses.create(greedy);
  const stream = client.responses.stream(greedy);
  const deltas = [];
  stream.on('response.output_text.delta', (event) => deltas.push(event.delta));
  const response = await stream.finalResponse();
  assert.equal(deltas.join(''), whole.output_text);
  assert.equal(response.output_text, whole.output_text);
  const parts = response.output[0].content.map(({ parsed, ...part }) => part);
  assert.deepEqual(parts, whole.output[0].content);
});

test('a raw stream can be iterated, and left', async () => {
  const stream = await client.responses.create({ ...greedy, max_output_tokens: 300, stream: true });
  const types = [];
  for await (const event of stream) {
    types.push(event.type);
    if (types.length === 6) break;
  }
  assert.deepEqual(types.slice(0, 5), [
    'response.created', 'response.in_progress', 'response.output_item.added',
    'response.content_part.added', 'response.output_text.delta']);
});

test('a conversation goes on from the response before', async () => {
  const first = await client.responses.create(greedy);
  const second = await client.responses.create({
    ...greedy, input: 'Go on.', previous_response_id: first.id });
  const input = [{ role: 'user', content: greedy.input }, ...first.output,
    { role: 'user', content: 'Go on.' }];
  const same = await client.responses.create({ ...greedy, input });
  assert.equal(second.output_text, same.output_text);
  assert.equal(second.usage.input_tokens, same.usage.input_tokens);
});

test('a response can be had again, and deleted', async () => {
  const response = await client.responses.create({ ...greedy, metadata: { topic: 'fox' } });
  const again = await client.responses.retrieve(response.id);
  assert.equal(again.output_text, response.output_text);
  assert.deepEqual(again.metadata, { topic: 'fox' });
  await client.responses.delete(response.id);
  await assert.rejects(client.responses.retrieve(response.id), OpenAI.NotFoundError);
  await assert.rejects(client.responses.create({ ...greedy, previous_response_id: response.id }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === 'previous_response_id');
});

test('a text can be held to a schema and parsed', async () => {
  const schema = { type: 'object', properties: { brave: { type: 'boolean' } },
    required: ['brave'], additionalProperties: false };
  const response = await client.responses.parse({ ...greedy, max_output_tokens: 64,
    text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } } });
  assert.equal(response.status, 'completed');
  assert.equal(typeof JSON.parse(response.output_text).brave, 'boolean');
});

test('refusals are the client\'s own error classes', async () => {
  for (const [fields, words] of [[{ temperature: -1 }, 'temperature'], [{ input: [] }, 'input'],
    [{ tools: [{ type: 'custom' }] }, 'custom'],
    [{ background: true, store: false }, 'background']])
    for (const stream of [false, true])
      await assert.rejects(client.responses.create({ ...greedy, ...fields, stream }),
        (error) => error instanceof OpenAI.BadRequestError && error.message.includes(words));
  await assert.rejects(client.responses.create({ ...greedy, model: 'gpt' }), OpenAI.NotFoundError);
});

test('a stream in the background is left, and read again by its id', async () => {
  const whole = await client.responses.create(greedy);
  const stream = await client.responses.create({ ...greedy, background: true, stream: true });
  let last;
  for await (const event of stream) {
    last = event;
    if (event.type === 'response.queued')
      break; // which closes the connection
  }
  const { id } = last.response;
  assert.equal(last.response.status, 'queued');
  const types = [];
  for await (const event of await client.responses.retrieve(id, {
    stream: true, starting_after: last.sequence_number })) {
    assert.equal(event.sequence_number, last.sequence_number + 1 + types.length);
    types.push(event.type);
  }
  assert.equal(types[0], 'response.in_progress');
  assert.equal(types.at(-1), 'response.incomplete');
  const gathered = await client.responses.stream({ response_id: id, starting_after: 3 })
    .finalResponse();
  assert.equal(gathered.output_text, whole.output_text);
  assert.equal((await client.responses.retrieve(id)).output_text, whole.output_text);
  await assert.rejects(client.responses.retrieve(id, { stream: true, starting_after: 1000 }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === 'starting_after');
});
