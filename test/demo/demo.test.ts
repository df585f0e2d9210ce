import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const demo = join(import.meta.dirname, '../../scripts/demo.ts');

type Report = {
  ok: boolean;
  tickets: {
    id: string;
    outcome: string | null;
    phase: string;
    effects: { tool: string; verified: boolean; applied: number }[];
  }[];
  comparison: Record<
    'naive' | 'safe' | 'naiveGuarded',
    { refundedBeforeCancelled: boolean; refusedBy?: string | null }
  >;
  kill?: { effectsApplied: number; refundRequests: number; answerSeen: boolean };
};

/** The demo as a process of its own; its whole stdout is the report. */
async function play(
  ...args: string[]
): Promise<{ report: Report; code: number | null; pid: number }> {
  const child = spawn(process.execPath, [demo, '--json', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { report: JSON.parse(output) as Report, code, pid: child.pid ?? 0 };
}

test('[S0-11] [S0-13] [S0-47] every ticket ends as its fixture says; naive pays wrongly, safe does not, the guard has the last word', async () => {
  const { report, code } = await play();

  expect([code, report.ok]).toEqual([0, true]);
  const { naive, safe, naiveGuarded } = report.comparison;
  expect(naive.refundedBeforeCancelled).toBe(true);
  expect(safe.refundedBeforeCancelled).toBe(false);
  expect(naiveGuarded).toMatchObject({
    refundedBeforeCancelled: false,
    refusedBy: 'order-service',
  });
  expect(report.tickets.find(({ id }) => id === 'cancel-4482')?.effects).toMatchObject([
    { tool: 'cancel_order', verified: true, applied: 1 },
    { tool: 'issue_refund', verified: true, applied: 1 },
  ]);
  const parked = report.tickets.filter(({ outcome }) => outcome === null);
  expect(parked.map(({ phase }) => phase)).toEqual(['awaiting_approval']);
});

test('[P1] [P4] a worker that is killed while it pays pays once', async () => {
  const { report, code } = await play('--kill-worker');

  expect([code, report.ok]).toEqual([0, true]);
  expect(report.kill).toMatchObject({ effectsApplied: 1, refundRequests: 1, answerSeen: false });
});
