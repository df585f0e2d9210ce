import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  Caps,
  Limits,
  ModelFailureKind,
  ProposalInput,
  Usage,
} from '../../src/contracts/index.ts';
import { fold, type Model, type TurnState } from '../../src/loop/index.ts';
import { identicalFailures } from '../../src/loop/repetition.ts';
import { scriptedJudge } from '../../src/models/index.ts';
import { Shop, shopTools, type Fault } from '../support/shop.ts';
import { openStore } from '../support/store.ts';
import { converse, play, type PlayOptions } from './play.ts';

type Answer = { proposal: ProposalInput } | { fails: ModelFailureKind };

const toolCall = fc
  .constantFrom<[string, object]>(
    ['get_order', { orderId: '1' }],
    ['get_order', { orderId: '404' }],
    ['get_order', { orderId: '405' }],
    ['get_order', { orderId: 'x' }],
    ['nonsense', {}],
    ['cancel_order', { orderId: '1' }],
    ['issue_refund', { orderId: '1', amount: 10 }],
    ['issue_refund', { orderId: '1', amount: 9_999 }],
  )
  .map(([tool, args]) => ({ tool, arguments: args }));
const proposing = (list: readonly { tool: string; arguments: object }[]): Answer => {
  const calls = list.map((one, index) => ({ id: `c${index}`, ...one }));
  return { proposal: { kind: 'tool_calls', calls } };
};
const readAndRefund = proposing([
  { tool: 'get_order', arguments: { orderId: '1' } },
  { tool: 'issue_refund', arguments: { orderId: '1', amount: 20 } },
]);
const answer = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(toolCall, { minLength: 1, maxLength: 5 }).map(proposing),
  },
  { weight: 2, arbitrary: fc.constant(readAndRefund) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Answer>(
      { proposal: { kind: 'finish_candidate', reply: 'Done.' } },
      {
        proposal: {
          ...{ kind: 'finish_candidate', reply: 'Done.' },
          claims: [{ text: 'it is', evidence: ['9.9'] }],
        },
      },
      { fails: 'invalid_proposal' },
      { fails: 'server_error' },
      { fails: 'rate_limited' },
    ),
  },
);
const small = (max: number) => fc.integer({ min: 1, max });
/** Enough for a call or two, or for a whole turn. */
const money = fc.oneof(small(100), { weight: 2, arbitrary: fc.integer({ min: 100, max: 1_000 }) });
const limits: fc.Arbitrary<Partial<Limits>> = fc.record({
  rounds: small(6),
  callsPerRound: small(4),
  toolCalls: small(8),
  tokens: money,
  costMicros: money,
  parks: small(3),
  identicalFailures: small(4),
  consecutiveFailures: small(6),
  modelFailures: small(3),
  rejectedFinishes: small(2),
});
const cap = fc.record(
  { tokens: money, costMicros: money, replies: small(3) },
  { requiredKeys: [] },
);
const cost = fc.record({ estimated: small(20), used: small(40) });
const world = fc.record({
  limits,
  caps: fc.record({ conversation: cap, day: cap }),
  /** What a judge asks for its verdict on a refund; without it the shop is read again. */
  judge: fc.option(small(20)),
  answers: fc.array(fc.tuple(answer, cost), { minLength: 1, maxLength: 12 }),
  cancel: fc.array(fc.constantFrom<Fault>('none', 'lost_after', 'ack_only'), { maxLength: 2 }),
  settleReads: fc.integer({ min: 0, max: 5 }),
});

describe('[P8] whatever a model proposes', () => {
  test('no account is exceeded by more than the one call that was reserved', async () => {
    const opened = await openStore();
    const ends = new Set<string | null>();
    let run = 0;

    await fc.assert(
      fc.asyncProperty(world, async ({ answers, cancel, settleReads, judge, ...rest }) => {
        run += 1;
        const shop = Object.assign(new Shop(), { settleReads });
        shop.add({ id: '1' });
        shop.faults['cancel'] = [...cancel];
        const conversation = await converse({
          ...{ opened, shop, conversationId: `c${run}`, ...rest },
          ...(judge === null ? {} : judgedBy(shop, judge)),
          model: modelOf(answers),
        });
        const before = { tokens: 0, costMicros: 0 };

        for (const text of ['one', 'two']) {
          await conversation.say(text);

          const { events, reason, state } = await conversation.turn();
          ends.add(reason);
          for (let seq = 1; seq <= events.length; seq += 1) {
            const event = events[seq - 1];
            const then = fold(events.slice(0, seq - 1));
            if (event?.type === 'model_requested') {
              expectRoomFor(event.reserved, then, before, rest.caps);
              expectAnotherRound(then);
            }
            if (event?.type === 'call_started') expectNoLimitReached(then);
            if (event?.type === 'verification_read' && event.read.judge !== undefined) {
              const { inputTokens, outputTokens, costMicros } = event.read.judge.usage;
              const tokens = inputTokens + outputTokens;
              expectRoomFor({ tokens, costMicros }, then, before, rest.caps);
            }
          }
          expectWithin(state);
          before.tokens += state.spent.tokens + state.reserved.tokens;
          before.costMicros += state.spent.costMicros + state.reserved.costMicros;
        }
        const { conversation: all, day } = rest.caps;
        const mostReplies = Math.min(all.replies ?? Infinity, day.replies ?? 30);
        expect(conversation.said('reply').length).toBeLessThanOrEqual(mostReplies);
      }),
      { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 150), endOnFailure: true },
    );

    // The worlds are small enough that many accounts were the one that ended a turn.
    expect(ends.size).toBeGreaterThan(5);
  }, 120_000);

  test('[S4-34] reads side by side of which one is the last failure that is allowed: the turn ends by that name, once', async () => {
    let order = 404;
    const { turn } = await play({
      policy: () => ({
        kind: 'tool_calls',
        calls: ['c0', 'c1', 'c2'].map((id) => {
          order += 1;
          return { id, tool: 'get_order', arguments: { orderId: String(order) } };
        }),
      }),
    });

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'consecutive_failures' });
    expect(turn.events.filter(({ type }) => type === 'turn_ended')).toHaveLength(1);
  });
});

/** The shop's tools where a judge that cannot make up its mind at first says whether a refund has landed. */
function judgedBy(shop: Shop, costMicros: number): Pick<PlayOptions, 'tools' | 'verifier'> {
  const verify = shopTools(shop).find(({ name }) => name === 'issue_refund')?.verify;
  if (verify === undefined) throw new Error('no tool');
  let asked = 0;
  return {
    tools: shopTools(shop, {
      issue_refund: { verify: { ...verify, level: 'judge', criterion: 'Paid?' } },
    }),
    verifier: scriptedJudge(
      () => {
        asked += 1;
        return asked % 3 === 0 ? 'landed' : 'unknown';
      },
      { costMicros },
    ),
  };
}

/** Answers one after the other, the last one for ever; paid as each is told. */
function modelOf(answers: readonly [Answer, { estimated: number; used: number }][]): Model {
  let call = 0;
  const next = () => answers[Math.min(call, answers.length - 1)];
  return {
    estimate() {
      const estimated = next()?.[1].estimated ?? 1;
      return { tokens: estimated, costMicros: estimated };
    },
    ask() {
      const [given, { used = 1 } = {}] = next() ?? [];
      call += 1;
      const usage: Usage = { inputTokens: used, outputTokens: 0, costMicros: used };
      if (given === undefined || 'fails' in given) {
        return Promise.resolve({ ok: false, failure: { kind: given?.fails ?? 'refusal' }, usage });
      }
      return Promise.resolve({ ok: true, proposal: given.proposal, usage, model: 'm' });
    },
  };
}

type Money = { tokens: number; costMicros: number };

/** What is about to be spent fits into the turn, its conversation and its day: `before` is what earlier turns spent. */
function expectRoomFor(
  reserved: Money,
  { spent, limits: of }: TurnState,
  before: Money,
  caps: { conversation: Caps; day: Caps },
): void {
  for (const name of ['tokens', 'costMicros'] as const) {
    const turn = spent[name] + reserved[name];
    expect(turn).toBeLessThanOrEqual(of[name]);
    for (const { [name]: most = Infinity } of [caps.conversation, caps.day]) {
      expect(before[name] + turn).toBeLessThanOrEqual(most);
    }
  }
}

function expectAnotherRound(state: TurnState): void {
  const { limits: of, rounds } = state;
  expect(rounds.length).toBeLessThan(of.rounds);
  expect(state.modelFailures).toBeLessThan(of.modelFailures);
  expect(state.rejectedFinishes).toBeLessThanOrEqual(of.rejectedFinishes);
  expectNoLimitReached(state);
}

function expectNoLimitReached({ failures, limits: of, ...state }: TurnState): void {
  expect(identicalFailures({ failures })).toBeLessThan(of.identicalFailures);
  const inARow = Object.values(failures).reduce((sum, count) => sum + count, 0);
  expect(inARow).toBeLessThan(of.consecutiveFailures);
  expect(state.spent.toolCalls).toBeLessThanOrEqual(of.toolCalls);
}

function expectWithin({ spent, limits: of, rounds }: TurnState): void {
  expect(rounds.length).toBeLessThanOrEqual(of.rounds);
  expect(spent.toolCalls).toBeLessThanOrEqual(of.toolCalls);
  expect(spent.parks).toBeLessThanOrEqual(of.parks);
  const started = rounds.map(
    ({ calls }) => calls.filter(({ result, step }) => ran(result?.kind, step)).length,
  );
  for (const count of started) expect(count).toBeLessThanOrEqual(of.callsPerRound);
}

function ran(result: string | undefined, step: string): boolean {
  return result !== 'rejected' && step !== 'proposed';
}
