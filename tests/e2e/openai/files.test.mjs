// What the official client sees of Baton's files: uploaded, listed, read and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI, { toFile } from 'openai';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

async function listed(query) {
  const found = [];
  for await (const file of client.files.list(query)) found.push(file.id);
  return found;
}

test('a file is as it was uploaded, until it is deleted', async () => {
  const bytes = Buffer.from(Array.from({ length: 300000 }, (_, i) => (i * 7) % 256));
  const made = await client.files.create({
    file: await toFile(bytes, 'a; "b".bin'), purpose: 'user_data',
    expires_after: { anchor: 'created_at', seconds: 3600 } });
  assert.match(made.id, /^file-[0-9a-f]{32}$/);
  assert.deepEqual([made.object, made.bytes, made.purpose, made.status, made.expires_at],
    ['file', bytes.length, 'user_data', 'processed', made.created_at + 3600]);
  assert.deepEqual(await client.files.retrieve(made.id), made);
  const content = Buffer.from(await (await client.files.content(made.id)).arrayBuffer());
  assert.ok(content.equals(bytes));
  assert.deepEqual(await client.files.delete(made.id),
    { id: made.id, object: 'file', deleted: true });
  await assert.rejects(client.files.retrieve(made.id), OpenAI.NotFoundError);
  await assert.rejects(client.files.content(made.id), OpenAI.NotFoundError);
});

test('files are listed by purpose and in pages', async () => {
  const made = [];
  for (const name of ['a', 'b', 'c'])
    made.push((await client.files.create({ file: await toFile(Buffer.from(name), name),
      purpose: 'vision' })).id);
  assert.deepEqual(await listed({ purpose: 'vision', order: 'asc', limit: 2 }), made);
  assert.deepEqual(await listed({ purpose: 'vision', after: made[1] }), [made[0]]);
  assert.deepEqual(await listed({ purpose: 'evals' }), []);
});
