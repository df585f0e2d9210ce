import { parseArgs } from 'node:util';
import { playPlanted } from './planted.ts';
import { describeRun } from './report.ts';
import { run } from './run.ts';
import { fullSize, smallSize, type RunSettings } from './settings.ts';

const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string' },
    small: { type: 'boolean', default: false },
    conversations: { type: 'string' },
    messages: { type: 'string' },
    pace: { type: 'string' },
    keys: { type: 'string', default: 'both' },
    faults: { type: 'string' },
    keep: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    limit: { type: 'string' },
  },
  allowPositionals: true,
});

if (values.planted) process.exit((await playPlanted(positionals)) ? 0 : 1);

const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000));
const size = values.small ? smallSize(seed) : fullSize(seed);
const settings: RunSettings = {
  ...size,
  ...(values.conversations === undefined ? {} : { conversations: Number(values.conversations) }),
  ...(values.messages === undefined ? {} : { messages: Number(values.messages) }),
  ...(values.pace === undefined ? {} : { paceMs: Number(values.pace) }),
  ...(values.limit === undefined ? {} : { timeLimitMs: Number(values.limit) }),
  ...(values.faults === 'none'
    ? { faults: 'none', floor: { faults: 0, redisKills: 0, hitsPerPhase: 0 } }
    : {}),
};
console.log(`crash test, seed ${seed}`);
const modes = values.keys === 'both' ? (['on', 'off'] as const) : [values.keys as 'on' | 'off'];
let broken = 0;
for (const keys of modes) {
  const result = await run(
    { ...settings, keys },
    { keep: values.keep, onProgress: (line) => console.log(line) },
  );
  console.log(`\n${describeRun(result)}\n`);
  broken += result.findings.length;
}
process.exit(broken === 0 ? 0 : 1);
