import { Writable } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { redactText } from '../../src/telemetry/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { watchQueues } from '../support/queue-writes.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

test('[S1-25] [S2-38] [S2-42] [P16] every step is one line with its ids and no line holds what was said or sent', async () => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  const shop = new Shop();
  shop.add({ id: '1' });
  const rig = await startRig({
    model: scriptedModel(cancelThenRefund),
    tools: shopTools(shop),
    approvalLimits: { EUR: 5_000 },
    host: { logger: pino({ level: 'info' }, sink) },
  });
  await rig.startHost();

  await rig.accept(ticket({ text: 'CANARY-7781 my card is 4111 1111 1111 1111' }));
  await rig.target.arrived('reply', 1);

  const steps = lines.filter((line) => line['turnId'] !== undefined && line['step'] !== undefined);
  expect(steps.map(({ msg }) => msg)).toContain('verification_read');
  const paid = steps.find(({ msg, tool }) => msg === 'call_settled' && tool === 'issue_refund');
  expect(paid).toMatchObject({
    turnId: expect.any(String),
    conversationId: 'test/c1',
    round: 3,
    argumentsDigest: expect.stringMatching(/^[0-9a-f]{16}$/),
    outcome: 'ok',
    latencyMs: expect.any(Number),
  });
  expect(JSON.stringify(lines)).not.toMatch(/CANARY|4111 1111/);
});

test('[P16] neither the jobs nor the event streams of the queues hold a word of the customer', async () => {
  const rig = await startRig({
    model: scriptedModel(() => ({ kind: 'finish_candidate', reply: 'CANARY-OUT' })),
  });
  const queues = await watchQueues(rig.redis, rig.store.tagOf('test/c1'));
  await rig.startHost();
  await rig.accept(ticket({ text: 'CANARY-IN' }));
  await rig.target.arrived('reply', 1);

  const jobs = await queues.written();
  expect(jobs).toContain('test/c1');
  expect(jobs).not.toContain('CANARY');
});

test('what looks like a mail address, an account or card number or a key is replaced', () => {
  const text =
    'ana@example.com 4111 1111 1111 1111 DE89 3704 0044 0532 0130 00 sk-abcdefghijklmnop order 10-48300';

  expect(redactText(text)).toBe('[mail] [number] [iban] [key] order 10-48300');
});
