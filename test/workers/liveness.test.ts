import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { startRig, ticket } from '../support/rig.ts';

test('a worker whose turn stands still for longer than any call may take is not well, however its timers fire', async () => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: answer, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: hung, resolve: isHung } = Promise.withResolvers<void>();
  const clock = { offsetMs: 0 };
  const rig = await startRig({
    model: scriptedModel(async () => {
      isAsked();
      await answer;
      return { kind: 'finish_candidate', reply: 'ok' };
    }),
    store: { clockOffsetMs: () => clock.offsetMs },
    host: { onHung: isHung },
  });
  const host = await rig.startHost();
  await rig.accept(ticket());
  await asked;

  expect(host.health.ok).toBe(true);
  clock.offsetMs = 120_000;
  expect(host.health).toMatchObject({ ok: false });
  await hung;

  goOn();
  await rig.target.arrived('reply', 1);
  expect(host.health.ok).toBe(true);
});
