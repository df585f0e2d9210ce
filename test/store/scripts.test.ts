import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LaneCountError } from '../../src/store/index.ts';
import { KEY_KINDS } from '../../src/store/keys.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { startRig, ticket } from '../support/rig.ts';
import { openStore } from '../support/store.ts';

const folder = new URL('../../src/store/lua/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.lua'));
const source = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

describe.each(files)('%s', (name) => {
  test('uses only key kinds that keys.ts names', () => {
    const used = [...source(name).matchAll(/key\('([a-z]+)'/g)].map(([, kind]) => kind);

    expect(used.filter((kind) => kind === undefined || !(kind in KEY_KINDS))).toEqual([]);
  });

  if (name === 'prelude.lua') return;
  test('says what it takes and what it answers', () => {
    const header = source(name).split('\n\n')[0] ?? '';

    expect(header).toMatch(/^-- [A-Z].*\n/);
    expect(header).toMatch(/-- KEYS {2}1 lane tag/);
    expect(header).toMatch(/-- ARGV {2}1 /);
    expect(header).toMatch(/-- Returns /);
    const count = Math.max(
      0,
      ...[...source(name).matchAll(/ARGV\[(\d+)\]/g)].map(([, index]) => Number(index)),
    );
    for (let index = 1; index <= count; index += 1) {
      expect(header, `ARGV ${index} of ${name}`).toMatch(new RegExp(`[ (]${index}(?:\\.\\.)? `));
    }
  });
});

test('every key kind is used by a script or by the read side', () => {
  const store = new URL('../', folder);
  const code = readdirSync(store)
    .filter((name) => name.endsWith('.ts') && name !== 'keys.ts')
    .map((name) => readFileSync(new URL(name, store), 'utf8'));
  const all = [...files.map(source), ...code].join('\n');

  expect(Object.keys(KEY_KINDS).filter((kind) => !all.includes(`'${kind}'`))).toEqual([]);
});

describe('lanes', () => {
  test('conversations spread over the lanes and each is answered', async () => {
    const rig = await startRig({
      model: scriptedModel(() => ({ kind: 'finish_candidate', reply: 'ok' })),
      store: { lanes: 3 },
    });
    await rig.startHost();
    const ids = Array.from({ length: 12 }, (_, index) => `c${index}`);

    for (const conversationId of ids) await rig.accept(ticket({ conversationId }));
    await rig.target.arrived('reply', ids.length);

    expect(new Set(ids.map((id) => rig.store.tagOf(`test/${id}`))).size).toBe(3);
    expect(rig.target.sent.map(({ externalId }) => externalId).toSorted()).toEqual(ids.toSorted());
  });

  test('another number of lanes than at the first start is refused with the way out', async () => {
    const { store, redis, prefix } = await openStore({ lanes: 2 });
    const { Store } = await import('../../src/store/index.ts');

    const other = new Store({ redis, prefix, lanes: 3 });

    await expect(other.open()).rejects.toThrow(LaneCountError);
    await expect(other.open()).rejects.toThrow(/set LANES=2/);
    await expect(store.open()).resolves.toBeUndefined();
  });
});
