import { expect, test } from 'vitest';
import type { OutgoingMessage } from '../../src/contracts/index.ts';
import { targets } from '../../src/targets/index.ts';
import { MemoryTarget } from '../support/rig.ts';

const message: OutgoingMessage = {
  source: 'zendesk',
  externalId: '1',
  kind: 'reply',
  text: 'Hello',
  reference: 'r1',
};

test('a message goes to the target of its source, and is looked for there', async () => {
  const [zendesk, zammad] = [new MemoryTarget(), new MemoryTarget()];
  const all = targets({ bySource: { zendesk, zammad } });

  expect(await all.send(message, Date.now() + 1_000)).toEqual({ kind: 'sent', targetId: '1' });
  expect(await all.find(message)).toEqual({ kind: 'found', targetId: '1' });
  expect([zendesk.sent.length, zammad.sent.length]).toEqual([1, 0]);
});

test('a message of a source without a target is refused, and nobody claims that it is absent', async () => {
  const all = targets({ bySource: {} });

  for (const source of ['zendesk', 'constructor']) {
    expect(await all.send({ ...message, source }, Date.now() + 1_000)).toEqual({
      kind: 'refused',
      reason: 'no_target',
    });
    expect(await all.find({ ...message, source })).toEqual({ kind: 'unreadable' });
  }
});
