import { parseArgs } from 'node:util';
import { playPlanted } from './planted.ts';
import { describeRun } from './report.ts';
import { run } from './run.ts';
import { play, SCENARIOS, type ScenarioName } from './scenarios.ts';
import { fullSize, smallSize, type RunSettings } from './settings.ts';

const USAGE = `npm run crash -- [options]
  (none)               full size, with the order service's idempotency keys on and then off; minutes
  --small              the size that npm test runs
  --conversations N, --messages N
  --keys on|off        only one of the two
  --seed N             a run of before: same load, same draw of faults
  --keep               leaves logs and data in a temporary folder
  --scenarios [NAME …] single faults at a chosen moment, one after the other
  --planted [NAME …]   faults planted into a copy of the source: each must be caught`;

const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string' },
    small: { type: 'boolean', default: false },
    conversations: { type: 'string' },
    messages: { type: 'string' },
    keys: { type: 'string' },
    keep: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    scenarios: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

/** Full size, twice: once as the order service ships, once without its idempotency keys. */
async function runAll(): Promise<boolean> {
  const seed = number('seed') ?? Math.floor(Math.random() * 1_000_000_000);
  console.log(`crash test, seed ${seed}`);
  const size = values.small ? smallSize(seed) : fullSize(seed);
  const modes = (['on', 'off'] as const).filter((mode) => mode === (values.keys ?? mode));
  let ok = true;
  for (const keys of modes) {
    const result = await run(
      { ...ofOwnSize(size), keys },
      { keep: values.keep, onProgress: (line) => console.log(line) },
    );
    console.log(`\n${describeRun(result)}\n`);
    ok &&= result.findings.length === 0;
  }
  return ok;
}

/** What counts as an idle pass is known for the two sizes only. */
function ofOwnSize(size: RunSettings): RunSettings {
  const conversations = number('conversations');
  const messages = number('messages');
  if (conversations === undefined && messages === undefined) return size;
  return {
    ...size,
    conversations: conversations ?? size.conversations,
    messages: messages ?? size.messages,
    floor: { faults: 1, redisKills: 0, hitsPerPhase: 0 },
  };
}

async function playAll(names: readonly string[]): Promise<boolean> {
  const known = Object.keys(SCENARIOS) as ScenarioName[];
  let ok = true;
  for (const name of known.filter((one) => names.length === 0 || names.includes(one))) {
    const findings = await play(name);
    console.log(`${findings.length === 0 ? 'held   ' : 'BROKEN '} ${name}`);
    for (const { rule, what } of findings) console.log(`  - ${rule}: ${what}`);
    ok &&= findings.length === 0;
  }
  return ok;
}

function number(name: 'seed' | 'conversations' | 'messages'): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  console.error(`--${name} is "${text}": give a whole number`);
  process.exit(2);
}

if (values.help || !['on', 'off', undefined].includes(values.keys)) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}
const work = values.planted
  ? playPlanted(positionals)
  : values.scenarios
    ? playAll(positionals)
    : runAll();
// What a scenario waits for may never have happened: nothing is left to wait for.
process.exit((await work) ? 0 : 1);
