// What Anthropic's client sees of batches of messages: made, watched, read, cancelled and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
const { batches } = client.messages;
const request = (custom_id, more = {}) => ({ custom_id, params: {
  model: 'tale', max_tokens: 3, temperature: 0, messages: [{ role: 'user', content: 'Hi' }],
  ...more } });

async function ended(id) {
  for (;;) {
    const batch = await batches.retrieve(id);
    if (batch.processing_status === 'ended') return batch;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function results(id) {
  const found = {};
  for await (const each of await batches.results(id)) found[each.custom_id] = each.result;
  return found;
}

test('a batch has a result for each request', async () => {
  const made = await batches.create({ requests: [request('a'), request('b', { max_tokens: -1 })] });
  assert.match(made.id, /^msgbatch_[0-9a-f]{32}$/);
  assert.deepEqual([made.type, made.processing_status, made.results_url, made.request_counts],
    ['message_batch', 'in_progress', null,
      { processing: 2, succeeded: 0, errored: 0, canceled: 0, expired: 0 }]);
  const batch = await ended(made.id);
  assert.deepEqual(batch.request_counts,
    { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 });
  assert.ok(new Date(batch.ended_at) >= new Date(batch.created_at));
  const { a, b } = await results(made.id);
  const alone = await client.messages.create(request('a').params);
  assert.equal(a.type, 'succeeded');
  assert.deepEqual(a.message.content, alone.content);
  assert.deepEqual([b.type, b.error.type, b.error.error.type],
    ['errored', 'error', 'invalid_request_error']);
  const ids = [];
  for await (const each of batches.list({ limit: 1 })) ids.push(each.id);
  assert.ok(ids.includes(made.id));
  assert.deepEqual(await batches.delete(made.id), { id: made.id, type: 'message_batch_deleted' });
  await assert.rejects(batches.retrieve(made.id), Anthropic.NotFoundError);
});

test('a batch is canceled', async () => {
  const requests = Array.from({ length: 200 }, (_, i) => request(`${i}`, {
    max_tokens: 400, ignore_eos: true }));
  const { id } = await batches.create({ requests });
  await assert.rejects(batches.delete(id), Anthropic.BadRequestError);
  assert.ok((await batches.cancel(id)).cancel_initiated_at);
  const { request_counts: counts } = await ended(id);
  assert.equal(counts.succeeded + counts.canceled, 200);
  assert.ok(counts.canceled > 100);
  assert.equal(Object.values(await results(id)).length, 200);
});
