// An agent's loop of Vercel's AI SDK: forced calls, the tools' results, and the turn after them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const baseURL = `${process.env.BASE_URL}/v1`;
const compatible = createOpenAICompatible({ name: 'baton', baseURL });
const openai = createOpenAI({ baseURL, apiKey: 'any' });
const inputSchema = z.object({ city: z.string().max(6), days: z.number().int().min(1).max(9) });
const shared = { prompt: 'How is it?', temperature: 0, maxOutputTokens: 120, maxRetries: 0 };

for (const [name, model] of [['openai', openai.chat('tale')],
  ['openai responses', openai('tale')], ['openai-compatible', compatible('tale')]]) {
  const given = (asked = []) => ({
    ...shared, model, toolChoice: { type: 'tool', toolName: 'weather' },
    tools: { weather: tool({ description: 'Tells it', inputSchema,
      execute: (input) => { asked.push(input); return 'Rain.'; } }) },
  });

  test(`${name}: a forced call is executed, and its result goes back`, async () => {
    const asked = [];
    const { steps } = await generateText({ ...given(asked), stopWhen: stepCountIs(2) });
    assert.equal(steps.length, 2);
    assert.equal(asked.length, 2);
    for (const input of asked) assert.ok(inputSchema.parse(input));
    assert.equal(steps[0].finishReason, 'tool-calls');
    assert.equal(steps[0].toolResults[0].output, 'Rain.');
    assert.ok(steps[1].usage.inputTokens > steps[0].usage.inputTokens);
  });

  test(`${name}: a stream tells the same call`, async () => {
    const whole = await generateText(given());
    const stream = streamText(given());
    let input = '';
    for await (const part of stream.fullStream)
      if (part.type === 'tool-input-delta') input += part.delta;
    assert.deepEqual(JSON.parse(input), whole.toolCalls[0].input);
    assert.deepEqual((await stream.toolCalls)[0].input, whole.toolCalls[0].input);
  });
}
