import type { EventOf, Limits, TurnEvent } from '../contracts/index.ts';
import { actionHash, type CallState } from '../loop/index.ts';
import type { TurnStory } from './turn-story.ts';
import { shorten } from './visible-text.ts';
import { clock, duration, listed } from './wording.ts';

/** What the sentences about an end are made of. Texts that may be absent come with their own punctuation. */
export type EndFacts = {
  /** The call it came down to: `issue_refund on order:4482`. */
  action: string;
  toolSaid: string;
  reads: { count: number; last: string; overMs: number };
  decision: { by: string; comment: string; waitedMs: number };
  repeated: { what: string; code: string; count: number };
  /** Where it ended for lack of progress: rounds in all, and how many of them, or of their calls, were the same. */
  repetition: { rounds: number; identical: number } | undefined;
  /** Failures since the last success. */
  failures: number;
  objection: string;
  rationale: string;
  /** ` by ana (reason)`, or nothing. */
  by: string;
  /** `, asked for at …, stopped at …; under way then: …`, or nothing. */
  stopped: string;
  /** Until when the account of the model is limited, where that is why it was not asked. */
  limitedUntil: number | undefined;
  modelSaid: string;
  modelFailures: number;
  rounds: number;
  limits: Limits;
  spent: { tokens: number; costMicros: number };
  /** `called cancel_order at 14:02:07.120Z`. */
  lastStep: string;
};

export function endFacts(story: TurnStory): EndFacts {
  const { state, steps } = story.replayed;
  const call = decisiveCall(story);
  const events = steps.flatMap(({ event }) => (event === undefined ? [] : [event]));
  const proposal = state.rounds.at(-1)?.proposal;
  const objection = state.rounds.at(-1)?.objection;
  const failure = lastOf(events, 'model_failed')?.failure;
  const detail =
    failure?.detail === undefined || failure.detail === '' ? '' : ` (${failure.detail})`;
  const { stop } = state;
  return {
    action: call === undefined ? 'the action' : nameOf(call),
    toolSaid: call === undefined ? 'nothing' : said(call),
    reads: readsOf(call),
    decision: decisionOf(story, events),
    repeated: repeatedOf(story),
    repetition: lastOf(events, 'turn_ended')?.repetition,
    failures: Object.values(state.failures).reduce((sum, one) => sum + one, 0),
    objection:
      objection === undefined ? '' : `; the last objection was: ${shorten(objection, 200)}`,
    rationale: proposal?.kind === 'escalate' ? shorten(proposal.rationale, 200) : '',
    by:
      stop?.by === undefined
        ? ''
        : ` by ${stop.by}${stop.reason === undefined ? '' : ` (${stop.reason})`}`,
    stopped: stop === undefined ? '' : stoppedText(stop),
    limitedUntil: failure?.kind === 'account_limited' ? failure.retryAt : undefined,
    modelSaid: detail,
    modelFailures: state.modelFailures,
    rounds: state.rounds.length,
    limits: state.limits,
    spent: state.spent,
    lastStep: lastStepOf(story),
  };
}

/** `issue_refund on order:4482`. */
export function nameOf(call: Pick<CallState, 'tool' | 'effect'>): string {
  return call.effect === undefined || call.effect.resource === ''
    ? call.tool
    : `${call.tool} on ${call.effect.resource}`;
}

const NO_STEPS: readonly TurnEvent['type'][] = [
  'turn_ended',
  'stop_requested',
  'turn_failed',
  'turn_resumed',
];

/** The last thing that happened before the turn stopped, with its time. */
export function lastStepOf({ replayed, calls }: TurnStory): string {
  const last = replayed.steps.findLast(
    ({ event }) => event !== undefined && !NO_STEPS.includes(event.type),
  );
  if (last?.event === undefined) return 'the start';
  const { event } = last;
  const call = 'callId' in event ? calls.find((one) => one.id === event.callId) : undefined;
  return `${event.type}${call === undefined ? '' : ` of ${nameOf(call)}`} at ${clock(event.at)}`;
}

/** The one that is not settled, else the last one. */
function decisiveCall({ calls, turn, approvals }: TurnStory): CallState | undefined {
  const approval = approvals.find((one) => one.id === turn.park?.approvalId) ?? approvals.at(-1);
  const byApproval = turn.reason?.startsWith('approval_') ? approval?.callId : undefined;
  const open = calls.findLast(
    ({ id, effect, step }) => id === byApproval || (effect !== undefined && step !== 'done'),
  );
  return open ?? calls.at(-1);
}

function said({ result }: CallState): string {
  if (result === undefined) return 'no answer';
  if (result.kind !== 'ok') return `${result.kind} (${result.code})`;
  const { data } = result.observation;
  const status =
    typeof data === 'object' && data !== null && 'status' in data ? data.status : undefined;
  return typeof status === 'string' ? JSON.stringify(status) : 'success';
}

function readsOf(call: CallState | undefined): EndFacts['reads'] {
  const reads = call?.effect?.reads ?? [];
  const [first, last] = [reads[0], reads.at(-1)];
  return {
    count: reads.length,
    last: last?.verdict ?? 'nothing',
    overMs: (last?.at ?? 0) - (first?.at ?? 0),
  };
}

function decisionOf({ approvals }: TurnStory, events: readonly TurnEvent[]): EndFacts['decision'] {
  const event = lastOf(events, 'approval_decided');
  const approval = approvals.find((one) => one.id === event?.approvalId) ?? approvals.at(-1);
  const asked = approval?.requestedAt ?? lastOf(events, 'turn_parked')?.at ?? 0;
  const comment = event?.comment ? ` (${event.comment})` : '';
  return {
    by: event?.by ?? 'somebody',
    comment,
    waitedMs: (approval?.expiresAt ?? event?.at ?? asked) - asked,
  };
}

function repeatedOf({ replayed, calls }: TurnStory): EndFacts['repeated'] {
  const [fingerprint = '', times = 0] =
    Object.entries(replayed.state.failures).toSorted((a, b) => b[1] - a[1])[0] ?? [];
  const [hash = '', , code = 'failure'] = fingerprint.split(' ');
  const call = calls.findLast(
    (one) => (one.request ?? actionHash(one.tool, one.arguments)) === hash,
  );
  return { what: call === undefined ? 'the same call' : nameOf(call), code, count: times };
}

type Stop = EventOf<'stop_requested'>;

const HOW = {
  stopped: 'which ended when told to',
  completed: 'which ran to its end all the same',
  abandoned: 'which was left behind and may still run',
} as const satisfies Record<NonNullable<Stop['how']>, string>;

/** Both moments, and what was under way between them; nothing of it is said to be taken back. */
export function stoppedText({ at, requestedAt, running = [], how = 'stopped' }: Stop): string {
  if (requestedAt === undefined) return '';
  const times = `, asked for at ${clock(requestedAt)}, stopped at ${clock(at)} (${duration(at - requestedAt)} later)`;
  return running.length === 0
    ? `${times}; nothing was under way`
    : `${times}; under way: ${listed(running)}, ${HOW[how]}`;
}

function lastOf<T extends TurnEvent['type']>(
  events: readonly TurnEvent[],
  type: T,
): EventOf<T> | undefined {
  return events.findLast((event): event is EventOf<T> & TurnEvent => event.type === type);
}
