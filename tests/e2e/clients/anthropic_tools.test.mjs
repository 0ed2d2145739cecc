// A round of a conversation with a tool; the caller says what the model is made to write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: 'any', maxRetries: 0 });
const writes = (value) => ({ type: 'structural_tag', format: { type: 'const_string', value } });
const input_schema = { type: 'object', properties: { city: { type: 'string' } } };
const tools = [{ name: 'weather', input_schema }];
const messages = [{ role: 'user', content: 'How is it?' }];
const asked = {
  model: 'tale', max_tokens: 200, messages, tools, response_format: writes(process.env.CALL) };

function check({ content, stop_reason: reason }) {
  assert.equal(reason, 'tool_use');
  const types = content.map((block) => block.type);
  assert.deepEqual(types, ['thinking', 'text', 'tool_use', 'tool_use']);
  assert.equal(content[0].thinking, 'Hm.');
  assert.equal(content[2].name, 'weather');
  assert.ok(content[2].input.city);
}

test('a call is a block, and its result goes back', async () => {
  const first = await client.messages.create(asked);
  check(first);
  const results = first.content.filter((block) => block.type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Rain.' }));
  const second = await client.messages.create({ ...asked, response_format: writes('It rains.'),
    messages: [...messages, { role: 'assistant', content: first.content },
      { role: 'user', content: results }] });
  assert.deepEqual(second.content, [{ type: 'text', text: 'It rains.' }]);
  assert.equal(second.stop_reason, 'end_turn');
});

test('the stream helper puts the same blocks together', async () => {
  const whole = await client.messages.create(asked);
  const message = await client.messages.stream(asked).finalMessage();
  check(message);
  const plain = ({ content }) => content.map(({ id, ...block }) => block);
  assert.deepEqual(plain(message), plain(whole));
});

// Threads, whose turns send only what is new.
const bodies = [];
const recording = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: 'any', maxRetries: 0,
  fetch: (url, init) => {
    bodies.push(JSON.parse(init.body));
    return fetch(url, init);
  } });
const base = { model: 'tale', max_tokens: 200, system: 'Be brief.', tools };
const text = 'It rains.';
const inputOf = ({ usage }) => usage.input_tokens + usage.cache_read_input_tokens;

function resultsOf({ content }) {
  return { role: 'user', content: content.filter(({ type }) => type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Rain.' })) };
}

async function talk(streams) {
  bodies.length = 0;
  const thread = recording.beta.messages.thread(base);
  const say = (message, value) => (streams
    ? thread.stream(message, { response_format: writes(value) }).finalMessage()
    : thread.send(message, { response_format: writes(value) }));
  const first = await say(messages[0], process.env.CALL);
  check(first);
  const second = await say(resultsOf(first), text);
  const third = await say({ role: 'user', content: 'Well?' }, text);
  return { thread, replies: [first, second, third] };
}

test('a thread is continued by its new messages alone', async () => {
  for (const streams of [false, true]) {
    const { thread, replies } = await talk(streams);
    assert.deepEqual(bodies.map((body) => body.thread.type), ['create', 'continue', 'continue']);
    assert.deepEqual(bodies.map((body) => body.messages.length), [1, 1, 1]);
    assert.ok(bodies.slice(1).every((body) => !body.system && !body.tools));
    // The prompt is that of the whole conversation.
    const whole = await client.messages.create({ ...base, messages: thread.messages.slice(0, -1),
      response_format: writes(text) });
    assert.equal(inputOf(replies[2]), inputOf(whole));
    assert.deepEqual(thread.messages.at(-1).content, [{ type: 'text', text }]);
  }
});

test('a thread that is gone is created again', async () => {
  const { thread } = await talk(false);
  bodies.length = 0;
  const body = { ...base, messages, thread: { type: 'continue', previous_message_id: 'msg-none' } };
  delete body.system;
  delete body.tools;
  await assert.rejects(client.beta.messages.create(body), (error) =>
    error.status === 404 && error.error.error.details.error_code === 'thread_not_found');
  const fork = thread.fork();
  await fork.send({ role: 'user', content: 'Well?' }, { response_format: writes(text) });
  assert.equal(bodies[0].thread.type, 'create');
  assert.equal(bodies[0].messages.length, 7);
});

test('the runner of tools runs in a thread', async () => {
  bodies.length = 0;
  const run = [];
  const runner = recording.beta.messages.toolRunner({ ...base, messages, max_iterations: 2,
    response_format: writes(process.env.CALL),
    tools: [{ ...tools[0], run: ({ city }) => { run.push(city); return 'Rain.'; } }] });
  await runner;
  assert.ok(run.length >= 2);
  assert.deepEqual(bodies.map((body) => body.thread.type), ['create', 'continue']);
  assert.equal(bodies[1].messages.length, 1);
});
