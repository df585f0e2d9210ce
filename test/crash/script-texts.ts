import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { Store } from '../../src/store/index.ts';
import type { ScriptName } from '../../src/store/scripts.ts';

/**
 * What a request that runs one of our scripts looks like on the wire: its digest, or its text when Redis is new to it.
 *
 * @param slackMs of the store that sends it; a constant in the script
 */
export function textsOf(script: ScriptName, slackMs: number): string[] {
  let lua = '';
  const redis = {
    defineCommand(command: string, definition: { lua: string }) {
      if (command === `tk:${script}`) lua = definition.lua;
      Reflect.set(redis, command, () => Promise.resolve());
    },
  };
  new Store({ redis: redis as unknown as Redis, slackMs });
  return [hash('sha1', lua, 'hex'), lua];
}
