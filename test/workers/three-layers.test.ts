import { describe, expect, test } from 'vitest';
import {
  handsOver,
  STOP_REASONS,
  type Ending,
  type Outcome,
  type Phase,
  type StopReason,
  type TurnEvent,
} from '../../src/contracts/index.ts';
import type { HistoryEntry, View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { traceOf, type Span } from '../../src/telemetry/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket, type RigOptions } from '../support/rig.ts';
import { SCENES } from '../support/stop-reasons.ts';
import { Shop, shopTools } from '../support/shop.ts';

type Rig = Awaited<ReturnType<typeof startRig>>;
type Way = {
  answer(view: View): ScriptedAnswer | Promise<ScriptedAnswer>;
  agent?: Partial<RigOptions>;
  shop?(shop: Shop): void;
  /** What people and the world do once the turn is under way. */
  meanwhile?(rig: Rig): Promise<void>;
};
/** What must be seen of an ended turn; `spans` in order, `kind:status`. */
type Expected = {
  spans: string[];
  /** Effects the generated line of the history and the note must name. */
  effects?: string;
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
const asked = (rig: Rig) => rig.target.arrived('holding', 1);

/** A turn that hangs in a tool which does not care that it was told to stop. */
const deaf = Promise.withResolvers<void>();
const late = { offsetMs: 0 };
const EXTRA: Partial<Record<StopReason, Way>> = {
  deadline: {
    answer: () => {
      late.offsetMs += 600_000;
      return {
        kind: 'tool_calls',
        calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '1' } }],
      };
    },
    agent: { store: { clockOffsetMs: () => late.offsetMs } },
  },
  max_replies: {
    answer: () => ({ kind: 'finish_candidate', reply: 'Done.' }),
    agent: { caps: { conversation: { replies: 0 } } },
  },
  force_terminated: {
    answer: (view) =>
      view.rounds.length === 0
        ? {
            kind: 'tool_calls',
            calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '1' } }],
          }
        : { kind: 'finish_candidate', reply: 'Done.' },
    meanwhile: async (rig) => {
      await deaf.promise;
      const { openTurn } = (await rig.records.conversation('test/force_terminated')) ?? {};
      const signal = { cause: 'cancelled', by: 'tester', reason: 'enough' } as const;
      await rig.store.requestStop('test/force_terminated', openTurn ?? '', signal);
    },
  },
  internal: {
    answer: () => {
      throw new Error('boom');
    },
    agent: { limits: { deadlineMs: 1_000_000_000 }, store: {} },
  },
};

const HELD = ['holding'];
const EXPECTED: Partial<Record<StopReason, Expected>> = {
  replied: { spans: [M, F], texts: ['reply'] },
  asked_customer: { spans: [M], texts: ['reply'] },
  no_answer: { spans: [M, F], texts: ['reply'] },
  declined: { spans: [M], texts: ['reply'] },
  no_reply_needed: { spans: [M, F], texts: [] },
  model_escalated: { spans: [M] },
  finish_rejected: { spans: [M, F, M, F, M, F] },
  repeated_state: { spans: [...FAILS, ...FAILS, ...FAILS] },
  consecutive_failures: { spans: [...FAILS, ...FAILS, ...FAILS, ...FAILS, ...FAILS] },
  max_rounds: { spans: [...READ, M] },
  max_tool_calls: { spans: [...READ, M, C] },
  model_refusal: { spans: [BAD] },
  max_tokens: { spans: [BAD] },
  unknown_stop_reason: { spans: [BAD] },
  empty_reply: { spans: [M] },
  invalid_proposal: { spans: [BAD, BAD, BAD] },
  model_unavailable: { spans: [BAD] },
  context_overflow: { spans: [BAD] },
  token_budget: { spans: ['stop'] },
  cost_budget: { spans: ['stop'] },
  max_replies: { spans: ['stop'] },
  deadline: { spans: [M, C, 'stop'] },
  silence: { spans: [BAD] },
  max_parks: { spans: [...READ, ...WRITE, 'wait:ok'], effects: 'cancel_order order:1 applied' },
  verification_failed: {
    spans: [...READ, ...WRITE, 'wait:ok'],
    effects: 'cancel_order order:1 not_landed',
  },
  effect_unknown: {
    spans: [...READ, ...FAILS, 'verification_read:error', 'wait:ok'],
    effects: 'cancel_order order:1 unknown',
  },
  approval_rejected: { spans: [...WAITS, 'approval'], texts: [...HELD, 'handover'] },
  approval_expired: { spans: [...WAITS, 'approval'], texts: [...HELD, 'handover'] },
  cancelled: { spans: [...WAITS, 'stop'], texts: [...HELD, 'handover'] },
  human_takeover: { spans: [...WAITS, 'stop'], texts: HELD },
  superseded: { spans: [...WAITS, 'stop'], texts: [...HELD, 'reply'] },
  force_terminated: { spans: [...FAILS, 'stop'] },
  internal: { spans: [] },
};

/** Reasons of the union nothing ends with yet. */
const WITHOUT_PRODUCER: StopReason[] = [
  'refused_by_policy',
  'injection_suspected',
  'uncited_claim',
];
const REASONS = (Object.entries(STOP_REASONS) as [Outcome, readonly StopReason[]][]).flatMap(
  ([outcome, reasons]) => reasons.map((reason) => ({ outcome, reason })),
);

test('[S3-33] [S3-23] every stop reason with a producer has its way and its expectation', () => {
  const known = Object.keys(EXPECTED).toSorted();
  const wanted = REASONS.map(({ reason }) => reason).filter(
    (reason) => !WITHOUT_PRODUCER.includes(reason),
  );

  expect(known).toEqual(wanted.toSorted());
});

describe('[S3-33] [S4-55] outcome, persisted history and trace of each end', () => {
  test.each(REASONS.filter(({ reason }) => EXPECTED[reason] !== undefined))(
    '$outcome / $reason',
    { timeout: 60_000 },
    async ({ outcome, reason }) => {
      const expected = EXPECTED[reason] ?? { spans: [] };
      const { rig, turnId } = await playTo(reason);
      const conversationId = `test/${reason}`;
      const turn = await rig.records.turn(turnId);
      if (turn === undefined) throw new Error('no turn');
      const ending = { outcome, reason } as Ending;

      // 1 outcome: on the head, as the last event, and in what goes out
      expect([turn.outcome, turn.reason]).toEqual([outcome, reason]);
      expect(turn.events.filter(({ type }) => type === 'turn_ended')).toHaveLength(1);
      expect(turn.events.at(-1)).toMatchObject({ type: 'turn_ended', ending });
      const { owner } = (await rig.records.conversation(conversationId))?.holder ?? {};
      expect(owner).toBe(handsOver(ending) ? 'human' : 'agent');
      const texts = expected.texts ?? ['handover'];
      const sent = rig.target.sent.map(({ kind }) => kind).toSorted();
      expect(sent).toEqual([...texts, ...(handsOver(ending) ? ['note'] : [])].toSorted());

      // 2 persisted history: all of it for a completed turn, else one generated line
      const entry = (await historyOf(rig, conversationId)).find(
        (one) => one.kind !== 'human' && one.turnId === turnId,
      );
      if (outcome === 'completed') {
        expect(entry).toMatchObject({ kind: 'turn', customer: [reason] });
      } else {
        expect(entry).toMatchObject({
          kind: 'line',
          line: expect.stringContaining(`"${reason}": ${outcome} (${reason})`),
        });
        const { effects = 'no effects' } = expected;
        expect(JSON.stringify(entry)).toContain(effects);
        if (handsOver(ending)) expectNote(rig, ending);
      }

      // 3 trace: read off the record it is the same as it was live, it is closed, and it has this shape
      const trace = traceOf(turn.events);
      expect(trace.openSpans).toEqual([]);
      const shape = trace.spans.filter(({ kind }) => kind !== 'turn').map(shapeOf);
      expect(withoutReReads(shape)).toEqual(expected.spans);
      expect(trace.spans.find(({ kind }) => kind === 'turn')).toMatchObject({
        status: outcome === 'completed' ? 'ok' : 'error',
        attributes: { outcome, stopReason: reason },
      });
    },
  );
});

describe('[S3-33] [S4-55] outcome, persisted history and trace of each wait', () => {
  test.each<[Phase, Way, string[], (events: readonly TurnEvent[]) => unknown]>([
    [
      'awaiting_verification',
      {
        answer: cancelThenRefund,
        shop: (shop) => {
          shop.settleReads = 1_000;
        },
      },
      [...READ, ...WRITE],
      () => 'verification',
    ],
    [
      'awaiting_approval',
      { answer: cancelThenRefund, agent: { approvalLimits: { EUR: 0 } } },
      [...READ, ...WRITE, M, C],
      () => 'approval',
    ],
    [
      'backing_off',
      {
        answer: () => ({
          kind: 'fails',
          failure: { kind: 'rate_limited', retryAt: Date.now() + 3_600_000 },
        }),
      },
      [BAD],
      () => 'back_off',
    ],
  ])('%s', async (phase, way, spans, kind) => {
    const { rig } = await start(phase, way, {
      onTrace: (turnId) => parked.resolve(turnId),
    });
    const parked = Promise.withResolvers<string>();
    await rig.accept(ticket({ conversationId: phase, text: phase }));
    const turnId = await parked.promise;
    const turn = await rig.records.turn(turnId);
    if (turn === undefined) throw new Error('no turn');

    // 1 no outcome yet, and who waits for what is on record
    expect(turn).toMatchObject({ phase, outcome: null, reason: null });
    expect(turn.park).toMatchObject({ kind: kind(turn.events), number: 1 });
    expect(rig.target.of('reply')).toEqual([]);

    // 2 nothing of it is in the history, and its message is still in the mailbox
    expect(await historyOf(rig, `test/${phase}`)).toEqual([]);
    expect(await rig.records.conversation(`test/${phase}`)).toMatchObject({
      openTurn: turnId,
      waiting: 1,
      holder: { owner: 'agent' },
    });

    // 3 only the turn and its wait are open
    const trace = traceOf(turn.events);
    expect(trace.openSpans).toEqual(['turn', 'wait']);
    expect(trace.spans.map(shapeOf)).toEqual(spans);
  });
});

test('[S3-20] a conversation that no longer fits is closed politely: the customer is told, people take over, nothing more is thought about it', async () => {
  let asked = 0;
  const { rig } = await start('context_overflow', {
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

async function start(
  name: string,
  way: Way,
  host: RigOptions['host'] = {},
): Promise<{ rig: Rig; shop: Shop }> {
  const shop = new Shop();
  shop.add({ id: '1' });
  way.shop?.(shop);
  const hangs = name === 'force_terminated';
  const rig = await startRig({
    model: scriptedModel((view) => way.answer(view), { microsPerToken: 1 }),
    tools: shopTools(shop, {
      ...(hangs ? { get_order: { timeoutMs: 20_000, run: hang } } : {}),
    }),
    approvalLimits: { EUR: 1_000 },
    limits: { rounds: name === 'max_rounds' ? 2 : 8 },
    store: { slackMs: 1_000 },
    ...way.agent,
    host,
  });
  await rig.startHost();
  return { rig, shop };
}

/** Never answers and does not listen. */
function hang(): Promise<never> {
  deaf.resolve();
  return new Promise(() => {});
}

/** Lets a turn end for the reason. */
async function playTo(reason: StopReason): Promise<{ rig: Rig; turnId: string }> {
  const scene = SCENES[reason];
  const way: Way | undefined = EXTRA[reason] ?? scene;
  if (way === undefined) throw new RangeError(`no way to ${reason}`);
  const clock = { offsetMs: 0 };
  const given: Way =
    reason === 'internal'
      ? { ...way, agent: { ...way.agent, store: { clockOffsetMs: () => clock.offsetMs } } }
      : way;
  const over = Promise.withResolvers<string>();
  const { rig } = await start(reason, given, {
    onTrace: (turnId, trace) => {
      const turn = trace.spans.find(({ kind }) => kind === 'turn');
      if (turn?.attributes['stopReason'] === reason) over.resolve(turnId);
    },
  });
  await rig.accept(ticket({ conversationId: reason, text: reason }));
  if (scene?.people !== undefined) {
    await asked(rig);
    const [waiting] = await rig.records.pendingApprovals();
    if (waiting === undefined) throw new Error('nothing waits for a person');
    await scene.people(rig, waiting);
  }
  await EXTRA[reason]?.meanwhile?.(rig);
  if (reason === 'internal') {
    const turns = rig.queues.of('turns', `test/${reason}`);
    while (rig.target.of('note').length === 0) {
      clock.offsetMs += 60_000;
      for (const job of await turns.getDelayed()) await job.promote().catch(() => {});
    }
  }
  const turnId = await over.promise;
  const ending = REASONS.find((one) => one.reason === reason) as Ending;
  const wanted = [
    ...(EXPECTED[reason]?.texts ?? ['handover']),
    ...(handsOver(ending) ? ['note'] : []),
  ];
  await rig.target.when(() => rig.target.sent.length >= wanted.length);
  return { rig, turnId };
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

/** People are told how it ended, what was asked, what was done and what is safe. */
function expectNote(rig: Rig, { outcome, reason }: Ending): void {
  const [note = ''] = rig.target.of('note');
  expect(note).toContain(`Turnkeeper stopped: ${outcome} (${reason}).`);
  for (const part of ['Asked: ', 'Done: ', 'Not certain: ', 'Left undone: ', 'Next: ']) {
    expect(note).toContain(part);
  }
}
