import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProposalInput, TurnEvent } from '../../src/contracts/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { driveToRest } from '../support/driver.ts';
import { ticket } from '../support/rig.ts';
import { Shop, shopTools, type Fault } from '../support/shop.ts';
import { openStore } from '../support/store.ts';

const writeFault = fc.constantFrom<Fault>(
  'none',
  'refuse',
  'unavailable',
  'lost_before',
  'lost_after',
  'late',
  'ack_only',
  'garbage',
);
const script = fc.record({
  cancel: fc.array(writeFault, { maxLength: 3 }),
  refund: fc.array(writeFault, { maxLength: 3 }),
  get: fc.array(fc.constantFrom<Fault>('none', 'none', 'unavailable', 'lost_before'), {
    maxLength: 6,
  }),
  settleReads: fc.integer({ min: 0, max: 6 }),
  blocked: fc.boolean(),
  idempotent: fc.boolean(),
  crashes: fc.array(fc.record({ step: fc.integer({ min: 1, max: 25 }), after: fc.boolean() }), {
    maxLength: 5,
  }),
});

describe('whatever fails and whenever the worker dies', () => {
  // A hundred and fifty worlds, each with a turn that is killed and recovered.
  test(
    '[P4] [P6] [S0-48] [S2-05] [S2-15] no refund is sent while its cancellation is unverified, and none is paid twice',
    { timeout: 150_000 },
    async () => {
      const { store, records, clock } = await openStore();
      let run = 0;
      let paid = 0;

      await fc.assert(
        fc.asyncProperty(script, async ({ cancel, refund, get, crashes, ...world }) => {
          run += 1;
          const conversation = `c${run}`;
          const shop = Object.assign(new Shop(), world);
          shop.add({ id: String(run) });
          Object.assign(shop.faults, { cancel: [...cancel], refund: [...refund], get: [...get] });
          shop.now = () => store.clock().now();
          await store.acceptMessage(
            ticket({ conversationId: conversation, subject: `Order ${run}` }),
          );

          await driveToRest(
            {
              store,
              clock,
              model: scriptedModel((view) =>
                forOrder(String(run), cancelThenRefund(view) as ProposalInput),
              ),
              tools: shopTools(shop),
              crashes,
            },
            `test/${conversation}`,
          );

          const refunds = shop.effects.filter(({ kind }) => kind === 'refund');
          expect(refunds.length).toBeLessThanOrEqual(1);
          expect(shop.effects.filter(({ kind }) => kind === 'cancel').length).toBeLessThanOrEqual(
            1,
          );
          for (const { statusThen } of refunds) expect(statusThen).toBe('cancelled');
          paid += refunds.length;
          const [turn] = await records.turnsOf(`test/${conversation}`);
          expectProofBeforeMoney(turn?.events ?? []);
          // What the record claims is what the shop knows.
          const rows = await records.ledger(`test/${conversation}`);
          for (const row of rows.filter(({ status }) => status === 'verified')) {
            expect(shop.effects.some(({ operation }) => operation === row.operation)).toBe(true);
          }
        }),
        { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 150), endOnFailure: true },
      );

      expect(paid).toBeGreaterThan(run / 10);
    },
  );
});

function forOrder(orderId: string, proposal: ProposalInput): ProposalInput {
  if (proposal.kind !== 'tool_calls') return proposal;
  return {
    ...proposal,
    calls: proposal.calls.map((call) => ({
      ...call,
      arguments: { ...(call.arguments as object), orderId },
    })),
  };
}

function expectProofBeforeMoney(events: readonly TurnEvent[]): void {
  const toolOf = new Map<string, string>();
  let round = 0;
  let cancelProven = false;
  for (const event of events) {
    if (event.type === 'model_responded') {
      round += 1;
      if (event.proposal.kind === 'tool_calls') {
        for (const [index, call] of event.proposal.calls.entries()) {
          toolOf.set(`${round}.${index + 1}`, call.tool);
        }
      }
    }
    if (event.type === 'model_failed' && event.failure.kind === 'invalid_proposal') round += 1;
    if (event.type === 'verification_read' && event.read.verdict === 'landed') {
      if (toolOf.get(event.callId) === 'cancel_order') cancelProven = true;
    }
    if (event.type === 'call_started' && toolOf.get(event.callId) === 'issue_refund') {
      expect(cancelProven).toBe(true);
    }
  }
}
