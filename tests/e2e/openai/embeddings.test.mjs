// Embeddings by OpenAI's official client, which asks for base64 unless told otherwise.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BASE_URL: baseURL, EXPECTED, TEXTS } = process.env;
const openai = new OpenAI({ baseURL, apiKey: 'none' });
const expected = JSON.parse(EXPECTED), input = JSON.parse(TEXTS);

test('embeddings are the numbers that curl gets, in either format', async () => {
  for (const format of [{}, { encoding_format: 'float' }]) {
    const { data } = await openai.embeddings.create({ model: 'tale', input, ...format });
    assert.equal(data.length, input.length);
    const floats = ({ embedding }) => Float32Array.from(embedding);
    data.forEach((entry, i) => assert.deepEqual(floats(entry), floats(expected[i])));
  }
});

test('dimensions shorten them', async () => {
  const { data } = await openai.embeddings.create({
    model: 'tale', input: input[0], dimensions: 16 });
  assert.equal(data[0].embedding.length, 16);
});

test('what is wrong is an error of the client', async () => {
  const wrong = { model: 'tale', input, dimensions: 100000 };
  await assert.rejects(openai.embeddings.create(wrong), OpenAI.BadRequestError);
});
