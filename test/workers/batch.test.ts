import { expect, test } from 'vitest';
import type { ScriptedAnswer } from '../../src/models/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import type { View } from '../../src/loop/index.ts';
import { BatchControl, planBatch, Reprocess } from '../../src/producers/index.ts';
import { Batches } from '../../src/store/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const start = { by: 'ana', name: 'after the outage', reason: 'the shop was down', rate: 500 };

/** Cancels and refunds the order the customer names. */
function cancelAndRefund(view: View): ScriptedAnswer {
  const orderId = /\d+/.exec(view.messages[0]?.text ?? '')?.[0] ?? '';
  const answer = cancelThenRefund(view);
  if (answer.kind !== 'tool_calls') return answer;
  const calls = answer.calls.map((one) => ({
    ...one,
    arguments: { ...Object(one.arguments), orderId },
  }));
  return { ...answer, calls };
}

/** Conversations c1 … cN whose agent gives up until `healed`; `before` runs first in each. */
async function escalated(
  count: number,
  giveUp: (view: View) => ScriptedAnswer = () => ({ kind: 'escalate', rationale: 'not now' }),
  host: { concurrency?: number } = {},
) {
  const shop = new Shop();
  for (let id = 1; id <= count; id += 1) shop.add({ id: String(id) });
  const world = {
    healed: false,
    views: [] as View[],
    /** Asked before each case is answered again. */
    beforeCase: (_text: string): Promise<void> => Promise.resolve(),
  };
  const rig = await startRig({
    model: scriptedModel(async (view) => {
      world.views.push(structuredClone(view));
      if (!world.healed) return giveUp(view);
      const text = view.messages[0]?.text ?? '';
      if (text === 'Hello') return { kind: 'finish_candidate', reply: 'Good day.' };
      await world.beforeCase(text);
      return cancelAndRefund(view);
    }),
    tools: shopTools(shop),
    approvalLimits: { EUR: 5_000 },
  });
  await rig.startHost(host);
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
    const answer = cancelAndRefund(view);
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

test('a limit counts the cases that would run, so that the next plan goes on behind the last one', async () => {
  const { rig, world, batches, control, over } = await escalated(3);
  world.healed = true;
  const now = () => rig.store.clock().now();
  const reprocess = new Reprocess({ batches, records: rig.records, control, now });
  const first = await reprocess.plan({ outcome: 'escalated', limit: 1 });
  await control.start(first.id, start);
  await over(first.id);

  const second = await reprocess.plan({ outcome: 'escalated', limit: 1 });

  expect([first, second]).toMatchObject([
    { cases: 1, toRun: 1 },
    { cases: 2, toRun: 1 },
  ]);
  expect((await batches.cases(second.id, 0, 2)).map(({ verdict }) => verdict)).toEqual([
    'skip',
    'run',
  ]);
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

test('[P3] while cases hang in every slot a batch may have, live messages are answered at once, also where a case waits its turn', async () => {
  const { rig, world, batches, control, plan, over } = await escalated(8, undefined, {
    concurrency: 4,
  });
  const batch = await plan();
  const [hanging, answer] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  world.healed = true;
  world.beforeCase = (text) => {
    hanging.resolve(text);
    return answer.promise;
  };
  await control.start(batch.id, start);
  const number = /\d+/.exec(await hanging.promise)?.[0] ?? '';
  const waiting = (await batches.cases(batch.id, 0, 5)).find(
    ({ conversationId }) => conversationId !== `test/c${number}`,
  );
  const id = waiting?.conversationId ?? '';
  await rig.store.release(id, { by: 'ben', reason: 'the agent may answer' });

  for (const conversationId of ['x1', 'x2', 'x3', id.slice('test/'.length)]) {
    await rig.accept(ticket({ conversationId, text: 'Hello' }));
  }
  await rig.target.arrived('reply', 4);
  expect((await batches.counts(batch.id))['completed/replied']).toBeUndefined();
  answer.resolve();
  await over(batch.id);

  expect(await batches.counts(batch.id)).toEqual({
    'completed/replied': 7,
    'skipped:newer_message': 1,
  });
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
