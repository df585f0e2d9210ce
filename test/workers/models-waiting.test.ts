import { describe, expect, test } from 'vitest';
import { EndpointBreaker, withBreaker, withFallback } from '../../src/models/index.ts';
import {
  fault,
  type Behaviour,
  type FaultName,
  type ModelRequest,
} from '../support/model-server/index.ts';
import { endpoint, hello, modelAt, openModelShop } from './models-stage.ts';
import { HOUR, Time } from './waiting-shop.ts';

/** Turns the first request away, then answers. */
const once =
  (name: FaultName, headers?: () => Record<string, string>) =>
  ({ api, number }: ModelRequest): Behaviour =>
    number === 0 ? fault(name, api, headers?.()) : hello;

const httpDate = (inMs: number): string => new Date(Date.now() + inMs).toUTCString();

describe('[P8] a provider that says when to come back', () => {
  test.each([
    ['in seconds', () => ({ 'retry-after': '2' }), 2_000, 2_000],
    ['in milliseconds', () => ({ 'retry-after-ms': '1500' }), 1_500, 1_500],
    ['by an HTTP date', () => ({ 'retry-after': httpDate(3_000) }), 2_000, 3_000],
  ])(
    '%s is left alone until then, by the turn and by all others of the account',
    async (_how, headers, least, most) => {
      const server = await endpoint(once('rate', headers));
      // Slots for all of them: nobody asks because nobody may.
      const { write, parked, ended, failures } = await openModelShop(modelAt(server, 'chat'));
      const askedAt = Date.now();
      await write('c1');
      const first = await parked('test/c1');
      const answeredBy = Date.now();

      await Promise.all(['c2', 'c3', 'c4'].map((id) => write(id)));
      const others = await Promise.all(['test/c2', 'test/c3', 'test/c4'].map(parked));

      expect(first.park.kind).toBe('back_off');
      expect(first.park.dueAt).toBeGreaterThanOrEqual(askedAt + least - 1_000);
      expect(first.park.dueAt).toBeLessThanOrEqual(answeredBy + most);
      expect(others.map(({ park }) => park.dueAt)).toEqual(Array(3).fill(first.park.dueAt));
      expect(server.requests).toHaveLength(1);
      const turns = await Promise.all(['c1', 'c2', 'c3', 'c4'].map(ended));
      expect(turns.map(({ reason }) => reason)).toEqual(Array(4).fill('replied'));
      expect(server.requests).toHaveLength(5);
      for (const { events } of turns.slice(1)) {
        const asked = events.find(({ type }) => type === 'model_responded');
        expect(asked?.at).toBeGreaterThanOrEqual(first.park.dueAt);
      }
      expect((await failures('c2')).map(({ failure }) => failure.kind)).toEqual([
        'account_limited',
      ]);
    },
  );

  test('for longer than five minutes is believed for five', async () => {
    const server = await endpoint(once('rate', () => ({ 'retry-after': '86400' })));
    const { write, parked } = await openModelShop(modelAt(server, 'responses'));
    const before = Date.now();

    await write('c1');
    const { park } = await parked('test/c1');

    expect(park.dueAt).toBeGreaterThanOrEqual(before + 300_000);
    expect(park.dueAt).toBeLessThanOrEqual(Date.now() + 300_000);
  });

  test('in a moment is waited for inside the call: the turn does not park', async () => {
    const server = await endpoint(once('rate', () => ({ 'retry-after-ms': '200' })));
    const { write, ended } = await openModelShop(modelAt(server, 'messages'));

    await write('c1');
    const { events, reason } = await ended('c1');

    expect(reason).toBe('replied');
    expect(events.filter(({ type }) => type === 'turn_parked' || type === 'model_failed')).toEqual(
      [],
    );
    expect(server.requests).toHaveLength(2);
  });

  test('about another account keeps nobody of this one', async () => {
    const limited = await endpoint(({ api }) => fault('rate', api, { 'retry-after': '60' }));
    const free = await endpoint(() => hello);
    const one = await openModelShop(modelAt(limited, 'chat'));
    await one.write('c1');
    await one.parked('test/c1');
    await one.store.limitAccount('somebody else', Date.now() + HOUR);
    const both = await openModelShop(withFallback(modelAt(limited, 'chat'), modelAt(free, 'chat')));

    await both.write('c1');
    await both.write('c2');

    expect((await both.ended('c1')).reason).toBe('replied');
    expect((await both.ended('c2')).reason).toBe('replied');
    // Once by each stage: the first model is not bothered again before its time.
    expect(limited.requests).toHaveLength(2);
  });
});

describe('[P8] the three meanings of 429', () => {
  const THREE: readonly [FaultName, string][] = [
    ['rate', 'rate_limited'],
    ['concurrency', 'concurrency_limited'],
    ['quota', 'quota_exhausted'],
  ];

  test.each(THREE)('%s is on record as %s, costs nothing and is waited for', async (name, kind) => {
    const time = new Time();
    const server = await endpoint(once(name, () => ({ 'retry-after': '30' })));
    const stage = await openModelShop(modelAt(server, 'chat'), { store: time.store });

    await stage.write('c1');
    await stage.parked('test/c1');

    expect(await stage.failures('c1')).toMatchObject([{ failure: { kind } }]);
    const [turn] = await stage.records.turnsOf('test/c1');
    expect(turn?.state.spent).toMatchObject({ tokens: 0, costMicros: 0 });
    await time.pass(stage, 31_000, 'test/c1');
    expect((await stage.ended('c1')).reason).toBe('replied');
  });

  test('an empty account is looked at again after a minute: waiting turns do not spend their tries on it', async () => {
    const time = new Time();
    let empty = true;
    const server = await endpoint(({ api }) => (empty ? fault('quota', api) : hello));
    const stage = await openModelShop(modelAt(server, 'chat'), {
      ...{ store: time.store, limits: { modelFailures: 2 } },
    });
    const before = Date.now();
    await stage.write('c1');
    const { park } = await stage.parked('test/c1');
    const conversations = Array.from({ length: 8 }, (_, index) => `d${index}`);
    await Promise.all(conversations.map((id) => stage.write(id)));
    await Promise.all(conversations.map((id) => stage.parked(`test/${id}`)));

    expect(park.dueAt).toBeGreaterThanOrEqual(before + 60_000);
    expect(server.requests).toHaveLength(1);
    empty = false;
    for (const id of ['c1', ...conversations]) {
      await time.pass(stage, id === 'c1' ? 60_001 : 0, `test/${id}`);
    }
    for (const id of ['c1', ...conversations])
      expect((await stage.ended(id)).reason).toBe('replied');
  });
});

describe('[P8] an endpoint that fails and fails', () => {
  const FAILURES = 5;
  const broken = (restMs: number, healed: () => boolean) =>
    endpoint(({ api }) => (healed() ? hello : fault('error', api))).then((server) => ({
      server,
      model: withBreaker(modelAt(server, 'chat'), new EndpointBreaker({ restMs })),
    }));

  test('gets a rest: turns park with `unavailable` until it is over, and nobody asks', async () => {
    const { server, model } = await broken(60_000, () => false);
    const stage = await openModelShop(model);
    const first = Array.from({ length: FAILURES }, (_, index) => `c${index}`);
    await Promise.all(first.map((id) => stage.write(id)));
    await Promise.all(first.map((id) => stage.parked(`test/${id}`)));
    const asked = server.requests.length;

    const before = Date.now();
    await stage.write('late');
    const { park } = await stage.parked('test/late');

    expect(asked).toBeGreaterThanOrEqual(FAILURES);
    expect(await stage.failures('late')).toMatchObject([
      { failure: { kind: 'unavailable', detail: 'the endpoint rests' } },
    ]);
    expect(park.dueAt).toBeGreaterThan(before + 50_000);
    expect(server.requests).toHaveLength(asked);
    const [turn] = await stage.records.turnsOf('test/late');
    expect(turn?.state.spent).toMatchObject({ tokens: 0, costMicros: 0 });
  });

  test('is asked again after it, and the turns that waited are answered', async () => {
    let well = false;
    const { model } = await broken(2_000, () => well);
    const stage = await openModelShop(model);
    const all = Array.from({ length: FAILURES + 3 }, (_, index) => `c${index}`);
    for (const id of all.slice(0, FAILURES)) {
      await stage.write(id);
      await stage.parked(`test/${id}`);
    }
    await Promise.all(all.slice(FAILURES).map((id) => stage.write(id)));
    await Promise.all(all.slice(FAILURES).map((id) => stage.parked(`test/${id}`)));
    well = true;

    for (const id of all) expect((await stage.ended(id)).reason).toBe('replied');
  });

  test('is not the one that is asked while another model helps out', async () => {
    const { server, model } = await broken(60_000, () => false);
    const other = await endpoint(() => hello);
    const stage = await openModelShop(withFallback(model, modelAt(other, 'chat')));
    const all = Array.from({ length: FAILURES + 5 }, (_, index) => `c${index}`);

    for (const id of all) {
      await stage.write(id);
      expect((await stage.ended(id)).reason).toBe('replied');
    }

    expect(server.requests).toHaveLength(FAILURES);
    expect(other.requests).toHaveLength(all.length);
  });
});
