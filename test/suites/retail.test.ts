import { expect, test } from 'vitest';
import { loadTasks, SUITE_IS_HERE, SUITE_IS_MISSING } from './retail/data.ts';
import { FAULTS, KILL_EVERY_MS, run, type RunSettings } from './retail/run.ts';

/** One of each kind: changes of every sort, a question, a refusal, a hand-over, and calls that are meant to fail. */
const HANDFUL = [0, 2, 10, 22, 40, 46, 57, 62, 64, 105].map((number) => `tau2-retail-${number}`);

if (!SUITE_IS_HERE) console.warn(`skipped: ${SUITE_IS_MISSING}`);

function settingsFor(overrides: Partial<RunSettings>): RunSettings {
  const all = loadTasks();
  return {
    seed: 11,
    tasks: all.filter(({ id }) => HANDFUL.includes(id)),
    customers: all.map(({ userId }) => userId),
    faults: FAULTS,
    workers: 2,
    killEveryMs: KILL_EVERY_MS,
    ...overrides,
  };
}

test(
  '[P4] [P5] [P6] an outside shop with faults and killed workers ends in the state its tasks ask for, each effect once, and a stranger changes nothing',
  { timeout: 150_000 },
  async ({ skip }) => {
    skip(!SUITE_IS_HERE, SUITE_IS_MISSING);
    const result = await run(settingsFor({}));

    expect([...result.tasks, ...result.strangers].filter(hasComplaints)).toEqual([]);
    expect(result).toMatchObject({ tasks: { length: HANDFUL.length }, endedByThemselves: [] });
    expect(result.kills).toBeGreaterThan(0);
  },
);

test(
  'the suite notices a shop that shows its changes so late that a lost call looks like one that never landed',
  { timeout: 150_000 },
  async ({ skip }) => {
    skip(!SUITE_IS_HERE, SUITE_IS_MISSING);
    // What else the shop does it would refuse to do twice.
    const tasks = loadTasks().filter(({ actions }) =>
      actions.some(({ name }) => name === 'modify_user_address'),
    );
    const faults = { writes: { drop_after: 0.5, stale_read_ms: 2_500, idempotency: 'off' } };
    const result = await run(settingsFor({ tasks: tasks.slice(0, 3), faults, killEveryMs: 0 }));

    expect(result.tasks.flatMap(({ complaints }) => complaints)).toContain(
      'an effect was applied twice',
    );
  },
);

function hasComplaints({ complaints }: { complaints: readonly string[] }): boolean {
  return complaints.length > 0;
}
