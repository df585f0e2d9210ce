import { describe, expect, test } from 'vitest';
import type { BlockedRow } from '../../src/cli/blocked.ts';
import type { LedgerView } from '../../src/cli/ledger.ts';
import type { TurnRow } from '../../src/cli/turns.ts';
import { ticket } from '../support/rig.ts';
import { playedTurn, playShop, waitingTurn } from './played-shop.ts';
import { runCli, runJson } from './run-cli.ts';

describe('turns', () => {
  test('list shows those going on first; json, csv, ids and --open tell the same', async () => {
    const { store, accept, target, id } = await waitingTurn();
    await accept(ticket({ conversationId: 'c2', text: 'a human please' }));
    await target.when(() => target.of('note', 'c2').length > 0);

    const [json, table, csv, open] = await Promise.all([
      runJson<TurnRow[]>(['turns', 'list'], { store }),
      runCli(['turns', 'list'], { store }),
      runCli(['turns', 'list', '-o', 'csv'], { store }),
      runCli(['turns', 'list', '--open', '-q'], { store }),
    ]);

    expect(json).toMatchObject([
      { turnId: id, phase: 'awaiting_approval', outcome: null, waitsFor: 'approval', toolCalls: 3 },
      {
        conversationId: 'test/c2',
        phase: 'ended',
        outcome: 'escalated',
        stopReason: 'model_escalated',
      },
    ]);
    const [header, ...rows] = table.stdout.trimEnd().split('\n');
    expect(header).toMatch(/^TURN +CONVERSATION +STATE +STARTED/);
    expect(rows[0]).toMatch(new RegExp(`^${id}  test/c1 +awaiting_approval `));
    expect(rows[1]).toContain('escalated/model_escalated');
    expect(csv.stdout.split('\n')[1]).toMatch(new RegExp(`^${id},test/c1,awaiting_approval,,,`));
    expect(open.stdout).toBe(`${id}\n`);
  });

  test('show tells messages, effects and texts; an empty list is [] in JSON and a sentence in the table', async () => {
    const { store, id } = await playedTurn();
    const empty = await playShop();

    const [shown, text, none, said] = await Promise.all([
      runJson<Record<string, unknown>>(['turns', 'show', id], { store }),
      runCli(['turns', 'show', id], { store }),
      runCli(['turns', 'list', '--json'], { store: empty.store }),
      runCli(['turns', 'list'], { store: empty.store }),
    ]);

    expect(shown).toMatchObject({
      turnId: id,
      stopReason: 'replied',
      recordComplete: true,
      customer: [{ requester: 'ana@example.com', assurance: 'verified', text: 'cancel my order' }],
      effects: [
        { tool: 'cancel_order', resource: 'order:1', status: 'verified', verified: true },
        { tool: 'issue_refund', status: 'verified', attempts: 1 },
      ],
      deliveries: [{ kind: 'reply', text: 'Cancelled and refunded.' }],
    });
    expect(text.stdout).toContain('ana@example.com (verified): cancel my order');
    expect([none.code, none.stdout]).toEqual([0, '[]\n']);
    expect([said.code, said.stdout]).toEqual([
      0,
      'No turns. Hand a message in with "turnkeeper enqueue <file>".\n',
    ]);
  });
});

describe('[S1-26] the ledger answers what the agent really did in one query', () => {
  test('by conversation, by turn and by operation, as the shop saw it', async () => {
    const { store, shop, id } = await playedTurn();

    const rows = await runJson<LedgerView[]>(['ledger', '--conversation', 'test/c1'], { store });
    const [byTurn, byOperation, all] = await Promise.all([
      runJson<LedgerView[]>(['ledger', '--turn', id], { store }),
      runJson<LedgerView[]>(['ledger', '--operation', rows[1]?.operation ?? ''], { store }),
      runCli(['ledger'], { store }),
    ]);

    expect(rows.map(({ operation }) => operation)).toEqual(
      shop.effects.map(({ operation }) => operation),
    );
    expect(rows).toMatchObject([
      { tool: 'cancel_order', resource: 'order:1', status: 'verified', verified: true, turnId: id },
      {
        tool: 'issue_refund',
        arguments: { orderId: '1', amount: 2_000 },
        outcome: { status: 'refunded' },
      },
    ]);
    expect(byTurn).toEqual(rows);
    expect(byOperation).toEqual([rows[1]]);
    expect(all.stdout).toContain(rows[0]?.operation);
  });

  test('an unknown operation ends with 3, two filters with 2', async () => {
    const { store } = await playShop();

    const [unknown, two] = await Promise.all([
      runCli(['ledger', '--operation', 'nope'], { store }),
      runCli(['ledger', '--operation', 'nope', '--turn', 'nope'], { store }),
    ]);

    expect([unknown.code, two.code]).toEqual([3, 2]);
  });
});

describe('blocked', () => {
  test('says which conversation is held by what, since when, who waits behind and whether it frees itself', async () => {
    const { store, accept, approval, queues } = await waitingTurn();
    await accept(
      ticket({ text: 'any news?', requester: { id: 'ben@example.com', assurance: 'claimed' } }),
    );
    await queues.inLane('turns', store.tags()[0] ?? '').pause();
    await accept(ticket({ conversationId: 'c3' }));

    const [rows, table] = await Promise.all([
      runJson<BlockedRow[]>(['blocked'], { store }),
      runCli(['blocked'], { store }),
    ]);

    const [held, untaken] = rows;
    expect(held).toMatchObject({
      ...{
        conversationId: 'test/c1',
        turnId: approval.turnId,
        heldBy: 'waiting for approval',
        behind: 1,
      },
      ...{ waiting: [{ requester: 'ben@example.com' }], freesItself: false },
      freesItselfAt: new Date(approval.expiresAt).toISOString(),
    });
    expect(untaken).toMatchObject({
      conversationId: 'test/c3',
      turnId: null,
      behind: 1,
      freesItself: true,
    });
    expect(table.stdout).toContain(`no, needs a person (turnkeeper approvals show ${approval.id})`);
  });

  test('says that nobody waits', async () => {
    const { store } = await playShop();

    expect((await runCli(['blocked'], { store })).stdout).toBe(
      'No customer is waiting behind another turn.\n',
    );
  });
});
