import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import {
  acceptedMessageSchema,
  accountSchema,
  type AcceptedMessage,
  type Account,
  type ApprovalDecision,
  type Delivery,
  type EffectRefusal,
  type EffectStatus,
  type Park,
  type TicketMessage,
  type VerificationRead,
} from '../contracts/index.ts';
import {
  currentCalls,
  deadlineOf,
  digest,
  fold,
  HISTORY_SHOWN,
  LostClaimError,
  type CallState,
  type Claim,
  type Clock,
  type ClaimedTurn,
  type Commit,
  type Committed,
  type ParkWait,
  type Recorded,
  type Reservation,
  type Signal,
  type StakeBooking,
  type Transition,
  type TurnState,
  type TurnStore,
} from '../loop/index.ts';
import { hash, parkOf, readClaimedTurn, readEvents, readsOf } from './claimed-turn.ts';
import { conversationIdOf, externalIdOf, messageIdOf, sourceOf } from './conversation-id.ts';
import { LaneCountError, UnexpectedReplyError } from './errors.ts';
import { encodeEvent } from './event-codec.ts';
import { key, laneTag } from './keys.ts';
import { DEFAULT_RETENTION, type Retention } from './retention.ts';
import { loadScripts, type ScriptArgument, type ScriptName } from './scripts.ts';

export type StoreOptions = {
  redis: Redis;
  /** Hash tag prefix; the lane number follows it. Default `tk`. */
  prefix?: string;
  /** Default 1. */
  lanes?: number;
  retention?: Partial<Retention>;
  /** Milliseconds added to Redis' clock; only tests set it. */
  clockOffsetMs?: () => number;
  /** After this long without any sign of life the reconciler looks at a conversation. Default 15,000. */
  slackMs?: number;
};

export type Accepted = {
  kind: 'accepted' | 'known';
  conversationId: string;
  /** Our name of the message. */
  id: string;
  /** The turn that answered it, once there is one. */
  turnId?: string;
  /** Nobody had to be answered before it: somebody must be woken. */
  first?: boolean;
  /** The parked turn it ends, which must be woken. */
  superseded?: string;
  /** A batch has woken the conversation before: that poke now is a live one. */
  overtakes?: boolean;
};

/** Which job of which worker process claims; the nonce tells a repeat of the same claim. */
export type Claimer = { jobId: string; workerId: string; nonce?: string; burstMs?: number };

export type ClaimReply =
  | { kind: 'empty' }
  | { kind: 'parked' | 'held'; until: number }
  | { kind: 'claimed'; turn: ClaimedTurn };

export type ApprovalAnswer =
  | { kind: 'not_found' }
  | { kind: 'not_due'; expiresAt: number }
  | {
      kind: 'decided' | 'already';
      status: ApprovalDecision;
      by: string;
      decidedAt: number;
      comment: string;
      conversationId: string;
      turnId: string;
    };

export type StopAnswer =
  | { kind: 'not_open' }
  | {
      kind: 'requested' | 'already';
      /** It waits without a worker and must be woken. */
      parked: boolean;
      signal: Signal;
    };

export type EffectAnswer =
  | { kind: 'not_found' }
  /** Its turn is still open and may find out by itself. */
  | { kind: 'in_flight'; conversationId: string; turnId: string }
  | { kind: 'settled' | 'already'; status: EffectStatus; conversationId: string; turnId: string };

/** What a person wrote to the customer in public. `messageId` as the source names it. */
export type HumanMessage = { messageId: string; text: string };

export type ParkedTurn = {
  turnId: string;
  park: Park;
  /** The job whose child wakes it. */
  jobId: string;
  /** What it waited for has happened. */
  woken: boolean;
  calls: readonly CallState[];
  /** How long a re-read may give no sign of progress. Milliseconds. */
  silenceMs: number;
  /** Its accounts, with what the re-reads of its wait have cost. */
  accounts: Pick<TurnState, 'spent' | 'limits'>;
  /** What its conversation had used before it. */
  account?: Account;
  /** When the turn runs out of time, in milliseconds since the epoch. */
  deadline: number;
  messages: readonly AcceptedMessage[];
};

export type DeliveryClaim =
  | { kind: 'empty' }
  | { kind: 'wait'; until: number }
  | {
      kind: 'send' | 'recheck';
      delivery: Delivery;
      source: string;
      externalId: string;
      attempts: number;
      until: number;
    };

/** After a decision the turn is woken at once; this much later the reconciler makes sure of it. */
const WAKE_UP_GRACE_MS = 1_000;

/** Claims without progress before a turn is given up: by workers that lived on, and by workers that were lost. */
const STUCK_LIMIT = 10;
const LOST_LIMIT = 25;

/** The durable side of everything, on Redis. Each verb is one script: atomic, fenced by its token, safe to repeat. */
export class Store implements TurnStore {
  readonly redis: Redis;
  readonly lanes: number;
  readonly prefix: string;
  readonly #run: Record<ScriptName, (tag: string, ...args: ScriptArgument[]) => Promise<unknown>>;
  readonly #offset: () => number;

  constructor(options: StoreOptions) {
    this.redis = options.redis;
    this.lanes = options.lanes ?? 1;
    this.prefix = options.prefix ?? 'tk';
    const slackMs = options.slackMs ?? 15_000;
    const retention: Retention = { ...DEFAULT_RETENTION, ...options.retention };
    this.#run = loadScripts(options.redis, { ...retention, slackMs, wakeUpMs: WAKE_UP_GRACE_MS });
    this.#offset = options.clockOffsetMs ?? (() => 0);
  }

  /** Fixes the number of lanes at the first start. @throws LaneCountError */
  async open(): Promise<void> {
    const meta = key(laneTag(this.prefix, 0), 'meta');
    await this.redis.hsetnx(meta, 'lanes', this.lanes);
    const stored = Number(await this.redis.hget(meta, 'lanes'));
    if (stored !== this.lanes) throw new LaneCountError(stored, this.lanes);
  }

  tags(): string[] {
    return Array.from({ length: this.lanes }, (_, lane) => laneTag(this.prefix, lane));
  }

  /** The hash tag of the lane a conversation lives in. */
  tagOf(conversationId: string): string {
    if (this.lanes === 1) return laneTag(this.prefix, 0);
    const hash = createHash('sha256').update(conversationId).digest().readUInt32BE(0);
    return laneTag(this.prefix, hash % this.lanes);
  }

  clock(): Clock {
    return { now: () => Date.now() + this.#offset() };
  }

  // --- intake -------------------------------------------------------------------------------------------------------

  async acceptMessage(message: TicketMessage): Promise<Accepted> {
    const { source, conversationId: externalId, messageId, deliveryId, ...rest } = message;
    const conversationId = conversationIdOf(source, externalId);
    const id = messageIdOf(source, externalId, messageId);
    const reply = await this.#call(
      'accept-message',
      conversationId,
      conversationId,
      id,
      deliveryId === undefined ? '' : digest('delivery', source, deliveryId),
      JSON.stringify({ id, messageId, ...rest }),
      this.#offset(),
      conversationId === `${source}/${externalId}` ? '' : externalId,
    );
    if (reply[0] === 'accepted') {
      const superseded = asText(reply[2]);
      return {
        kind: 'accepted',
        conversationId,
        id,
        first: reply[1] === 1,
        ...(superseded === '' ? {} : { superseded }),
        ...(Number(reply[3]) > 0 ? { overtakes: true } : {}),
      };
    }
    if (reply[0] !== 'known') throw new UnexpectedReplyError('accept-message', reply);
    const turnId = asText(reply[1]);
    return { kind: 'known', conversationId, id, ...(turnId === '' ? {} : { turnId }) };
  }

  // --- turns --------------------------------------------------------------------------------------------------------

  /** Claims a conversation for one worker. A repeat with the same nonce gets the same claim. */
  async claimTurn(conversationId: string, claimer: Claimer): Promise<ClaimReply> {
    const reply = await this.#call(
      'claim-turn',
      conversationId,
      conversationId,
      this.#claimer(claimer),
      this.#offset(),
      STUCK_LIMIT,
      LOST_LIMIT,
    );
    switch (reply[0]) {
      case 'empty':
        return { kind: 'empty' };
      case 'parked':
      case 'held':
        return { kind: reply[0], until: Number(reply[1]) };
      case 'claimed':
        return { kind: 'claimed', turn: readClaimedTurn(conversationId, claimer, reply) };
      default:
        throw new UnexpectedReplyError('claim-turn', reply);
    }
  }

  async record(claim: Claim, transition: Transition, reservation?: Reservation): Promise<Recorded> {
    const { conversationId } = claim;
    const wanted = reservation === undefined ? '' : this.#reservation(claim, reservation, false);
    const reply = await this.#transition('record-transition', claim, transition, [
      jsonList(transition.moves.map(moveArgument)),
      wanted,
      transition.heeded ?? '',
      transition.account ?? '',
    ]);
    switch (reply[0]) {
      case 'recorded':
        return { kind: 'recorded' };
      case 'stopped':
        return { kind: 'stopped', signal: readSignal(reply[1]) };
      case 'limited':
        return { kind: 'limited', until: Number(reply[1]) };
      case 'refused':
        return { kind: 'refused', refusal: readRefusal(reply) };
      case 'lost-claim':
        throw new LostClaimError(conversationId);
      default:
        throw new UnexpectedReplyError('record-transition', reply);
    }
  }

  async peekEffect(
    claim: Claim,
    reservation: Omit<Reservation, 'callId' | 'arguments'>,
  ): Promise<EffectRefusal | undefined> {
    const full = { ...reservation, callId: '', arguments: null };
    const nothing: Transition = { seq: 0, events: [], moves: [] };
    const reply = await this.#transition('record-transition', claim, nothing, [
      '',
      this.#reservation(claim, full, true),
      '',
      '',
    ]);
    if (reply[0] === 'refused') return readRefusal(reply);
    if (reply[0] === 'lost-claim') throw new LostClaimError(claim.conversationId);
    return undefined;
  }

  /** Runs a script in the lane of a conversation, or in the first lane: for the parts of the store that have files of their own. */
  async run(
    script: ScriptName,
    conversationId: string | null,
    ...args: ScriptArgument[]
  ): Promise<unknown[]> {
    const tag = conversationId === null ? this.tags()[0] : this.tagOf(conversationId);
    return list(await this.#run[script](tag ?? '', ...args));
  }

  async limitAccount(account: string, until: number): Promise<void> {
    await Promise.all(
      this.tags().map((tag) =>
        this.#run['limit-account'](tag, account, Math.ceil(until), this.#offset()),
      ),
    );
  }

  async bookStake({
    customer,
    day,
    currency,
    operation,
    amount,
    cap,
  }: StakeBooking): Promise<'booked' | 'over'> {
    const args = [digest('stake', customer, day, currency), operation, amount, cap ?? ''];
    const reply = await this.#run['book-stake'](this.tagOf(customer), ...args);
    return reply === 'over' ? 'over' : 'booked';
  }

  async park(
    claim: Claim,
    transition: Transition,
    wait: ParkWait,
  ): Promise<{ kind: 'parked'; unsettled: number } | { kind: 'stopped'; signal: Signal }> {
    const reply = await this.#transition('park-turn', claim, transition, [
      jsonList(transition.moves.map(moveArgument)),
      JSON.stringify(wait.park),
      wait.approval?.id ?? '',
      wait.approval === undefined ? '' : JSON.stringify(wait.approval),
      jsonList(wait.deliveries.map(deliveryArgument)),
      transition.heeded ?? '',
      wait.supersede ? '1' : '',
    ]);
    if (reply[0] === 'stopped') return { kind: 'stopped', signal: readSignal(reply[1]) };
    if (reply[0] === 'lost-claim') throw new LostClaimError(claim.conversationId);
    if (reply[0] !== 'parked') throw new UnexpectedReplyError('park-turn', reply);
    return { kind: 'parked', unsettled: Number(reply[1]) };
  }

  async commit(
    claim: Claim,
    transition: Transition,
    commit: Commit,
  ): Promise<Committed | { kind: 'stopped'; signal: Signal }> {
    const { conversationId, turnId, token } = claim;
    const facts = Object.entries(commit.facts).flatMap(([resource, fact]) => [
      resource,
      JSON.stringify(fact),
    ]);
    const reply = await this.#call(
      'commit-turn',
      conversationId,
      conversationId,
      turnId,
      token,
      transition.seq,
      this.#offset(),
      jsonList(transition.moves.map(moveArgument)),
      commit.ending.outcome,
      commit.ending.reason,
      JSON.stringify(commit.history),
      jsonList(commit.deliveries.map(deliveryArgument)),
      jsonList(facts),
      commit.handsOver ? '1' : '',
      commit.takeNext === undefined ? '' : this.#claimer({ ...claim, ...commit.takeNext }),
      commit.answered.map((id) => `${id},`).join(''),
      JSON.stringify(commit.account),
      transition.heeded ?? '',
      ...transition.events.map(encodeEvent),
    );
    if (reply[0] === 'lost-claim') throw new LostClaimError(conversationId);
    if (reply[0] === 'stopped') return { kind: 'stopped', signal: readSignal(reply[1]) };
    if (reply[0] !== 'committed') throw new UnexpectedReplyError('commit-turn', reply);
    const next = list(reply[3]);
    return {
      kind: 'committed',
      waiting: Number(reply[1]),
      unsettled: Number(reply[2]),
      ...(next.length === 0 ? {} : { next: readClaimedTurn(conversationId, claim, next) }),
    };
  }

  /**
   * Fills in what a source had left out of a message of a claimed turn. `duplicate`: under the id the source gives it, it was
   * handed over before. @throws LostClaimError
   */
  async resolveMessage(
    { conversationId, token }: Claim,
    place: number,
    message: AcceptedMessage,
  ): Promise<'resolved' | 'duplicate'> {
    const alias = messageIdOf(
      sourceOf(conversationId),
      externalIdOf(conversationId),
      message.messageId,
    );
    const [answer] = await this.#call(
      'resolve-message',
      conversationId,
      conversationId,
      token,
      place,
      JSON.stringify(message),
      alias === message.id ? '' : alias,
    );
    if (answer === 'lost-claim') throw new LostClaimError(conversationId);
    return answer === 'duplicate' ? 'duplicate' : 'resolved';
  }

  /** The claimer's own code failed: counts it and says when the turn may be tried again. */
  async releaseClaim(claim: Claim): Promise<{ until: number; stuck: number } | undefined> {
    const reply = await this.#call(
      'release-claim',
      claim.conversationId,
      claim.conversationId,
      claim.token,
      this.#offset(),
      STUCK_LIMIT,
    );
    if (reply[0] === 'lost-claim') return undefined;
    return { until: Number(reply[1]), stuck: Number(reply[2]) };
  }

  // --- stopping and taking over -------------------------------------------------------------------------------------

  /** Asks a turn to stop; it does so at its next step, and whoever has it is told at once. */
  async requestStop(
    conversationId: string,
    turnId: string,
    signal: { cause: 'cancelled'; by: string; reason: string },
  ): Promise<StopAnswer> {
    const reply = await this.#call(
      'request-stop',
      conversationId,
      conversationId,
      turnId,
      JSON.stringify(signal),
      this.#offset(),
    );
    if (reply[0] === 'not-open') return { kind: 'not_open' };
    const kind = reply[0] === 'requested' ? 'requested' : 'already';
    return { kind, parked: reply[1] === 'wake', signal: readSignal(reply[2]) };
  }

  /**
   * Gives a conversation to a person. From then on nothing is started in it; what the agent still wanted to say is not
   * sent. `message`: what the person wrote in public; it enters the history once.
   */
  async takeOver(
    conversationId: string,
    { by, reason, message }: { by: string; reason: string; message?: HumanMessage },
  ): Promise<{ kind: 'taken' | 'already'; turnId: string; parked: boolean; waiting: number }> {
    const entry = message && { kind: 'human', by, text: message.text };
    const reply = await this.#call(
      'take-over',
      conversationId,
      conversationId,
      JSON.stringify({ cause: 'human_takeover', by, reason }),
      this.#offset(),
      entry === undefined ? '' : JSON.stringify(entry),
      message === undefined ? '' : digest('human', conversationId, message.messageId),
    );
    return {
      kind: reply[0] === 'taken' ? 'taken' : 'already',
      turnId: asText(reply[1]),
      parked: reply[2] === 'wake',
      waiting: Number(reply[3]),
    };
  }

  /** Gives a conversation back to the agent. */
  async release(
    conversationId: string,
    { by, reason }: { by: string; reason: string },
  ): Promise<'released' | 'already' | 'not_found'> {
    const [answer] = await this.#call(
      'release',
      conversationId,
      conversationId,
      by,
      reason,
      this.#offset(),
    );
    return answer === 'not-found' ? 'not_found' : answer === 'released' ? 'released' : 'already';
  }

  /** A person says what became of an effect nobody could tell; a note about it goes to the ticket. */
  async settleEffect(
    operation: string,
    verdict: 'verified' | 'not_landed',
    { by, evidence, note }: { by: string; evidence: string; note: Delivery },
  ): Promise<EffectAnswer> {
    for (const tag of this.tags()) {
      const reply = list(
        await this.#run['settle-effect'](
          tag,
          operation,
          verdict,
          by,
          evidence,
          this.#offset(),
          JSON.stringify(deliveryArgument(note)),
        ),
      );
      if (reply[0] === 'not-found') continue;
      if (reply[0] === 'in-flight') {
        return { kind: 'in_flight', conversationId: asText(reply[1]), turnId: asText(reply[2]) };
      }
      return {
        kind: reply[0] === 'settled' ? 'settled' : 'already',
        status: asText(reply[1]) as EffectStatus,
        conversationId: asText(reply[2]),
        turnId: asText(reply[3]),
      };
    }
    return { kind: 'not_found' };
  }

  /** Tells of every turn that is asked to stop, until `close`. Best effort: the record is what counts. */
  async onStop(listener: (turnId: string) => void): Promise<{ close(): void }> {
    const subscriber = this.redis.duplicate();
    // A lost connection is made again, and so is the subscription.
    subscriber.on('error', () => {});
    subscriber.on('message', (_channel, turnId) => listener(turnId));
    await subscriber.subscribe(...this.tags().map((tag) => key(tag, 'stops')));
    return {
      close() {
        subscriber.disconnect();
      },
    };
  }

  /** Shows what a model is writing to whoever follows the turn. Kept nowhere; nobody waits for it. */
  tellWriting(
    { conversationId, turnId }: Pick<Claim, 'conversationId' | 'turnId'>,
    text: string,
  ): void {
    const channel = key(this.tagOf(conversationId), 'events', turnId);
    this.redis.publish(channel, JSON.stringify({ writing: text })).catch(() => {});
  }

  // --- what wakes a parked turn -------------------------------------------------------------------------------------

  async recordVerdict(
    waiting: { conversationId: string; turnId: string; park: number },
    number: number,
    read: VerificationRead,
    final: boolean,
  ): Promise<'recorded' | 'stale'> {
    const { conversationId, turnId, park } = waiting;
    const reply = await this.#call(
      'record-verdict',
      conversationId,
      conversationId,
      turnId,
      park,
      number,
      JSON.stringify({ read, final }),
    );
    return reply[0] === 'recorded' ? 'recorded' : 'stale';
  }

  /** One decision for ever, whoever comes first: a person or the clock. */
  async decideApproval(
    approvalId: string,
    decision: ApprovalDecision,
    by: string,
    comment = '',
  ): Promise<ApprovalAnswer> {
    for (const tag of this.tags()) {
      const reply = list(
        await this.#run['decide-approval'](
          tag,
          approvalId,
          decision,
          by,
          comment,
          this.#offset(),
          WAKE_UP_GRACE_MS,
        ),
      );
      if (reply[0] === 'not-found') continue;
      if (reply[0] === 'not-due') return { kind: 'not_due', expiresAt: Number(reply[1]) };
      return {
        kind: reply[0] === 'decided' ? 'decided' : 'already',
        status: asText(reply[1]) as ApprovalDecision,
        by: asText(reply[2]),
        decidedAt: Number(reply[3]),
        comment: asText(reply[4]),
        conversationId: asText(reply[5]),
        turnId: asText(reply[6]),
      };
    }
    return { kind: 'not_found' };
  }

  /**
   * The open turn of a conversation, if it is parked; with `turnId` and `park` only if it still waits in that park.
   * What it waits for is folded from its record, so that jobs need to carry ids only.
   */
  async parkedTurn(
    conversationId: string,
    turnId?: string,
    park?: number,
  ): Promise<ParkedTurn | undefined> {
    const tag = this.tagOf(conversationId);
    const [open = null, account] = await this.redis.hmget(
      key(tag, 'conv', conversationId),
      ...['turn', 'account'],
    );
    if (open === null || (turnId !== undefined && open !== turnId)) return undefined;
    const [head, events, mail] = await Promise.all([
      this.redis.hgetall(key(tag, 'turn', open)),
      this.redis.lrange(key(tag, 'events', open), 0, -1),
      this.redis.lrange(key(tag, 'mail', conversationId), 0, 0),
    ]);
    const fields = hash(head);
    if (!fields['parkDueAt'] || (park !== undefined && Number(fields['parkNumber']) !== park)) {
      return undefined;
    }
    const record = readEvents(events);
    const waiting = parkOf(record);
    if (waiting === undefined) return undefined;
    const state = fold(record);
    const given =
      fields['given'] === undefined ? undefined : (JSON.parse(fields['given']) as string[]);
    return {
      turnId: open,
      park: waiting,
      jobId: fields['job'] ?? '',
      woken: fields['woken'] === '1',
      calls: currentCalls(state),
      silenceMs: state.limits.silenceMs,
      deadline: deadlineOf(state),
      accounts: withReads(state, fields, waiting.number),
      ...(account ? { account: accountSchema.parse(JSON.parse(account)) } : {}),
      messages: (given ?? mail).map((json) => acceptedMessageSchema.parse(JSON.parse(json))),
    };
  }

  // --- deliveries ---------------------------------------------------------------------------------------------------

  async claimDelivery(
    conversationId: string,
    token: string,
    sendTimeoutMs: number,
  ): Promise<DeliveryClaim> {
    const reply = await this.#call(
      'claim-delivery',
      conversationId,
      conversationId,
      token,
      sendTimeoutMs,
      this.#offset(),
    );
    const kind = reply[0];
    if (kind === 'empty') return { kind };
    if (kind === 'wait') return { kind, until: Number(reply[1]) };
    if (kind !== 'send' && kind !== 'recheck')
      throw new UnexpectedReplyError('claim-delivery', reply);
    return {
      kind,
      delivery: JSON.parse(asText(reply[2])) as Delivery,
      source: sourceOf(conversationId),
      externalId: asText(reply[3]) || externalIdOf(conversationId),
      attempts: Number(reply[4]),
      until: Number(reply[5]),
    };
  }

  /** @throws LostClaimError when another worker took the delivery over */
  async settleDelivery(
    conversationId: string,
    deliveryId: string,
    token: string,
    settled:
      | { status: 'sent'; targetId: string }
      | { status: 'unknown'; reason: string }
      /** `note` tells people of a text the customer did not get. */
      | { status: 'dropped'; reason: string; note?: Delivery }
      | { status: 'pending'; reason: string; notBefore: number },
  ): Promise<{ left: number }> {
    const reply = await this.#call(
      'settle-delivery',
      conversationId,
      conversationId,
      deliveryId,
      token,
      settled.status,
      settled.status === 'sent' ? settled.targetId : settled.reason,
      settled.status === 'pending' ? settled.notBefore : 0,
      this.#offset(),
      settled.status === 'dropped' && settled.note !== undefined
        ? JSON.stringify(deliveryArgument(settled.note))
        : '',
    );
    if (reply[0] === 'lost-claim') throw new LostClaimError(conversationId);
    return { left: Number(reply[1]) };
  }

  /** Leaves a note for people in a ticket; the same one twice is left once. */
  async addNote(conversationId: string, note: Delivery): Promise<void> {
    await this.#call(
      'add-note',
      conversationId,
      conversationId,
      JSON.stringify(deliveryArgument(note)),
      this.#offset(),
    );
  }

  /** What we have posted in a conversation, by the ids its system gave, and whether something is on its way just now. */
  async posted(conversationId: string): Promise<{ ids: Set<string>; sending: boolean }> {
    const [sending, ids] = await this.#call('posted', conversationId, conversationId);
    return { ids: new Set(list(ids).map(asText)), sending: sending === 'sending' };
  }

  // --- repair -------------------------------------------------------------------------------------------------------

  /** What is overdue in a lane: conversations whose turn, or whose delivery, nobody has moved for a while. */
  async takeDue(
    tag: string,
    count: number,
    holdMs: number,
  ): Promise<{ kind: 'turn' | 'delivery'; conversationId: string }[]> {
    const reply = await this.#run['take-due'](tag, count, holdMs, this.#offset());
    const [turns, deliveries] = list(reply).map(list);
    return [
      ...(turns ?? []).map((id) => ({ kind: 'turn' as const, conversationId: asText(id) })),
      ...(deliveries ?? []).map((id) => ({
        kind: 'delivery' as const,
        conversationId: asText(id),
      })),
    ];
  }

  /** A sign of life of a worker process. */
  async beat(workerId: string, ttlMs: number): Promise<void> {
    await Promise.all(
      this.tags().map((tag) => this.redis.set(key(tag, 'worker', workerId), '1', 'PX', ttlMs)),
    );
  }

  async forgetWorker(workerId: string): Promise<void> {
    await Promise.all(this.tags().map((tag) => this.redis.del(key(tag, 'worker', workerId))));
  }

  // --- parts --------------------------------------------------------------------------------------------------------

  async #call(
    script: ScriptName,
    conversationId: string,
    ...args: ScriptArgument[]
  ): Promise<unknown[]> {
    return list(await this.#run[script](this.tagOf(conversationId), ...args));
  }

  /** Who claims a turn; the id for a turn that has to be opened comes with it. */
  #claimer({ jobId, workerId, nonce, burstMs = 0 }: Claimer): string {
    return JSON.stringify({
      nonce: nonce ?? nextNonce(),
      candidate: `t${nextNonce()}`,
      job: jobId,
      worker: workerId,
      history: HISTORY_SHOWN,
      burstMs,
    });
  }

  #transition(
    script: 'record-transition' | 'park-turn',
    claim: Claim,
    transition: Transition,
    args: ScriptArgument[],
  ): Promise<unknown[]> {
    return this.#call(
      script,
      claim.conversationId,
      claim.conversationId,
      claim.turnId,
      claim.token,
      transition.seq,
      this.#offset(),
      ...args,
      ...transition.events.map(encodeEvent),
    );
  }

  #reservation(claim: Claim, reservation: Reservation, peek: boolean): string {
    const { operation, tool, resource, occurrence, actionHash, callId, validUntil } = reservation;
    const { intent } = claim;
    return JSON.stringify({
      operation,
      tool,
      actionHash,
      intent,
      after: reservation.after,
      validUntil: validUntil === undefined ? undefined : String(validUntil),
      target: digest('target', tool, resource),
      row: JSON.stringify({ resource, occurrence, callId, arguments: reservation.arguments }),
      ...(peek ? { peek } : {}),
    });
  }
}

const NONCE_BASE = randomBytes(9).toString('base64url');
let nonces = 0;

/** Differs in every claim of every process. */
function nextNonce(): string {
  nonces += 1;
  return `${NONCE_BASE}${nonces.toString(36)}`;
}

/** Most steps move no row and deliver nothing: an empty list is not worth parsing. */
function jsonList(entries: readonly unknown[]): string {
  return entries.length === 0 ? '' : JSON.stringify(entries);
}

function moveArgument(move: { operation: string; status: EffectStatus; outcome?: unknown }) {
  const { operation, status, outcome } = move;
  return {
    operation,
    status,
    ...(outcome === undefined ? {} : { outcome: JSON.stringify(outcome) }),
  };
}

function deliveryArgument(delivery: Delivery): { id: string; record: string } {
  return { id: delivery.id, record: JSON.stringify(delivery) };
}

/** The accounts after the judgements of re-reads that the turn has not taken in yet. */
function withReads(
  { spent, limits }: ParkedTurn['accounts'],
  fields: Record<string, string>,
  park: number,
): ParkedTurn['accounts'] {
  let { tokens, costMicros } = spent;
  for (const { read } of readsOf(fields, park)) {
    const usage = read.judge?.usage;
    tokens += (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
    costMicros += usage?.costMicros ?? 0;
  }
  return { spent: { ...spent, tokens, costMicros }, limits };
}

function readSignal(json: unknown): Signal {
  return JSON.parse(asText(json)) as Signal;
}

function readRefusal(reply: readonly unknown[]): EffectRefusal {
  const [, why, operation, status, validUntil, outcome] = reply.map(asText);
  const refusal = why as EffectRefusal['refusal'];
  if (status === undefined || status === '') return { refusal };
  return {
    refusal,
    earlier: {
      operation: operation ?? '',
      status: status as EffectStatus,
      ...(validUntil ? { validUntil: Number(validUntil) } : {}),
      ...(outcome ? { outcome: JSON.parse(outcome) as unknown } : {}),
    },
  };
}

function list(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw new UnexpectedReplyError('a script', reply);
  return reply;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
