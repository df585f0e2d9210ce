import { spawn, spawnSync } from 'node:child_process';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { readRate, readShare } from '../../src/cli/reprocess-acts.ts';
import type { Store } from '../../src/store/index.ts';
import { escalatedShop } from './escalated-shop.ts';
import { emptyDirectory, MAIN, prefixOf, runCli, runJson, startCli } from './run-cli.ts';

const WHO = ['--by', 'ana', '--reason', 'the shop is back'];
const START = [...WHO, '--name', 'the outage', '--rate', '500'];

describe('plan', () => {
  test('[P4] says of each case what would be new and what is done already, asks nobody, and changes nothing', async () => {
    const { store, shop, world, reprocess } = await escalatedShop({ paid: 1, refused: 2 });
    await store.takeOver('test/c3', { by: 'ben', reason: 'mine' });
    const before = { asked: world.asked, effects: shop.effects.length, calls: shop.calls.length };

    const [{ code, stdout, stderr }, none] = await Promise.all([
      runCli(['reprocess', 'plan'], { store }),
      runCli(['reprocess', 'plan', '--source', 'elsewhere'], { store }),
    ]);
    const id = /^plan (\S+)/m.exec(stdout)?.[1] ?? '';
    const [shown, csv] = await Promise.all([
      runCli(['reprocess', 'show', id], { store }),
      runCli(['reprocess', 'show', id, '-o', 'csv'], { store }),
    ]);

    expect([code, stderr]).toEqual([0, expect.stringContaining('3 cases found\n')]);
    const turn = String.raw`t\S+`;
    expect(stdout).toMatch(
      new RegExp(
        [
          String.raw`^test/c1  ${turn}  will run  escalated/model_escalated  on record: issue_refund order:1/refund`,
          String.raw`test/c2  ${turn}  will run  escalated/model_escalated  would be new: issue_refund order:2/refund`,
          String.raw`test/c3  ${turn}  needs a person  escalated/model_escalated  ben has taken the conversation over`,
        ].join('\n'),
      ),
    );
    expect(stdout).toMatch(/will run +2\n.*will skip +0\n.*needs a person +1\n/);
    expect(stdout).toMatch(/would be new +1\n +1 {2}issue_refund\n.*on record +1\n/);
    expect(stdout).toContain(`Nothing was started. Start it: turnkeeper reprocess run ${id}`);
    expect(shown.stdout).toBe(stdout);
    expect(csv.stdout.split('\n').slice(0, 3)).toEqual([
      'turnId,conversationId,verdict,why,outcome,stopReason,wouldBeNew,onRecord,costMicros,durationMs',
      expect.stringMatching(/,test\/c1,run,,.*,,issue_refund order:1\/refund,/),
      expect.stringMatching(/,test\/c2,run,,.*,issue_refund order:2\/refund,,/),
    ]);
    expect(none.code).toBe(0);
    expect(none.stdout).toMatch(/\n0 cases match\. Nothing will start\.\n$/);
    expect((await reprocess.status(id))?.status).toBe('planned');
    expect({
      asked: world.asked,
      effects: shop.effects.length,
      calls: shop.calls.length,
    }).toEqual(before);
  });
});

describe('bad input', () => {
  test.each([
    [['plan', '--ended-after', 'noon'], /'noon' is invalid\. It must be a time such as 2026-/],
    [['run', ...START], /missing required argument 'id'/],
    [['run', 'b1', ...START], /nobody can be asked here: add --yes to start it/],
    [['abort', 'b1', '--by', ' ', '--reason', 'x'], /--by is empty: say who does this/],
  ])('reprocess %j is refused with 2 and says what is wrong', async (args, problem) => {
    const { code, stdout, stderr } = await runCli(['reprocess', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(problem);
  });

  test.each([['status'], ['pause', ...WHO]])(
    '%s of an id nobody planned ends with 3',
    async (...args) => {
      const { code, stdout, stderr } = await runCli(['reprocess', ...args, '--', 'b1']);
      expect([code, stdout]).toEqual([3, '']);
      expect(stderr).toBe(
        'error: there is no batch b1\n  next: plan one with "turnkeeper reprocess plan"\n',
      );
    },
  );

  test.each(['0', '-1', '1001', 'fast', ' '])('a rate of %j is refused', (text) => {
    expect(() => readRate(text)).toThrow('above 0 and at most 1000');
  });

  test.each(['120%', '2', '20', '-1%', '', '0.2%%'])('a share of %j is refused', (text) => {
    expect(() => readShare(text)).toThrow('a share such as 20% or 0.2');
  });

  test('a rate is cases a second, a share is a percentage or a fraction', () => {
    expect([readRate('0.5'), readRate('1000')]).toEqual([0.5, 1_000]);
    expect(['20%', '12.5 %', '0.2', '0', '100%'].map(readShare)).toEqual([0.2, 0.125, 0.2, 0, 1]);
  });
});

describe('run', () => {
  test('[P4] answers every case again in plain lines where nobody looks on; the report sets beside each promise what happened', async () => {
    const { store, shop, world, target, reprocess } = await escalatedShop({ paid: 2, refused: 1 });
    world.healed = true;
    const { id } = await reprocess.plan({});

    const dry = await runCli(['reprocess', 'run', id, ...START, '--dry-run'], { store });
    expect([dry.code, (await reprocess.status(id))?.status]).toEqual([0, 'planned']);
    const run = await runCli(['reprocess', 'run', id, ...START, '--yes'], { store });
    const [again, text, report] = await Promise.all([
      runCli(['reprocess', 'run', id, ...START, '--yes'], { store }),
      runCli(['reprocess', 'report', id], { store }),
      runJson<{ cases: object[]; totals: object; result: string }>(['reprocess', 'report', id], {
        store,
      }),
    ]);

    expect(run.code).toBe(0);
    expect(run.stdout).toContain(
      `batch ${id}  done  "the outage" by ana: the shop is back\n  3 of 3 cases over: 3 completed/replied\n`,
    );
    expect(run.stderr).toMatch(
      /^\[####################\] 3 of 3 · 3 completed, 0 skipped, .*done$/m,
    );
    expect(run.stderr).not.toContain('\u001B');
    expect(again.code).toBe(5);
    expect(again.stderr).toContain(`Not started: batch ${id} is done. You changed nothing`);
    expect(report.result).toBe('success');
    expect(report.totals).toMatchObject({
      states: { ran: 3, skipped: 0, under_way: 0, not_started: 0, not_run: 0 },
      effects: { onRecord: 2, repeated: 0, happened: 1, notHappened: 0, unforeseen: 0 },
    });
    const refund = (order: number) => [{ tool: 'issue_refund', resource: `order:${order}/refund` }];
    expect(report.cases).toMatchObject([
      { conversationId: 'test/c1', onRecord: refund(1), happened: [], repeated: [] },
      { conversationId: 'test/c2', onRecord: refund(2), happened: [], repeated: [] },
      { conversationId: 'test/c3', onRecord: [], happened: refund(3), repeated: [] },
    ]);
    expect([text.code, text.stdout]).toEqual([
      0,
      expect.stringContaining(
        '2 on record before, 1 of 1 that would be new happened\n0 repeated\n',
      ),
    ]);
    expect(shop.effects.map(({ orderId }) => orderId)).toEqual(['1', '2', '3']);
    expect(target.of('reply')).toHaveLength(3);
  });

  test('as JSON lines it tells its steps and ends with one result; what did not complete makes it end with 6', async () => {
    const { store, reprocess } = await escalatedShop({ paid: 2 });
    const { id } = await reprocess.plan({});

    const run = await runCli(['reprocess', 'run', id, ...START, '--yes', '-o', 'jsonl'], { store });
    const report = await runCli(['reprocess', 'report', id], { store });

    const lines = run.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; result?: string; over: number });
    expect([run.code, run.stderr]).toEqual([6, '']);
    expect(lines.filter(({ type }) => type === 'result')).toHaveLength(1);
    expect(lines.at(-1)).toMatchObject({
      ...{ type: 'result', result: 'partial', batchId: id, status: 'done', over: 2 },
      counts: { 'escalated/model_escalated': 2 },
    });
    expect(report.code).toBe(6);
    expect(report.stdout).toMatch(/^ {2}test\/c1 {2}t\S+ {2}escalated\/model_escalated$/m);
  });

  test('a plan that is not what it was when it was made is not started', async () => {
    const { store, redis, reprocess } = await escalatedShop({ paid: 2 });
    const { id } = await reprocess.plan({});
    await redis.rpop(`${reprocess.batches.lane}:plan:${id}`);

    const run = await runCli(['reprocess', 'run', id, ...START, '--yes'], { store });

    expect([run.code, run.stdout]).toEqual([5, '']);
    expect(run.stderr).toMatch(
      /Not started: the plan of batch \S+ was changed since.*\n.*plan it again/,
    );
    expect((await reprocess.status(id))?.status).toBe('planned');
  });
});

test('pause, resume and abort say what is under way and what is left; Ctrl-C ends only the looking', async () => {
  const { store, world, reprocess } = await escalatedShop({ paid: 3 });
  world.healed = true;
  const { id } = await reprocess.plan({});
  const act = (name: string, ...more: string[]) =>
    runCli(['reprocess', name, id, ...WHO, ...more], { store });

  const run = startCli(['reprocess', 'run', id, ...START, '--rate', '0.01', '--yes'], { store });
  await run.wrote('of 3');
  run.child.kill('SIGINT');
  const ended = await run.ended;
  const [dry, between] = await Promise.all([
    act('pause', '--dry-run'),
    runJson(['reprocess', 'status', id], { store }),
  ]);
  const paused = await act('pause');
  const resumed = await act('resume');
  const aborted = await act('abort');
  const late = await act('resume');

  expect([ended.code, ended.signal]).toEqual([130, null]);
  expect(ended.stderr).toContain(
    `The batch goes on without this command. Look again: turnkeeper reprocess status ${id} --watch`,
  );
  expect(dry.stdout).toContain('is running; it would be paused. Nothing was changed');
  expect(between).toMatchObject({ status: 'running', toRun: 3, notStarted: 2 });
  expect(paused.stdout).toContain(`batch ${id} paused by ana: the shop is back`);
  expect(paused.stdout).toContain('2 not started');
  expect([resumed.code, aborted.code, late.code]).toEqual([0, 0, 5]);
  expect(resumed.stdout).toContain('Goes on: 2 cases left to start');
  expect(late.stderr).toContain(`Not resumed: batch ${id} is aborted. You changed nothing`);
  expect(await reprocess.status(id)).toMatchObject({ status: 'aborted', started: 1, over: 1 });
});

/** What `script` of util-linux makes a terminal of. */
const hasTerminal = spawnSync('script', ['--version']).status === 0;

describe.skipIf(!hasTerminal)('at a terminal', () => {
  test('asks before it starts; no starts nothing, yes shows a bar that moves', async () => {
    const { store, world, reprocess } = await escalatedShop({ paid: 3 });
    world.healed = true;
    const { id } = await reprocess.plan({});
    const run = ['reprocess', 'run', id, ...START, '--rate', '2'];

    const no = await atTerminal(store, run, 'no');
    expect((await reprocess.status(id))?.status).toBe('planned');
    const yes = await atTerminal(store, run, 'yes');

    expect(no.screen).toContain('Start 3 cases at 2 cases a second? Type yes:');
    expect(no.screen).toContain('error: not confirmed: nothing was started');
    expect(no.code).toBe(2);
    expect(yes.screen).toMatch(/\[#*\.+\] [012] of 3/);
    expect(yes.screen).toContain('[####################] 3 of 3');
    expect(yes.screen).toContain('\u001B[?25h');
    expect(yes.code).toBe(0);
  });
});

/** Runs a command in a terminal of 160 by 40 and gives an answer once it asks. */
async function atTerminal(
  store: Store,
  args: readonly string[],
  answer: string,
): Promise<{ screen: string; code: number | null }> {
  const quoted = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols 160 rows 40; ${quoted}`, '/dev/null'], {
    cwd: emptyDirectory(),
    env: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'xterm' },
      ...{ REDIS_URL: inject('redisUrl'), TURNKEEPER_PREFIX: prefixOf(store) },
    },
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const asks = !screen.includes('Type yes:');
    screen += text;
    if (asks && screen.includes('Type yes:')) child.stdin.write(`${answer}\r`);
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { screen, code };
}
