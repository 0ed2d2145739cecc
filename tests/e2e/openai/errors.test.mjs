// Each refusal arrives as the client's own error class, with all that the client shows of it.
// The server has one key, which may have one generation at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BASE_URL: baseURL, API_KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL, apiKey });
const messages = [{ role: 'user', content: 'Hello' }];

const SHORT = { model: 'tale', prompt: 'The fox', max_tokens: 4 };
const complete = (fields, options) => client.completions.create({ ...SHORT, ...fields }, options);
const chat = (fields, options) =>
  client.chat.completions.create({ model: 'tale', messages, max_tokens: 4, ...fields }, options);

function isError(type, status, { param = null, code }) {
  return (error) => {
    assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
    assert.equal(error.status, status);
    assert.equal(error.param, param);
    if (code) assert.equal(error.code, code);
    assert.ok(error.code && error.type && error.requestID);
    assert.ok(param === null || error.message.includes(param), error.message);
    return true;
  };
}

test('the key is accepted', async () => {
  assert.equal((await complete({})).choices.length, 1);
});

const BAD = [
  ['a value out of range', { temperature: -1 }, 'temperature', 'out_of_range'],
  ['a value of the wrong type', { top_p: 'most' }, 'top_p', 'invalid_type'],
  ['a sampler that is not here', { tfs_z: 0.5 }, 'tfs_z', 'unsupported_field'],
];
for (const [what, fields, param, code] of BAD) {
  for (const [kind, create] of Object.entries({ completion: complete, chat })) {
    test(`${what} is a BadRequestError, also before a stream begins (${kind})`, async () => {
      for (const stream of [false, true])
        await assert.rejects(create({ ...fields, stream }),
          isError(OpenAI.BadRequestError, 400, { param, code }));
    });
  }
}

test('a field without the one that it needs is a BadRequestError', async () => {
  const needy = [
    [() => complete({ stream_options: { include_usage: true } }), 'stream_options'],
    [() => chat({ stream_options: { include_usage: true } }), 'stream_options'],
    [() => chat({ top_logprobs: 2 }), 'top_logprobs'],
  ];
  for (const [create, param] of needy)
    await assert.rejects(create, isError(OpenAI.BadRequestError, 400, { param }));
});

test('what is not served is a BadRequestError that names it', async () => {
  await assert.rejects(chat({ tools: [{ type: 'computer', name: 'f' }] }),
    isError(OpenAI.BadRequestError, 400, { param: 'tools', code: 'invalid_value' }));
  await assert.rejects(complete({ suffix: 'end' }),
    isError(OpenAI.BadRequestError, 400, { param: 'suffix', code: 'unsupported_field' }));
});

test('an unknown model or path is a NotFoundError', async () => {
  const missing = { param: 'model', code: 'model_not_found' };
  await assert.rejects(complete({ model: 'gpt-9' }), isError(OpenAI.NotFoundError, 404, missing));
  await assert.rejects(chat({ model: 'gpt-9' }), isError(OpenAI.NotFoundError, 404, missing));
  await assert.rejects(client.models.retrieve('gpt-9'),
    isError(OpenAI.NotFoundError, 404, missing));
  await assert.rejects(client.moderations.create({ model: 'tale', input: 'x' }),
    OpenAI.NotFoundError);
});

test('a wrong key is an AuthenticationError, and so is none', async () => {
  for (const wrong of ['wrong', `${apiKey}x`, apiKey.slice(0, -1)]) {
    const stranger = new OpenAI({ baseURL, apiKey: wrong });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
    const asked = stranger.chat.completions.create({ model: 'tale', messages, stream: true });
    await assert.rejects(asked, (error) => {
      assert.ok(error instanceof OpenAI.AuthenticationError);
      assert.equal(error.status, 401);
      assert.ok(error.code && error.message);
      return true;
    });
  }
  await assert.rejects(client.models.list({ headers: { Authorization: null } }),
    OpenAI.AuthenticationError);
});

// Runs body while the key's one generation is under way.
async function whileBusy(body) {
  const stream = await complete({ max_tokens: 480, ignore_eos: true, stream: true });
  try {
    await body();
  } finally {
    stream.controller.abort();
  }
}

test('a busy key is a RateLimitError that says when to come again', () => whileBusy(async () => {
  await assert.rejects(complete({}, { maxRetries: 0 }), (error) => {
    const seconds = Number(error.headers.get('retry-after'));
    assert.ok(seconds >= 1);
    assert.equal(error.error.retry_after_s, seconds);
    return isError(OpenAI.RateLimitError, 429, { code: 'too_many_requests' })(error);
  });
}));

test('more at once than a key may ever have is a BadRequestError', async () => {
  await assert.rejects(complete({ n: 2 }),
    isError(OpenAI.BadRequestError, 400, { code: 'too_large' }));
});

test('the client tries again by itself when told to come again', async () => {
  let nTries = 0;
  const counting = new OpenAI({
    baseURL, apiKey, maxRetries: 5, fetch: (...call) => { nTries++; return fetch(...call); },
  });
  await whileBusy(() => assert.rejects(complete({}, { maxRetries: 0 }), OpenAI.RateLimitError));
  const answer = await counting.completions.create(SHORT);
  assert.ok(nTries >= 1 && answer.choices.length === 1);
});
