import type { CallVerdict } from '../contracts/index.ts';
import type { Passed } from './check.ts';
import { canonicalJson, digest } from './identity.ts';
import type { OpenTurn } from './open-turn.ts';
import { principalOf, type ApprovalState, type Ports } from './ports.ts';
import { hashOfCall, reservationOf } from './reservation.ts';
import { formatMoney, limitIn } from './risk.ts';
import type { CallState } from './state.ts';

/**
 * The last step of the checks, where the ledger, the customer's day and the world are asked. A write that a person must
 * agree to is compared with the action and the world that person saw, and the policy they agreed under: anything else is asked for again.
 */
export async function admit(
  call: CallState,
  passed: Passed,
  { claimed, state }: OpenTurn,
  { store, tools, rules, clock }: Ports,
  stateForPerson: () => Promise<ApprovalState>,
): Promise<CallVerdict> {
  const { effect, origins, request, stake } = passed;
  const base = { callId: call.id, ...(request === undefined ? {} : { request }) };
  if (effect === undefined) return { kind: 'admitted_read', ...base };
  const write = { ...base, effect, ...(origins === undefined ? {} : { origins }) };

  const cap = stake && limitIn(rules.risk.customerDay, stake.currency);
  const book = async (limit?: number): Promise<'booked' | 'over'> => {
    if (stake === undefined || cap === undefined) return 'booked';
    return store.bookStake({
      customer: principalOf(claimed.messages).id,
      day: new Date(clock.now()).toISOString().slice(0, 10),
      currency: stake.currency,
      operation: effect.operation,
      amount: stake.amount,
      ...(limit === undefined ? {} : { cap: limit }),
    });
  };
  let reason = passed.person;
  if (reason === undefined && (await book(cap)) === 'over') {
    const limit = formatMoney(cap ?? 0, stake?.currency ?? '');
    reason = `with ${stake?.summary ?? 'it'} this customer's day is above ${limit}`;
  }
  if (reason === undefined) return { kind: 'admitted_write', ...write };

  const refusal = await store.peekEffect(claimed.claim, reservationOf(call, effect, tools));
  if (refusal !== undefined) return { kind: 'on_record', callId: call.id, effect, refusal };
  const shown = await stateForPerson();
  if (!shown.ok) {
    const { code, message } = shown;
    return { kind: 'rejected', ...base, check: 'approval', code, message };
  }
  const seen = shown.state;
  const policy = rules.risk.version;
  const given = call.approval;
  // The frozen arguments went through the contract again, which may read them otherwise than when somebody agreed.
  const agreed = claimed.approval?.id === given?.id ? claimed.approval?.actionHash : undefined;
  if (
    given?.policy === policy &&
    agreed === hashOfCall(call, tools) &&
    canonicalJson(given.seen) === canonicalJson(seen)
  ) {
    await book();
    return { kind: 'admitted_write', ...write };
  }
  const approvalId = digest('approval', claimed.claim.turnId, call.id, String(state.spent.parks));
  return { kind: 'needs_approval', ...write, approvalId, reason, seen, policy };
}
