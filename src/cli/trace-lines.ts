import {
  limitsSchema,
  type CallResult,
  type CallVerdict,
  type ModelFailure,
  type Proposal,
  type TurnEvent,
  type Usage,
  type VerificationRead,
} from '../contracts/index.ts';
import { allCalls, type TurnState } from '../loop/index.ts';
import type { TurnOnRecord } from '../store/records.ts';
import { stoppedText } from './end-facts.ts';
import type { Replay, Step } from './replay.ts';
import { clock, count, dollars, duration, iso } from './wording.ts';

/** What a line is about. `tool_said` and `reread_said` are never one line: the gap between them is the point. */
export const LINE_KINDS = {
  observed: 'observed',
  started: 'started',
  resumed: 'resumed',
  asked: 'asked model',
  proposed: 'proposed',
  model_failed: 'model failed',
  checked: 'checked',
  called: 'called',
  held_back: 'held back',
  tool_said: 'TOOL SAID',
  rereading: 're-reading',
  reread_said: 'RE-READ SAID',
  parked: 'parked',
  approval: 'approval',
  stop_requested: 'stop asked',
  stopped: 'stopped',
  missing: 'MISSING',
} as const;
export type LineKind = keyof typeof LINE_KINDS;

export type TraceLine = {
  /** Place in the record, from 1; several lines may come from one event, and 0 is what came before the turn. */
  event: number;
  at: string | null;
  kind: LineKind;
  /** Where the turn is after it. */
  phase: string | null;
  text: string;
  callId?: string;
  tool?: string;
  latencyMs?: number;
  tokens?: number;
  costMicros?: number;
  /** What was proposed, answered or read, as it is on record. */
  data?: unknown;
};

type Said = Omit<TraceLine, 'event' | 'at' | 'phase'> & { at?: number };

/** The record of a turn, line by line: who said what, what followed from it, what it cost. */
export function traceLines(turn: TurnOnRecord, { steps }: Replay): TraceLine[] {
  const observed = turn.messages.map((message): TraceLine => {
    const { id, assurance } = message.requester;
    const text = `message of ${id} (${assurance}): ${quoted(message.text)}`;
    const at = iso(message.acceptedAt);
    return { event: 0, at, kind: 'observed', phase: 'queued', text };
  });
  const recorded = steps.flatMap((step) => linesOf(step));
  const waiting = turn.storedReads.filter(({ park }) => park === turn.park?.number);
  const stored = waiting.map(({ read, final }, index): TraceLine => {
    const callId = turn.park?.callId ?? '';
    const said = readSaid(callId, read, final);
    const text = `${said.text} (read ${index + 1} of this wait; the turn takes it in when it wakes)`;
    return { ...said, event: steps.length, at: iso(read.at), phase: turn.phase, text };
  });
  return [...observed, ...recorded, ...stored];
}

function linesOf(step: Step): TraceLine[] {
  const { event, number } = step;
  if (event === undefined) return [];
  return describe(event, step).map(({ at = event.at, ...said }) => ({
    ...{ event: number, at: iso(at), kind: said.kind, phase: step.after.phase },
    ...said,
  }));
}

function describe(event: TurnEvent, { before, after }: Step): Said[] {
  switch (event.type) {
    case 'turn_started': {
      const { rounds, toolCalls, deadlineMs } = limitsSchema.parse(event.limits);
      const limits = `${rounds} rounds, ${toolCalls} tool calls, ${duration(deadlineMs)}`;
      return [{ kind: 'started', text: `owner ${event.owner}; at most ${limits}` }];
    }
    case 'turn_resumed':
      return [
        { kind: 'resumed', text: `another claim goes on with the turn (claim ${event.epoch})` },
      ];
    case 'model_requested': {
      const { tokens, costMicros } = event.reserved;
      return [
        {
          kind: 'asked',
          text: `round ${event.round}: ${tokens} tokens and ${dollars(costMicros)} reserved`,
        },
      ];
    }
    case 'model_responded':
      return proposed(event, after);
    case 'model_failed': {
      const text = failureText(event.failure);
      return [{ kind: 'model_failed', text, latencyMs: event.latencyMs, ...costOf(event.usage) }];
    }
    case 'finish_judged': {
      const sentBack =
        event.objection === undefined ? undefined : `the reply was sent back: ${event.objection}`;
      return [{ kind: 'checked', text: sentBack ?? 'the reply may go out' }];
    }
    case 'calls_checked':
      return event.verdicts.map((verdict) => checked(verdict, before));
    case 'call_started': {
      const until =
        event.validUntil === undefined ? '' : `, valid until ${clock(event.validUntil)}`;
      return [onCall('called', event.callId, before, `sent${until}`)];
    }
    case 'effect_refused': {
      const { refusal, earlier } = event.refusal;
      const row = earlier === undefined ? '' : ` (${earlier.operation} is ${earlier.status})`;
      return [
        onCall('held_back', event.callId, before, `not sent, the ledger says ${refusal}${row}`),
      ];
    }
    case 'call_settled': {
      const { callId, result, latencyMs } = event;
      const line = onCall('tool_said', callId, before, resultText(result));
      return [{ ...line, latencyMs, data: result }];
    }
    case 'verification_started':
      return [
        onCall('rereading', event.callId, before, 'the system that owns the fact is read again'),
      ];
    case 'verification_read':
      return [
        { ...readSaid(event.callId, event.read, event.final), ...toolOf(event.callId, before) },
      ];
    case 'turn_parked': {
      const { kind, number, dueAt, approvalId } = event.park;
      const what = approvalId === undefined ? kind : `${kind} ${approvalId}`;
      return [
        { kind: 'parked', text: `wait ${number}, for ${what}, until ${iso(dueAt)} at the latest` },
      ];
    }
    case 'approval_decided': {
      const comment = event.comment ? `: ${quoted(event.comment)}` : '';
      return [{ kind: 'approval', text: `${event.decision} by ${event.by}${comment}` }];
    }
    case 'stop_requested': {
      const by = event.by === undefined ? '' : ` by ${event.by}`;
      const reason = event.reason === undefined ? '' : `: ${quoted(event.reason)}`;
      const text = `${event.cause}${by}${reason}${stoppedText(event)}`;
      return [{ kind: 'stop_requested', text, data: event }];
    }
    case 'turn_failed':
      return [{ kind: 'stop_requested', text: `given up by the runtime (${event.code})` }];
    case 'turn_ended': {
      const { ending, repetition } = event;
      const same =
        repetition === undefined
          ? ''
          : ` (${count(repetition.rounds, 'round')}, ${repetition.identical} identical)`;
      const text = `${ending.outcome}/${ending.reason}${same}`;
      return [{ kind: 'stopped', text, data: { ...ending, ...(repetition && { repetition }) } }];
    }
    default:
      return event satisfies never;
  }
}

function proposed(
  event: Extract<TurnEvent, { type: 'model_responded' }>,
  after: TurnState,
): Said[] {
  const { proposal, usage, latencyMs, model } = event;
  const cost = { latencyMs, ...costOf(usage) };
  const calls = after.rounds.at(-1)?.calls ?? [];
  const [first, ...others] =
    proposal.kind === 'tool_calls'
      ? calls.map((call): Said => {
          const { id, tool } = call;
          const text = `${id} ${tool} ${json(call.arguments)}`;
          return { kind: 'proposed', callId: id, tool, text, data: call.arguments };
        })
      : [{ kind: 'proposed', text: proposalText(proposal), data: proposal } as const];
  if (first === undefined) return [];
  const paid = `${model}, ${cost.tokens} tokens, ${dollars(usage.costMicros)}`;
  return [{ ...first, text: `${first.text} (${paid})`, ...cost }, ...others];
}

function costOf(usage: Usage | undefined): { tokens?: number; costMicros?: number } {
  if (usage === undefined) return {};
  return { tokens: usage.inputTokens + usage.outputTokens, costMicros: usage.costMicros };
}

function proposalText(proposal: Exclude<Proposal, { kind: 'tool_calls' }>): string {
  switch (proposal.kind) {
    case 'finish_candidate': {
      const evidence = proposal.claims.flatMap((claim) => claim.evidence);
      return `finish (${proposal.as}), evidence ${evidence.join(', ') || 'none'}: ${quoted(proposal.reply)}`;
    }
    case 'ask_customer':
      return `ask the customer: ${quoted(proposal.text)}`;
    case 'escalate':
      return `escalate: ${quoted(proposal.rationale)}`;
    case 'refuse':
      return `refuse: ${quoted(proposal.reply)}`;
    default:
      return proposal satisfies never;
  }
}

function checked(verdict: CallVerdict, before: TurnState): Said {
  const { callId } = verdict;
  const line = (text: string): Said => onCall('checked', callId, before, text);
  switch (verdict.kind) {
    case 'admitted_read':
      return line('passed, a read');
    case 'admitted_write':
      return {
        ...line(
          `passed, a write: ${verdict.effect.resource}, operation ${verdict.effect.operation}${originText(verdict.origins)}`,
        ),
        ...(verdict.origins && { data: { origins: verdict.origins } }),
      };
    case 'needs_approval':
      return {
        ...line(
          `needs a person: ${verdict.reason} (approval ${verdict.approvalId})${originText(verdict.origins)}`,
        ),
        data: { seen: verdict.seen, ...(verdict.origins && { origins: verdict.origins }) },
      };
    case 'rejected':
      return line(`rejected by ${verdict.check}/${verdict.code}: ${verdict.message}`);
    case 'on_record': {
      const { refusal, earlier } = verdict.refusal;
      const row =
        earlier === undefined ? '' : `, operation ${earlier.operation} is ${earlier.status}`;
      return line(`on record already (${refusal}${row})`);
    }
    default:
      return verdict satisfies never;
  }
}

/** `; orderId from customer, amount from policy`, or nothing. */
function originText(origins: Readonly<Record<string, string | null>> | undefined): string {
  const from = Object.entries(origins ?? {}).map(
    ([name, origin]) => `${name} from ${origin ?? 'NOWHERE ANYBODY CAN TELL'}`,
  );
  return from.length === 0 ? '' : `; ${from.join(', ')}`;
}

/** Of a model that was not asked because its account is limited, until when. */
function failureText({ kind, detail, retryAt, abandoned }: ModelFailure): string {
  const said = detail === undefined ? kind : `${kind}: ${detail}`;
  const again = retryAt === undefined ? '' : `, not before ${iso(retryAt)}`;
  const asked = kind === 'account_limited' ? ', the model was not asked' : '';
  return `${said}${asked}${again}${abandoned === true ? ', left behind and may still run' : ''}`;
}

function resultText(result: CallResult): string {
  switch (result.kind) {
    case 'ok': {
      const earlier = result.earlier === true ? ', the earlier outcome' : '';
      return `ok${earlier} ${json(result.observation.data)}`;
    }
    case 'rejected':
      return `rejected by ${result.check}/${result.code}: ${result.message}`;
    case 'failed':
      return `failed (${result.code}, ${result.transient ? 'may be tried again' : 'final'}): ${result.message}${left(result)}`;
    case 'unknown':
      return `unknown (${result.code}): ${result.message}${left(result)}`;
    case 'refused':
      return `refused (${result.code}): ${result.message}`;
    default:
      return result satisfies never;
  }
}

function left({ abandoned }: { abandoned?: boolean | undefined }): string {
  return abandoned === true ? ' It was left behind and may still run.' : '';
}

function readSaid(callId: string, read: VerificationRead, final: boolean): Said {
  const { verdict, latencyMs, observation, at } = read;
  const { failed } = read;
  const unread = failed === undefined ? '' : ` (no answer: ${failed.code})${left(failed)}`;
  const seen = observation === undefined ? '' : ` ${json(observation.data)}`;
  const last = final ? ', the last read' : '';
  const { judge } = read;
  const rationale = judge?.rationale === undefined ? '' : `: ${quoted(judge.rationale)}`;
  const judged = judge?.model === undefined ? '' : ` (judged by ${judge.model}${rationale})`;
  return {
    kind: 'reread_said',
    at,
    callId,
    latencyMs,
    text: `${callId} ${verdict}${last}${judged}${unread}${seen}`,
    ...costOf(judge?.usage),
    data: read,
  };
}

function onCall(kind: LineKind, callId: string, state: TurnState, text: string): Said {
  const known = toolOf(callId, state);
  const name = known.tool === undefined ? callId : `${callId} ${known.tool}`;
  return { kind, callId, ...known, text: `${name} ${text}` };
}

function toolOf(callId: string, state: TurnState): { tool?: string } {
  const tool = allCalls(state).find((call) => call.id === callId)?.tool;
  return tool === undefined ? {} : { tool };
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
