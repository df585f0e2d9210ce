import type { EventOf, TurnEvent, Usage } from '../../contracts/index.ts';
import {
  allCalls,
  deadlineOf,
  fold,
  type ClaimedTurn,
  type Rest,
  type TurnObserver,
  type TurnState,
} from '../../loop/index.ts';
import { traceIdOf } from '../otel/ids.ts';
import { OTHER } from './labels.ts';
import type { Meter } from './meter.ts';

export type TurnMetricsOptions = {
  meter: Meter;
  turn: Pick<ClaimedTurn, 'claim' | 'events' | 'messages'>;
  model: { provider: string; name: string };
  /** Whether the agent has a tool of this name. */
  hasTool(name: string): boolean;
  /** When the turn before it in the same job ended, if it took over from one. */
  previousEndedAt?: number;
};

/** Which ticketing system a conversation belongs to. */
export function sourceOf(conversationId: string): string {
  return conversationId.slice(0, Math.max(0, conversationId.indexOf('/'))) || OTHER;
}

/**
 * The metrics of one turn, read off its events as they happen. What only counts when it is on record, the end, is
 * counted by `rested`, after the step that recorded it.
 */
export class TurnMetrics implements TurnObserver {
  readonly #options: TurnMetricsOptions;
  readonly #source: string;
  readonly #traceId: string;
  /** When calls were settled, by call: the beginning of the gap until the world agrees. */
  readonly #settledAt = new Map<string, number>();
  /** When people were asked, by approval. */
  readonly #askedAt = new Map<string, number>();
  #parked: EventOf<'turn_parked'> | undefined;
  #lastAt: number | undefined;
  #state: TurnState | undefined;

  constructor(options: TurnMetricsOptions) {
    this.#options = options;
    const { meter, turn } = options;
    this.#source = sourceOf(turn.claim.conversationId);
    this.#traceId = traceIdOf(turn.claim.turnId);
    meter.expect('source', this.#source);
    for (const event of turn.events) this.#remember(event);
    if (turn.events.length > 0) this.#state = fold(turn.events);
  }

  observe(event: TurnEvent, state: TurnState): void {
    const { meter } = this.#options;
    meter.add('turn_events_total', {});
    const phase = this.#state?.phase ?? 'queued';
    if (this.#lastAt !== undefined && phase !== 'ended') {
      meter.add('turn_phase_seconds_total', { phase }, seconds(this.#lastAt, event.at));
    }
    this.#count(event, state);
    this.#countEffects(state);
    this.#remember(event);
    this.#state = state;
  }

  /** The turn came to rest, and the record says so. */
  rested(rest: Rest): void {
    const state = this.#state;
    if (rest.kind !== 'ended' || state === undefined || this.#lastAt === undefined) return;
    const { meter, turn } = this.#options;
    const source = this.#source;
    const { outcome, reason } = rest.ending;
    meter.add('turns_total', { outcome, stop_reason: reason, source });
    const lasted = seconds(state.startedAt, this.#lastAt);
    meter.observe('turn_duration_seconds', { outcome, source }, lasted, this.#traceId);
    const acceptedAt = turn.messages[0]?.acceptedAt ?? state.startedAt;
    const waited = seconds(acceptedAt, this.#lastAt);
    meter.observe('customer_wait_seconds', { source }, waited, this.#traceId);
    meter.observe('turn_rounds', { source }, state.rounds.length);
    meter.observe('turn_tool_calls', { source }, state.spent.toolCalls);
    for (const [account, left] of Object.entries(remaining(state, this.#lastAt))) {
      meter.observe('turn_budget_remaining_ratio', { account }, left);
    }
  }

  #count(event: TurnEvent, state: TurnState): void {
    const { meter } = this.#options;
    switch (event.type) {
      case 'turn_started':
        return this.#started(event.at);
      case 'turn_resumed':
        if (this.#parked === undefined) return meter.add('claims_total', { claim: 'recovered' });
        meter.add('claims_total', { claim: 'resumed' });
        return meter.observe(
          'park_seconds',
          { park: this.#parked.park.kind },
          seconds(this.#parked.at, event.at),
          this.#traceId,
        );
      case 'model_responded':
        return this.#modelCall(event.model, 'ok', event.latencyMs, event.usage);
      case 'model_failed': {
        const { failure, latencyMs, usage } = event;
        return this.#modelCall(this.#options.model.name, failure.kind, latencyMs, usage);
      }
      case 'calls_checked':
        return this.#checked(event, state);
      case 'effect_refused':
        return this.#heldBack(event.callId, event.refusal.refusal, state);
      case 'call_settled': {
        const tool = this.#toolOf(event.callId, state);
        meter.add('tool_calls_total', { tool, tool_result: event.result.kind });
        const lasted = event.latencyMs / 1_000;
        return meter.observe('tool_call_duration_seconds', { tool }, lasted, this.#traceId);
      }
      case 'verification_read':
        return this.#read(event, state);
      case 'turn_parked':
        return meter.add('parks_total', { park: event.park.kind });
      case 'approval_decided': {
        const { decision, approvalId, at } = event;
        meter.add('approvals_decided_total', { decision });
        const askedAt = this.#askedAt.get(approvalId) ?? at;
        const waited = seconds(askedAt, at);
        return meter.observe('approval_wait_seconds', { decision }, waited, this.#traceId);
      }
      case 'stop_requested':
        return meter.add('stops_requested_total', { cause: event.cause });
      case 'model_requested':
      case 'finish_judged':
      case 'call_started':
      case 'verification_started':
      case 'turn_failed':
      case 'turn_ended':
        return;
      default:
        event satisfies never;
    }
  }

  #started(at: number): void {
    const { meter, turn, previousEndedAt } = this.#options;
    const source = this.#source;
    meter.add('claims_total', { claim: 'new' });
    const acceptedAt = turn.messages[0]?.acceptedAt ?? at;
    meter.observe('turn_queue_wait_seconds', { source }, seconds(acceptedAt, at), this.#traceId);
    if (previousEndedAt === undefined) return;
    meter.observe('turn_handoff_seconds', { source }, seconds(previousEndedAt, at), this.#traceId);
  }

  #modelCall(model: string, model_result: string, latencyMs: number, usage?: Usage): void {
    const { meter } = this.#options;
    const { provider } = this.#options.model;
    meter.add('model_calls_total', { provider, model, model_result });
    const labels = { provider, model };
    meter.observe('model_call_duration_seconds', labels, latencyMs / 1_000, this.#traceId);
    if (usage === undefined) return;
    const { inputTokens, outputTokens, costMicros } = usage;
    meter.add('model_tokens_total', { ...labels, token_kind: 'input' }, inputTokens);
    meter.add('model_tokens_total', { ...labels, token_kind: 'output' }, outputTokens);
    meter.add('model_cost_dollars_total', labels, costMicros / 1_000_000);
  }

  #checked({ verdicts }: EventOf<'calls_checked'>, state: TurnState): void {
    const { meter } = this.#options;
    for (const verdict of verdicts) {
      const tool = this.#toolOf(verdict.callId, state);
      if (verdict.kind === 'needs_approval') meter.add('approvals_requested_total', { tool });
      if (verdict.kind === 'on_record') {
        this.#heldBack(verdict.callId, verdict.refusal.refusal, state);
      }
      if (verdict.kind !== 'rejected') continue;
      meter.add('tool_calls_total', { tool, tool_result: 'rejected' });
      meter.add('call_rejections_total', { check: verdict.check, code: verdict.code });
    }
  }

  #heldBack(callId: string, refusal: string, state: TurnState): void {
    this.#options.meter.add('effect_repeats_total', { tool: this.#toolOf(callId, state), refusal });
  }

  #read({ callId, read, final }: EventOf<'verification_read'>, state: TurnState): void {
    const { meter } = this.#options;
    const { verdict, latencyMs, at } = read;
    const tool = this.#toolOf(callId, state);
    meter.add('verification_reads_total', { tool, verdict });
    meter.observe('verification_read_duration_seconds', { tool }, latencyMs / 1_000, this.#traceId);
    const call = allCalls(state).find((one) => one.id === callId);
    if (call?.step === 'verifying' && !final) return;
    meter.add('verifications_total', { tool, verdict });
    meter.observe('verification_reads', { tool }, call?.effect?.reads.length ?? 1);
    const settledAt = this.#settledAt.get(callId);
    if (verdict !== 'landed' || settledAt === undefined) return;
    const gap = seconds(settledAt, at);
    meter.observe('verification_gap_seconds', { tool }, gap, this.#traceId);
  }

  /** Counts each effect that has reached another status. */
  #countEffects(state: TurnState): void {
    const before = this.#state === undefined ? [] : allCalls(this.#state);
    for (const [index, { effect, tool }] of allCalls(state).entries()) {
      if (effect === undefined || effect.status === 'planned') continue;
      if (before[index]?.effect?.status === effect.status) continue;
      this.#options.meter.add('effects_total', {
        tool: this.#named(tool),
        effect_status: effect.status,
      });
    }
  }

  #toolOf(callId: string, state: TurnState): string {
    return this.#named(allCalls(state).find((call) => call.id === callId)?.tool ?? OTHER);
  }

  /** What a model may name is not bounded; what the agent has is. */
  #named(tool: string): string {
    return this.#options.hasTool(tool) ? tool : OTHER;
  }

  #remember(event: TurnEvent): void {
    this.#lastAt = Math.max(this.#lastAt ?? 0, event.at);
    if (event.type === 'turn_parked') {
      this.#parked = event;
      const { approvalId } = event.park;
      if (approvalId !== undefined && !this.#askedAt.has(approvalId)) {
        this.#askedAt.set(approvalId, event.at);
      }
      return;
    }
    this.#parked = undefined;
    if (event.type === 'call_settled') this.#settledAt.set(event.callId, event.at);
  }
}

/** What is left of each account, as a share of its limit. */
function remaining(state: TurnState, at: number): Record<string, number> & object {
  const { limits, spent, rounds } = state;
  const left = (used: number, limit: number): number => Math.max(0, 1 - used / limit);
  return {
    rounds: left(rounds.length, limits.rounds),
    tool_calls: left(spent.toolCalls, limits.toolCalls),
    tokens: left(spent.tokens, limits.tokens),
    cost: left(spent.costMicros, limits.costMicros),
    time: Math.min(1, Math.max(0, deadlineOf(state) - at) / limits.deadlineMs),
  };
}

function seconds(from: number, to: number): number {
  return Math.max(0, to - from) / 1_000;
}
