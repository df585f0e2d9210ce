import { describe, expect, test } from 'vitest';
import { missingLinks } from '../../src/cli/missing-links.ts';
import { replay } from '../../src/cli/replay.ts';
import { readStory } from '../../src/cli/turn-story.ts';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { key } from '../../src/store/keys.ts';
import type { TurnOnRecord } from '../../src/store/records.ts';
import * as events from '../support/turn-events.ts';
import { playedTurn, waitingTurn } from './played-shop.ts';

const NOBODY = { takenBy: null, takenAt: null };

const NOTHING_NEAR = { ledger: [], operations: [], deliveries: [], approvals: [] };

function linksOf(turn: TurnOnRecord, entries: TurnOnRecord['entries'] = turn.entries) {
  return missingLinks({ ...turn, entries }, replay(entries), NOTHING_NEAR);
}

/** A turn whose worker is gone, made of events alone. */
function recordOf(recorded: readonly TurnEvent[], turn: Partial<TurnOnRecord> = {}): TurnOnRecord {
  const entries = recorded.map((event) => ({ event }));
  return {
    ...{
      turnId: 't1',
      conversationId: 'test/c1',
      outcome: null,
      reason: null,
      startedAt: events.at,
      endedAt: null,
    },
    ...{
      claimedAt: null,
      open: true,
      park: null,
      messages: [],
      entries,
      storedReads: [],
      request: null,
    },
    phase: replay(entries).state.phase,
    holder: { owner: 'agent', worker: 'lost', heldUntil: null, ...NOBODY },
    ...turn,
  };
}

describe('[S4-14] [S4-53] the record of a whole turn', () => {
  test('with two waits, an approval and two effects has no missing link', async () => {
    const { records, approve, target, id } = await waitingTurn();
    await approve('ana');
    await target.arrived('reply', 1);

    const { turn, missing } = await readStory(records, id);

    expect(missing).toEqual([]);
    // Whichever line is taken out, the gap is named, and not explained away.
    for (const index of turn.entries.keys()) {
      const links = linksOf(turn, turn.entries.toSpliced(index, 1));
      expect(
        links.filter((link) => !link.explained),
        `without line ${index + 1}`,
      ).not.toEqual([]);
    }
  });

  test('names a line that cannot be read, and goes on behind it', async () => {
    const { records, id } = await playedTurn();
    const { turn } = await readStory(records, id);

    const links = linksOf(turn, turn.entries.with(2, { unreadable: '{"type":"of tomorrow"}' }));

    expect(links[0]).toMatchObject({ after: 2, text: 'line 3 of the record cannot be read' });
  });

  test('names a row of the ledger and a delivery that are gone', async () => {
    const { records, redis, store, id } = await playedTurn();
    const { ledger, deliveries } = await readStory(records, id);
    const tag = store.tags()[0] ?? '';
    await redis.del(
      key(tag, 'op', ledger[1]?.operation ?? ''),
      key(tag, 'delivery', deliveries[0]?.id ?? ''),
    );

    const { missing } = await readStory(records, id);

    expect(missing.map((link) => link.text)).toEqual([
      `the ledger has no row of call 3.1 (operation ${ledger[1]?.operation})`,
      'the reply was never written back: it has no delivery record',
    ]);
  });
});

describe('[S4-14] a gap is explained when a lost worker left it', () => {
  const called = [
    events.started(),
    events.requested(),
    events.calls('issue_refund'),
    events.checked(events.write()),
  ];

  test('a call without an answer, and another worker that goes on', () => {
    const turn = recordOf([...called, events.begun(), events.resumed, events.rereading]);

    expect(linksOf(turn)).toEqual([
      { after: 5, text: 'call 1.1 was sent (line 5), and no answer is on record', explained: true },
      {
        after: 7,
        text: 'the re-read of 1.1 began (line 7), and what it said is not on record',
        explained: true,
      },
    ]);
  });

  test('a model that was asked and whose answer is not on record', () => {
    const turn = recordOf([events.started(), events.requested()]);

    expect(linksOf(turn)).toEqual([
      {
        after: 2,
        text: 'the model was asked (line 2), and no answer is on record',
        explained: true,
      },
    ]);
  });

  test('while the worker lives, what is open is no gap', () => {
    const holder = { owner: 'agent', worker: 'alive', heldUntil: null, ...NOBODY } as const;

    expect(linksOf(recordOf([...called, events.begun()], { holder }))).toEqual([]);
  });

  test('the same gap in a turn that has ended is not explained', () => {
    const turn = recordOf([...called, events.begun(), events.stop(), events.over], { open: false });

    expect(linksOf(turn).map((link) => link.explained)).toEqual([false]);
  });
});

test('[S2-26] a write that was sent without the approval it needed is named', () => {
  const turn = recordOf([
    ...[events.started(), events.requested(), events.calls('issue_refund')],
    ...[events.checked(events.asks()), events.parked('approval'), events.resumed, events.begun()],
  ]);

  expect(linksOf(turn).map((link) => link.text)).toContain(
    'call 1.1 was sent without its approval',
  );
});

test('[S4-53] newest events that are missing are noticed from the head', () => {
  const turn = recordOf([events.started(), events.requested(), events.calls('get_order')], {
    phase: 'running_tools',
  });

  expect(linksOf(turn).map((link) => link.text)).toEqual([
    'the newest events: the head says running_tools, the events lead to validating_actions',
  ]);
});
