import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** The atomic moves, one Lua file each. */
const SCRIPTS = [
  'accept-message',
  'claim-turn',
  'record-transition',
  'park-turn',
  'record-verdict',
  'decide-approval',
  'commit-turn',
  'release-claim',
  'claim-delivery',
  'settle-delivery',
  'take-due',
  'request-stop',
  'take-over',
  'release',
  'settle-effect',
  'add-note',
  'posted',
  'book-stake',
  'limit-account',
  'queue-case',
  'move-batch',
  'resolve-message',
] as const;
export type ScriptName = (typeof SCRIPTS)[number];
export type ScriptArgument = string | number;

function source(name: string): string {
  return readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8');
}

type Run = (tag: string, ...args: ScriptArgument[]) => Promise<unknown>;

/** Makes the scripts callable on a connection; each takes the lane tag and its ARGV. `keep` becomes their KEEP table. */
export function loadScripts(
  redis: Redis,
  keep: Readonly<Record<string, number>>,
): Record<ScriptName, Run> {
  const constants = Object.entries(keep).map(([name, value]) => `${name} = ${value}`);
  const prelude = `local KEEP = { ${constants.join(', ')} }\n${source('prelude')}`;
  const scripts = SCRIPTS.map((name): [ScriptName, Run] => {
    const command = `tk:${name}`;
    redis.defineCommand(command, { numberOfKeys: 1, lua: `${prelude}\n${source(name)}` });
    const run = (redis as unknown as Record<string, Run>)[command];
    if (run === undefined) throw new Error(`ioredis did not define ${command}`);
    return [name, run.bind(redis)];
  });
  return Object.fromEntries(scripts) as Record<ScriptName, Run>;
}
