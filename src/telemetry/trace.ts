import { TurnkeeperError, type TurnEvent } from '../contracts/index.ts';

/** What a span is about. A round is one model call and the calls it led to. */
export type SpanKind = 'turn' | 'model_call' | 'check' | 'tool_call' | 'verification_read' | 'wait';

/**
 * `undetermined`: the span was open when its worker was lost, so nobody knows how it ended; neither an error nor
 * missing.
 */
export type SpanStatus = 'ok' | 'error' | 'undetermined';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A stretch of a turn, read off its events. Times in milliseconds since the epoch. */
export type Span = {
  kind: SpanKind;
  name: string;
  round: number;
  startedAt: number;
  endedAt: number;
  status: SpanStatus;
  attributes: Attributes;
};

/** A turn was over while one of its spans was still open: whoever opened it never said how it ended. */
export class OpenSpanError extends TurnkeeperError {
  readonly code = 'open_span';

  constructor(spans: readonly string[]) {
    super(
      `the turn is over but these spans are open: ${spans.join(', ')}; close every span you open`,
    );
  }
}

type OpenSpan = Omit<Span, 'endedAt' | 'status'>;

/**
 * The trace of one turn: a projection of its events, live or from the record. Each outside call is a span between the
 * event that opens it and the one that settles it.
 */
export class TurnTrace {
  readonly spans: Span[] = [];
  readonly #open = new Map<string, OpenSpan>();
  #round = 0;

  observe(event: TurnEvent): void {
    switch (event.type) {
      case 'turn_started':
        this.#start('turn', event.at, { kind: 'turn', name: 'turn', attributes: {} });
        return;
      case 'turn_resumed':
        this.#resume(event.at);
        return;
      case 'model_requested':
        this.#round = event.round;
        this.#start('model', event.at, {
          kind: 'model_call',
          name: 'model',
          attributes: { reservedTokens: event.reserved.tokens },
        });
        return;
      case 'model_responded':
        this.#end('model', event.at, 'ok', {
          model: event.model,
          proposal: event.proposal.kind,
          inputTokens: event.usage.inputTokens,
          outputTokens: event.usage.outputTokens,
          costMicros: event.usage.costMicros,
        });
        return;
      case 'model_failed':
        this.#end('model', event.at, 'error', { failure: event.failure.kind });
        return;
      case 'calls_checked':
        for (const verdict of event.verdicts) {
          this.#point('check', `check ${verdict.callId}`, event.at, {
            callId: verdict.callId,
            verdict: verdict.kind,
            ...(verdict.kind === 'rejected' ? { check: verdict.check, code: verdict.code } : {}),
          });
        }
        return;
      case 'finish_judged':
        this.#point('check', 'finish', event.at, { accepted: event.objection === undefined });
        return;
      case 'call_started':
        this.#start(`call ${event.callId}`, event.at, {
          kind: 'tool_call',
          name: event.callId,
          attributes: {},
        });
        return;
      case 'call_settled':
        this.#end(`call ${event.callId}`, event.at, event.result.kind === 'ok' ? 'ok' : 'error', {
          toolSaid: event.result.kind,
          ...('code' in event.result ? { code: event.result.code } : {}),
        });
        return;
      case 'verification_started':
        this.#start(`verify ${event.callId}`, event.at, {
          kind: 'verification_read',
          name: event.callId,
          attributes: {},
        });
        return;
      case 'verification_read':
        this.#verified(event);
        return;
      case 'turn_parked':
        this.#start('wait', event.at, {
          kind: 'wait',
          name: event.park.kind,
          attributes: { park: event.park.number },
        });
        return;
      case 'turn_ended':
        this.#end('turn', event.at, event.ending.outcome === 'completed' ? 'ok' : 'error', {
          outcome: event.ending.outcome,
          stopReason: event.ending.reason,
        });
        return;
      case 'effect_refused':
        this.#point('check', `ledger ${event.callId}`, event.at, {
          callId: event.callId,
          verdict: 'refused',
          check: 'idempotency',
          code: event.refusal.refusal,
        });
        return;
      case 'approval_decided':
        this.#point('check', 'approval', event.at, {
          approvalId: event.approvalId,
          decision: event.decision,
          by: event.by,
        });
        return;
      case 'stop_requested':
        this.#point('check', 'stop', event.at, {
          cause: event.cause,
          ...(event.how === undefined ? {} : { how: event.how }),
        });
        return;
      case 'turn_failed':
        return;
      default:
        event satisfies never;
    }
  }

  get openSpans(): readonly string[] {
    return [...this.#open.keys()];
  }

  /**
   * The turn is over. A span that is still open is a defect of the code that opened it: in development it throws, in
   * production it ends `undetermined`.
   *
   * @throws OpenSpanError in strict mode
   */
  close(at: number, mode: 'strict' | 'lenient'): void {
    const open = this.openSpans;
    if (open.length > 0 && mode === 'strict') throw new OpenSpanError(open);
    for (const key of open) this.#end(key, at, 'undetermined', {});
  }

  /** A new claim: what the lost worker had open stays undetermined; the turn and what it waited for go on. */
  #resume(at: number): void {
    this.#end('wait', at, 'ok', {});
    for (const key of this.openSpans) if (key !== 'turn') this.#end(key, at, 'undetermined', {});
  }

  #verified(event: Extract<TurnEvent, { type: 'verification_read' }>): void {
    const { verdict, latencyMs } = event.read;
    const key = `verify ${event.callId}`;
    // A read of the verification worker has no opening event of its own in the turn.
    if (!this.#open.has(key)) {
      this.#start(key, event.read.at - latencyMs, {
        kind: 'verification_read',
        name: event.callId,
        attributes: {},
      });
    }
    this.#end(key, event.read.at, verdict === 'unknown' ? 'error' : 'ok', {
      rereadSaid: verdict,
      final: event.final,
    });
  }

  #start(key: string, at: number, span: Pick<Span, 'kind' | 'name' | 'attributes'>): void {
    if (this.#open.has(key)) throw new OpenSpanError([key]);
    this.#open.set(key, { ...span, round: this.#round, startedAt: at });
  }

  #end(key: string, at: number, status: SpanStatus, attributes: Attributes): void {
    const span = this.#open.get(key);
    if (span === undefined) return;
    this.#open.delete(key);
    this.spans.push({
      ...span,
      endedAt: at,
      status,
      attributes: { ...span.attributes, ...attributes },
    });
  }

  #point(kind: SpanKind, name: string, at: number, attributes: Attributes): void {
    const { spans } = this;
    spans.push({
      kind,
      name,
      round: this.#round,
      startedAt: at,
      endedAt: at,
      status: 'ok',
      attributes,
    });
  }
}

/** The spans of a recorded turn. Spans of a turn that is still going on are left out. */
export function traceOf(events: readonly TurnEvent[]): TurnTrace {
  const trace = new TurnTrace();
  for (const event of events) trace.observe(event);
  return trace;
}
