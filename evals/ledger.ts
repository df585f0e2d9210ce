import type { EffectRefusal, LedgerRow } from '../src/contracts/index.ts';
import type { Claim, EffectMove, Reservation } from '../src/loop/index.ts';

const LIVE: ReadonlySet<string> = new Set(['attempted', 'applied', 'unknown', 'verified']);

/** The ledger of one conversation in memory, with the rules of the stored one. */
export class MemoryLedger {
  readonly #rows = new Map<string, LedgerRow>();

  /** Oldest first. */
  rows(): LedgerRow[] {
    return [...this.#rows.values()];
  }

  /** Why the write may not run; nothing when it may. */
  refusal(
    { intent }: Claim,
    wanted: Omit<Reservation, 'callId' | 'arguments'>,
  ): EffectRefusal | undefined {
    const known = this.#rows.get(wanted.operation);
    if (known !== undefined && LIVE.has(known.status)) {
      const same = known.actionHash === wanted.actionHash;
      return { refusal: same ? 'duplicate' : 'conflict', earlier: earlierOf(known) };
    }
    if (wanted.after !== undefined) {
      const before = this.#rows.get(wanted.after);
      if (before?.status !== 'verified' || before.tool !== wanted.tool) {
        return {
          refusal: 'unknown_predecessor',
          ...(before === undefined ? {} : { earlier: earlierOf(before) }),
        };
      }
    }
    const repeated = this.rows().find(
      (row) =>
        row.operation !== wanted.operation &&
        row.tool === wanted.tool &&
        row.resource === wanted.resource &&
        row.intent !== intent &&
        LIVE.has(row.status),
    );
    return repeated && { refusal: 'possible_repeat', earlier: earlierOf(repeated) };
  }

  /** Writes the row of a write that is about to be sent. */
  reserve({ conversationId, turnId, intent }: Claim, wanted: Reservation, now: number): void {
    const { after: _after, validUntil, ...rest } = wanted;
    const attempts = (this.#rows.get(wanted.operation)?.attempts ?? 0) + 1;
    this.#rows.set(wanted.operation, {
      ...rest,
      conversationId,
      turnId,
      intent,
      status: 'attempted',
      attempts,
      attemptedAt: now,
      ...(validUntil === undefined ? {} : { validUntil }),
    });
  }

  /** A verified row never moves again. */
  move(moves: readonly EffectMove[], now: number): void {
    for (const { operation, status, outcome } of moves) {
      const row = this.#rows.get(operation);
      if (row === undefined || row.status === 'verified') continue;
      this.#rows.set(operation, {
        ...row,
        status,
        ...(outcome === undefined ? {} : { outcome }),
        ...(status === 'verified' ? { verifiedAt: now } : { settledAt: now }),
      });
    }
  }
}

function earlierOf({ operation, status, validUntil, outcome }: LedgerRow) {
  return { operation, status, validUntil, outcome };
}
