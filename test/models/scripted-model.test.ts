import { expect, test } from 'vitest';
import {
  scriptedModel,
  scriptedSequence,
  UnexpectedModelCallError,
} from '../../src/models/index.ts';
import { viewOf } from './views.ts';

const view = viewOf({ messages: [{ text: 'Hello' }], tools: [] });
const options = {
  timeoutMs: 1_000,
  signal: new AbortController().signal,
  heartbeat: () => {},
};

test('[S0-14] [S2-44] the same view gets the same answer at the same price', async () => {
  const model = scriptedModel(
    ({ messages }) => ({ kind: 'refuse', reply: messages[0]?.text ?? '' }),
    {
      microsPerToken: 2,
    },
  );

  const answers = await Promise.all([model.ask(view, options), model.ask(view, options)]);

  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject({ ok: true, proposal: { kind: 'refuse', reply: 'Hello' } });
  expect(model.estimate(view).costMicros).toBeGreaterThan(0);
});

test('what is reserved covers what is used', async () => {
  const model = scriptedModel(() => ({ kind: 'refuse', reply: 'no' }));
  const answer = await model.ask(view, options);
  const { tokens } = model.estimate(view);

  if (!answer.ok) throw new Error('no answer');
  expect(answer.usage.inputTokens + answer.usage.outputTokens).toBeLessThanOrEqual(tokens);
});

test('a call the script does not expect is an error that names it, not an answer', async () => {
  const model = scriptedSequence([{ kind: 'refuse', reply: 'no' }]);
  await model.ask(view, options);

  await expect(model.ask(view, options)).rejects.toThrow(UnexpectedModelCallError);
  await expect(model.ask(view, options)).rejects.toThrow(/call 3: the script has only 1 answers/);
});

test('a script can fail the way a model would', async () => {
  const model = scriptedSequence([
    { kind: 'fails', failure: { kind: 'rate_limited', retryAt: 5 } },
  ]);

  expect(await model.ask(view, options)).toEqual({
    ok: false,
    failure: { kind: 'rate_limited', retryAt: 5 },
  });
});
