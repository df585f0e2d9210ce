import { expect, test } from 'vitest';
import { startWithWaitingTurn } from './waiting-case.ts';

test('every act is on record before it is done and again with its result: who, when, what, from where, why', async () => {
  const { call, tokenFor, named, audit, store } = await startWithWaitingTurn();
  const token = await tokenFor(['operator'], { name: 'ana' });
  const before = store.clock().now();
  await call('POST', '/v1/conversations/north/c1/takeover', { token, body: { reason: 'VIP' } });
  const [asked, done] = await audit.records(1, 10);
  expect(asked).toMatchObject({
    seq: 1,
    actor: { name: 'ana' },
    action: 'conversation.takeover',
    object: 'north/c1',
    from: '127.0.0.1',
    reason: 'VIP',
  });
  expect(asked?.at).toBeGreaterThanOrEqual(before);
  expect(asked).not.toHaveProperty('result');
  expect(done).toMatchObject({ seq: 2, of: 1, action: 'conversation.takeover', result: 'taken' });
  expect(named.turn).not.toBe('');
});

test('an act without a reason is refused and leaves nothing behind', async () => {
  const { call, tokenFor, named, audit } = await startWithWaitingTurn();
  const token = await tokenFor(['operator', 'approver']);
  const acts = [
    [`/v1/turns/${named.turn}/cancel`, { reason: ' ' }, 'reason'],
    ['/v1/conversations/north/c1/takeover', {}, 'reason'],
    ['/v1/conversations/north/c1/release', { reason: '' }, 'reason'],
    [`/v1/approvals/${named.approval}/reject`, { comment: '' }, 'comment'],
    [`/v1/ledger/${named.operation}/settle`, { verdict: 'applied', evidence: '' }, 'evidence'],
    [`/v1/ledger/${named.operation}/settle`, { verdict: 'maybe', evidence: 'x' }, 'verdict'],
  ] as const;
  for (const [path, body, field] of acts) {
    const refused = await call('POST', path, { token, body });
    expect(refused).toMatchObject({ status: 400, body: { field } });
  }
  expect((await audit.head()).seq).toBe(0);
});

test('[P13] a takeover by the operator API gives the conversation to people, and a release gives it back', async () => {
  const { call, tokenFor, records } = await startWithWaitingTurn();
  const token = await tokenFor(['operator']);
  const move = (verb: string) =>
    call('POST', `/v1/conversations/north/c1/${verb}`, { token, body: { reason: 'a test' } });
  expect(await move('takeover')).toMatchObject({ status: 200, body: { kind: 'taken' } });
  expect((await records.conversation('north/c1'))?.holder.owner).toBe('human');
  expect(await move('release')).toMatchObject({ status: 200, body: { kind: 'released' } });
  expect((await records.conversation('north/c1'))?.holder.owner).toBe('agent');
});

test('the first decision on an approval stands: the same person may repeat it, everybody else is told who was first', async () => {
  const { call, tokenFor, named } = await startWithWaitingTurn();
  const ana = await tokenFor(['approver'], { name: 'ana' });
  const bo = await tokenFor(['approver'], { name: 'bo' });
  const decide = (token: string, verb: string) =>
    call('POST', `/v1/approvals/${named.approval}/${verb}`, { token, body: { comment: 'seen' } });
  expect(await decide(ana, 'approve')).toMatchObject({
    status: 200,
    body: { status: 'approved', by: 'ana', already: false },
  });
  expect(await decide(ana, 'approve')).toMatchObject({ status: 200, body: { already: true } });
  expect(await decide(bo, 'approve')).toMatchObject({
    status: 409,
    body: { code: 'already_approved', detail: expect.stringContaining('ana approved this') },
  });
  expect(await decide(bo, 'reject')).toMatchObject({ status: 409 });
});

test('acts on what does not exist are told so, and are no acts', async () => {
  const { call, tokenFor, audit } = await startWithWaitingTurn();
  const token = await tokenFor(['operator', 'approver', 'admin']);
  const paths = [
    ...['/v1/turns/tNobody/cancel', '/v1/conversations/north/nobody/takeover'],
    ...['/v1/approvals/nobody/approve', '/v1/ledger/nobody/settle', '/v1/keys/nobody/revoke'],
  ];
  for (const path of paths) {
    const body = { reason: 'x', comment: 'x', verdict: 'applied', evidence: 'x' };
    expect([path, (await call('POST', path, { token, body })).status]).toEqual([path, 404]);
  }
  expect((await audit.head()).seq).toBe(0);
});
