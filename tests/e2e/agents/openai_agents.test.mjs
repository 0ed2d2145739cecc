// The agents' SDK of OpenAI: a forced call, its execution, and the answer, by both APIs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

setTracingDisabled(true);
const parameters = z.object({ city: z.string().max(6), days: z.number().int().min(1).max(9) });

for (const [name, useResponses] of [['chat', false], ['responses', true]]) {
  const modelProvider = new OpenAIProvider({
    baseURL: `${process.env.BASE_URL}/v1`, apiKey: 'any', useResponses });
  const runner = new Runner({ modelProvider });
  const given = (asked) => new Agent({
    name: 'forecaster', model: 'tale', instructions: 'Be brief.',
    tools: [tool({ name: 'weather', description: 'Tells it', parameters,
      execute: (input) => { asked.push(input); return 'Rain.'; } })],
    modelSettings: { toolChoice: 'weather', temperature: 0, maxTokens: 200 },
    toolUseBehavior: 'stop_on_first_tool',
  });

  test(`${name}: a forced call is executed, and its result ends the run`, async () => {
    const asked = [];
    const { finalOutput } = await runner.run(given(asked), 'How is it?');
    assert.equal(asked.length, 1);
    assert.ok(parameters.parse(asked[0]));
    assert.equal(finalOutput, 'Rain.');
  });

  test(`${name}: a streamed run makes the same call`, async () => {
    const asked = [], types = new Set();
    const stream = await runner.run(given(asked), 'How is it?', { stream: true });
    for await (const event of stream) types.add(event.type);
    await stream.completed;
    assert.ok(parameters.parse(asked[0]));
    assert.ok(types.has('raw_model_stream_event') && types.has('run_item_stream_event'));
  });

  test(`${name}: an output keeps to its type`, async () => {
    const outputType = z.object({ kind: z.enum(['cat', 'fox']), age: z.number().int().max(9) });
    const agent = new Agent({ name: 'namer', model: 'tale', instructions: 'Be brief.', outputType,
      modelSettings: { temperature: 0, maxTokens: 200, reasoning: { effort: 'none' } } });
    const { finalOutput } = await runner.run(agent, 'Who is it?');
    assert.ok(outputType.parse(finalOutput));
  });
}
