import { expect, test } from 'vitest';
import { TurnFeed } from '../../src/store/turn-feed.ts';
import { transition } from '../support/store.ts';
import { decided, over, resumed } from '../support/turn-events.ts';
import { SECRETS, startWithWaitingTurn } from './waiting-case.ts';

test('a stream of turn events gives what is on record, numbered, masked, and behind Last-Event-ID what is left', async () => {
  const { url, tokenFor, named, events } = await startWithWaitingTurn({ streamMs: 200 });
  const token = await tokenFor(['operator']);
  const all = await read(`${url}/v1/turns/${named.turn}/events`, { token });
  expect(all.map(({ id }) => id)).toEqual(Array.from({ length: events }, (_, n) => String(n + 1)));
  expect(all.at(0)).toMatchObject({ event: 'turn_started' });
  expect(all.at(-1)).toMatchObject({ event: 'turn_parked' });
  expect(JSON.stringify(all)).not.toContain(SECRETS.toolSaid);
  const rest = await read(`${url}/v1/turns/${named.turn}/events`, {
    token,
    headers: { 'last-event-id': String(events - 1) },
  });
  expect(rest.map(({ event }) => event)).toEqual(['turn_parked']);
});

test('a service that closes ends its streams and does not wait for their readers', async () => {
  const { url, tokenFor, named, close } = await startWithWaitingTurn();
  const token = await tokenFor(['operator']);
  const response = await fetch(`${url}/v1/turns/${named.turn}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  await close();
  await response.text();
});

test('whoever cannot read a stream of events is told so', async () => {
  const { call, tokenFor, named } = await startWithWaitingTurn();
  const token = await tokenFor(['operator']);
  const headers = { accept: 'application/json' };
  const refused = await call('GET', `/v1/turns/${named.turn}/events`, { token, headers });
  expect(refused.status).toBe(406);
});

test('who follows a turn gets each event as it is recorded, and the end with the turn', async () => {
  const { store, claim, events } = await startWithWaitingTurn();
  const feed = new TurnFeed(store);
  const following = feed.follow(claim.turnId, new AbortController().signal, events);
  const next = async () => (await following.next()).value?.type;
  const first = next();
  await store.record(claim, transition(events, resumed));
  expect(await first).toBe('turn_resumed');
  const second = next();
  await store.record(claim, transition(events + 1, decided('rejected', 'apNorth'), over));
  expect([await second, await next(), await next()]).toEqual([
    'approval_decided',
    'turn_ended',
    undefined,
  ]);
  feed.close();
});

type Sent = { id?: string; event?: string; data?: unknown };

async function read(
  url: string,
  { token, headers = {} }: { token: string; headers?: Record<string, string> },
): Promise<Sent[]> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return parse(await response.text());
}

function parse(text: string): Sent[] {
  return text
    .split('\n\n')
    .filter((block) => block.includes('event: '))
    .map((block) => {
      const fields = Object.fromEntries(
        block
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      ) as Record<string, string>;
      const { id, event, data } = fields;
      return {
        ...(id === undefined ? {} : { id }),
        ...(event === undefined ? {} : { event }),
        data: JSON.parse(data ?? 'null') as unknown,
      };
    });
}
