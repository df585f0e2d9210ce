import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { messagesOf, readTickets, readWorld } from '../../examples/technova/agent/fixtures.ts';

const directory = mkdtempSync(join(tmpdir(), 'turnkeeper-fixtures-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const ticket = {
  id: 't',
  conversationId: 'case-t',
  requester: { id: 'ana@example.com', assurance: 'verified' },
  channel: 'email',
  subject: 'Hi',
  text: 'Hello',
  expect: { outcome: 'completed', stopReason: 'no_answer' },
  effects: [],
  note: 'says nothing',
};
const linesOf = (...tickets: object[]) => tickets.map((one) => JSON.stringify(one)).join('\n');

describe('a ticket that cannot be used is named by file, line, field, value and what to write', () => {
  test.each<[string, string, string]>([
    [
      'a stop reason of another outcome',
      linesOf(ticket, {
        ...ticket,
        id: 'u',
        expect: { outcome: 'completed', stopReason: 'human_takeover' },
      }),
      'bad.jsonl line 2: expect is {"outcome":"completed","stopReason":"human_takeover"}: use {"phase": "awaiting_approval"} or',
    ],
    [
      'a follow-up after more than 2 s',
      linesOf({ ...ticket, followUps: [{ afterMs: 5_000, text: 'x', expect: ticket.expect }] }),
      'bad.jsonl line 1: followUps[0]',
    ],
    [
      'a missing text',
      linesOf({ ...ticket, text: undefined }),
      'bad.jsonl line 1: text is missing',
    ],
    ['an unknown field', linesOf({ ...ticket, efects: [] }), 'remove the unknown field efects'],
    ['no JSON', '{"id": ', 'bad.jsonl line 1 is not JSON'],
    [
      'two tickets of one conversation',
      linesOf(ticket, { ...ticket, id: 'u' }),
      'bad.jsonl: conversationId case-t is used twice',
    ],
  ])('%s', (_what, content, message) => {
    const path = file('bad.jsonl', content);
    expect(() => readTickets(path)).toThrow(message);
  });
});

test('a redelivery is the first message once more, a follow-up is a message of its own', () => {
  const path = file(
    'good.jsonl',
    linesOf({
      ...ticket,
      followUps: [
        { afterMs: 10, redelivered: true },
        { afterMs: 20, text: [{ text: 'ab', times: 2 }], expect: ticket.expect },
      ],
    }),
  );
  const [good] = readTickets(path);
  const parts = good === undefined ? [] : messagesOf(good);

  expect(parts.map(({ message }) => message.messageId)).toEqual(['t-1', 't-1', 't-3']);
  expect(parts.map(({ expect: wanted }) => wanted !== undefined)).toEqual([true, false, true]);
  expect(parts.at(2)?.message.text).toBe('abab');
});

test('the dates of the world move with the day, so that a window of 30 days stays one', () => {
  const path = file(
    'world.json',
    JSON.stringify({
      today: '2026-03-04',
      orders: [
        {
          id: '1000',
          customerId: 'a',
          status: 'delivered',
          placedAt: '2026-02-20T09:00:00Z',
          deliveredAt: '2026-02-27T09:00:00Z',
          total: 1,
          lines: [{ id: 'l', sku: 's', name: 'n', quantity: 1, unitPrice: 1 }],
        },
      ],
    }),
  );

  const { orders } = readWorld(Date.parse('2030-01-10T18:00:00Z'), path);

  expect(orders).toMatchObject([
    { placedAt: '2029-12-29T09:00:00.000Z', deliveredAt: '2030-01-05T09:00:00.000Z' },
  ]);
});

describe('turnkeeper.config.ts', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const load = (environment: Record<string, string>) => {
    const script =
      "import('./turnkeeper.config.ts').then(({ default: agent }) => console.log(agent.rules.name))";
    const env = { PATH: process.env['PATH'], ...environment };
    return spawnSync(process.execPath, ['-e', script], { cwd: root, env, encoding: 'utf8' });
  };
  const ORDER_SERVICE_URL = 'http://127.0.0.1:4001';

  test('exports the agent of the example, with the addresses of the environment', () => {
    expect(
      load({ ORDER_SERVICE_URL, TICKET_DESK_URL: 'http://127.0.0.1:4002' }).stdout.trim(),
    ).toBe('technova');
  });

  test('names the variable that is missing or wrong', () => {
    expect(load({ ORDER_SERVICE_URL }).stderr).toContain('TICKET_DESK_URL is not set');
    expect(load({ ORDER_SERVICE_URL, TICKET_DESK_URL: 'desk' }).stderr).toContain(
      'TICKET_DESK_URL is "desk"',
    );
  });
});

test('[S0-28] the skill has a name, says when to use it and when not, and is short', () => {
  const path = new URL(
    '../../examples/technova/skills/cancel-and-refund/SKILL.md',
    import.meta.url,
  );
  const text = readFileSync(path, 'utf8');

  expect(text).toMatch(
    /^---\nname: cancel-and-refund\ndescription: .*Use when .*not for .*\n---\n/,
  );
  expect(text.split('\n').length).toBeLessThan(30);
});
