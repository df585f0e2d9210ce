import type { CaseReport } from '../../src/producers/batch-report.ts';
import type { Played, ScenarioOptions } from './scenario.ts';

/** Everything that is not as it was promised, in words. */
export function findingsOf(
  { plan, aborted, rest, ran, refunds, replies }: Played,
  { cases, refunded, lives }: Pick<ScenarioOptions, 'cases' | 'refunded' | 'lives'>,
): string[] {
  const { skipped } = rest.states;
  // People have the case of a customer who wrote before it ran; after it ran the agent answers.
  const texts = counts({ 1: skipped, 2: cases - lives, 3: lives - skipped });
  const expected: [string, unknown, unknown][] = [
    ['cases that would run', plan.run, cases],
    ['effects on record', plan.onRecord['refund'], refunded],
    ['effects that would be new', plan.wouldBeNew['refund'], cases - refunded],
    ['orders refunded once', refunds, { 1: cases - skipped }],
    ['texts to each customer: the hand-over, the reply, and one to thanks', replies, texts],
    ['cases of the aborted batch', sum(aborted.states), cases],
    ['cases that ran in either or were passed over', ran.length + skipped, cases],
    ['turns that ran in either', new Set(ran.map(({ turnId }) => turnId)).size, cases - skipped],
    ['cases left under way', aborted.states.under_way + rest.states.under_way, 0],
    ['cases the rest left out', rest.states.not_started, 0],
    ['cases the aborted one passed over', aborted.states.skipped, 0],
    ['cases passed over without a message', Math.max(0, skipped - lives), 0],
    ['effects that happened again', aborted.effects.repeated + rest.effects.repeated, 0],
  ];
  const wrong = expected.filter(([, is, should]) => JSON.stringify(is) !== JSON.stringify(should));
  return [
    ...wrong.map(
      ([what, is, should]) => `${what}: ${JSON.stringify(is)}, not ${JSON.stringify(should)}`,
    ),
    ...ran.flatMap(brokenPromise),
  ];
}

/** Of each case: what was on record stayed as it was, what would be new happened, and nothing else did. */
function brokenPromise(one: CaseReport): string[] {
  const { conversationId, after, onRecord, happened, repeated, notHappened, unforeseen } = one;
  const kept =
    onRecord.length + happened.length === 1 &&
    repeated.length + notHappened.length + unforeseen.length === 0 &&
    happened.every(({ status }) => status === 'verified') &&
    after?.outcome === 'completed';
  return kept ? [] : [`${conversationId}: ${JSON.stringify(one)}`];
}

function counts(all: Record<number, number>): Record<number, number> {
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0));
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, one) => all + one, 0);
}
