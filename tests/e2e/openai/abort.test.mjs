// Clients that leave in the middle of a stream; the caller looks at what remains in the fleet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: 'any' });
const long = {
  model: 'tale', prompt: 'Once upon a time', max_tokens: 480, n: 32, ignore_eos: true, stream: true,
};

test('aborting by the controller ends the iteration without an error', async () => {
  const stream = await client.completions.create(long);
  let nChunks = 0;
  for await (const chunk of stream) {
    assert.ok(chunk.choices);
    if (++nChunks === 3) stream.controller.abort();
  }
  assert.ok(nChunks >= 3);
});

test('leaving the loop aborts too', async () => {
  for await (const _ of await client.completions.create(long)) break;
});

test('an abort signal rejects a request that is not answered yet', async () => {
  const abort = new AbortController();
  const answer = client.completions.create({ ...long, stream: false }, { signal: abort.signal });
  setTimeout(() => abort.abort(), 20);
  await assert.rejects(answer, OpenAI.APIUserAbortError);
});
