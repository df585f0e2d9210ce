import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { loadScripts, type ScriptName } from '../../src/store/scripts.ts';

/** What a request that runs one of our scripts looks like on the wire: its digest, or its text when Redis is new to it. */
export function textsOf(script: ScriptName): string[] {
  const lua = SOURCES.get(`tk:${script}`);
  if (lua === undefined) throw new RangeError(`there is no script ${script}`);
  return [hash('sha1', lua, 'hex'), lua];
}

const SOURCES = new Map<string, string>();
loadScripts(
  new Proxy({} as Redis, {
    get: (_, name) =>
      name === 'defineCommand'
        ? (command: string, { lua }: { lua: string }) => SOURCES.set(command, lua)
        : () => Promise.resolve(),
  }),
);
