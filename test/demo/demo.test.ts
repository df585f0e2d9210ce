import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { DemoResult } from '../../scripts/demo/performance.ts';

const DEMO = join(import.meta.dirname, '../../scripts/demo.ts');

/** Not in the folder of a demo, which has to be empty in the end. */
const COMPILED = join(tmpdir(), 'turnkeeper-compiled');

/** Starts the demo as a process of its own, with a folder for everything it writes. */
function start(args: readonly string[], environment: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const { NO_COLOR: _colour, ...inherited } = process.env;
  const child = spawn(process.execPath, [DEMO, ...args], {
    env: { ...inherited, TMPDIR: folder, NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // What it starts is in its process group.
    detached: true,
  });
  const { pid = 0 } = child;
  onTestFinished(() => {
    if (isAlive(-pid)) process.kill(-pid, 'SIGKILL');
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<number | null>((resolve) => {
    child.on('exit', resolve);
  });
  /** Resolves once the text is on stdout. */
  const wrote = (text: string): Promise<void> =>
    new Promise((resolve) => {
      child.stdout.on('data', () => stdout.includes(text) && resolve());
    });
  const left = () => ({ processes: isAlive(-pid), files: readdirSync(folder) });
  return { child, wrote, ended, left, said: () => ({ stdout, stderr }) };
}

async function play(...args: Parameters<typeof start>) {
  const { child, ended, left, said } = start(...args);
  const closed = new Promise((resolve) => child.on('close', resolve));
  const code = await ended;
  await closed;
  return { code, ...said(), left: left() };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-demo-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Every process the report names: Redis, which is in a group of its own, among them. */
function namedProcesses({ checked }: DemoResult): number[] {
  const text = checked.map(({ value }) => value).join(' ');
  return [...text.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
}

const NOTHING_LEFT = { processes: false, files: [] };

test('[S0-11] [S0-13] [S0-47] every ticket ends as its fixture says; naive pays wrongly, safe does not, and the guard refuses', async () => {
  const { code, stdout, stderr, left } = await play(['--json']);
  const report = JSON.parse(stdout) as DemoResult;

  expect(report.differences).toEqual([]);
  expect([code, report.ok, stderr]).toEqual([0, true, '']);
  expect(report.tickets.length).toBeGreaterThanOrEqual(24);
  expect(report.comparison).toMatchObject({
    naive: { refundedBeforeCancelled: true, refunded: 74_000, refusedBy: null },
    safe: { refundedBeforeCancelled: false, refunded: 0, stopReason: 'verification_failed' },
    naiveGuarded: { refundedBeforeCancelled: false, refunded: 0, refusedBy: 'order-service' },
  });
  expect(report.tickets.find(({ id }) => id === 'cancel-4482')).toMatchObject({
    ...{ outcome: 'completed', stopReason: 'replied', replies: 1 },
    effects: [
      { tool: 'cancel_order', status: 'verified', verified: true, applied: 1 },
      { tool: 'issue_refund', status: 'verified', verified: true, applied: 1, amount: 74_000 },
    ],
  });
  expect(report.trace?.lines.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/^approved by demo-operator/),
  );
  expect(report.answers).toContainEqual({
    question: 'How long is the warranty on a monitor?',
    ...{ channel: 'web', stopReason: 'replied', best: expect.any(Number) },
    reply: expect.stringMatching(/\[Warranty.*\]\(https:\/\/help\.technova\.example\/.+\)/),
  });
  expect(report.answers).toContainEqual(
    expect.objectContaining({
      ...{ channel: 'email', stopReason: 'replied' },
      reply: expect.stringMatching(
        /30 days of delivery\. \[1\]\n\n\[1\] Returning an item, .+: https:/,
      ),
    }),
  );
  expect(report.answers).toContainEqual({
    question: 'Can I also get a discount for teachers?',
    ...{ channel: 'chat', stopReason: 'no_answer', best: expect.closeTo(0.61, 2) },
    reply: expect.stringContaining('I can look up an order'),
  });
  expect(report.tickets.filter(({ outcome }) => outcome === null)).toMatchObject([
    { id: 'lamp-flickers', phase: 'awaiting_approval', stopReason: null, replies: 0, effects: [] },
  ]);

  expect(left).toEqual(NOTHING_LEFT);
  expect(namedProcesses(report)).toHaveLength(5);
  expect(namedProcesses(report).filter(isAlive)).toEqual([]);
});

test('every ticket ends as its fixture says, too, when the model is a server that is asked by HTTP and told nothing else', async () => {
  const { code, stdout, left } = await play(['--model', 'local', '--kill-worker', '--json']);
  const report = JSON.parse(stdout) as DemoResult;

  expect(report.differences).toEqual([]);
  expect([code, report.ok]).toEqual([0, true]);
  expect(report.tickets).toHaveLength(51);
  expect(report.kill).toMatchObject({ effectsApplied: 1 });
  expect(report.checked.map(({ part }) => part)).toContain('model server');
  expect(left).toEqual(NOTHING_LEFT);
  expect(namedProcesses(report)).toHaveLength(6);
  expect(namedProcesses(report).filter(isAlive)).toEqual([]);
});

test('[P1] [P4] a worker that is killed after the money left and before it heard so pays once, and the customer is answered', async () => {
  const { code, stdout, left } = await play(['--kill-worker', '--json']);
  const report = JSON.parse(stdout) as DemoResult;

  expect(report.differences).toEqual([]);
  expect([code, report.ok]).toEqual([0, true]);
  const { kill } = report;
  expect(kill).toMatchObject({ effectsApplied: 1, refundRequests: 1, answerSeen: false });
  expect(kill?.resumedBy).not.toBe(kill?.worker);
  expect(kill?.resumedAfterMs).toBeLessThan(10_000);
  expect(report.tickets.find(({ id }) => id === 'cancel-4482')).toMatchObject({
    ...{ outcome: 'completed', stopReason: 'replied', replies: 1 },
  });

  expect(left).toEqual(NOTHING_LEFT);
  expect([kill?.pid ?? 0, ...namedProcesses(report)].filter(isAlive)).toEqual([]);
});

test('a bad fixture is named with file, line and field in one line, and nothing is started', async () => {
  const file = join(temporaryFolder(), 'mine.jsonl');
  writeFileSync(file, '\n{"id": "one", "conversationId": "c1"}\n');

  const { code, stdout, stderr, left } = await play(['--tickets', file]);

  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^error: mine\.jsonl line 2: requester is missing: .+\n$/);
  expect(left).toEqual(NOTHING_LEFT);
});

test('a missing Redis is one clear line, and nothing is left running', async () => {
  const folder = temporaryFolder();

  const { code, stdout, stderr, left } = await play(['--json'], {
    PATH: folder,
    XDG_CACHE_HOME: folder,
  });

  expect([code, stdout]).toEqual([1, '']);
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'redis_not_found' } });
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(left).toEqual(NOTHING_LEFT);
});

test.each([
  { signal: 'SIGINT', code: 130 },
  { signal: 'SIGKILL', code: null },
] as const)('ended by $signal in the middle, the demo leaves nothing behind', async (way) => {
  const demo = start([]);
  await demo.wrote('Playing');

  demo.child.kill(way.signal);

  expect(await demo.ended).toBe(way.code);
  await expect.poll(demo.left, { timeout: 10_000 }).toEqual(NOTHING_LEFT);
});
