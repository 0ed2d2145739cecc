// Baton seen by Anthropic's official client: messages, whole and streamed, counts and refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: 'user', content: 'Tell me a story' }];
const greedy = { model: 'tale', max_tokens: 12, temperature: 0, messages };

function textOf(message) {
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  assert.equal(message.model, 'tale');
  assert.deepEqual(message.content.map((block) => block.type), ['text']);
  return message.content[0].text;
}

test('a message has text, a reason why it ended, and usage', async () => {
  const message = await client.messages.create(greedy);
  assert.ok(textOf(message).length > 0);
  assert.equal(message.stop_reason, 'max_tokens');
  assert.equal(message.stop_sequence, null);
  assert.equal(message.usage.output_tokens, 12);
  assert.ok(message.usage.input_tokens > 0);
  assert.ok(message.id.startsWith('msg-') && message._request_id);
  assert.ok(message.id.endsWith(message._request_id));
});

test('a stream gathers to the same message', async () => {
  const whole = await client.messages.create(greedy);
  const stream = client.messages.stream(greedy);
  const texts = [], names = [];
  stream.on('text', (text) => texts.push(text));
  stream.on('streamEvent', (event) => names.push(event.type));
  const message = await stream.finalMessage();
  assert.equal(textOf(message), textOf(whole));
  assert.equal(texts.join(''), textOf(whole));
  assert.equal(message.stop_reason, 'max_tokens');
  assert.equal(message.usage.output_tokens, 12);
  assert.deepEqual(names.filter((name, i) => name !== names[i - 1]), [
    'message_start', 'content_block_start', 'content_block_delta', 'content_block_stop',
    'message_delta', 'message_stop']);
});

test('a raw stream can be iterated, and left', async () => {
  const stream = await client.messages.create({ ...greedy, max_tokens: 300, stream: true });
  const types = [];
  for await (const event of stream) {
    types.push(event.type);
    if (types.length === 4) break;
  }
  assert.equal(types[0], 'message_start');
});

test('an answer is parsed by the schema that it was held to', async () => {
  const properties = { good: { type: 'boolean' }, loud: { type: 'boolean' } };
  const pet = { type: 'object', properties, required: ['good', 'loud'],
    additionalProperties: false };
  const message = await client.messages.parse({ ...greedy, max_tokens: 160,
    output_config: { effort: 'low', format: jsonSchemaOutputFormat(pet) } });
  const types = Object.values(message.parsed_output).map((value) => typeof value);
  assert.deepEqual(types, ['boolean', 'boolean']);
  assert.equal(message.stop_reason, 'end_turn');
});

test('a stop sequence ends the text before it and is named', async () => {
  const text = textOf(await client.messages.create(greedy));
  const stop = text.slice(-4);
  const message = await client.messages.create({ ...greedy, stop_sequences: ['#never#', stop] });
  assert.equal(message.stop_reason, 'stop_sequence');
  assert.equal(message.stop_sequence, stop);
  assert.equal(textOf(message), text.slice(0, text.indexOf(stop)));
});

test('what is counted is what a message uses', async () => {
  const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
  const fields = { system, messages };
  const { input_tokens: counted } = await client.messages.countTokens({ model: 'tale', ...fields });
  const { usage } = await client.messages.create({ ...greedy, ...fields });
  assert.equal(counted, usage.input_tokens + usage.cache_read_input_tokens);
  const { input_tokens: plain } = await client.messages.countTokens({ model: 'tale', messages });
  assert.ok(counted > plain);
});

test('an assistant may be told how it began', async () => {
  const words = 'Once upon a time there was';
  const message = await client.messages.create({
    ...greedy, messages: [...messages, { role: 'assistant', content: words }] });
  assert.ok(textOf(message).length > 0);
});

test('the models can be listed', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ['tale']);
});

function refused(type, status, name, words) {
  return (error) => {
    assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
    assert.equal(error.status, status);
    assert.equal(error.error.type, 'error');
    assert.equal(error.error.error.type, name);
    assert.ok(error.message.includes(words), error.message);
    assert.ok(error.requestID);
    return true;
  };
}

test('refusals are the client\'s own error classes', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } };
  const bad = Anthropic.BadRequestError, name = 'invalid_request_error';
  for (const [fields, words] of [
    [{ temperature: -1 }, 'temperature'], [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'user', content: [image] }] }, 'image'],
    [{ tool_choice: { type: 'any' }, tools: [] }, 'tool_choice'],
    [{ tool_choice: { type: 'tool', name: 'b' } }, 'tool_choice'],
    [{ tool_choice: { type: 'some' } }, 'tool_choice'],
    [{ tools: [{ name: 'no_schema' }] }, 'tools[0]']])
    for (const stream of [false, true])
      await assert.rejects(client.messages.create({ ...greedy, ...fields, stream }),
        refused(bad, 400, name, words));
  await assert.rejects(client.messages.create({ ...greedy, model: 'claude' }),
    refused(Anthropic.NotFoundError, 404, 'not_found_error', 'claude'));
  await assert.rejects(client.get('/v1/messages/others'),
    refused(Anthropic.NotFoundError, 404, 'not_found_error', 'path'));
  await assert.rejects(client.messages.batches.list({ maxRetries: 0 }),
    refused(Anthropic.InternalServerError, 501, 'api_error', '--files-dir'));
});

test('the key is needed, as x-api-key or as a bearer\'s token', async () => {
  const bearer = new Anthropic({ baseURL, apiKey: null, authToken: apiKey });
  assert.ok(textOf(await bearer.messages.create({ ...greedy, max_tokens: 1 })) !== undefined);
  const stranger = new Anthropic({ baseURL, apiKey: `${apiKey}x`, maxRetries: 0 });
  await assert.rejects(stranger.messages.create(greedy),
    refused(Anthropic.AuthenticationError, 401, 'authentication_error', 'x-api-key'));
});
