// What the official client sees of Baton's batches: made, watched, read, listed and cancelled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI, { toFile } from 'openai';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

const line = (id, body, url = '/v1/completions') => ({
  custom_id: id, method: 'POST', url,
  body: { model: 'tale', prompt: 'Once', max_tokens: 3, temperature: 0, ...body } });

async function upload(lines) {
  const text = lines.map((each) => JSON.stringify(each)).join('\n');
  const file = await client.files.create({
    file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
  return file.id;
}

async function over(id) {
  for (;;) {
    const batch = await client.batches.retrieve(id);
    if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return batch;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function read(id) {
  const text = await (await client.files.content(id)).text();
  return Object.fromEntries(text.trim().split('\n').map((each) => JSON.parse(each))
    .map((answer) => [answer.custom_id, answer]));
}

const make = (input_file_id, more = {}) => client.batches.create({
  input_file_id, endpoint: '/v1/completions', completion_window: '24h', ...more });

test('a batch answers its lines in files of output and errors', async () => {
  const input = await upload([line('a'), line('b', { max_tokens: -7 }), line('ü "c"')]);
  const made = await make(input, { metadata: { of: 'test' } });
  assert.match(made.id, /^batch_[0-9a-f]{32}$/);
  assert.deepEqual([made.object, made.endpoint, made.input_file_id, made.metadata],
    ['batch', '/v1/completions', input, { of: 'test' }]);
  assert.equal(made.expires_at, made.created_at + 86400);
  const batch = await over(made.id);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: 3, completed: 2, failed: 1 });
  assert.ok(batch.in_progress_at && batch.finalizing_at && batch.completed_at);
  const [output, errors] = [await read(batch.output_file_id), await read(batch.error_file_id)];
  assert.deepEqual(Object.keys(output).sort(), ['a', 'ü "c"']);
  const alone = await client.completions.create(line('a').body);
  assert.equal(output.a.response.body.choices[0].text, alone.choices[0].text);
  assert.deepEqual([output.a.error, output.a.response.status_code], [null, 200]);
  assert.deepEqual([errors.b.response.status_code, errors.b.response.body.error.param],
    [400, 'max_tokens']);
  const files = [];
  for await (const file of client.files.list({ purpose: 'batch_output' })) files.push(file.id);
  assert.ok(files.includes(batch.output_file_id));
  const ids = [];
  for await (const each of client.batches.list({ limit: 1 })) ids.push(each.id);
  assert.ok(ids.includes(made.id));
});

test('every endpoint is served', async () => {
  const bodies = {
    '/v1/chat/completions': { messages: [{ role: 'user', content: 'a' }], max_tokens: 2 },
    '/v1/embeddings': { input: 'a' }, '/v1/responses': { input: 'a', max_output_tokens: 2 } };
  for (const [endpoint, body] of Object.entries(bodies)) {
    const input = await upload([{ ...line('a', {}, endpoint), body }]);
    const batch = await over((await make(input, { endpoint })).id);
    assert.deepEqual(batch.request_counts, { total: 1, completed: 1, failed: 0 }, endpoint);
  }
});

test('a file with a wrong line fails as a whole', async () => {
  const input = await upload([line('a'), line('a'), line('b', {}, '/v1/embeddings'), {}]);
  const batch = await over((await make(input)).id);
  assert.equal(batch.status, 'failed');
  assert.deepEqual(batch.errors.data.map(({ line, code }) => [line, code]),
    [[2, 'duplicate_custom_id'], [3, 'mismatched_endpoint'], [4, 'invalid_request']]);
});

test('a batch is cancelled', async () => {
  const lines = Array.from({ length: 200 }, (_, i) => line(`${i}`, {
    max_tokens: 400, ignore_eos: true }));
  const made = await make(await upload(lines));
  assert.ok(['cancelling', 'cancelled'].includes((await client.batches.cancel(made.id)).status));
  const batch = await over(made.id);
  assert.equal(batch.status, 'cancelled');
  const { total, completed, failed } = batch.request_counts;
  assert.equal(completed + failed, total);
  const errors = await read(batch.error_file_id);
  assert.equal(Object.values(errors)[0].error.code, 'batch_cancelled');
});
