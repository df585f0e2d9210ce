import { expect, onTestFinished, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { targets } from '../../src/targets/index.ts';
import type { Fault } from '../support/desks/api-server.ts';
import { DESK_KINDS, startDeskFake } from '../support/desks/desk-fake.ts';
import { startRig, ticket } from '../support/rig.ts';

const FAULTS: readonly Fault[] = [
  { how: 'cut' },
  { how: 'cut_after' },
  { how: 'cut_mid' },
  { how: 'garbage' },
  { how: 'hang' },
  { how: 'hang_after' },
  { how: 'late', ms: 100 },
  { how: 'status', status: 500 },
  { how: 'status', status: 429 },
  { how: 'status_after', status: 502 },
];

test.each(DESK_KINDS)(
  '[P1] [P14] whatever becomes of a call to %s, each message is answered once and in order',
  async (kind) => {
    const left = [...FAULTS];
    const desk = await startDeskFake(kind, {
      faults: ({ effect }) => (effect === 'write' ? left.shift() : undefined),
    });
    onTestFinished(() => desk.close());
    const rig = await startRig({
      model: scriptedModel((view) => ({
        kind: 'finish_candidate',
        reply: `Answer to ${view.messages[0]?.text}`,
      })),
      target: targets({ bySource: { [kind]: desk.target() } }),
      host: { sendTimeoutMs: 800 },
    });
    await rig.startHost();

    const ids = FAULTS.map(() => desk.openTicket());
    for (const number of ['first', 'second']) {
      for (const conversationId of ids) {
        const messageId = desk.say(conversationId, number);
        await rig.accept(ticket({ source: kind, conversationId, messageId, text: number }));
      }
    }
    const done = (): boolean => ids.every((id) => desk.replies(id).length >= 2);
    await desk.when(done);
    expect(left).toEqual([]);

    for (const id of ids) {
      const texts = desk.replies(id).map(({ text }) => /Answer to (\w+)/.exec(text)?.[1]);
      expect(texts).toEqual(['first', 'second']);
    }
  },
);
