import type {
  AcceptedMessage,
  Account,
  Approval,
  Delivery,
  Ending,
  Facts,
  Park,
  TurnEvent,
  VerificationRead,
} from '../src/contracts/index.ts';
import {
  digest,
  HISTORY_SHOWN,
  intentOf,
  LostClaimError,
  type Claim,
  type ClaimedTurn,
  type Clock,
  type Commit,
  type Committed,
  type HistoryEntry,
  type Reservation,
  type Recorded,
  type Signal,
  type StakeBooking,
  type Transition,
  type TurnStore,
} from '../src/loop/index.ts';
import { MemoryLedger } from './ledger.ts';

/** A turn as it is on record. */
export type StoredTurn = {
  turnId: string;
  intent: string;
  messages: readonly AcceptedMessage[];
  events: TurnEvent[];
  /** What it waits for, while it waits. */
  park?: Park;
  reads: { read: VerificationRead; final: boolean }[];
  approval?: Approval;
  ending?: Ending;
};

/** One conversation in memory behind the store port of the loop: what the evaluations have in place of Redis. */
export class MemoryStore implements TurnStore {
  readonly turns: StoredTurn[] = [];
  readonly history: HistoryEntry[] = [];
  readonly deliveries: Delivery[] = [];
  readonly ledger = new MemoryLedger();
  readonly #clock: Clock;
  readonly #conversationId: string;
  readonly #mailbox: AcceptedMessage[] = [];
  readonly #booked = new Map<string, StakeBooking>();
  /** Accounts of models that are limited, and until when. */
  readonly #limited = new Map<string, number>();
  #open: StoredTurn | undefined;
  #owner: ClaimedTurn['owner'] = 'agent';
  #facts: Facts = {};
  account?: Account;
  #signal: Signal | undefined;
  #epoch = 0;

  constructor(conversationId: string, clock: Clock) {
    this.#conversationId = conversationId;
    this.#clock = clock;
  }

  // --- the host's side ----------------------------------------------------------------------------------------------

  accept(message: Pick<AcceptedMessage, 'messageId' | 'text' | 'requester'>): void {
    const id = digest('message', this.#conversationId, message.messageId);
    this.#mailbox.push({ id, acceptedAt: this.#clock.now(), ...message });
  }

  /** Goes on with the open turn or opens one for the oldest message; nothing when nobody waits for an answer. */
  claim(): ClaimedTurn | undefined {
    const turn = this.#open ?? this.#openTurn();
    if (turn === undefined) return undefined;
    this.#epoch += 1;
    const { turnId, intent, messages, events, park, reads, approval } = turn;
    return {
      claim: {
        conversationId: this.#conversationId,
        turnId,
        intent,
        token: String(this.#epoch),
        jobId: 'evaluation',
        workerId: 'evaluation',
      },
      epoch: this.#epoch,
      intent,
      owner: this.#owner,
      messages,
      events: [...events],
      facts: this.#facts,
      history: this.history.slice(-HISTORY_SHOWN),
      limited: Object.fromEntries(this.#limited),
      ...(park === undefined ? {} : { park, reads }),
      ...(approval === undefined ? {} : { approval }),
      ...(this.#signal === undefined ? {} : { signal: this.#signal }),
      ...(this.account === undefined ? {} : { account: this.account }),
    };
  }

  /** The turn that waits, if one does. */
  get parked(): (StoredTurn & { park: Park }) | undefined {
    const park = this.#open?.park;
    return this.#open === undefined || park === undefined ? undefined : { ...this.#open, park };
  }

  storeVerdict(read: VerificationRead, final: boolean): void {
    this.#open?.reads.push({ read, final });
  }

  decide(status: 'approved' | 'rejected' | 'expired', by: string): void {
    const approval = this.#open?.approval;
    if (this.#open === undefined || approval?.status !== 'pending') return;
    this.#open.approval = { ...approval, status, by, decidedAt: this.#clock.now() };
  }

  /** Somebody takes the conversation over; the open turn is to stop. */
  takeOver(by: string): void {
    this.#owner = 'human';
    this.#signal = { cause: 'human_takeover', by, requestedAt: this.#clock.now() };
  }

  // --- the loop's side ----------------------------------------------------------------------------------------------

  async record(claim: Claim, transition: Transition, reservation?: Reservation): Promise<Recorded> {
    const turn = this.#held(claim);
    const signal = this.#unheeded(transition);
    if (signal !== undefined) return { kind: 'stopped', signal };
    const now = this.#clock.now();
    const until = this.#limited.get(transition.account ?? '') ?? 0;
    if (until > now) return { kind: 'limited', until };
    if (reservation !== undefined) {
      const refusal = this.ledger.refusal(claim, reservation);
      if (refusal !== undefined) return { kind: 'refused', refusal };
      this.ledger.reserve(claim, reservation, now);
    }
    this.#append(turn, transition);
    delete turn.park;
    return { kind: 'recorded' };
  }

  async peekEffect(...asked: Parameters<TurnStore['peekEffect']>) {
    const [claim, reservation] = asked;
    this.#held(claim);
    return this.ledger.refusal(claim, reservation);
  }

  async bookStake(booking: StakeBooking): Promise<'booked' | 'over'> {
    const { operation, amount, cap = Infinity } = booking;
    if (this.#booked.has(operation)) return 'booked';
    const booked = [...this.#booked.values()].filter(
      (one) =>
        one.customer === booking.customer &&
        one.day === booking.day &&
        one.currency === booking.currency,
    );
    if (booked.reduce((sum, one) => sum + one.amount, amount) > cap) return 'over';
    this.#booked.set(operation, booking);
    return 'booked';
  }

  async limitAccount(account: string, until: number): Promise<void> {
    this.#limited.set(account, until);
  }

  async park(...[claim, transition, wait]: Parameters<TurnStore['park']>) {
    const turn = this.#held(claim);
    const signal = this.#unheeded(transition);
    if (signal !== undefined) return { kind: 'stopped', signal } as const;
    this.#append(turn, transition);
    const { park, approval, deliveries } = wait;
    if (turn.park?.number !== park.number) turn.reads = [];
    turn.park = park;
    if (approval !== undefined && turn.approval?.id !== approval.id) {
      turn.approval = { ...approval, status: 'pending' };
    }
    return { kind: 'parked', unsettled: this.#deliver(deliveries) } as const;
  }

  async commit(claim: Claim, transition: Transition, commit: Commit): Promise<Committed> {
    const turn = this.#held(claim);
    this.#append(turn, transition);
    const answered = new Set(commit.answered);
    const left = this.#mailbox.filter(({ id }) => !answered.has(id));
    this.#mailbox.splice(0, this.#mailbox.length, ...left);
    this.history.push(commit.history);
    this.#facts = { ...this.#facts, ...commit.facts };
    this.account = commit.account;
    if (commit.handsOver) this.#owner = 'human';
    turn.ending = commit.ending;
    delete turn.park;
    this.#open = undefined;
    this.#signal = undefined;
    return {
      kind: 'committed' as const,
      waiting: this.#mailbox.length,
      unsettled: this.#deliver(commit.deliveries),
    };
  }

  // --- parts --------------------------------------------------------------------------------------------------------

  #openTurn(): StoredTurn | undefined {
    const [oldest] = this.#mailbox;
    if (oldest === undefined) return undefined;
    const turn: StoredTurn = {
      turnId: digest('turn', oldest.id),
      intent: intentOf(this.#conversationId, oldest.id),
      messages: [oldest],
      events: [],
      reads: [],
    };
    this.turns.push(turn);
    this.#open = turn;
    return turn;
  }

  /** @throws LostClaimError when another claim is the current one */
  #held(claim: Claim): StoredTurn {
    if (this.#open?.turnId !== claim.turnId || claim.token !== String(this.#epoch)) {
      throw new LostClaimError(this.#conversationId);
    }
    return this.#open;
  }

  #unheeded({ heeded }: Transition): Signal | undefined {
    return this.#signal?.requestedAt === heeded ? undefined : this.#signal;
  }

  #append(turn: StoredTurn, { seq, events, moves }: Transition): void {
    if (turn.events.length !== seq) {
      throw new RangeError(`turn ${turn.turnId} is at event ${turn.events.length}, not at ${seq}`);
    }
    turn.events.push(...events);
    this.ledger.move(moves, this.#clock.now());
  }

  /** A delivery that is there already is not written again; answers how many are on their way. */
  #deliver(deliveries: readonly Delivery[]): number {
    const known = new Set(this.deliveries.map(({ id }) => id));
    this.deliveries.push(...deliveries.filter(({ id }) => !known.has(id)));
    return deliveries.length;
  }
}
