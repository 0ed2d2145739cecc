// An agent of Mastra: text, a stream, a forced call with its result, and structured output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

const model = { id: 'baton/tale', url: `${process.env.BASE_URL}/v1`, apiKey: 'any' };
const inputSchema = z.object({ city: z.string().max(6), days: z.number().int().min(1).max(9) });
const modelSettings = { temperature: 0, maxOutputTokens: 12, maxRetries: 0 };
const agent = (more = {}) => new Agent({
  id: 'forecaster', name: 'forecaster', instructions: 'Be brief.', model, ...more });

test('an answer, and the same one as a stream', async () => {
  const { text, usage } = await agent().generate('Tell me a story', { modelSettings });
  assert.equal(usage.outputTokens, 12);
  const stream = await agent().stream('Tell me a story', { modelSettings });
  let gathered = '';
  for await (const part of stream.textStream) gathered += part;
  assert.equal(gathered, text);
});

test('a forced call is executed', async () => {
  const asked = [];
  const weather = createTool({ id: 'weather', description: 'Tells it', inputSchema,
    execute: async (input) => { asked.push(input); return { told: 'Rain.' }; } });
  await agent({ tools: { weather } }).generate('How is it?', {
    toolChoice: { type: 'tool', toolName: 'weather' }, maxSteps: 1,
    modelSettings: { ...modelSettings, maxOutputTokens: 200 } });
  assert.ok(inputSchema.parse(asked[0]));
});

test('an object keeps to its schema', async () => {
  const schema = z.object({ kind: z.enum(['cat', 'fox']), age: z.number().int().min(0).max(9) });
  const { object } = await agent().generate('Who is it?', {
    structuredOutput: { schema }, modelSettings: { ...modelSettings, maxOutputTokens: 200 } });
  assert.ok(schema.parse(object));
});
