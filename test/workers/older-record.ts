import { operationKey, intentOf } from '../../src/loop/index.ts';
import { messageIdOf } from '../../src/store/index.ts';
import { key } from '../../src/store/keys.ts';
import type { openShop } from './waiting-shop.ts';

type Stage = Pick<Awaited<ReturnType<typeof openShop>>, 'redis' | 'store' | 'shop'>;

const CONVERSATION = 'test/c1';
const TURN = 'tOlder1';
export const APPROVAL = 'xOlderApproval';

export type OlderPhase =
  | 'requesting_model'
  | 'running_tools'
  | 'awaiting_verification'
  | 'awaiting_approval'
  | 'backing_off';

/**
 * Puts a turn into Redis as an earlier version had written it, word for word: no origins, no version of a policy, no
 * requests, no signal, no account, and fields that this version may have dropped. Its job is gone, as after a new start.
 */
export async function writeOlderTurn(
  { redis, store, shop }: Stage,
  phase: OlderPhase,
): Promise<{ turnId: string; operation: string }> {
  const tag = store.tagOf(CONVERSATION);
  const at = Date.now() - 60_000;
  const message = messageIdOf('test', 'c1', 'm1');
  const intent = intentOf(CONVERSATION, message);
  const order = shop.read('1');
  const resource = 'order:1/refund';
  const operation = operationKey({
    ...{ scope: 'intent', intent, tool: 'issue_refund', resource, occurrence: '' },
  });
  const effect = { operation, resource, occurrence: '' };
  const args = { orderId: '1', amount: 2_000 };
  const seen = { status: order.status, version: order.version };
  const usage = { inputTokens: 100, outputTokens: 20, costMicros: 0 };
  const asked = (round: number) => ({
    ...{ type: 'model_requested', at, round, reserved: { tokens: 300, costMicros: 0 } },
  });
  const proposed = (id: string, tool: string, given: object) => ({
    ...{ type: 'model_responded', at, usage, model: 'scripted', latencyMs: 3 },
    proposal: { kind: 'tool_calls', calls: [{ id, tool, arguments: given }] },
  });
  // A person has time; a re-read is overdue.
  const dueAt = phase === 'awaiting_approval' ? Date.now() + 3_600_000 : at;
  const read = [
    { type: 'turn_started', at, intent },
    asked(1),
    proposed('c1', 'get_order', { orderId: '1' }),
    { type: 'calls_checked', at, verdicts: [{ kind: 'admitted_read', callId: '1.1' }] },
    { type: 'call_started', at, callId: '1.1' },
    {
      ...{ type: 'call_settled', at, callId: '1.1', latencyMs: 4 },
      result: {
        kind: 'ok',
        observation: { provenance: 'get_order', data: order, size: 80, hash: 'abc' },
      },
    },
    asked(2),
  ];
  const begun = [...read, proposed('c1', 'issue_refund', args)];
  const sent = [
    { type: 'calls_checked', at, verdicts: [{ kind: 'admitted_write', callId: '2.1', effect }] },
    { type: 'call_started', at, callId: '2.1', validUntil: at + 200 },
  ];
  const reread = [
    {
      ...{ type: 'call_settled', at, callId: '2.1', latencyMs: 9 },
      result: {
        kind: 'ok',
        observation: {
          ...{ provenance: 'issue_refund', data: { status: 'refunded' }, size: 21, hash: 'def' },
        },
      },
    },
    { type: 'verification_started', at, callId: '2.1' },
    {
      ...{ type: 'verification_read', at, callId: '2.1', final: false },
      read: {
        ...{ verdict: 'pending', at, latencyMs: 2 },
        observation: {
          ...{ provenance: 'reread:issue_refund', data: { refunds: 0 }, size: 13, hash: 'ghi' },
        },
      },
    },
  ];
  const asks = {
    ...{ kind: 'needs_approval', callId: '2.1', effect, approvalId: APPROVAL },
    ...{ reason: 'refund 2000 is above the limit of 0.00 EUR', seen },
  };
  const park = { number: 1, dueAt, callId: '2.1' };
  const events = {
    // Its worker was lost while the model was thinking.
    requesting_model: read,
    backing_off: [
      ...read,
      { type: 'model_failed', at, failure: { kind: 'overloaded' }, latencyMs: 5 },
      { type: 'turn_parked', at, park: { number: 1, kind: 'back_off', dueAt } },
    ],
    running_tools: [...begun, ...sent],
    awaiting_verification: [
      ...[...begun, ...sent, ...reread],
      { type: 'turn_parked', at, park: { ...park, kind: 'verification' } },
    ],
    awaiting_approval: [
      ...begun,
      { type: 'calls_checked', at, verdicts: [asks] },
      { type: 'turn_parked', at, park: { ...park, kind: 'approval', approvalId: APPROVAL } },
    ],
  }[phase];

  const mail = {
    ...{ id: message, messageId: 'm1', text: 'refund my order 1', acceptedAt: at },
    requester: { id: 'ana@example.com', assurance: 'verified' },
  };
  await redis.rpush(key(tag, 'mail', CONVERSATION), JSON.stringify(mail));
  await redis.set(key(tag, 'msg', message), '');
  await redis.hset(key(tag, 'conv', CONVERSATION), {
    ...{ turn: TURN, epoch: 1, token: '1-older', worker: 'gone', claimSeq: 0, stuck: 0, lost: 0 },
    heldUntil: '',
  });
  const waits = phase !== 'running_tools' && phase !== 'requesting_model';
  await redis.hset(key(tag, 'turn', TURN), {
    ...{ conversation: CONVERSATION, startedAt: at, messages: 1, job: '17' },
    ...(waits ? { parkNumber: 1, parkDueAt: dueAt, woken: '' } : {}),
    ...(phase === 'awaiting_approval' ? { parkKind: 'approval', approval: APPROVAL } : {}),
    ...(phase === 'awaiting_verification' ? { parkKind: 'verification', approval: '' } : {}),
    ...(phase === 'backing_off' ? { parkKind: 'back_off', approval: '' } : {}),
  });
  await redis.rpush(key(tag, 'events', TURN), ...events.map((event) => JSON.stringify(event)));
  await redis.zadd(key(tag, 'due'), dueAt, CONVERSATION);
  if (phase === 'awaiting_approval') {
    const request = {
      ...{ id: APPROVAL, conversationId: CONVERSATION, turnId: TURN, callId: '2.1' },
      ...{ tool: 'issue_refund', arguments: args, actionHash: 'older', operation },
      ...{ reason: asks.reason, seen, requestedAt: at, expiresAt: dueAt },
    };
    await redis.hset(key(tag, 'approval', APPROVAL), {
      ...{ request: JSON.stringify(request), status: 'pending', expiresAt: dueAt },
      ...{ conversation: CONVERSATION, turn: TURN },
    });
    await redis.zadd(key(tag, 'approvals'), dueAt, APPROVAL);
    return { turnId: TURN, operation };
  }
  if (phase === 'requesting_model' || phase === 'backing_off') return { turnId: TURN, operation };
  await redis.hset(key(tag, 'op', operation), {
    ...{ status: waits ? 'applied' : 'attempted', attempts: 1, actionHash: 'older', intent },
    ...{ tool: 'issue_refund', conversation: CONVERSATION, turn: TURN, attemptedAt: at },
    ...{ validUntil: at + 200 },
    row: JSON.stringify({ resource, occurrence: '', callId: '2.1', arguments: args }),
  });
  return { turnId: TURN, operation };
}
