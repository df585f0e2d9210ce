import type { Logger } from 'pino';
import type { TurnEvent } from '../contracts/index.ts';
import { canonicalJson, sha256 } from '../loop/index.ts';
import { traceIdOf } from './otel/ids.ts';

/** The state of a turn as far as a log line names it. */
type LoggedState = {
  phase: string;
  rounds: readonly {
    calls: readonly { id: string; tool: string; arguments: unknown }[];
  }[];
};

/**
 * One structured line per step of a turn. Says which tool and how it went, never what it was called with: arguments
 * appear as a digest.
 */
export function stepLog(logger: Logger, turn: { turnId: string; conversationId: string }) {
  let step = 0;
  const traceId = traceIdOf(turn.turnId);
  return (event: TurnEvent, state: LoggedState): void => {
    step += 1;
    if (!logger.isLevelEnabled('info')) return;
    const call =
      'callId' in event
        ? state.rounds.flatMap((round) => round.calls).find((one) => one.id === event.callId)
        : undefined;
    logger.info(
      {
        ...turn,
        traceId,
        step,
        round: state.rounds.length,
        phase: state.phase,
        ...(call === undefined
          ? {}
          : {
              tool: call.tool,
              callId: call.id,
              argumentsDigest: sha256(canonicalJson(call.arguments)).slice(0, 16),
            }),
        ...outcomeOf(event),
      },
      event.type,
    );
  };
}

function outcomeOf(event: TurnEvent): Record<string, unknown> {
  switch (event.type) {
    case 'model_responded':
      return {
        outcome: event.proposal.kind,
        latencyMs: event.latencyMs,
        tokens: event.usage.inputTokens + event.usage.outputTokens,
        costMicros: event.usage.costMicros,
      };
    case 'model_failed':
      return { outcome: event.failure.kind, latencyMs: event.latencyMs };
    case 'calls_checked':
      return {
        outcome: event.verdicts.map((verdict) =>
          verdict.kind === 'rejected' ? `${verdict.check}:${verdict.code}` : verdict.kind,
        ),
      };
    case 'call_settled':
      return { outcome: event.result.kind, latencyMs: event.latencyMs };
    case 'verification_read':
      return { outcome: event.read.verdict, latencyMs: event.read.latencyMs };
    case 'effect_refused':
      return { outcome: event.refusal.refusal };
    case 'turn_parked':
      return { outcome: event.park.kind, dueAt: event.park.dueAt };
    case 'approval_decided':
      return { outcome: event.decision };
    case 'stop_requested':
      return { outcome: event.cause };
    case 'turn_ended':
      return { outcome: event.ending.outcome, stopReason: event.ending.reason };
    default:
      return {};
  }
}
