import { describe, expect, test } from 'vitest';
import type { CancelView } from '../../src/cli/cancel.ts';
import type { LedgerView } from '../../src/cli/ledger.ts';
import type { ReleaseView } from '../../src/cli/release.ts';
import type { SettleView } from '../../src/cli/settle-effect.ts';
import type { TakeoverView } from '../../src/cli/takeover.ts';
import { AuditLog } from '../../src/store/audit.ts';
import { ticket } from '../support/rig.ts';
import { playedTurn, refundUnderWay, unknownRefund, waitingTurn } from './played-shop.ts';
import { runCli, runJson } from './run-cli.ts';

const ANA = ['--by', 'ana', '--reason', 'wrong order'];

describe('cancel', () => {
  test('[P12] says that the stop was asked for and what was under way, not that it has stopped', async () => {
    const { store, id, target, end } = await refundUnderWay();

    const asked = await runJson<CancelView>(['cancel', id, ...ANA], { store });
    end();
    await target.arrived('note', 1);
    const [why, trace] = await Promise.all([
      runCli(['why', id], { store }),
      runCli(['trace', id], { store }),
    ]);

    expect(asked).toMatchObject({
      ...{ turnId: id, conversationId: 'test/c1', status: 'requested', by: 'ana' },
      ...{ reason: 'wrong order', running: ['issue_refund (3.1)'], dryRun: false },
    });
    expect(Date.parse(asked.requestedAt ?? '')).toBeGreaterThan(0);
    const clock = String.raw`\d\d:\d\d:\d\d\.\d{3}Z`;
    const both = `asked for at ${clock}, stopped at ${clock} \\(.+ later\\); under way: issue_refund \\(3\\.1\\), which ran to its end all the same`;
    expect(why.stdout).toMatch(new RegExp(`it was cancelled by ana \\(wrong order\\), ${both}`));
    expect(trace.stdout).toMatch(
      new RegExp(`stop asked .+cancelled by ana: "wrong order", ${both}`),
    );
  });

  test('asking again is no conflict and names who was first; a dry run asks nothing', async () => {
    const { store, id, queues, records } = await waitingTurn();
    // Nobody acts on it yet.
    await queues.inLane('turns', store.tags()[0] ?? '').pause();

    const dry = await runJson<CancelView>(['cancel', id, ...ANA, '--dry-run'], { store });
    const first = await runJson<CancelView>(['cancel', id, ...ANA], { store });
    const again = await runCli(['cancel', id, '--by', 'bob', '--reason', 'me too'], { store });
    const why = await runCli(['why', id], { store });

    expect([dry.status, first.status]).toEqual(['would_request', 'requested']);
    expect([again.code, again.stdout.split(' at ')[0]]).toEqual([
      0,
      `turn ${id} was asked to stop before by ana`,
    ]);
    expect((await records.onRecord(id))?.open).toBe(true);
    expect(why.stdout).toMatch(
      /\nA stop \(cancelled\) was asked for by ana at 20.+ \(wrong order\); it has not stopped yet\.\n/,
    );
  });

  test('[P12] after the end it is told so and ends with 5; an unknown turn with 3, no reason with 2', async () => {
    const { store, id } = await playedTurn();

    const [late, dry, unknown, bare] = await Promise.all([
      runCli(['cancel', id, ...ANA], { store }),
      runCli(['cancel', id, ...ANA, '--dry-run'], { store }),
      runCli(['cancel', 'nope', ...ANA, '--json'], { store }),
      runCli(['cancel', id, '--by', 'ana', '--reason', ' '], { store }),
    ]);

    expect([late.code, late.stdout]).toEqual([5, '']);
    expect(late.stderr).toBe(
      `error: Not cancelled: turn ${id} had ended completed/replied before. You changed nothing\n  next: turnkeeper why ${id}\n`,
    );
    expect([dry.code, dry.stdout]).toEqual([
      0,
      `turn ${id} has ended already; nothing was asked for\n`,
    ]);
    expect([unknown.code, unknown.stdout]).toEqual([3, '']);
    expect(JSON.parse(unknown.stderr)).toMatchObject({ error: { code: 'not_found' } });
    expect([bare.code, bare.stderr]).toEqual([
      2,
      expect.stringContaining('--reason is empty: say why'),
    ]);
  });
});

describe('takeover and release', () => {
  test('[P13] the person has it, the waiting turn stops, and everybody can see who has it', async () => {
    const { store, id, target, accept, queues } = await waitingTurn();
    await accept(ticket({ text: 'any news?' }));

    const dry = await runJson<TakeoverView>(['takeover', 'test/c1', ...ANA, '--dry-run'], {
      store,
    });
    const taken = await runJson<TakeoverView>(['takeover', 'test/c1', ...ANA], { store });
    await target.arrived('note', 2);
    const again = await runJson<TakeoverView>(
      ['takeover', 'test/c1', '--by', 'bob', '--reason', 'mine'],
      { store },
    );
    const [why, shown] = await Promise.all([
      runCli(['why', id], { store }),
      runJson<object>(['turns', 'show', id], { store }),
    ]);
    await queues.inLane('turns', store.tags()[0] ?? '').pause();
    await accept(ticket({ text: 'hello?' }));
    await accept(ticket({ text: 'hello??' }));
    const [blocked] = await runJson<object[]>(['blocked'], { store });

    expect(dry).toMatchObject({ status: 'would_take', by: 'ana', turnId: id, waiting: 2 });
    expect(taken).toMatchObject({ status: 'taken', by: 'ana', turnId: id, waiting: 2 });
    expect(again).toMatchObject({ status: 'already', by: 'ana', reason: null });
    expect(why.stdout).toContain('Stopped because a person has the conversation by ana');
    expect(why.stdout).toMatch(/\nana has the conversation since 20.+Z\.\n/);
    expect(shown).toMatchObject({
      ...{ owner: 'human', takenBy: 'ana' },
      stop: { cause: 'human_takeover', by: 'ana', running: [], how: 'stopped' },
    });
    expect(blocked).toMatchObject({
      ...{ owner: 'human', takenBy: 'ana' },
      heldBy: 'nobody: no worker has taken it, taken over by ana',
    });
  });

  test('release gives it back, once; both refuse a conversation nobody knows with 3', async () => {
    const { store, records } = await playedTurn();
    await runCli(['takeover', 'test/c1', ...ANA], { store });
    const release = ['release', 'test/c1', '--by', 'ana', '--reason', 'done'];

    const dry = await runJson<ReleaseView>([...release, '--dry-run'], { store });
    const stillTaken = (await records.conversation('test/c1'))?.holder.owner;
    const released = await runJson<ReleaseView>(release, { store });
    const again = await runCli(release, { store });
    const unknown = await Promise.all(
      ['takeover', 'release'].map((verb) => runCli([verb, 'test/nobody', ...ANA], { store })),
    );

    expect([dry.status, stillTaken, released.status]).toEqual([
      'would_release',
      'human',
      'released',
    ]);
    expect([again.code, again.stdout]).toEqual([0, "test/c1 was the agent's already\n"]);
    expect((await records.conversation('test/c1'))?.holder.owner).toBe('agent');
    expect(unknown.map(({ code, stdout }) => [code, stdout])).toEqual([
      [3, ''],
      [3, ''],
    ]);
    expect(await records.conversation('test/nobody')).toBeUndefined();
  });
});

describe('ledger settle', () => {
  const evidence = ['--by', 'ana', '--evidence', 'refund 77 in the books'];

  test('[P5] a person says what became of an unknown effect; it is on record and a note goes out', async () => {
    const { store, operation, target, records } = await unknownRefund();
    const settle = ['ledger', 'settle', operation, '--applied', ...evidence];

    const dry = await runJson<SettleView>([...settle, '--dry-run'], { store });
    const before = (await records.operation(operation))?.status;
    const settled = await runJson<SettleView>(settle, { store });
    await target.arrived('note', 2);
    const [again, other] = await Promise.all([
      runJson<SettleView>(settle, { store }),
      runCli(['ledger', 'settle', operation, '--not-applied', ...evidence], { store }),
    ]);

    expect([dry.status, dry.dryRun, before]).toEqual(['unknown', true, 'unknown']);
    expect(settled).toMatchObject({ status: 'verified', by: 'ana', already: false });
    expect((await records.operation(operation))?.status).toBe('verified');
    const [row] = await runJson<LedgerView[]>(['ledger', '--operation', operation], { store });
    expect(row).toMatchObject({ settledBy: 'ana', evidence: 'refund 77 in the books' });
    expect(target.of('note')[1]).toContain('Evidence: refund 77 in the books');
    expect(again).toMatchObject({ status: 'verified', already: true });
    expect([other.code, other.stderr.split('\n')[0]]).toEqual([
      5,
      'error: Not settled: the ledger says verified for certain. You changed nothing',
    ]);
  });

  test('while its turn is open it is in flight (5); an unknown operation is 3, no verdict or both are 2', async () => {
    const { store, records, id, end } = await refundUnderWay();
    const operation = (await records.ledger('test/c1')).at(-1)?.operation ?? '';

    const [open, unknown, neither, both] = await Promise.all([
      runCli(['ledger', 'settle', operation, '--applied', ...evidence], { store }),
      runCli(['ledger', 'settle', 'nope', '--applied', ...evidence], { store }),
      runCli(['ledger', 'settle', operation, ...evidence], { store }),
      runCli(['ledger', 'settle', operation, '--applied', '--not-applied', ...evidence], { store }),
    ]);
    end();

    expect([open.code, unknown.code, neither.code, both.code]).toEqual([5, 3, 2, 2]);
    expect(open.stderr).toContain(`turn ${id} is still open and may find out by itself`);
  });
});

test('what people did stands in the audit log, asked for and come out, and a dry run does not', async () => {
  const { store, id } = await playedTurn();
  await runCli(['cancel', id, ...ANA, '--dry-run'], { store });
  await runCli(['cancel', id, ...ANA], { store });
  await runCli(['takeover', 'test/c1', ...ANA], { store });
  await runCli(['release', 'test/c1', ...ANA], { store });

  const records = await store.redis.lrange(`${store.tags()[0] ?? ''}:audit`, 0, -1);
  const said = records.map((json) => JSON.parse(json) as Record<string, unknown>);

  expect(said.map(({ action, object, result }) => [action, object, result ?? 'asked'])).toEqual([
    ['turn.cancel', id, 'asked'],
    ['turn.cancel', id, 'ended'],
    ['conversation.takeover', 'test/c1', 'asked'],
    ['conversation.takeover', 'test/c1', 'taken'],
    ['conversation.release', 'test/c1', 'asked'],
    ['conversation.release', 'test/c1', 'released'],
  ]);
  expect(said[0]).toMatchObject({ actor: { id: 'cli', name: 'ana' }, reason: 'wrong order' });
  expect((await new AuditLog(store).verify()).kind).toBe('whole');
});
