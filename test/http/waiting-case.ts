import type { ApprovalRequest, TurnEvent } from '../../src/contracts/index.ts';
import type { Claim } from '../../src/loop/index.ts';
import { reservation, transition } from '../support/store.ts';
import {
  asks,
  at,
  begun,
  checked,
  observation,
  parked,
  read,
  requested,
  responded,
  started,
} from '../support/turn-events.ts';
import { message, startService, type ServiceOptions } from './service.ts';

/** What nobody but an auditor may read. The first two are what customers write, the last what tools say. */
export const SECRETS = {
  mail: 'ana.private@example.com',
  card: '4111 1111 1111 1111',
  toolSaid: 'lives at Elm Street 5',
} as const;

/**
 * One conversation of source `north` whose turn has read an order and waits for somebody to approve a refund; one effect
 * of it is on its way.
 */
export async function startWithWaitingTurn(options: ServiceOptions = {}) {
  const service = await startService(options);
  const { store, keys } = service;
  const handedIn = await store.acceptMessage({
    ...message({ source: 'north' }),
    text: `My card is ${SECRETS.card}, write to ${SECRETS.mail}`,
    requester: { id: SECRETS.mail, assurance: 'verified' },
  });
  const claimed = await store.claimTurn('north/c1', { jobId: 'job1', workerId: 'w1' });
  if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
  const { claim } = claimed.turn;
  const reads: TurnEvent[] = [
    started(),
    requested(),
    proposing('look_up_order', { data: SECRETS.mail }),
    checked(read('1.1')),
    begun('1.1'),
    {
      type: 'call_settled',
      at,
      callId: '1.1',
      result: { kind: 'ok', observation: observation('1.1', { note: SECRETS.toolSaid }) },
      latencyMs: 1,
    },
    requested(),
    proposing('issue_refund', { to: SECRETS.mail, cents: 4_200 }),
    checked(seeing(SECRETS.toolSaid)),
  ];
  const effect = reservation({ operation: 'opNorth', arguments: { to: SECRETS.mail } });
  await store.record(claim, transition(0, ...reads), effect);
  await waitForApproval(service, claim, reads.length);
  const { key } = await keys.create({
    name: 'eve',
    roles: ['ingest'],
    source: 'north',
    by: 'test',
  });
  const named = {
    message: handedIn.id,
    turn: claim.turnId,
    approval: 'apNorth',
    operation: 'opNorth',
    key: key.id,
  };
  return { ...service, claim, named, events: reads.length + 1 };
}

function proposing(tool: string, given: object): TurnEvent {
  return responded({ kind: 'tool_calls', calls: [{ id: 'c0', tool, arguments: given }] });
}

function seeing(text: string) {
  return { ...asks('2.1', 'apNorth'), seen: { note: text } } as ReturnType<typeof asks>;
}

async function waitForApproval(
  { store }: Awaited<ReturnType<typeof startService>>,
  claim: Claim,
  seq: number,
): Promise<void> {
  const now = store.clock().now();
  const approval: ApprovalRequest = {
    ...{ id: 'apNorth', conversationId: 'north/c1', turnId: claim.turnId, callId: '2.1' },
    ...{ tool: 'issue_refund', arguments: { to: SECRETS.mail, cents: 4_200 }, actionHash: 'h' },
    ...{ operation: 'opOther', reason: 'above the limit', seen: { note: SECRETS.toolSaid } },
    ...{ requestedAt: now, expiresAt: now + 60_000 },
  };
  const park = {
    number: 1,
    kind: 'approval',
    dueAt: now + 60_000,
    approvalId: approval.id,
  } as const;
  await store.park(claim, transition(seq, { ...parked('approval'), park } as TurnEvent), {
    ...{ park, approval, deliveries: [] },
  });
}
