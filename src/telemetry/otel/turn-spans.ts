import { SpanKind } from '@opentelemetry/api';
import { DEFAULT_LIMITS, type AcceptedMessage, type TurnEvent } from '../../contracts/index.ts';
import { allCalls, decide, initialState } from '../../loop/index.ts';
import { TurnTrace, type Attributes, type Span, type SpanStatus } from '../trace.ts';
import { droppedMessages } from './dropped-messages.ts';
import { inGenAiTerms, ours, type AttributeValue, type Cast } from './gen-ai.ts';
import { spanIdOf } from './ids.ts';
import { aboutCall, detailsOf } from './span-details.ts';

/** A turn as it is on record. */
export type RecordedTurn = {
  turnId: string;
  conversationId: string;
  messages: readonly AcceptedMessage[];
  events: readonly TurnEvent[];
};

/** A span ready to be exported. Times in milliseconds since the epoch. */
export type TurnSpan = {
  spanId: string;
  parentSpanId?: string;
  /** A span of the same trace that led to this one, where it is not its parent. */
  linkedSpanId?: string;
  name: string;
  kind: SpanKind;
  startedAt: number;
  endedAt: number;
  status: SpanStatus;
  attributes: Readonly<Record<string, AttributeValue>>;
  events: readonly { name: string; at: number; attributes: Readonly<Record<string, string>> }[];
  /** Number of events on record when it ended. */
  version: number;
};

/** One stretch of a turn on one worker, from its claim to its rest. */
type Stretch = { number: number; startedAt: number };

/**
 * Every span of a turn that has ended so far, read off the record and nothing else: the same record gives the same
 * spans with the same ids, whoever exports them and how often.
 */
export function turnSpans(
  turn: RecordedTurn,
  who: Omit<Cast, 'conversationId' | 'tool'>,
): TurnSpan[] {
  return new Projection(turn, who).spans;
}

class Projection {
  readonly spans: TurnSpan[] = [];
  readonly #ids = new Map<string, string>();
  readonly #turn: RecordedTurn;
  readonly #who: Omit<Cast, 'conversationId' | 'tool'>;
  readonly #trace = new TurnTrace();
  #state = initialState(DEFAULT_LIMITS);
  #stretch: Stretch = { number: 0, startedAt: 0 };
  #open = false;
  readonly #askedAt = new Map<string, number>();

  constructor(turn: RecordedTurn, who: Omit<Cast, 'conversationId' | 'tool'>) {
    this.#turn = turn;
    this.#who = who;
    for (const [index, event] of turn.events.entries()) this.#take(event, index + 1);
  }

  #take(event: TurnEvent, version: number): void {
    const before = this.#state;
    const known = this.#trace.spans.length;
    this.#trace.observe(event);
    this.#state = decide(before, event).state;
    this.#begin(event, version);
    for (const [offset, span] of this.#trace.spans.slice(known).entries()) {
      this.#add(span, `${known + offset}`, version, detailsOf(event, before));
    }
    this.#finish(event, version);
  }

  #add(span: Span, place: string, version: number, details: Attributes): void {
    const { turnId, conversationId } = this.#turn;
    const call = allCalls(this.#state).find(
      (one) => one.id === (span.attributes['callId'] ?? span.name),
    );
    const cast: Cast = { ...this.#who, conversationId, tool: call?.tool ?? '' };
    const named = inGenAiTerms(span, cast);
    const isTurn = span.kind === 'turn';
    const onStretch = !isTurn && span.kind !== 'wait';
    this.spans.push({
      ...named,
      spanId: isTurn ? spanIdOf(turnId, 'turn') : spanIdOf(turnId, place),
      ...(isTurn ? {} : { parentSpanId: onStretch ? this.#stretchId() : this.#rootId() }),
      startedAt: isTurn ? this.#acceptedAt(span.startedAt) : span.startedAt,
      endedAt: span.endedAt,
      status: span.status,
      attributes: {
        ...ours({
          turnId,
          step: this.spans.length + 1,
          stateVersion: version,
          round: span.round,
          nextPhase: this.#state.phase,
          ...(call === undefined ? {} : aboutCall(call)),
          ...details,
        }),
        ...named.attributes,
      },
      events: isTurn ? this.#stops(span.endedAt) : [],
      version,
    });
    if (isTurn) this.#keepDropped(version);
  }

  /** A failed turn leaves nothing in the history; its last model call keeps what was said, redacted. */
  #keepDropped(version: number): void {
    const dropped = droppedMessages(this.#turn, this.#state);
    const last = this.spans.findLastIndex(({ name }) => name.startsWith('chat '));
    const span = this.spans[last];
    if (dropped === undefined || span === undefined) return;
    const event = { name: 'turnkeeper.dropped_messages', at: span.endedAt, attributes: dropped };
    this.spans[last] = { ...span, events: [...span.events, event], version };
  }

  /** What begins with an event. */
  #begin(event: TurnEvent, version: number): void {
    if (event.type !== 'turn_started' && event.type !== 'turn_resumed') {
      if (event.type === 'turn_parked' && event.park.approvalId !== undefined) {
        const { approvalId } = event.park;
        if (!this.#askedAt.has(approvalId)) this.#askedAt.set(approvalId, event.at);
      }
      return;
    }
    // Its worker was lost: nobody knows how far that stretch got after its last record.
    if (this.#open) this.#endStretch(event.at, 'undetermined', version);
    this.#stretch = { number: this.#stretch.number + 1, startedAt: event.at };
    this.#open = true;
    if (event.type === 'turn_started') {
      this.#extra('mailbox', 'wait in mailbox', this.#acceptedAt(event.at), event.at, version, {
        messages: this.#turn.messages.length,
      });
    }
  }

  /** What is over with an event. */
  #finish(event: TurnEvent, version: number): void {
    if (event.type === 'turn_parked' || event.type === 'turn_ended') {
      this.#endStretch(event.at, 'ok', version);
    }
    if (event.type === 'approval_decided') {
      const { approvalId, decision, by, at } = event;
      const askedAt = this.#askedAt.get(approvalId) ?? at;
      const details = { approvalId, decision, by };
      this.#extra(`approval ${approvalId}`, 'approval', askedAt, at, version, details);
    }
  }

  #endStretch(at: number, status: SpanStatus, version: number): void {
    const { number, startedAt } = this.#stretch;
    this.#open = false;
    this.#extra(
      `stretch ${number}`,
      'process turn',
      startedAt,
      at,
      version,
      { stretch: number },
      status,
    );
    const span = this.spans.at(-1);
    if (span === undefined || number === 1) return;
    const linkedSpanId = spanIdOf(this.#turn.turnId, `stretch ${number - 1}`);
    this.spans[this.spans.length - 1] = { ...span, kind: SpanKind.CONSUMER, linkedSpanId };
  }

  /** A span the trace of the turn itself does not have. */
  #extra(
    place: string,
    name: string,
    startedAt: number,
    endedAt: number,
    version: number,
    attributes: Attributes,
    status: SpanStatus = 'ok',
  ): void {
    this.spans.push({
      spanId: spanIdOf(this.#turn.turnId, place),
      parentSpanId: this.#rootId(),
      name,
      kind: SpanKind.INTERNAL,
      startedAt: Math.min(startedAt, endedAt),
      endedAt,
      status,
      attributes: ours({ turnId: this.#turn.turnId, stateVersion: version, ...attributes }),
      events: [],
      version,
    });
  }

  #stops(at: number): TurnSpan['events'] {
    const { stop } = this.#state;
    if (stop === undefined) return [];
    // Asking and stopping are two facts.
    const { by, how, requestedAt } = stop;
    const facts = {
      ...(by === undefined ? {} : { 'turnkeeper.by': by }),
      ...(how === undefined ? {} : { 'turnkeeper.how': how }),
      ...(requestedAt === undefined ? {} : { 'turnkeeper.requested_at': String(requestedAt) }),
    };
    return [
      {
        name: 'turnkeeper.stopped',
        at: Math.min(stop.at, at),
        attributes: { 'turnkeeper.cause': stop.cause, ...facts },
      },
    ];
  }

  /** Most spans of a stretch have one parent. */
  #idOf(place: string): string {
    const known = this.#ids.get(place) ?? spanIdOf(this.#turn.turnId, place);
    this.#ids.set(place, known);
    return known;
  }

  #rootId(): string {
    return this.#idOf('turn');
  }

  #stretchId(): string {
    return this.#idOf(`stretch ${this.#stretch.number}`);
  }

  #acceptedAt(startedAt: number): number {
    return Math.min(startedAt, this.#turn.messages[0]?.acceptedAt ?? startedAt);
  }
}
