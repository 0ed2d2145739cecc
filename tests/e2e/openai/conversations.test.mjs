// What the official client sees of Baton's conversations: made, continued, listed, and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const greedy = { model: 'tale', temperature: 0, max_output_tokens: 12 };
const system = { role: 'system', content: 'Be brief.' };
const user = (content) => ({ role: 'user', content });

async function listed(id, query) {
  const found = [];
  for await (const item of client.conversations.items.list(id, query)) found.push(item);
  return found;
}

test('responses go on in a conversation as they do from the same input', async () => {
  const made = await client.conversations.create({ items: [system], metadata: { topic: 'fox' } });
  assert.match(made.id, /^conv_[0-9a-f]{32}$/);
  assert.deepEqual([made.object, made.metadata], ['conversation', { topic: 'fox' }]);
  const first = await client.responses.create({
    ...greedy, input: 'Tell me a story', conversation: made.id });
  assert.deepEqual(first.conversation, { id: made.id });
  const stream = client.responses.stream({
    ...greedy, input: [user('Go on.')], conversation: { id: made.id } });
  const second = await stream.finalResponse();
  const same = await client.responses.create({
    ...greedy, input: [system, user('Tell me a story'), ...first.output, user('Go on.')] });
  assert.equal(second.output_text, same.output_text);
  assert.equal(second.usage.input_tokens, same.usage.input_tokens);
  const items = await listed(made.id, { order: 'asc', limit: 2 });
  assert.deepEqual(items.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user', 'assistant']);
  assert.deepEqual(items[1].content, [{ type: 'input_text', text: 'Tell me a story' }]);
  assert.equal(items[4].content[0].text, second.output_text);
  assert.equal(new Set(items.map(({ id }) => id)).size, 5);
});

test('items are added, had and deleted', async () => {
  const { id } = await client.conversations.create();
  const added = await client.conversations.items.create(id, { items: [user('a'), user('b')] });
  assert.deepEqual([added.data.length, added.has_more], [2, false]);
  const [a, b] = added.data;
  assert.deepEqual(await client.conversations.items.retrieve(a.id, { conversation_id: id }), a);
  assert.deepEqual(await listed(id), [b, a]);
  assert.equal((await client.conversations.items.delete(a.id, { conversation_id: id })).id, id);
  assert.deepEqual(await listed(id), [b]);
  await assert.rejects(client.conversations.items.retrieve(a.id, { conversation_id: id }),
    OpenAI.NotFoundError);
});

test('metadata is replaced, and a deleted conversation is gone', async () => {
  const { id, created_at } = await client.conversations.create({ metadata: { a: 'b' } });
  const changed = await client.conversations.update(id, { metadata: { c: 'd' } });
  assert.deepEqual(changed, { id, object: 'conversation', created_at, metadata: { c: 'd' } });
  assert.deepEqual(await client.conversations.retrieve(id), changed);
  assert.deepEqual(await client.conversations.delete(id),
    { id, object: 'conversation.deleted', deleted: true });
  await assert.rejects(client.conversations.retrieve(id), OpenAI.NotFoundError);
  await assert.rejects(client.responses.create({ ...greedy, input: 'a', conversation: id }),
    OpenAI.BadRequestError);
});
