import { describe, expect, test } from 'vitest';
import type { ApprovalView } from '../../src/cli/approval-view.ts';
import { replay } from '../../src/cli/replay.ts';
import { traceLines } from '../../src/cli/trace-lines.ts';
import type { TurnStory } from '../../src/cli/turn-story.ts';
import { whyCard } from '../../src/cli/why-card.ts';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { allCalls } from '../../src/loop/index.ts';
import { key } from '../../src/store/keys.ts';
import * as events from '../support/turn-events.ts';
import { waitingTurn } from './played-shop.ts';
import { runCli, runJson } from './run-cli.ts';

const NOBODY = { takenBy: null, takenAt: null };

/** A story made of events alone. */
function storyOf(
  recorded: readonly TurnEvent[],
  request: TurnStory['turn']['request'] = null,
): TurnStory {
  const replayed = replay(recorded.map((event) => ({ event })));
  const { phase, ending } = replayed.state;
  const end = recorded.at(-1)?.type === 'turn_ended' ? ending : undefined;
  return {
    turn: {
      ...{ turnId: 't1', conversationId: 'test/c1', phase, open: end === undefined },
      ...{ outcome: end?.outcome ?? null, reason: end?.reason ?? null },
      ...{
        startedAt: events.at,
        endedAt: null,
        park: null,
        messages: [],
        storedReads: [],
        request,
      },
      entries: recorded.map((event) => ({ event })),
      holder: { owner: 'agent', worker: 'alive', heldUntil: null, ...NOBODY },
    },
    ...{ replayed, calls: allCalls(replayed.state) },
    ...{ ledger: [], earlier: [], approvals: [], deliveries: [], missing: [] },
  };
}

function textsOf(story: TurnStory, kind: string): string[] {
  return traceLines(story.turn, story.replayed)
    .filter((line) => line.kind === kind)
    .map(({ text }) => text);
}

const called = [events.started(), events.requested(), events.calls('issue_refund')];

describe('what a person who must agree is shown', () => {
  test('[S2-26] [P7] the frozen arguments, where each value came from, and the version of the policy', async () => {
    const { store, approval } = await waitingTurn();

    const view = await runJson<ApprovalView>(['approvals', 'show', approval.id], { store });
    const { stdout } = await runCli(['approvals', 'show', approval.id], { store });

    expect(view).toMatchObject({
      origins: { orderId: 'customer', amount: 'policy' },
      ...{ policy: approval.policy, actionHash: approval.actionHash, lookAlikes: [] },
    });
    expect(stdout).toContain('  orderId = "1": the customer wrote it\n');
    expect(stdout).toContain('  amount = 2000: the contract of the tool says what it may be\n');
    expect(stdout).toContain(`(policy ${approval.policy})`);
    expect(stdout).not.toContain('Careful');
  });

  test('letters that pretend to be others are written as their numbers, and a value nobody can trace says so', async () => {
    const { store, approval, redis } = await waitingTurn();
    const record = key(store.tags()[0] ?? '', 'approval', approval.id);
    const changed = {
      ...approval,
      arguments: { recipient: 'ana@p\u0430ypal.com', note: 'now\u202e' },
      origins: { recipient: null },
      reason: 'refund to \u0430na is above the limit',
      seen: { holder: '\u0430na' },
    };
    await redis.hset(record, 'request', JSON.stringify(changed));

    const { stdout } = await runCli(['approvals', 'show', approval.id], { store });

    const lines = stdout.split('\n');
    expect(lines).toContain(String.raw`  recipient = "ana@p\u{430}ypal.com": NOBODY CAN TELL`);
    expect(lines).toContain(String.raw`  note = "now\u{202e}": not on record`);
    expect(stdout).toContain(String.raw`Why a person is asked: refund to \u{430}na is above`);
    expect(lines).toContain(String.raw`What it saw: {"holder":"\u{430}na"}`);
    expect(lines).toContain(
      String.raw`Careful: letters that look like others, written as their numbers: ana@p\u{430}ypal.com, \u{430}na`,
    );
    expect(stdout).not.toMatch(/[\u0430\u202e]/);
  });

  test('a request of an older version, without sources and policy, is shown all the same', async () => {
    const { store, approval, redis } = await waitingTurn();
    const { origins: _origins, policy: _policy, ...older } = approval;
    const record = key(store.tags()[0] ?? '', 'approval', approval.id);
    await redis.hset(record, 'request', JSON.stringify(older));

    const { stdout } = await runCli(['approvals', 'show', approval.id], { store });

    expect(stdout).toContain('  amount = 2000: not on record\n');
    expect(stdout).toContain('(policy not on record)');
  });
});

describe('the trace tells', () => {
  test('where the values of a write came from', () => {
    const origins = { orderId: 'customer', recipient: null };
    const verdict = { ...events.write(), origins } as const;

    expect(textsOf(storyOf([...called, events.checked(verdict)]), 'checked')).toEqual([
      '1.1 issue_refund passed, a write: order:1, operation op1; orderId from customer, recipient from NOWHERE ANYBODY CAN TELL',
    ]);
  });

  test('[S0-43] who judged a re-read, why, and what that cost', () => {
    const usage = { inputTokens: 30, outputTokens: 4, costMicros: 7 };
    const judge = { model: 'judge-1', usage, rationale: 'The mail says so.' };
    const read = events.reread('landed');
    if (read.type !== 'verification_read') throw new Error('no read');
    const story = storyOf([
      ...[...called, events.checked(events.write()), events.begun(), events.settled('ok')],
      ...[events.rereading, { ...read, read: { ...read.read, judge } }],
    ]);

    const line = traceLines(story.turn, story.replayed).find(({ kind }) => kind === 'reread_said');
    expect(line).toMatchObject({ tokens: 34, costMicros: 7 });
    expect(line?.text).toContain('1.1 landed (judged by judge-1: "The mail says so.")');
  });

  test('[S4-46] how often the same was asked where that is why it ended', () => {
    const ended: TurnEvent = {
      type: 'turn_ended',
      at: events.at,
      ending: { outcome: 'escalated', reason: 'repeated_state' },
      repetition: { rounds: 4, identical: 3 },
    };
    const failing = [...called, events.checked(events.read()), events.begun()];
    const three = [
      ...[...failing, events.settled('failed')],
      ...[events.requested(), events.calls('issue_refund'), events.checked(events.read('2.1'))],
      ...[events.begun('2.1'), events.settled('failed', '2.1')],
      ...[events.requested(), events.calls('issue_refund'), events.checked(events.read('3.1'))],
      ...[events.begun('3.1'), events.settled('failed', '3.1'), ended],
    ];
    const story = storyOf(three);

    expect(textsOf(story, 'stopped')).toEqual(['escalated/repeated_state (4 rounds, 3 identical)']);
    expect(whyCard(story, 0)).toMatchObject({
      sentence:
        'Stopped because issue_refund ended with the same down 3 times (4 rounds, 3 identical).',
      repetition: { rounds: 4, identical: 3 },
    });
  });

  test('that a model was not asked because its account is limited, and until when', () => {
    const limited = [
      ...[events.started(), events.requested()],
      ...[events.failed('account_limited', { retryAt: 90_000 }), events.parked('back_off')],
    ];
    const story = storyOf(limited);
    const park = { number: 1, kind: 'back_off', dueAt: 90_000 } as const;

    expect(textsOf(story, 'model_failed')).toEqual([
      'account_limited, the model was not asked, not before 1970-01-01T00:01:30.000Z',
    ]);
    expect(whyCard({ ...story, turn: { ...story.turn, park } }, 0).sentence).toBe(
      'Backing off until 1970-01-01T00:01:30.000Z: the account of the model is limited, so it was not asked.',
    );
  });

  test('[S2-36] which procedures it loaded, and in which version', () => {
    const skill = { name: 'refunds', version: '1.4', procedure: 'Read the order first.' };
    const loaded: TurnEvent = {
      ...{ type: 'call_settled', at: events.at, callId: '1.1', latencyMs: 1 },
      result: { kind: 'ok', observation: events.observation('1.1', skill) },
    };
    const story = storyOf([
      ...[events.started(), events.requested(), events.calls('load_skill')],
      ...[events.checked(events.read()), events.begun(), loaded],
    ]);

    expect(whyCard(story, 0)).toMatchObject({
      skills: [{ name: 'refunds', version: '1.4' }],
      notes: ['Procedures it loaded: refunds 1.4.'],
    });
  });
});

describe('[P12] asking for a stop and stopping are two facts', () => {
  const request = { cause: 'cancelled', by: 'ana', reason: 'late', requestedAt: 60_000 } as const;

  test('a stop that was asked for is no stop while the turn runs', () => {
    const card = whyCard(storyOf(called, request), 0);

    expect(card.stop).toMatchObject({ requestedAt: '1970-01-01T00:01:00.000Z', stoppedAt: null });
    expect(card.notes).toEqual([
      'A stop (cancelled) was asked for by ana at 1970-01-01T00:01:00.000Z (late); it has not stopped yet.',
    ]);
  });

  test('one that came when the turn had decided how to end is on record as too late', () => {
    const replied = [
      ...[events.started(), events.requested(), events.responded(events.finish)],
      ...[events.judged(), events.over],
    ];

    expect(whyCard(storyOf(replied, request), 0).notes[0]).toMatch(
      /it came too late to be heeded\.$/,
    );
  });

  test.each([
    ['stopped', 'which ended when told to'],
    ['completed', 'which ran to its end all the same'],
    ['abandoned', 'which was left behind and may still run'],
  ] as const)('how what was under way ended is said: %s', (how, words) => {
    const stopped: TurnEvent = {
      ...{ type: 'stop_requested', at: 61_000, ...request },
      ...{ running: ['issue_refund (1.1)'], how },
    };
    const ending =
      how === 'abandoned'
        ? ({ outcome: 'cancelled', reason: 'force_terminated' } as const)
        : ({ outcome: 'cancelled', reason: 'cancelled' } as const);
    const story = storyOf([
      ...[...called, events.checked(events.write()), events.begun(), events.settled('unknown')],
      ...[stopped, { type: 'turn_ended', at: 61_000, ending } as const],
    ]);

    const said = `asked for at 00:01:00.000Z, stopped at 00:01:01.000Z (1 s later); under way: issue_refund (1.1), ${words}`;
    expect(whyCard(story, 0).sentence).toContain(said);
    expect(textsOf(story, 'stop_requested')).toEqual([`cancelled by ana: "late", ${said}`]);
    expect(whyCard(story, 0).stop).toEqual({
      ...{ cause: 'cancelled', by: 'ana', reason: 'late', how, running: ['issue_refund (1.1)'] },
      ...{ requestedAt: '1970-01-01T00:01:00.000Z', stoppedAt: '1970-01-01T00:01:01.000Z' },
    });
    expect(whyCard(story, 0).sentence).not.toMatch(/undone|rolled back|taken back/);
  });
});
