// Baton seen by Ollama's official client: what is served, generate and chat, whole and streamed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ollama } from 'ollama';

const { BASE_URL: host, API_KEY: key } = process.env;
const ollama = new Ollama({ host, headers: { Authorization: `Bearer ${key}` } });
const model = 'tale';
const messages = [{ role: 'user', content: 'Tell me a story' }];
const options = { temperature: 0, num_predict: 12, num_ctx: 2048, repeat_penalty: 1, stop: [] };

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function assertEnd(answer) {
  assert.equal(answer.done, true);
  assert.equal(answer.done_reason, 'length');
  assert.equal(answer.eval_count, 12);
  assert.ok(answer.prompt_eval_count > 0);
  for (const name of ['total_duration', 'prompt_eval_duration', 'eval_duration'])
    assert.ok(Number.isSafeInteger(answer[name]) && answer[name] > 0, name);
  assert.ok(!Number.isNaN(Date.parse(answer.created_at)));
}

test('the model is listed, shown and running', async () => {
  const { models: [listed] } = await ollama.list();
  assert.equal(listed.name, 'tale:latest');
  assert.match(listed.digest, /^[0-9a-f]{64}$/);
  const { models: [running] } = await ollama.ps();
  assert.equal(running.name, listed.name);
  const shown = await ollama.show({ model: listed.name });
  assert.deepEqual(shown.capabilities, ['completion', 'tools']);
  const family = shown.model_info['general.architecture'];
  assert.equal(family, listed.details.family);
  assert.ok(shown.model_info[`${family}.context_length`] > 0);
  assert.match((await ollama.version()).version, /^\d+\.\d+\.\d+$/);
});

test('a chat answers with a message, and its stream with the pieces of it', async () => {
  const whole = await ollama.chat({ model, messages, options });
  assertEnd(whole);
  assert.equal(whole.message.role, 'assistant');
  const parts = await collect(await ollama.chat({
    model: 'tale:latest', messages, options, stream: true }));
  assert.ok(parts.length > 2);
  assert.equal(parts.map((part) => part.message.content).join(''), whole.message.content);
  assert.ok(parts.slice(0, -1).every((part) => part.done === false));
  assertEnd(parts.at(-1));
});

test('a prompt is what a user says, unless it is raw', async () => {
  const system = 'Be brief.', asked = { model, prompt: messages[0].content, system, options };
  const { message: { content } } = await ollama.chat({
    model, messages: [{ role: 'system', content: system }, ...messages], options });
  const whole = await ollama.generate(asked);
  assertEnd(whole);
  assert.equal(whole.response, content);
  const parts = await collect(await ollama.generate({ ...asked, stream: true }));
  assert.equal(parts.map((part) => part.response).join(''), content);
  const raw = await ollama.generate({ model, prompt: 'Once upon a time', raw: true, options });
  assert.notEqual(raw.prompt_eval_count, whole.prompt_eval_count);
});

test('a request without words loads the model', async () => {
  const loaded = await ollama.generate({ model, prompt: '', keep_alive: '5m' });
  assert.equal(loaded.done_reason, 'load');
  assert.equal((await ollama.chat({ model, messages: [], keep_alive: 0 })).done_reason, 'unload');
});

test('logprobs are those of the tokens', async () => {
  const { logprobs } = await ollama.chat({
    model, messages, options, logprobs: true, top_logprobs: 2 });
  assert.equal(logprobs.length, 12);
  for (const entry of logprobs) {
    assert.ok(entry.logprob <= 0 && Array.isArray(entry.bytes));
    assert.equal(entry.top_logprobs.length, 2);
  }
});

test('a format is JSON, or a schema that the answer obeys', async () => {
  const properties = { age: { type: 'integer', minimum: 0, maximum: 99 } };
  const schema = { type: 'object', properties, required: ['age'], additionalProperties: false };
  const asked = { model, messages, options: { ...options, num_predict: 60 } };
  const { age } = JSON.parse((await ollama.chat({ ...asked, format: schema })).message.content);
  assert.ok(Number.isInteger(age) && age >= 0 && age <= 99);
  let text = '';
  for await (const part of await ollama.generate({ model, prompt: 'a', format: schema, stream: true,
    options: { ...options, num_predict: 60 } }))
    text += part.response;
  assert.deepEqual(Object.keys(JSON.parse(text)), ['age']);
  assert.ok((await ollama.chat({ ...asked, format: 'json' })).message.content.startsWith('{'));
});

test('a stream can be aborted', async () => {
  const stream = await ollama.chat({
    model, messages, options: { ...options, num_predict: 400 }, stream: true });
  await assert.rejects(async () => {
    for await (const part of stream) {
      assert.equal(part.done, false);
      stream.abort();
    }
  }, { name: 'AbortError' });
});

test('a refusal is a ResponseError with its words', async () => {
  const refused = (status, words) => (error) => {
    assert.equal(error.name, 'ResponseError');
    assert.equal(error.status_code, status);
    assert.ok(error.message.includes(words), error.message);
    return true;
  };
  for (const [fields, status, words] of [
    [{ model: 'llama3' }, 404, 'llama3'], [{ format: 'yaml' }, 400, 'format'],
    [{ options: { temperature: -1 } }, 400, 'temperature'],
    [{ options: { mirostat: 2 } }, 400, 'mirostat'],
    [{ messages: [{ ...messages[0], images: ['aGk='] }] }, 400, 'messages[0].images']])
    for (const stream of [false, true])
      await assert.rejects(ollama.chat({ model, messages, options, ...fields, stream }),
        refused(status, words));
  await assert.rejects(ollama.show({ model: 'llama3' }), refused(404, 'llama3'));
  await assert.rejects(ollama.embed({ model: 'llama3', input: 'a' }), refused(404, 'llama3'));
  await assert.rejects(ollama.pull({ model: 'llama3' }), refused(404, 'llama3'));
  assert.equal((await ollama.pull({ model })).status, 'success');
  await assert.rejects(new Ollama({ host }).list(), refused(401, 'key'));
});
