import type { CaseReport } from '../../src/producers/batch-report.ts';
import { liveNumbers, type Played, type ScenarioOptions } from './scenario.ts';
import { orderId } from './stage.ts';

type Size = Pick<ScenarioOptions, 'cases' | 'refunded' | 'lives'>;

/** Everything that is not as it was promised, in words. */
export function findingsOf(played: Played, size: Size): string[] {
  const { plan, aborted, rest, ran } = played;
  const { cases, refunded, lives } = size;
  const { skipped } = rest.states;
  const expected: [string, unknown, unknown][] = [
    ['cases that would run', plan.run, cases],
    ['effects on record', plan.onRecord['refund'], refunded],
    ['effects that would be new', plan.wouldBeNew['refund'], cases - refunded],
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
    ...brokenBooks(played, size),
  ];
}

/**
 * Of each customer, by what the shop and the desk have in their books: paid back once at most, and not asked for again what
 * was paid before; one text for the hand-over, one for the case that ran, and one for thanks. Who wrote before the case ran
 * has people: then there is no more than the hand-over.
 */
function brokenBooks({ ran, refunds, replies, asked }: Played, size: Size): string[] {
  const { cases, refunded } = size;
  const lives = new Set(liveNumbers(size));
  const again = new Set(ran.map(({ conversationId }) => conversationId.split('/').at(-1)));
  return Array.from({ length: cases }, (_, index) => index + 1).flatMap((number) => {
    const [order, conversation] = [orderId(number), `c${number}`];
    const [paidBefore, live] = [number <= refunded, lives.has(number)];
    const ranAgain = again.has(conversation);
    const expected: [string, number, number][] = [
      ['refunds', refunds.get(order) ?? 0, paidBefore || ranAgain ? 1 : 0],
      [
        'texts',
        replies.get(conversation) ?? 0,
        1 + (ranAgain ? 1 : 0) + (ranAgain && live ? 1 : 0),
      ],
      ['requests for what was paid', paidBefore && asked.has(order) ? 1 : 0, 0],
    ];
    return expected
      .filter(([, is, should]) => is !== should)
      .map(([what, is, should]) => `${conversation}: ${is} ${what}, not ${should}`);
  });
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

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, one) => all + one, 0);
}
