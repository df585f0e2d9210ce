import { describe, expect, test } from 'vitest';
import {
  handsOver,
  STOP_REASONS,
  type Ending,
  type ModelFailureKind,
  type Outcome,
  type Park,
  type Phase,
  type StopCause,
  type StopReason,
} from '../../src/contracts/index.ts';
import type { HistoryEntry } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { traceOf, type Attributes, type Span, type TurnTrace } from '../../src/telemetry/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket, type RigOptions } from '../support/rig.ts';
import { SCENES, type Scene } from '../support/stop-reasons.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { SLOW_CANCELLATION } from './waiting-shop.ts';

type Rig = Awaited<ReturnType<typeof startRig>>;
/** What must be seen of an ended turn. */
type Expected = {
  /** Spans in order, `kind:status`. */
  spans: string[];
  /** The attributes, of whichever spans, that say why it came to this end. */
  why: Attributes;
  /** Of a completed turn: what was said to the customer. */
  reply?: string;
  /** Effects as the generated line of the history and the note name them, and as the ledger has them. */
  effects?: string;
  /** What is still asked of people about them. */
  open?: string;
  /** Who is told what beside the private note. */
  texts?: string[];
};

const M = 'model_call:ok';
const C = 'check';
const F = 'finish';
const BAD = 'model_call:error';
const READ = [M, C, 'tool_call:ok'];
const WRITE = [M, C, 'tool_call:ok', 'verification_read:ok'];
const FAILS = [M, C, 'tool_call:error'];
/** Waits for a person. */
const WAITS = [...READ, M, C, 'wait:ok'];
const HELD = ['holding'];

const failure = (kind: ModelFailureKind): Attributes => ({ failure: kind });
const cause = (cause: StopCause): Attributes => ({ cause });

const EXPECTED: Partial<Record<StopReason, Expected>> = {
  replied: {
    ...{ spans: [M, F], why: { proposal: 'finish_candidate', accepted: true } },
    ...{ texts: ['reply'], reply: 'Done.' },
  },
  asked_customer: {
    ...{ spans: [M], why: { proposal: 'ask_customer' } },
    ...{ texts: ['reply'], reply: 'Which order?' },
  },
  no_answer: {
    ...{ spans: [M, F], why: { proposal: 'finish_candidate', accepted: true } },
    ...{ texts: ['reply'], reply: 'I can cancel orders.' },
  },
  declined: {
    ...{ spans: [M], why: { proposal: 'refuse' } },
    ...{ texts: ['reply'], reply: 'I cannot do that.' },
  },
  no_reply_needed: {
    ...{ spans: [M, F], why: { proposal: 'finish_candidate', accepted: true } },
    ...{ texts: [], reply: '' },
  },
  model_escalated: { spans: [M], why: { proposal: 'escalate' } },
  finish_rejected: { spans: [M, F, M, F, M, F], why: { accepted: false } },
  uncited_claim: { spans: [M, F, M, F, M, F], why: { accepted: false } },
  repeated_state: {
    spans: [...FAILS, ...FAILS, ...FAILS],
    why: { toolSaid: 'refused', code: 'order_not_found' },
  },
  consecutive_failures: {
    spans: [...FAILS, ...FAILS, ...FAILS, ...FAILS, ...FAILS],
    why: { toolSaid: 'refused', code: 'order_not_found' },
  },
  max_rounds: { spans: [...READ, M], why: { proposal: 'tool_calls' } },
  max_tool_calls: {
    spans: [...READ, M, C],
    why: { verdict: 'rejected', check: 'budget', code: 'max_tool_calls' },
  },
  model_refusal: { spans: [BAD], why: failure('refusal') },
  max_tokens: { spans: [BAD], why: failure('max_tokens') },
  unknown_stop_reason: { spans: [BAD], why: failure('unknown_stop_reason') },
  empty_reply: { spans: [M], why: { proposal: 'finish_candidate' } },
  invalid_proposal: { spans: [BAD, BAD, BAD], why: failure('invalid_proposal') },
  model_unavailable: { spans: [BAD], why: failure('authentication_failed') },
  context_overflow: { spans: [BAD], why: failure('context_overflow') },
  token_budget: { spans: ['stop'], why: cause('token_budget') },
  cost_budget: { spans: ['stop'], why: cause('cost_budget') },
  max_replies: { spans: ['stop'], why: cause('max_replies') },
  deadline: { spans: [M, C, 'stop'], why: cause('deadline') },
  silence: { spans: [BAD], why: failure('silence') },
  max_parks: {
    ...{
      spans: [...READ, ...WRITE, 'wait:ok'],
      why: { park: 1, rereadSaid: 'pending', final: false },
    },
    ...{ effects: 'cancel_order order:1 applied', open: 'cancel_order order:1 applied' },
  },
  verification_failed: {
    ...{ spans: [...READ, ...WRITE, 'wait:ok'], why: { rereadSaid: 'not_landed', final: true } },
    effects: 'cancel_order order:1 not_landed',
  },
  effect_unknown: {
    spans: [...READ, ...FAILS, 'verification_read:error', 'wait:ok'],
    why: { rereadSaid: 'unknown', final: true },
    ...{ effects: 'cancel_order order:1 unknown', open: 'cancel_order order:1 unknown' },
  },
  approval_rejected: {
    ...{ spans: [...WAITS, 'approval'], texts: [...HELD, 'handover'] },
    why: { decision: 'rejected', by: 'tester' },
  },
  approval_expired: {
    ...{ spans: [...WAITS, 'approval'], texts: [...HELD, 'handover'] },
    why: { decision: 'expired', by: 'clock' },
  },
  cancelled: {
    ...{ spans: [...WAITS, 'stop'], texts: [...HELD, 'handover'] },
    why: { ...cause('cancelled'), how: 'stopped' },
  },
  human_takeover: {
    ...{ spans: [...WAITS, 'stop'], texts: HELD },
    why: { ...cause('human_takeover'), how: 'stopped' },
  },
  superseded: {
    ...{ spans: [...WAITS, 'stop'], texts: [...HELD, 'reply'] },
    why: { ...cause('superseded'), how: 'stopped' },
  },
  force_terminated: {
    ...{ spans: [...FAILS, 'stop'], why: { ...cause('cancelled'), how: 'abandoned' } },
  },
  // Of what was never answered nothing is on record.
  internal: { spans: [], why: { stopReason: 'internal' } },
};

/** Reasons of the union nothing ends with yet. */
const WITHOUT_PRODUCER: StopReason[] = ['refused_by_policy', 'injection_suspected'];
const REASONS = (Object.entries(STOP_REASONS) as [Outcome, readonly StopReason[]][]).flatMap(
  ([outcome, reasons]) => reasons.map((reason) => ({ outcome, reason })),
);

test('[S3-33] [S3-23] every stop reason with a producer has its scene and its expectation', () => {
  const wanted = REASONS.map(({ reason }) => reason).filter(
    (reason) => !WITHOUT_PRODUCER.includes(reason),
  );

  expect(Object.keys(EXPECTED).toSorted()).toEqual(wanted.toSorted());
  expect(Object.keys(SCENES).toSorted()).toEqual(wanted.toSorted());
});

describe('[S3-33] [S4-55] outcome, persisted history and trace of each end', () => {
  test.each(REASONS.filter(({ reason }) => EXPECTED[reason] !== undefined))(
    '$outcome / $reason',
    { timeout: 60_000 },
    async ({ outcome, reason }) => {
      const expected = EXPECTED[reason] ?? { spans: [], why: {} };
      const { rig, turnId, live } = await playTo(reason);
      const conversationId = `test/${reason}`;
      const turn = await rig.records.turn(turnId);
      if (turn === undefined) throw new Error('no turn');
      const ending = { outcome, reason } as Ending;

      // 1 outcome: on the head, as the last event, in who has the conversation now, and in what goes out
      expect([turn.outcome, turn.reason]).toEqual([outcome, reason]);
      expect(turn.events.filter(({ type }) => type === 'turn_ended')).toHaveLength(1);
      expect(turn.events.at(-1)).toMatchObject({ type: 'turn_ended', ending });
      expect(await rig.records.conversation(conversationId)).toMatchObject({
        ...{ openTurn: null, waiting: 0 },
        holder: { owner: handsOver(ending) ? 'human' : 'agent' },
      });
      const texts = expected.texts ?? ['handover'];
      const sent = rig.target.sent.map(({ kind }) => kind).toSorted();
      expect(sent).toEqual([...texts, ...(handsOver(ending) ? ['note'] : [])].toSorted());
      expect(await rig.records.pendingApprovals()).toEqual([]);

      // 2 persisted history: all of it for a completed turn, else one generated line and nothing of what was said
      const history = await historyOf(rig, conversationId);
      expect(history.map(({ kind }) => kind)).toEqual(
        reason === 'superseded' ? ['line', 'turn'] : [outcome === 'completed' ? 'turn' : 'line'],
      );
      const { effects = 'no effects', reply = '' } = expected;
      expect(history[0]).toEqual(
        outcome === 'completed'
          ? {
              ...{ kind: 'turn', turnId, customer: [reason], reply },
              rounds: [{ proposal: expect.anything(), results: [] }],
            }
          : {
              ...{ kind: 'line', turnId },
              line: `Earlier message "${reason}": ${outcome} (${reason}); ${effects}.`,
            },
      );
      if (outcome === 'completed') expect(rig.target.of('reply')).toEqual(reply ? [reply] : []);
      if (handsOver(ending)) expectNote(rig, ending, expected);
      expect((await ledgerOf(rig, conversationId)).join('; ') || 'no effects').toBe(effects);

      // 3 trace: read off the record it is the same as it was live, it is closed, and it has this shape
      const trace = traceOf(turn.events);
      expect(live.spans).toEqual(trace.spans);
      expect([trace.openSpans, live.openSpans]).toEqual([[], []]);
      const shape = trace.spans.filter(({ kind }) => kind !== 'turn').map(shapeOf);
      expect(withoutReReads(shape)).toEqual(expected.spans);
      expect(trace.spans.find(({ kind }) => kind === 'turn')).toMatchObject({
        status: outcome === 'completed' ? 'ok' : 'error',
        attributes: { outcome, stopReason: reason },
      });
      expect(attributesOf(trace)).toMatchObject(expected.why);
    },
  );
});

type Wait = {
  phase: Phase;
  park: Partial<Park>;
  spans: string[];
  why: Attributes;
  /** As the ledger has them meanwhile. */
  effects: string[];
  texts: string[];
  scene: Scene;
  /** What is so before the message comes. */
  before?(rig: Rig): Promise<void>;
};

const SOON = Date.now() + 3_600_000;
const ACCOUNT = 'acme';

/** One way into each wait, by what it waits for. */
const WAITING: Record<string, Wait> = {
  'a re-read': {
    ...{ phase: 'awaiting_verification', park: { kind: 'verification', callId: '2.1' } },
    ...{ spans: [...READ, ...WRITE], why: { rereadSaid: 'pending', final: false } },
    ...{ effects: ['cancel_order order:1 applied'], texts: [] },
    scene: {
      answer: cancelThenRefund,
      agent: { tools: shopTools(shopWithOrder(), SLOW_CANCELLATION) },
    },
  },
  'a person': {
    phase: 'awaiting_approval',
    park: { kind: 'approval', callId: '3.1', approvalId: expect.any(String) as string },
    ...{ spans: [...READ, ...WRITE, M, C], why: { verdict: 'needs_approval' } },
    ...{ effects: ['cancel_order order:1 verified'], texts: ['holding'] },
    scene: { answer: cancelThenRefund, agent: { approvalLimits: { EUR: 0 } } },
  },
  'a provider that turned it away': {
    ...{ phase: 'backing_off', park: { kind: 'back_off', dueAt: SOON } },
    ...{ spans: [BAD], why: failure('rate_limited'), effects: [], texts: [] },
    scene: {
      answer: () => ({ kind: 'fails', failure: { kind: 'rate_limited', retryAt: SOON } }),
    },
  },
  'an account that is limited: it was not even asked': {
    ...{ phase: 'backing_off', park: { kind: 'back_off', dueAt: SOON } },
    ...{ spans: [], why: {}, effects: [], texts: [] },
    scene: {
      answer: () => ({ kind: 'finish_candidate', reply: 'Done.' }),
      agent: {
        model: {
          ...scriptedModel(() => ({ kind: 'finish_candidate', reply: 'Done.' })),
          account: ACCOUNT,
        },
      },
    },
    before: (rig) => rig.store.limitAccount(ACCOUNT, SOON),
  },
};

describe('[S3-33] [S4-55] outcome, persisted history and trace of each wait', () => {
  test.each(Object.entries(WAITING))('for %s', async (_what, wait) => {
    const { phase, park, spans, why, effects, texts, scene } = wait;
    const parked = Promise.withResolvers<{ turnId: string; live: TurnTrace }>();
    const { rig } = await start(scene, {
      onTrace: (turnId, live) => parked.resolve({ turnId, live }),
    });
    await wait.before?.(rig);
    await rig.accept(ticket({ conversationId: 'waits', text: 'cancel my order' }));
    const { turnId, live } = await parked.promise;
    if (texts.length > 0) await rig.target.when(() => rig.target.sent.length > 0);
    const turn = await rig.records.turn(turnId);
    if (turn === undefined) throw new Error('no turn');

    // 1 no outcome yet, who waits for what is on record, and nothing was said but that it takes longer
    expect(turn).toMatchObject({ phase, outcome: null, reason: null, endedAt: null });
    expect(turn.park).toMatchObject({ ...park, number: 1 });
    expect(rig.target.sent.map(({ kind }) => kind)).toEqual(texts);
    const approvals = await rig.records.pendingApprovals();
    expect(approvals.map(({ id }) => id)).toEqual(
      turn.park?.approvalId ? [turn.park.approvalId] : [],
    );

    // 2 nothing of it is in the history, its message is still in the mailbox, and the ledger has what was done so far
    expect(await historyOf(rig, 'test/waits')).toEqual([]);
    expect(await rig.records.conversation('test/waits')).toMatchObject({
      ...{ openTurn: turnId, waiting: 1 },
      holder: { owner: 'agent' },
    });
    expect(await ledgerOf(rig, 'test/waits')).toEqual(effects);

    // 3 only the turn and its wait are open, on record as they were live
    const trace = traceOf(turn.events);
    expect(live.spans).toEqual(trace.spans);
    expect([trace.openSpans, live.openSpans]).toEqual([
      ['turn', 'wait'],
      ['turn', 'wait'],
    ]);
    expect(trace.spans.map(shapeOf)).toEqual(spans);
    expect(attributesOf(trace)).toMatchObject(why);
  });
});

test('[S3-20] a conversation that no longer fits is closed politely: the customer is told, people take over, nothing more is thought about it', async () => {
  let asked = 0;
  const { rig } = await start({
    answer: () => {
      asked += 1;
      return { kind: 'fails', failure: { kind: 'context_overflow' } };
    },
  });
  await rig.accept(ticket({ text: 'One' }));
  await rig.target.arrived('note', 1);
  await rig.accept(ticket({ text: 'Two' }));
  await rig.target.arrived('note', 2);

  expect(asked).toBe(1);
  expect(rig.target.of('handover')).toEqual([rig.agent.rules.texts.handover]);
  const reasons = (await rig.records.turnsOf('test/c1')).map(({ reason }) => reason);
  expect(reasons.toSorted()).toEqual(['context_overflow', 'human_takeover']);
});

function shopWithOrder(): Shop {
  const shop = new Shop();
  shop.add({ id: '1' });
  return shop;
}

async function start(scene: Scene, host: RigOptions['host'] = {}): Promise<{ rig: Rig }> {
  const shop = shopWithOrder();
  scene.shop?.(shop);
  const { agent } = scene;
  const rig = await startRig({
    model: scriptedModel((view) => scene.answer(view), { microsPerToken: 1 }),
    tools: shopTools(shop),
    approvalLimits: { EUR: 1_000 },
    limits: { rounds: 8 },
    store: { slackMs: 1_000 },
    ...agent,
    host: { ...agent?.host, ...host },
  });
  await rig.startHost();
  return { rig };
}

/** Lets a turn end for the reason. */
async function playTo(reason: StopReason): Promise<{ rig: Rig; turnId: string; live: TurnTrace }> {
  const found = SCENES[reason];
  if (found === undefined) throw new RangeError(`no way to ${reason}`);
  const scene = reason === 'max_rounds' ? { ...found, agent: { limits: { rounds: 2 } } } : found;
  const over = Promise.withResolvers<{ turnId: string; live: TurnTrace }>();
  const { rig } = await start(scene, {
    onTrace: (turnId, live) => {
      const turn = live.spans.find(({ kind }) => kind === 'turn');
      if (turn?.attributes['stopReason'] === reason) over.resolve({ turnId, live });
    },
  });
  await rig.accept(ticket({ conversationId: reason, text: reason }));
  if (scene.people !== undefined) {
    await rig.target.arrived('holding', 1);
    const [waiting] = await rig.records.pendingApprovals();
    if (waiting === undefined) throw new Error('nothing waits for a person');
    await scene.people(rig, waiting);
  }
  await scene.meanwhile?.(rig);
  const ended = await over.promise;
  const ending = REASONS.find((one) => one.reason === reason) as Ending;
  const wanted = [
    ...(EXPECTED[reason]?.texts ?? ['handover']),
    ...(handsOver(ending) ? ['note'] : []),
  ];
  await rig.target.when(() => rig.target.sent.length >= wanted.length);
  return { rig, ...ended };
}

/** All that the spans of a turn say; the last one to say it counts. */
function attributesOf({ spans }: TurnTrace): Attributes {
  return Object.assign({}, ...spans.map(({ attributes }) => attributes)) as Attributes;
}

async function ledgerOf(rig: Rig, conversationId: string): Promise<string[]> {
  const rows = await rig.records.ledger(conversationId);
  return rows.map(({ tool, resource, status }) => `${tool} ${resource} ${status}`);
}

/** Checks by their name, everything else by its kind and how it came out. */
function shapeOf({ kind, name, status }: Span): string {
  return kind === 'check' ? (name.split(' ')[0] ?? '') : `${kind}:${status}`;
}

/** How often an effect is re-read while its turn waits depends on its contract and is proved elsewhere. */
function withoutReReads(shape: readonly string[]): string[] {
  return shape.filter(
    (one, index) =>
      !(one.startsWith('verification_read') && shape[index - 1]?.match(/verification_read|wait/)),
  );
}

async function historyOf(rig: Rig, conversationId: string): Promise<HistoryEntry[]> {
  const key = `${rig.store.tagOf(conversationId)}:hist:${conversationId}`;
  const entries = await rig.redis.lrange(key, 0, -1);
  return entries.map((json) => JSON.parse(json) as HistoryEntry);
}

/** People are told how it ended, what was asked, what was done, what is open and what is safe. */
function expectNote(rig: Rig, { outcome, reason }: Ending, expected: Expected): void {
  const [note = ''] = rig.target.of('note');
  const { effects = 'nothing', open = 'nothing' } = expected;
  const lines = note.split('\n');
  expect(lines[0]).toBe(`Turnkeeper stopped: ${outcome} (${reason}).`);
  expect(lines).toContain(`Asked: ${reason}`);
  expect(lines).toContain(`Done: ${effects}.`);
  expect(lines).toContain(`Not certain: ${open}.`);
  expect(note).toContain('Left undone: ');
  expect(note).toContain(
    open === 'nothing'
      ? 'Next: it is safe to act or to reprocess'
      : 'Next: settle what is not certain',
  );
}
