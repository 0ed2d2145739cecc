// Embeddings by Ollama's official client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ollama } from 'ollama';

const { BASE_URL: host, EXPECTED, TEXTS } = process.env;
const ollama = new Ollama({ host });
const expected = JSON.parse(EXPECTED), input = JSON.parse(TEXTS);

test('embed gives what OpenAI clients get', async () => {
  const { embeddings } = await ollama.embed({ model: 'tale', input });
  assert.deepEqual(embeddings, expected.map(({ embedding }) => embedding));
});

test('so does embeddings, before it is normalised', async () => {
  const { embedding } = await ollama.embeddings({ model: 'tale', prompt: input[0] });
  const length = Math.hypot(...embedding);
  embedding.forEach((value, i) =>
    assert.ok(Math.abs(value / length - expected[0].embedding[i]) < 1e-5));
});
