// What LangChain sees of Baton: chats, streams, structured output, abort, prompts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { ChatOpenAI, OpenAI } from '@langchain/openai';
import { z } from 'zod';

const { BASE_URL, API_KEY: apiKey } = process.env;
const configuration = { baseURL: `${BASE_URL}/v1` };
const options = {
  model: 'tale', apiKey, temperature: 0, maxTokens: 12, maxRetries: 0, configuration };
const chat = new ChatOpenAI(options);
const messages = [new SystemMessage('Be brief.'), new HumanMessage('Tell me a story')];

test('a chat has text, usage and a reason why it ended', async () => {
  const answer = await chat.invoke(messages);
  assert.ok(answer.content.length > 0);
  assert.equal(answer.usage_metadata.output_tokens, 12);
  assert.equal(answer.response_metadata.finish_reason, 'length');
});

test('a stream gathers to the same message', async () => {
  let all;
  for await (const chunk of await chat.stream(messages)) all = all ? all.concat(chunk) : chunk;
  assert.equal(all.content, (await chat.invoke(messages)).content);
  assert.equal(all.usage_metadata.output_tokens, 12);
});

test('a chain, its batch and its stream of events', async () => {
  const template = [['system', 'Be brief.'], ['human', 'Tell me {what}']];
  const chain = ChatPromptTemplate.fromMessages(template).pipe(chat);
  const answers = await chain.batch([{ what: 'a story' }, { what: 'a joke' }]);
  assert.equal(answers[0].content, (await chat.invoke(messages)).content);
  const events = new Set();
  for await (const { event } of chain.streamEvents({ what: 'a story' }, { version: 'v2' }))
    events.add(event);
  assert.ok(events.has('on_chat_model_stream') && events.has('on_chat_model_end'));
});

test('structured output keeps to its schema', async () => {
  const schema = z.object({ name: z.string().max(6), age: z.number().int().min(0).max(9) });
  const bound = new ChatOpenAI({ ...options, maxTokens: 200 })
    .withStructuredOutput(schema, { method: 'jsonSchema', strict: true, name: 'pet' });
  assert.ok(schema.parse(await bound.invoke(messages)));
  const json = new ChatOpenAI({
    ...options, maxTokens: 12, modelKwargs: { response_format: { type: 'json_object' } } });
  assert.equal((await json.invoke(messages)).content.trimStart()[0], '{');
});

test('a stream can be aborted', async () => {
  const abort = new AbortController();
  const long = new ChatOpenAI({ ...options, maxTokens: 400 });
  let n = 0;
  await assert.rejects(async () => {
    for await (const _ of await long.stream(messages, { signal: abort.signal }))
      if (++n === 2) abort.abort();
  }, /abort/i);
  assert.ok(n < 100);
});

test('a prompt is continued, whole and streamed', async () => {
  const model = new OpenAI(options);
  const text = await model.invoke('Once upon a time');
  const parts = [];
  for await (const part of await model.stream('Once upon a time')) parts.push(part);
  assert.equal(parts.join(''), text);
});

test('a refusal carries its status and words', async () => {
  const bad = new ChatOpenAI({ ...options, temperature: -1 });
  await assert.rejects(bad.invoke(messages),
    (error) => error.status === 400 && /temperature/.test(error.message));
});
