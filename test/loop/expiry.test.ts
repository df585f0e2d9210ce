import { expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { Shop } from '../support/shop.ts';
import { openStore } from '../support/store.ts';
import { converse } from './play.ts';

test('[P7] [S2-34] 150 decisions written around the expiry, against the clock that expires them: what an approver is told is what the turn sees and does', async () => {
  const opened = await openStore();
  const outcomes = { approved: 0, expired: 0 };
  const wrong: unknown[] = [];

  for (let index = 0; index < 150; index += 1) {
    const shop = new Shop();
    shop.add({ id: '1' });
    const person = index % 2 === 0 ? 'approved' : 'rejected';
    let told = '';
    let asked: Approval | undefined;
    const conversation = await converse({
      ...{ opened, shop, conversationId: `c${index}` },
      policy: cancelThenRefund,
      approvalLimits: { EUR: 0 },
      people: async (approval, { store, clock }) => {
        const { id, expiresAt } = approval;
        asked = approval;
        // From 8 ms before the expiry to 7 ms after it, person and clock at the same moment.
        clock.offsetMs += expiresAt - store.clock().now() + (index % 16) - 8;
        const [answer] = await Promise.all(
          index % 3 === 0
            ? [store.decideApproval(id, person, `person ${index}`)]
            : [
                store.decideApproval(id, person, `person ${index}`),
                store.decideApproval(id, 'expired', 'clock'),
              ],
        );
        told = 'status' in answer ? answer.status : answer.kind;
      },
    });

    await conversation.say();

    const { reason } = await conversation.turn();
    const refunds = shop.effects.filter(({ kind }) => kind === 'refund').length;
    const seen = {
      approved: 'replied',
      rejected: 'approval_rejected',
      expired: 'approval_expired',
    };
    if (reason !== seen[told as keyof typeof seen] || refunds !== (told === 'approved' ? 1 : 0)) {
      wrong.push({ index, told, reason, refunds });
    }
    // The moment itself belongs to the clock: the last yes or no is of the millisecond before it.
    const decided = await conversation.records.approval(asked?.id ?? '');
    const at = decided && 'decidedAt' in decided ? decided.decidedAt : 0;
    if (told === 'expired' ? at < (asked?.expiresAt ?? 0) : at >= (asked?.expiresAt ?? 0)) {
      wrong.push({ index, told, decided });
    }
    if (told === 'expired') outcomes.expired += 1;
    else outcomes.approved += 1;
  }

  expect(wrong).toEqual([]);
  // Some came in time and some did not, or this would prove nothing.
  expect(outcomes.approved).toBeGreaterThan(10);
  expect(outcomes.expired).toBeGreaterThan(10);
}, 120_000);
