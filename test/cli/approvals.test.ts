import { describe, expect, test } from 'vitest';
import type { ApprovalView } from '../../src/cli/approval-view.ts';
import { waitingTurn } from './played-shop.ts';
import { runCli, runJson } from './run-cli.ts';

describe('approvals', () => {
  test('list and show say what would run, why a person is asked and what the world looked like', async () => {
    const { store, approval } = await waitingTurn();

    const list = await runJson<ApprovalView[]>(['approvals', 'list'], { store });
    const { stdout } = await runCli(['approvals', 'show', approval.id], { store });

    expect(list).toEqual([
      expect.objectContaining({
        id: approval.id,
        status: 'pending',
        tool: 'issue_refund',
        arguments: { orderId: '1', amount: 2_000 },
        by: null,
      }),
    ]);
    expect(stdout).toContain('The agent wants to run issue_refund {"orderId":"1","amount":2000}');
    expect(stdout).toContain('What it saw: {"status":"cancelled"');
  });

  test('[S0-15] approve lets the frozen action run; saying it again is no conflict, somebody else is told who was first', async () => {
    const { store, approval, target, shop } = await waitingTurn();
    const approve = ['approvals', 'approve', approval.id, '--by', 'ana'];

    const first = await runCli([...approve, '--reason', 'fine'], { store });
    await target.arrived('reply', 1);
    const again = await runJson<{ already: boolean }>(approve, { store });
    const other = await runCli(
      ['approvals', 'reject', approval.id, '--by', 'bob', '--reason', 'no'],
      { store },
    );

    expect([first.code, first.stderr]).toEqual([0, '']);
    expect(first.stdout).toMatch(/^approved by ana at 20/);
    expect(shop.effects.filter(({ kind }) => kind === 'refund')).toHaveLength(1);
    expect(again).toMatchObject({ status: 'approved', by: 'ana', comment: 'fine', already: true });
    expect([other.code, other.stdout]).toEqual([5, '']);
    expect(other.stderr).toMatch(
      /^error: ana approved this .+ ago \(20.+, "fine"\)\. You changed nothing\n/,
    );
  });

  test('reject needs a reason, a dry run decides nothing, an unknown id ends with 3', async () => {
    const { store, approval, records, target } = await waitingTurn();
    const reject = ['approvals', 'reject', approval.id, '--by', 'bob'];

    const [bare, dry, unknown] = await Promise.all([
      runCli(reject, { store }),
      runCli([...reject, '--reason', 'no', '--dry-run'], { store }),
      runCli(['approvals', 'approve', 'nope', '--by', 'bob'], { store }),
    ]);
    expect([bare.code, dry.code, unknown.code]).toEqual([2, 0, 3]);
    expect(bare.stderr).toContain("required option '--reason <text>' not specified");
    expect((await records.approval(approval.id))?.status).toBe('pending');

    const rejected = await runCli([...reject, '--reason', 'not ours'], { store });
    await target.arrived('note', 1);

    expect(rejected.code).toBe(0);
    expect((await records.onRecord(approval.turnId))?.reason).toBe('approval_rejected');
  });

  test('a yes that comes after the expiry is told so and ends with 5', async () => {
    const { store, approval, redis } = await waitingTurn();
    await redis.hset(`${store.tags()[0]}:approval:${approval.id}`, 'expiresAt', Date.now() - 1);

    const late = await runCli(['approvals', 'approve', approval.id, '--by', 'ana', '--json'], {
      store,
    });

    expect([late.code, late.stdout]).toEqual([5, '']);
    expect(JSON.parse(late.stderr)).toMatchObject({
      error: {
        code: 'approval_expired',
        message: expect.stringMatching(
          /^Not approved: this request expired at .+ approval_expired$/,
        ) as string,
      },
    });
  });
});
