// Baton seen by Vercel's AI SDK, by its provider for OpenAI and by the one for servers like it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, streamObject, streamText } from 'ai';
import { z } from 'zod';

const { BASE_URL, API_KEY: apiKey } = process.env;
const baseURL = `${BASE_URL}/v1`;
const compatible = createOpenAICompatible({
  name: 'baton', baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true,
});
const openai = createOpenAI({ baseURL, apiKey });
const messages = [{ role: 'user', content: 'Tell me a story' }];
const instructions = 'Be brief.';
const greedy = { instructions, temperature: 0, maxOutputTokens: 12, maxRetries: 0 };
const schema = z.object({
  name: z.string().max(6), kind: z.enum(['cat', 'fox']), age: z.number().int().min(0).max(9) });

for (const [name, model] of [['openai', openai.chat('tale')],
  ['openai responses', openai('tale')], ['openai-compatible', compatible('tale')]]) {
  test(`${name}: a chat has text, usage and a reason why it ended`, async () => {
    const answer = await generateText({ model, messages, ...greedy });
    assert.ok(answer.text.length > 0);
    assert.equal(answer.finishReason, 'length');
    assert.equal(answer.usage.outputTokens, 12);
    assert.ok(answer.usage.inputTokens > 0);
    assert.deepEqual(answer.warnings ?? [], []);
  });

  test(`${name}: a stream gathers to the same text, with usage`, async () => {
    const whole = await generateText({ model, messages, ...greedy });
    const stream = streamText({ model, messages, ...greedy });
    const parts = [];
    for await (const part of stream.textStream) parts.push(part);
    assert.ok(parts.length > 1);
    assert.equal(parts.join(''), whole.text);
    assert.equal(await stream.finishReason, 'length');
    assert.deepEqual(await stream.usage, whole.usage);
  });

  test(`${name}: an object keeps to its schema, whole and streamed`, async () => {
    const wanted = { model, messages, schema, ...greedy, maxOutputTokens: 200 };
    const { object, finishReason } = await generateObject(wanted);
    assert.equal(finishReason, 'stop');
    assert.ok(schema.parse(object));
    const stream = streamObject(wanted);
    let last;
    for await (const partial of stream.partialObjectStream) last = partial;
    assert.deepEqual(last, object);
    assert.deepEqual(await stream.object, object);
  });

  test(`${name}: a stream can be aborted`, async () => {
    const abort = new AbortController();
    const stream = streamText({ model, messages, temperature: 0, maxOutputTokens: 400,
      abortSignal: abort.signal, onError() {} });
    const types = new Set();
    for await (const part of stream.fullStream) {
      types.add(part.type);
      if (part.type === 'text-delta') abort.abort();
    }
    assert.ok(types.has('abort') && !types.has('finish'), [...types].join());
  });

  test(`${name}: a refusal carries its status and words`, async () => {
    await assert.rejects(generateText({ model, messages, ...greedy, temperature: -1 }), (error) => {
      assert.ok(APICallError.isInstance(error), error);
      assert.equal(error.statusCode, 400);
      assert.match(error.message, /temperature/);
      return true;
    });
  });
}

test('a prompt is continued', async () => {
  const model = compatible.completionModel('tale');
  const wanted = { ...greedy, instructions: undefined, model, prompt: 'Once upon a time' };
  const { text } = await generateText(wanted);
  const parts = [];
  const { textStream } = streamText(wanted);
  for await (const part of textStream) parts.push(part);
  assert.equal(parts.join(''), text);
});

test('openai responses: a conversation goes on by references to what is kept', async () => {
  const said = { role: 'user', content: 'Go on.' };
  const first = await generateText({ model: openai('tale'), messages, ...greedy });
  const second = await generateText({
    model: openai('tale'), messages: [...messages, ...first.response.messages, said], ...greedy,
    include: { requestBody: true } });
  assert.ok(second.request.body.input.some((item) => item.type === 'item_reference'));
  const plain = [...messages, { role: 'assistant', content: first.text }, said];
  const third = await generateText({ model: openai.chat('tale'), messages: plain, ...greedy });
  assert.equal(second.text, third.text);
});
