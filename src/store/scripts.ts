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

/** Things of the prelude by their name, each with its comment, in its order. */
const SHARED = new Map(
  source('prelude')
    .split('\n\n')
    .flatMap((text): [string, string][] => {
      const name = /^local (?:function )?(\w+)/m.exec(text)?.[1];
      return name === undefined ? [] : [[name, text]];
    }),
);

/** A script with what it uses of the prelude: Redis makes every function that stands in a script anew at every call. */
function linked(script: string, keep: Readonly<Record<string, number>>): string {
  const used = new Set<string>();
  const use = (text: string): void => {
    for (const [word] of text.replaceAll(/--.*/g, '').matchAll(/\w+/g)) {
      const shared = SHARED.get(word);
      if (shared === undefined || used.has(word)) continue;
      used.add(word);
      use(shared);
    }
  };
  use(script);
  const prelude = [...SHARED].flatMap(([name, text]) => (used.has(name) ? [text] : []));
  return [...prelude, script].join('\n\n').replaceAll(/\bKEEP\.(\w+)/g, (_, name: string) => {
    const value = keep[name];
    if (value === undefined) throw new RangeError(`KEEP.${name} stands for nothing`);
    return String(value);
  });
}

type Run = (tag: string, ...args: ScriptArgument[]) => Promise<unknown>;

/** Makes the scripts callable on a connection; each takes the lane tag and its ARGV. `keep` is what their KEEP stands for. */
export function loadScripts(
  redis: Redis,
  keep: Readonly<Record<string, number>>,
): Record<ScriptName, Run> {
  const scripts = SCRIPTS.map((name): [ScriptName, Run] => {
    const command = `tk:${name}`;
    redis.defineCommand(command, { numberOfKeys: 1, lua: linked(source(name), keep) });
    const run = (redis as unknown as Record<string, Run>)[command];
    if (run === undefined) throw new Error(`ioredis did not define ${command}`);
    return [name, run.bind(redis)];
  });
  return Object.fromEntries(scripts) as Record<ScriptName, Run>;
}
