import { describe, expect, test } from 'vitest';
import type { Trace } from '../../src/cli/trace.ts';
import { key } from '../../src/store/keys.ts';
import { ticket } from '../support/rig.ts';
import { playedTurn, playShop, waitingTurn } from './played-shop.ts';
import { runCli, runJson } from './run-cli.ts';

describe('trace of a turn that cancelled and refunded', () => {
  test('[S0-55] [S4-15] shows each step: seen, proposed, checked, called, answered, re-read, phase, cost, latency, end', async () => {
    const { store, id } = await playedTurn();

    const trace = await runJson<Trace>(['trace', id], { store });

    expect(trace).toMatchObject({
      turnId: id,
      conversationId: 'test/c1',
      outcome: 'completed',
      stopReason: 'replied',
    });
    const cancel = trace.lines.filter((line) => line.callId === '2.1');
    expect(cancel.map(({ kind, phase }) => `${kind} -> ${phase}`)).toEqual([
      'proposed -> validating_actions',
      'checked -> running_tools',
      'called -> running_tools',
      'tool_said -> running_tools',
      'rereading -> running_tools',
      'reread_said -> awaiting_verification',
      'reread_said -> awaiting_verification',
      'reread_said -> requesting_model',
    ]);
    expect(cancel[0]).toMatchObject({ tool: 'cancel_order', data: { orderId: '1' } });
    expect(cancel[0]?.tokens).toBeGreaterThan(0);
    expect(cancel[0]?.costMicros).toBe((cancel[0]?.tokens ?? 0) * 2);
    expect(cancel[3]?.latencyMs).toBeGreaterThanOrEqual(0);
    expect(trace.lines[0]).toMatchObject({ event: 0, kind: 'observed' });
    expect(trace.lines.at(-1)).toMatchObject({ kind: 'stopped', text: 'completed/replied' });
    expect(trace.costMicros).toBe(
      trace.lines.reduce((sum, line) => sum + (line.costMicros ?? 0), 0),
    );
    expect(trace.missing).toEqual([]);
  });

  test('[S0-56] [P15] keeps what the tool said and what the re-read said apart', async () => {
    const { store, id } = await playedTurn();

    const { code, stdout, stderr } = await runCli(['trace', id], { store });

    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.includes(' 2.1 ') && /TOOL SAID/.test(line))).toEqual([
      expect.stringContaining('cancel_order ok {"status":"accepted"}'),
    ]);
    expect(lines.filter((line) => line.includes(' 2.1 ') && /RE-READ SAID/.test(line))).toEqual([
      expect.stringContaining('2.1 pending'),
      expect.stringContaining('2.1 pending'),
      expect.stringContaining('2.1 landed'),
    ]);
    expect(stdout).toContain('Record: complete, no link is missing.');
    expect(stdout).not.toContain('\u001b');
    expect([code, stderr]).toEqual([0, '']);
  });

  test('[S4-14] names the link that is missing, where it is, and ends with 6', async () => {
    const { store, redis, id } = await playedTurn();
    const events = key(store.tags()[0] ?? '', 'events', id);
    const answer = (await redis.lrange(events, 0, -1)).findIndex((json) =>
      json.startsWith('call_settled '),
    );
    await redis.lset(events, answer, 'gone');
    await redis.lrem(events, 1, 'gone');

    const { code, stdout } = await runCli(['trace', id], { store });

    expect(code).toBe(6);
    expect(stdout).toMatch(/ {2}MISSING .+ is on record\n/);
    expect(stdout).toMatch(/Record: \d+ links? missing/);
  });
});

describe('trace of a turn that goes on', () => {
  test('[S2-39] shows what it waits for, and a decision the turn has not taken in yet', async () => {
    const { store, id, approval } = await waitingTurn();
    // Decided while nobody wakes the turn.
    await store.decideApproval(approval.id, 'rejected', 'bob', 'too much');

    const trace = await runJson<Trace>(['trace', id], { store });

    expect(trace.lines.filter(({ kind }) => kind === 'parked').at(-1)?.text).toContain(
      `approval ${approval.id}`,
    );
    const decision = trace.lines.at(-1);
    if (trace.outcome === null)
      expect(decision).toMatchObject({ kind: 'approval', text: /^rejected by bob/ });
    expect(
      trace.lines.some(
        ({ kind, text }) => kind === 'approval' && text.startsWith('rejected by bob'),
      ),
    ).toBe(true);
  });
});

test('the text of a customer cannot act on the terminal of who reads the trace', async () => {
  const { store, accept, target, turnId } = await playShop();
  await accept(ticket({ text: 'a human \u001b[2J\u202eplease' }));
  await target.arrived('note', 1);

  const { stdout } = await runCli(['trace', await turnId()], { store });

  expect(stdout).toContain('\\u001b[2J\\u{202e}please');
  expect(stdout).not.toContain('\u001b');
});
