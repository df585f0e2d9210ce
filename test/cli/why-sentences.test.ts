import { describe, expect, test } from 'vitest';
import { endFacts } from '../../src/cli/end-facts.ts';
import { replay } from '../../src/cli/replay.ts';
import type { TurnStory } from '../../src/cli/turn-story.ts';
import { whyCard } from '../../src/cli/why-card.ts';
import { WHY, explanationOf } from '../../src/cli/why-sentences.ts';
import { STOP_REASONS, type TurnEvent } from '../../src/contracts/index.ts';
import { allCalls } from '../../src/loop/index.ts';
import * as events from '../support/turn-events.ts';

const NOBODY = { takenBy: null, takenAt: null };

/** A story made of events alone. */
function storyOf(recorded: readonly TurnEvent[], turn: Partial<TurnStory['turn']> = {}): TurnStory {
  const entries = recorded.map((event) => ({ event }));
  const replayed = replay(entries);
  return {
    turn: {
      turnId: 't1',
      conversationId: 'test/c1',
      phase: replayed.state.phase,
      outcome: null,
      reason: null,
      startedAt: events.at,
      endedAt: null,
      open: true,
      park: null,
      messages: [],
      entries,
      storedReads: [],
      request: null,
      holder: { owner: 'agent', worker: 'alive', heldUntil: null, ...NOBODY },
      ...turn,
    },
    replayed,
    calls: allCalls(replayed.state),
    ledger: [],
    earlier: [],
    approvals: [],
    deliveries: [],
    missing: [],
  };
}

const REASONS = Object.entries(STOP_REASONS).flatMap(([outcome, reasons]) =>
  reasons.map((reason) => ({ outcome, reason })),
);

describe('[P9] every stop reason has a sentence', () => {
  test.each(REASONS)('$outcome/$reason', ({ reason }) => {
    const empty = endFacts(storyOf([]));
    const full = endFacts(
      storyOf([events.started(), events.requested(), events.calls('issue_refund')]),
    );

    for (const facts of [empty, full]) {
      const sentence = WHY[reason].sentence(facts);
      expect(sentence).toMatch(/^(Completed|Stopped because) ?.+\.$/);
      expect(sentence).not.toMatch(/undefined|NaN|null/);
    }
  });

  test('a reason of another version is said to be unknown, not guessed', () => {
    expect(explanationOf('constructor')).toBeUndefined();
    const story = storyOf([], { phase: 'ended', outcome: 'failed', reason: 'new_one' });
    expect(whyCard(story, 0).sentence).toBe(
      'Stopped with failed/new_one, which this version does not know.',
    );
  });
});

describe('the card of a turn that has not ended', () => {
  const running = [
    events.started(),
    events.requested(),
    events.calls('issue_refund'),
    events.checked(events.write()),
  ];

  test('says that it is running while its worker lives', () => {
    expect(whyCard(storyOf(running), 0)).toMatchObject({
      state: 'running',
      sentence: 'Still running (running_tools); nothing has stopped.',
      safeToRunAgain: { answer: 'nothing_to_repeat' },
    });
  });

  test('names the last safe point when its worker is gone', () => {
    const holder = { owner: 'agent', worker: 'lost', heldUntil: null, ...NOBODY } as const;

    expect(whyCard(storyOf(running, { holder }), 0)).toMatchObject({
      state: 'worker_lost',
      sentence:
        'Reason unknown: the worker died before writing it. Last safe point: calls_checked at 00:16:40.000Z. Resume is safe.',
    });
  });

  test('says until when it is held back after it got stuck', () => {
    const holder = { owner: 'agent', worker: 'none', heldUntil: 60_000, ...NOBODY } as const;

    expect(whyCard(storyOf(running, { holder }), 0).sentence).toMatch(
      /^Held back until 1970-01-01T00:01:00/,
    );
  });
});

describe('whether it is safe to run again', () => {
  const row = {
    ...{
      operation: 'op1',
      tool: 'issue_refund',
      resource: 'order:1',
      occurrence: '',
      intent: 'i1',
      callId: '1.1',
    },
    ...{
      conversationId: 'test/c1',
      turnId: 't1',
      actionHash: 'h',
      arguments: {},
      attempts: 1,
      attemptedAt: 0,
    },
  };
  const ended = { phase: 'ended', outcome: 'escalated', reason: 'effect_unknown' } as const;
  const answerFor = (
    status: 'unknown' | 'applied' | 'attempted' | 'verified' | 'not_landed' | 'rejected',
  ): string =>
    whyCard({ ...storyOf([], ended), ledger: [{ ...row, status }] }, 0).safeToRunAgain.answer;

  test('[P5] not while an effect may have happened, and yes once every effect is settled', () => {
    expect((['unknown', 'applied', 'attempted'] as const).map(answerFor)).toEqual([
      'no',
      'no',
      'no',
    ]);
    expect((['verified', 'not_landed', 'rejected'] as const).map(answerFor)).toEqual([
      'yes',
      'yes',
      'yes',
    ]);
  });
});
