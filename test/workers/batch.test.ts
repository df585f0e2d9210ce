import { expect, test } from 'vitest';
import type { ScriptedAnswer } from '../../src/models/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import type { View } from '../../src/loop/index.ts';
import { BatchControl, planBatch } from '../../src/producers/index.ts';
import { Batches } from '../../src/store/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const start = { by: 'ana', name: 'after the outage', reason: 'the shop was down', rate: 500 };

/** Conversations c1 … cN whose agent gives up until `healed`; `before` runs first in each. */
async function escalated(
  count: number,
  giveUp: (view: View) => ScriptedAnswer = () => ({ kind: 'escalate', rationale: 'not now' }),
) {
  const shop = new Shop();
  for (let id = 1; id <= count; id += 1) shop.add({ id: String(id) });
  const world = { healed: false, views: [] as View[] };
  const rig = await startRig({
    model: scriptedModel((view) => {
      world.views.push(structuredClone(view));
      return world.healed ? cancelThenRefund(view) : giveUp(view);
    }),
    tools: shopTools(shop),
    approvalLimits: { EUR: 5_000 },
  });
  await rig.startHost();
  for (let id = 1; id <= count; id += 1) {
    await rig.accept(ticket({ conversationId: `c${id}`, text: `Cancel order ${id}` }));
  }
  await rig.target.arrived('note', count);
  const batches = new Batches(rig.store);
  const now = () => rig.store.clock().now();
  const control = new BatchControl(batches, rig.queues, now);
  const plan = () => planBatch({ records: rig.records, batches, filter: {}, now: now() });
  const over = async (id: string, status = 'done'): Promise<void> => {
    while ((await batches.get(id))?.status !== status) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { rig, shop, world, batches, control, plan, over };
}

test('[P4] escalated cases are answered again under their old intent, and what was done stays done', async () => {
  // They have cancelled and refunded, and give up only then.
  const { rig, shop, world, batches, control, plan, over } = await escalated(3, (view) => {
    const answer = cancelThenRefund(view);
    return answer.kind === 'finish_candidate'
      ? { kind: 'escalate', rationale: 'too tired to say so' }
      : answer;
  });
  const done = shop.effects.length;
  expect(done).toBeGreaterThan(2);
  world.healed = true;

  const batch = await plan();
  expect(batch).toMatchObject({ status: 'planned', cases: 3, toRun: 3 });
  expect(await batches.cases(batch.id, 0, 1)).toMatchObject([
    {
      verdict: 'run',
      before: { outcome: 'escalated', reason: 'model_escalated' },
      done: [{ tool: 'cancel_order' }, { tool: 'issue_refund' }],
      open: [],
    },
  ]);
  expect(await control.start(batch.id, start)).toMatchObject({ kind: 'moved' });
  await over(batch.id);

  expect(rig.target.of('reply')).toHaveLength(3);
  expect(shop.effects).toHaveLength(done);
  expect(await batches.counts(batch.id)).toEqual({ 'completed/replied': 3 });
  const [one] = await batches.cases(batch.id, 0, 1);
  const result = await batches.result(batch.id, one?.conversationId ?? '', one?.turnId ?? '');
  if (result === undefined || !('as' in result)) throw new Error('no result');
  expect(await rig.records.turn(result.as)).toMatchObject({
    reprocessOf: one?.turnId,
    batchId: batch.id,
    attempt: 2,
    outcome: 'completed',
  });
});

test('a plan says what would not run and why, and starts nothing', async () => {
  const { rig, world, plan, batches } = await escalated(3);
  await rig.store.takeOver('test/c1', { by: 'ben', reason: 'mine' });
  await rig.accept(ticket({ conversationId: 'c2', text: 'Are you there?' }));
  await rig.target.arrived('note', 4);
  const asked = world.views.length;

  const batch = await plan();
  const cases = await batches.cases(batch.id, 0, 10);

  expect(cases.map(({ conversationId, verdict, why }) => [conversationId, verdict, why])).toEqual([
    ['test/c1', 'person', 'ben has taken the conversation over'],
    ['test/c2', 'skip', 'newer message: the customer has written again'],
    ['test/c3', 'run', undefined],
    ['test/c2', 'run', undefined],
  ]);
  expect(world.views).toHaveLength(asked);
});

test('a message that comes after the plan makes its case skipped, and is answered itself', async () => {
  const { rig, world, batches, control, plan, over } = await escalated(2);
  const batch = await plan();
  await rig.store.release('test/c1', { by: 'ben', reason: 'done' });
  world.healed = true;
  await rig.accept(ticket({ conversationId: 'c1', text: 'Cancel order 1 please' }));
  await rig.target.arrived('reply', 1);

  await control.start(batch.id, start);
  await over(batch.id);

  expect(await batches.counts(batch.id)).toEqual({
    'completed/replied': 1,
    'skipped:newer_message': 1,
  });
  expect(rig.target.of('reply')).toHaveLength(2);
});

test('a batch stops itself when too many of its first cases do not complete, and says so', async () => {
  const { batches, control, plan, over } = await escalated(12);
  const batch = await plan();

  await control.start(batch.id, { ...start, stopIf: 0.2 });
  await over(batch.id, 'stopped');

  expect(await batches.get(batch.id)).toMatchObject({
    started: 5,
    stopWhy: '5 of 5 cases did not complete (100 %, allowed 20 %)',
  });
});

test('what is paused starts nothing more until it is resumed; what is aborted never does', async () => {
  const { world, batches, control, plan, over } = await escalated(8);
  world.healed = true;
  const batch = await plan();

  expect(await control.pause(batch.id)).toEqual({ kind: 'refused', status: 'planned' });
  await control.start(batch.id, start);
  await control.pause(batch.id);
  expect((await batches.get(batch.id))?.status).toBe('paused');
  await control.resume(batch.id);
  await over(batch.id);
  expect(await batches.counts(batch.id)).toEqual({ 'completed/replied': 8 });

  const second = await plan();
  expect(second.toRun).toBe(0);
  await control.abort(second.id);
  expect(await control.start(second.id, start)).toEqual({ kind: 'refused', status: 'aborted' });
  expect(await control.start('nothing', start)).toEqual({ kind: 'not_found' });
});

test.each([
  ['by', { ...start, by: ' ' }],
  ['reason', { ...start, reason: '' }],
  ['rate', { ...start, rate: 0 }],
  ['stopIf', { ...start, stopIf: 2 }],
])('a start without a usable %s is refused and names it', async (field, options) => {
  const { control, plan } = await escalated(1);
  const batch = await plan();

  await expect(control.start(batch.id, options)).rejects.toThrow(new RegExp(`^${field} is `));
});
