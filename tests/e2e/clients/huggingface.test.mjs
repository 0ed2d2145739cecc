// What Hugging Face's inference client sees of Baton, as an endpoint of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InferenceClient } from '@huggingface/inference';

const { BASE_URL, API_KEY: key } = process.env;
const client = new InferenceClient(key, { endpointUrl: `${BASE_URL}/v1`, retry_on_error: false });
const messages = [{ role: 'user', content: 'Tell me a story' }];
const greedy = { model: 'tale', temperature: 0, max_tokens: 12, messages };

test('a chat has text, usage and a reason why it ended', async () => {
  const { choices: [choice], usage } = await client.chatCompletion(greedy);
  assert.ok(choice.message.content.length > 0);
  assert.equal(choice.finish_reason, 'length');
  assert.equal(usage.completion_tokens, 12);
});

test('a stream gathers to the same text', async () => {
  const { choices: [choice] } = await client.chatCompletion(greedy);
  const parts = [];
  for await (const chunk of client.chatCompletionStream(greedy))
    parts.push(chunk.choices[0]?.delta.content ?? '');
  assert.ok(parts.length > 2);
  assert.equal(parts.join(''), choice.message.content);
});

test('an answer keeps to its schema', async () => {
  const properties = { age: { type: 'integer', minimum: 0, maximum: 9 } };
  const schema = { type: 'object', properties, required: ['age'], additionalProperties: false };
  const { choices: [choice] } = await client.chatCompletion({
    ...greedy, max_tokens: 100,
    response_format: { type: 'json_schema', json_schema: { name: 'pet', schema, strict: true } },
  });
  const { age } = JSON.parse(choice.message.content);
  assert.ok(Number.isInteger(age) && age >= 0 && age <= 9);
});

test('a stream can be aborted', async () => {
  const abort = new AbortController();
  await assert.rejects(async () => {
    const asked = { ...greedy, max_tokens: 400 };
    for await (const chunk of client.chatCompletionStream(asked, { signal: abort.signal })) {
      assert.ok(chunk);
      abort.abort();
    }
  }, { name: 'AbortError' });
});

test('a refusal carries its status and words', async () => {
  await assert.rejects(client.chatCompletion({ ...greedy, temperature: -1 }), (error) => {
    assert.equal(error.httpResponse.status, 400);
    assert.match(JSON.stringify(error.httpResponse.body), /temperature/);
    return true;
  });
});

test('a text is continued', async () => {
  const { generated_text: text } = await client.textGeneration({
    model: 'tale', inputs: 'Once upon a time', parameters: { max_new_tokens: 12, temperature: 0 },
  });
  assert.match(text, /^, there was/);
});
