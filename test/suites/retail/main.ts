import { parseArgs } from 'node:util';
import { loadTasks, SUITE_IS_HERE, SUITE_IS_MISSING } from './data.ts';
import { describeRun } from './report.ts';
import { FAULTS, KILL_EVERY_MS, run } from './run.ts';

const USAGE = `npm run suite:retail -- [options] [TASK …]
  (none)       all tasks, with faults and with workers killed
  --seed N     a run of before: the same draw of faults
  --no-faults  the shop behaves
  --no-keys    the shop does not know a repeat by its idempotency key
  --no-kills   the workers live`;

const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string' },
    'no-faults': { type: 'boolean', default: false },
    'no-keys': { type: 'boolean', default: false },
    'no-kills': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000));
if (values.help || !Number.isInteger(seed)) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}
if (!SUITE_IS_HERE) {
  console.error(SUITE_IS_MISSING);
  process.exit(2);
}

const all = loadTasks();
const tasks = all.filter(({ id }) => positionals.length === 0 || positionals.includes(id));
if (tasks.length === 0) {
  console.error(`there is no task ${positionals.join(', ')}: ids look like ${all[0]?.id}`);
  process.exit(2);
}
const writes = values['no-faults'] ? {} : FAULTS.writes;
console.log(`retail suite, seed ${seed}, ${tasks.length} tasks`);
const result = await run(
  {
    seed,
    tasks,
    customers: [...new Set(all.map(({ userId }) => userId))],
    faults: {
      ...(values['no-faults'] ? {} : FAULTS),
      ...(values['no-keys'] ? { writes: { ...writes, idempotency: 'off' } } : {}),
    },
    workers: 3,
    killEveryMs: values['no-kills'] ? 0 : KILL_EVERY_MS,
  },
  ({ name, complaints }) => {
    for (const complaint of complaints) console.log(`${name}: ${complaint}`);
  },
);
const { text, ok } = describeRun(result);
console.log(text);
process.exit(ok ? 0 : 1);
