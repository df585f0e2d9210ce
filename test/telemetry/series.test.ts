import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { PrometheusMeter } from '../../src/telemetry/metrics/index.ts';
import { startRig, ticket } from '../support/rig.ts';

test('no series grows with conversations: forty of them leave as many as two did', async () => {
  const meter = new PrometheusMeter();
  const reply = scriptedModel(() => ({ kind: 'finish_candidate', reply: 'Hello.' }));
  const rig = await startRig({ model: reply, host: { meter } });
  await rig.startHost();
  const answered = async (from: number, to: number): Promise<number> => {
    for (let number = from; number <= to; number += 1) {
      await rig.accept(
        ticket({
          conversationId: `case-${number}`,
          requester: { id: `customer-${number}@example.com`, assurance: 'verified' },
        }),
      );
    }
    await rig.target.arrived('reply', to);
    const turns = async () => (await rig.records.turnIds({ limit: 1_000 })).length;
    await expect.poll(turns).toBe(to);
    const text = await meter.text();
    expect(text).not.toMatch(/case-\d|customer-\d/);
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  };

  const few = await answered(1, 2);

  expect(few).toBeGreaterThan(100);
  expect(await answered(3, 40)).toBe(few);
});
