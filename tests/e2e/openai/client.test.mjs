// What the official client sees of Baton: models, completions and chat, whole and streamed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: 'any' });
const model = 'tale';
const STORY = 'Once upon a time';
const MESSAGES = [
  { role: 'system', content: 'You tell short stories.' },
  { role: 'user', content: 'The fox saw a dog and' }, // no end of text within 32 greedy tokens
];
const greedy = { model, temperature: 0, max_tokens: 16, ignore_eos: true };
const sampled = { model, temperature: 0.9, max_tokens: 16, seed: 7, ignore_eos: true };

const complete = (fields) => client.completions.create({ ...greedy, prompt: STORY, ...fields });
const chat = (fields) =>
  client.chat.completions.create({ ...greedy, messages: MESSAGES, ...fields });

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

// The text of each choice, by index, out of a stream's chunks.
function texts(chunks) {
  const byIndex = [];
  for (const choice of chunks.flatMap((chunk) => chunk.choices)) {
    const text = choice.delta ? (choice.delta.content ?? '') : choice.text;
    byIndex[choice.index] = (byIndex[choice.index] ?? '') + text;
  }
  return byIndex;
}

function assertUsage(usage, nOutput) {
  assert.ok(usage.prompt_tokens > 0);
  assert.equal(usage.completion_tokens, nOutput);
  assert.equal(usage.total_tokens, usage.prompt_tokens + nOutput);
  assert.ok(usage.prompt_tokens_details.cached_tokens >= 0);
}

function assertTimings(timings, usage) {
  assert.equal(timings.cache_n + timings.prompt_n, usage.prompt_tokens);
  assert.equal(timings.predicted_n, usage.completion_tokens);
  for (const name of ['prompt_ms', 'prompt_per_token_ms', 'prompt_per_second', 'predicted_ms',
    'predicted_per_token_ms', 'predicted_per_second'])
    assert.ok(timings[name] > 0, `${name} is ${timings[name]}`);
  for (const stage of ['parse', 'tokenize', 'queue', 'prefill_queue', 'prefill_compute',
    'first_token', 'kv_transfer', 'decode_queue', 'decode', 'detokenize', 'flush'])
    assert.ok(timings[`${stage}_s`] >= 0, `${stage}_s is ${timings[`${stage}_s`]}`);
}

// Logprobs of one token: at most 0, and what it says of its bytes and rivals is consistent.
function assertTokenLogprob(entry, nTop) {
  assert.ok(entry.logprob <= 0);
  assert.ok(Array.isArray(entry.bytes));
  assert.equal(entry.top_logprobs.length, nTop);
  entry.top_logprobs.reduce((higher, top) => {
    assert.ok(top.logprob <= higher);
    return top.logprob;
  }, 0);
}

// ---- models

test('the models list holds the one that is served, and it can be retrieved', async () => {
  const found = [];
  for await (const each of client.models.list()) found.push(each);
  assert.deepEqual(found.map((each) => each.id), [model]);
  assert.equal(found[0].object, 'model');
  assert.ok(Number.isInteger(found[0].created) && found[0].owned_by);
  assert.deepEqual(await client.models.retrieve(model), found[0]);
});

// ---- completions

test('a completion has the shape that the client declares', async () => {
  const { data, response } = await complete({}).withResponse();
  assert.equal(data.object, 'text_completion');
  assert.equal(data.model, model);
  assert.match(data.id, /^cmpl-/);
  assert.ok(Math.abs(data.created - Date.now() / 1000) < 60);
  assert.ok(data.system_fingerprint);
  const [choice] = data.choices;
  assert.equal(choice.index, 0);
  assert.equal(choice.finish_reason, 'length');
  assert.equal(choice.logprobs, null);
  assert.ok(choice.text.length > 16);
  assert.equal(choice.steps, undefined);
  assertUsage(data.usage, 16);
  assertTimings(data.timings, data.usage);
  assert.ok(response.headers.get('x-request-id'));
  assert.equal(data._request_id, response.headers.get('x-request-id'));
});

test('without max_tokens a completion has at most 16', async () => {
  const answer = await client.completions.create({ model, prompt: STORY, ignore_eos: true });
  assert.equal(answer.usage.completion_tokens, 16);
});

test('the model may be left out', async () => {
  const { model: _, ...fields } = greedy;
  const answer = await client.completions.create({ ...fields, prompt: STORY });
  assert.equal(answer.choices[0].text, (await complete({})).choices[0].text);
});

test('a streamed completion is the whole one in pieces', async () => {
  const whole = await complete({});
  const chunks = await collect(await complete({ stream: true }));
  assert.equal(texts(chunks)[0], whole.choices[0].text);
  for (const chunk of chunks) {
    assert.equal(chunk.object, 'text_completion');
    assert.equal(chunk.id, chunks[0].id);
    assert.equal(chunk.system_fingerprint, whole.system_fingerprint);
    assert.equal(chunk.usage ?? null, null);
  }
  const reasons = chunks.map((chunk) => chunk.choices[0].finish_reason);
  assert.equal(reasons.pop(), 'length');
  assert.ok(reasons.every((reason) => reason === null));
  assert.ok(chunks.at(-1).timings.predicted_n === 16);
});

test('include_usage adds one chunk of usage and no choices, for either kind', async () => {
  for (const create of [complete, chat]) {
    const asked = { stream: true, stream_options: { include_usage: true } };
    const chunks = await collect(await create(asked));
    const last = chunks.pop();
    assert.deepEqual(last.choices, []);
    assertUsage(last.usage, 16);
    assertTimings(last.timings, last.usage);
    assert.ok(chunks.length > 1 && chunks.every((chunk) => chunk.usage === null));
    assert.equal(chunks.at(-1).choices[0].finish_reason, 'length');
  }
});

test('all four forms of a prompt mean the same', async () => {
  const response = await fetch(new URL('/tokenize', process.env.BASE_URL), {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: STORY }),
  });
  const ids = (await response.json()).tokens;
  const expected = (await complete({})).choices[0].text;
  for (const prompt of [[STORY], ids, [ids]])
    assert.equal((await complete({ prompt })).choices[0].text, expected);
});

test('a batch of prompts equals its single requests, n choices of each', async () => {
  const prompts = ['The fox saw', 'One day', 'Tom and Lily'];
  const batch = await complete({ ...sampled, prompt: prompts, n: 2 });
  assert.deepEqual(batch.choices.map((choice) => choice.index), [0, 1, 2, 3, 4, 5]);
  assert.equal(batch.usage.completion_tokens, 6 * 16);
  let promptTokens = 0;
  for (const [i, prompt] of prompts.entries()) {
    for (const j of [0, 1]) {
      const single = await complete({ ...sampled, prompt, seed: sampled.seed + j });
      assert.equal(batch.choices[2 * i + j].text, single.choices[0].text);
      promptTokens += j ? 0 : single.usage.prompt_tokens;
    }
  }
  assert.equal(batch.usage.prompt_tokens, promptTokens);
  const chunks = await collect(await complete({ ...sampled, prompt: prompts, n: 2, stream: true }));
  assert.deepEqual(texts(chunks), batch.choices.map((choice) => choice.text));
});

test('a seed repeats a completion, another seed does not', async () => {
  const text = async (seed) =>
    (await complete({ ...sampled, max_tokens: 32, seed })).choices[0].text;
  assert.equal(await text(11), await text(11));
  assert.notEqual(await text(11), await text(12));
});

test('a stop string ends a completion before itself, whole and streamed', async () => {
  const text = (await complete({ max_tokens: 32 })).choices[0].text;
  const stop = text.slice(20, 25);
  const before = text.slice(0, text.indexOf(stop));
  for (const form of [stop, ['@@', stop]]) {
    const answer = await complete({ max_tokens: 32, stop: form });
    assert.equal(answer.choices[0].text, before);
    assert.equal(answer.choices[0].finish_reason, 'stop');
    const chunks = await collect(await complete({ max_tokens: 32, stop: form, stream: true }));
    assert.equal(texts(chunks)[0], before);
    assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
  }
});

test('echo returns the prompt before the completion, whole and streamed', async () => {
  const { text } = (await complete({})).choices[0];
  const echoed = await complete({ echo: true });
  assert.equal(echoed.choices[0].text, STORY + text);
  assertUsage(echoed.usage, 16);
  assert.equal(texts(await collect(await complete({ echo: true, stream: true })))[0], STORY + text);
});

function assertCompletionLogprobs(choice, nTop) {
  const { tokens, token_logprobs: own, top_logprobs: top, text_offset: offsets } = choice.logprobs;
  assert.equal(tokens.join(''), choice.text);
  assert.equal(own.length, tokens.length);
  assert.equal(offsets.length, tokens.length);
  for (let i = 1; i < tokens.length; i++)
    assert.equal(offsets[i] - offsets[i - 1], tokens[i - 1].length);
  for (let i = 0; i < tokens.length; i++) {
    if (own[i] === null) continue;
    assert.ok(own[i] <= 0);
    assert.ok(Object.keys(top[i]).length >= nTop);
    assert.ok(Math.abs(top[i][tokens[i]] - own[i]) < 1e-6);
  }
}

test('logprobs of a completion cover every token, the first included', async () => {
  const answer = await complete({ logprobs: 5 });
  assertCompletionLogprobs(answer.choices[0], 5);
  const { tokens, token_logprobs: own, top_logprobs: top } = answer.choices[0].logprobs;
  assert.equal(tokens.length, 16);
  for (let i = 0; i < 16; i++) // greedy takes the most probable
    assert.equal(own[i], Math.max(...Object.values(top[i])));
  const chunks = await collect(await complete({ logprobs: 5, stream: true }));
  const streamed = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.tokens ?? []);
  assert.deepEqual(streamed, tokens);
  assert.equal((await complete({ logprobs: 0 })).choices[0].logprobs.tokens.length, 16);
});

test('logprobs list the token that ends the text, which shows nothing of it', async () => {
  const end = { ignore_eos: false, logit_bias: { 2559: 100 }, max_tokens: 3 };
  const { choices: [choice] } = await complete({ ...end, logprobs: 1 });
  assert.equal(choice.text, '');
  assert.equal(choice.finish_reason, 'stop');
  assert.deepEqual(choice.logprobs.tokens, ['<|endoftext|>']);
  assert.deepEqual(choice.logprobs.text_offset, [0]);
  const chunks = await collect(await chat({ ...end, logprobs: true, stream: true }));
  const entries = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
  assert.deepEqual(entries.map((entry) => entry.token), ['<|endoftext|>']);
});

test('echo with logprobs covers the prompt too, whose first token has none', async () => {
  const answer = await complete({ logprobs: 2, echo: true, max_tokens: 4 });
  const { token_logprobs: own, text_offset: offsets } = answer.choices[0].logprobs;
  assertCompletionLogprobs(answer.choices[0], 2);
  assert.equal(own.length, answer.usage.prompt_tokens + 4);
  assert.equal(own[0], null);
  assert.ok(own.slice(1).every((value) => value < 0));
  assert.equal(offsets[0], 0);
  const chunks = await collect(await complete({
    logprobs: 2, echo: true, max_tokens: 4, stream: true }));
  const streamed = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.token_logprobs ?? []);
  assert.deepEqual(streamed, own);
});

test('a text is judged without continuing it by echo, logprobs and no new tokens', async () => {
  const answer = await complete({
    prompt: `${STORY}, there was`, logprobs: 0, echo: true, max_tokens: 0 });
  assert.equal(answer.choices[0].text, `${STORY}, there was`);
  assert.equal(answer.choices[0].logprobs.tokens.length, answer.usage.prompt_tokens);
  assert.equal(answer.usage.completion_tokens, 0);
});

test('logit_bias and penalties change what is chosen', async () => {
  const plain = (await complete({ explain: 1 })).choices[0];
  const first = plain.steps[0].token_id;
  const biased = (await complete({ logit_bias: { [first]: -100 }, explain: 1 })).choices[0];
  assert.notEqual(biased.steps[0].token_id, first);
  const penalized = await complete({ max_tokens: 48, frequency_penalty: 2, presence_penalty: 2 });
  assert.notEqual(penalized.choices[0].text, (await complete({ max_tokens: 48 })).choices[0].text);
});

// ---- chat

test('a chat completion has the shape that the client declares', async () => {
  const { data, response } = await chat({}).withResponse();
  assert.equal(data.object, 'chat.completion');
  assert.equal(data.model, model);
  assert.match(data.id, /^chatcmpl-/);
  assert.ok(Math.abs(data.created - Date.now() / 1000) < 60);
  assert.ok(data.system_fingerprint);
  const [choice] = data.choices;
  assert.equal(choice.index, 0);
  assert.equal(choice.finish_reason, 'length');
  assert.equal(choice.message.role, 'assistant');
  assert.ok(choice.message.content.length > 0);
  assert.equal(choice.message.refusal ?? null, null);
  assert.equal(choice.logprobs ?? null, null);
  assertUsage(data.usage, 16);
  assertTimings(data.timings, data.usage);
  assert.ok(response.headers.get('x-request-id'));
});

test('a chat stream is a role, contents, a finish_reason', async () => {
  const whole = await chat({});
  const chunks = await collect(await chat({ stream: true }));
  const choices = chunks.map((chunk) => chunk.choices[0]);
  assert.deepEqual(choices[0].delta, { role: 'assistant', content: '' });
  assert.deepEqual(choices.at(-1).delta, {});
  assert.equal(choices.at(-1).finish_reason, 'length');
  for (const choice of choices.slice(1, -1))
    assert.deepEqual(Object.keys(choice.delta), ['content']);
  for (const choice of choices.slice(0, -1)) assert.equal(choice.finish_reason, null);
  for (const chunk of chunks) {
    assert.equal(chunk.object, 'chat.completion.chunk');
    assert.equal(chunk.id, chunks[0].id);
    assert.ok(chunk.system_fingerprint && chunk.created && chunk.model === model);
  }
  assert.equal(texts(chunks)[0], whole.choices[0].message.content);
  assertTimings(chunks.at(-1).timings, whole.usage);
});

test("the client's own stream helper assembles the whole answer", async () => {
  const whole = await chat({ logprobs: true, top_logprobs: 2 });
  const stream = client.chat.completions.stream({
    ...greedy, messages: MESSAGES, logprobs: true, top_logprobs: 2,
    stream_options: { include_usage: true },
  });
  let contents = '';
  stream.on('content', (delta) => (contents += delta));
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].message.content, whole.choices[0].message.content);
  assert.equal(contents, whole.choices[0].message.content);
  assert.equal(final.choices[0].finish_reason, 'length');
  assert.deepEqual(final.choices[0].logprobs.content.map((entry) => entry.token),
    whole.choices[0].logprobs.content.map((entry) => entry.token));
  assert.equal(final.usage.completion_tokens, 16);
});

test('logprobs of a chat cover every token, the first included', async () => {
  const { choices: [choice] } = await chat({ logprobs: true, top_logprobs: 3 });
  const entries = choice.logprobs.content;
  assert.equal(entries.length, 16);
  for (const entry of entries) {
    assertTokenLogprob(entry, 3);
    assert.equal(entry.logprob, entry.top_logprobs[0].logprob); // greedy
    assert.equal(entry.token, entry.top_logprobs[0].token);
  }
  const bytes = Buffer.from(entries.flatMap((entry) => entry.bytes));
  assert.equal(bytes.toString(), choice.message.content);
  const chunks = await collect(await chat({ logprobs: true, top_logprobs: 3, stream: true }));
  const streamed = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
  assert.deepEqual(streamed.map((entry) => entry.token), entries.map((entry) => entry.token));
  const bare = (await chat({ logprobs: true })).choices[0].logprobs.content;
  for (const entry of bare) assertTokenLogprob(entry, 0);
});

test('n choices differ by their seeds, whole and streamed', async () => {
  const whole = await chat({ ...sampled, n: 3 });
  assert.deepEqual(whole.choices.map((choice) => choice.index), [0, 1, 2]);
  assert.equal(whole.usage.completion_tokens, 48);
  const contents = whole.choices.map((choice) => choice.message.content);
  assert.equal(new Set(contents).size, 3);
  for (const i of [0, 1, 2]) {
    const single = await chat({ ...sampled, seed: sampled.seed + i });
    assert.equal(single.choices[0].message.content, contents[i]);
  }
  const chunks = await collect(await chat({ ...sampled, n: 3, stream: true }));
  assert.deepEqual(texts(chunks), contents);
  for (const i of [0, 1, 2]) {
    const own = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === i);
    assert.equal(own[0].delta.role, 'assistant');
    assert.equal(own.filter((choice) => choice.finish_reason !== null).length, 1);
    assert.equal(own.at(-1).finish_reason, 'length');
  }
});

test('a stop string ends a chat before itself', async () => {
  const { content } = (await chat({ max_tokens: 32 })).choices[0].message;
  const stop = content.slice(12, 16);
  const answer = await chat({ max_tokens: 32, stop });
  assert.equal(answer.choices[0].message.content, content.slice(0, content.indexOf(stop)));
  assert.equal(answer.choices[0].finish_reason, 'stop');
});

test('max_completion_tokens is the newer name of max_tokens', async () => {
  const { max_tokens: _, ...fields } = greedy;
  const answer = await client.chat.completions.create({
    ...fields, messages: MESSAGES, max_completion_tokens: 5 });
  assert.equal(answer.usage.completion_tokens, 5);
});

test('fields that mean nothing here are accepted', async () => {
  const answer = await chat({ user: 'me', store: false, metadata: { a: 'b' }, service_tier: 'auto',
    parallel_tool_calls: false, response_format: { type: 'text' }, tools: null });
  assert.equal(answer.choices[0].message.content, (await chat({})).choices[0].message.content);
});
