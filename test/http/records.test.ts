import { expect, test } from 'vitest';
import type { Role } from '../../src/store/api-keys.ts';
import { SECRETS, startWithWaitingTurn } from './waiting-case.ts';

const RECORDS = [
  ...['/v1/turns', '/v1/turns/{turn}', '/v1/turns/{turn}/trace', '/v1/turns/{turn}/events'],
  ...['/v1/conversations', '/v1/conversations/north/c1', '/v1/messages/{message}'],
  ...['/v1/approvals', '/v1/approvals/{approval}'],
  ...['/v1/ledger?turn={turn}', '/v1/ledger/{operation}', '/v1/dead-letters'],
];
const RAW = [
  ...['/v1/turns/{turn}', '/v1/turns/{turn}/trace', '/v1/turns/{turn}/events'],
  ...['/v1/approvals/{approval}', '/v1/ledger/{operation}'],
];

test('[P16] an operator who is an auditor too sees what customers and tools said masked on every route, unless raw is asked for', async () => {
  const { call, tokenFor, named } = await startWithWaitingTurn({ streamMs: 50 });
  const token = await tokenFor(['operator', 'auditor']);
  for (const record of RECORDS) {
    const { status, body } = await call('GET', pathOf(record, named), { token });
    expect([record, status]).toEqual([record, 200]);
    for (const secret of Object.values(SECRETS)) {
      expect([record, JSON.stringify(body)]).toEqual([record, expect.not.stringContaining(secret)]);
    }
  }
});

test('[P16] raw records are for auditors only, and each look at one is on record', async () => {
  const { call, tokenFor, named, audit } = await startWithWaitingTurn({ streamMs: 50 });
  const auditor = await tokenFor(['auditor']);
  for (const role of ['operator', 'approver'] satisfies Role[]) {
    const token = await tokenFor([role]);
    for (const record of RAW) {
      const path = `${pathOf(record, named)}?raw=true`;
      const refused = await call('GET', path, { token });
      expect(refused).toMatchObject({ status: 403, body: { field: 'raw' } });
    }
  }
  expect((await audit.head()).seq).toBe(0);
  for (const record of RAW) {
    const { status, body } = await call('GET', `${pathOf(record, named)}?raw=true`, {
      token: auditor,
    });
    expect([record, status]).toEqual([record, 200]);
    expect(JSON.stringify(body)).toContain(SECRETS.mail);
  }
  const looks = await audit.records(1, 100);
  expect(looks.map(({ action, object, actor }) => [action, object, actor.name])).toEqual(
    [named.turn, named.turn, named.turn, named.approval, named.operation].map((object) => [
      ...['raw.read', object, 'auditor person'],
    ]),
  );
});

test('an approver sees the frozen action and the state of the world as they are, and the record around it masked', async () => {
  const { call, tokenFor, named } = await startWithWaitingTurn();
  const token = await tokenFor(['approver']);
  const approval = await call('GET', `/v1/approvals/${named.approval}`, { token });
  expect(approval.body).toMatchObject({
    arguments: { to: SECRETS.mail, cents: 4_200 },
    seen: { note: SECRETS.toolSaid },
  });
  const turn = await call('GET', `/v1/turns/${named.turn}`, { token });
  expect(turn.body).toMatchObject({
    phase: 'awaiting_approval',
    messages: [{ text: 'My card is [number], write to [mail]', requester: { id: '[mail]' } }],
  });
});

test('what is masked keeps its shape: names of arguments stay, what tools said tells its size', async () => {
  const { call, tokenFor, named } = await startWithWaitingTurn();
  const token = await tokenFor(['operator']);
  const { body } = await call<{ events: { proposal?: { calls?: unknown[] } }[]; spans: unknown[] }>(
    'GET',
    `/v1/turns/${named.turn}/trace`,
    { token },
  );
  const proposed = body.events.flatMap(({ proposal }) => proposal?.calls ?? []);
  expect(proposed).toEqual([
    { id: 'c0', tool: 'look_up_order', arguments: { data: '[mail]' } },
    { id: 'c0', tool: 'issue_refund', arguments: { to: '[mail]', cents: 4_200 } },
  ]);
  expect(body.events).toContainEqual(
    expect.objectContaining({
      type: 'call_settled',
      result: {
        kind: 'ok',
        observation: expect.objectContaining({ data: { withheld: true, bytes: 32 } }),
      },
    }),
  );
  expect(body.spans.length).toBeGreaterThan(0);
});

function pathOf(template: string, named: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => named[name] ?? '');
}
