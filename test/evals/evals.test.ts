import { expect, test } from 'vitest';
import { readCases, type EvalCase } from '../../evals/case.ts';
import { findingsOf } from '../../evals/findings.ts';
import { playCase } from '../../evals/host.ts';
import { judge } from '../../evals/judge.ts';
import { POLICIES } from '../../evals/policies.ts';
import { agentFor, runCases } from '../../evals/run.ts';
import { describeRun } from '../../evals/report.ts';
import { scriptedModel } from '../../src/models/index.ts';

const safe = { label: 'safe', model: scriptedModel(POLICIES.safe) };
const naive = { label: 'naive', model: scriptedModel(POLICIES.naive) };

function caseOf(id: string): EvalCase {
  const found = readCases().find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no case ${id}`);
  return found;
}

async function played(id: string) {
  const one = caseOf(id);
  return { one, played: await playCase(one, (shopUrl) => agentFor(safe, shopUrl)) };
}

test('[S3-18] [S3-02] [S3-05] every case comes out as it says, in outcome, history and trace, on a host without Redis and queues', async () => {
  const cases = readCases();

  const report = await runCases(cases, safe);

  expect(report.cases.flatMap(({ failures }) => failures)).toEqual([]);
  expect(report.cases.map(({ id }) => id)).toEqual(cases.map(({ id }) => id));
  expect(cases.length).toBeGreaterThanOrEqual(15);
});

test('[S3-02] what comes out otherwise is named by the level at which it did', async () => {
  const { one, played: result } = await played('cancel-and-refund');
  const kindsWith = (expectation: Partial<EvalCase['expect']>): string[] =>
    judge({ ...one, expect: { ...one.expect, ...expectation } }, findingsOf(result), result).map(
      ({ kind, what }) => `${kind} ${what}`,
    );
  const { outcome, history } = one.expect;

  expect(kindsWith({})).toEqual([]);
  expect(kindsWith({ outcome: { ...outcome, turns: ['completed/declined'] } })).toEqual([
    'outcome turns',
  ]);
  expect(kindsWith({ outcome: { ...outcome, says: ['not said'] } })).toEqual(['outcome says']);
  expect(kindsWith({ outcome: { ...outcome, neverSays: ['refunded'] } })).toEqual([
    'outcome neverSays',
  ]);
  expect(kindsWith({ history: { ...history, ledger: [] } })).toEqual(['history ledger']);
  expect(kindsWith({ history: { ...history, effects: [] } })).toEqual(['history effects']);
  expect(kindsWith({ trace: [] })).toEqual(['trace shape']);
});

test('[S3-05] a trace that leaves a span open, or tells another story than the record, is a failure of the trace', async () => {
  const { one, played: result } = await played('shipped-already');
  const [trace] = result.traces.values();

  trace?.observe({
    type: 'model_requested',
    at: 0,
    round: 9,
    reserved: { tokens: 0, costMicros: 0 },
  });
  expect(judge(one, findingsOf(result), result)).toMatchObject([
    { kind: 'trace', what: 'open spans' },
  ]);

  trace?.spans.pop();
  expect(judge(one, findingsOf(result), result)).toContainEqual(
    expect.objectContaining({ kind: 'trace', what: 'the record' }),
  );
});

test('[S3-18] time is the clock of the case: a day passes while nobody decides, and none of it is waited for', async () => {
  const { played: result } = await played('nobody-decides');
  const events = result.store.turns.flatMap((turn) => turn.events);

  const [first, last] = [events[0]?.at ?? 0, events.at(-1)?.at ?? 0];
  expect(last - first).toBeGreaterThanOrEqual(86_400_000);
  expect(new Date(first).toISOString()).toBe('2026-03-04T12:00:00.000Z');
});

test('[S2-44] a fixed policy that pays at once and claims to be done is refused, made to wait and read back all the same', async () => {
  const report = await runCases(readCases(), naive);
  const found = new Map(report.cases.map(({ id, findings }) => [id, findings]));

  // What was paid was paid for a cancelled order; nothing of somebody else or of an unverified requester was touched.
  const effects = report.cases.flatMap(({ findings }) => findings.effects);
  expect(effects.filter((one) => one.startsWith('refund')).length).toBeGreaterThan(0);
  for (const one of effects) expect(one).toMatch(/^cancel |^refund .*\(cancelled\)$/);
  expect(found.get('order-of-somebody-else')?.effects).toEqual([]);
  expect(found.get('not-signed-in')?.effects).toEqual([]);
  expect(found.get('order-of-somebody-else')?.trace).toContain(
    'check cancel_order rejected order_not_read',
  );
  // A person is asked, and what they say counts.
  expect(found.get('waits-for-a-person')?.turns).toEqual(['waits for approval']);
  expect(found.get('rejected-by-a-person')?.effects).toEqual(['cancel 10-48371']);
  // Its claim that all is done is not sent where it is not so.
  expect(found.get('ships-in-between')).toMatchObject({
    turns: ['escalated/finish_rejected'],
    deliveries: ['handover', 'note'],
  });
  // An acknowledgement is no deed.
  for (const id of ['never-settles', 'acknowledged-and-not-done']) {
    expect(found.get(id)?.turns).toEqual(['escalated/verification_failed']);
  }
});

test('the table names each case, and below it what was expected, what came and where to look', async () => {
  const one = caseOf('thanks');
  const expectation = { ...one.expect, trace: ['ask refuse'] };

  const text = describeRun(await runCases([{ ...one, expect: expectation }], safe));

  expect(text).toContain('│ thanks │ trace  │');
  expect(text).toContain('thanks: trace, shape; look at the order of rounds');
  expect(text).toContain('expected ["ask refuse"]');
  expect(text).toContain('0 of 1 cases as expected');
});
