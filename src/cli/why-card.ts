import type { LedgerRow } from '../contracts/index.ts';
import type { CallState } from '../loop/index.ts';
import { endFacts, lastStepOf, nameOf } from './end-facts.ts';
import type { TurnStory } from './turn-story.ts';
import { shorten } from './visible-text.ts';
import { explanationOf } from './why-sentences.ts';
import { count, duration, iso, isoOrNull, listed } from './wording.ts';

export type WhyState = 'ended' | 'running' | 'parked' | 'held_back' | 'worker_lost' | 'not_started';
export type SafeToRepeat = 'yes' | 'no' | 'nothing_to_repeat';

/** The JSON of `why`: one sentence with the cause first, then four boxes. */
export type WhyCard = {
  turnId: string | null;
  conversationId: string;
  state: WhyState;
  outcome: string | null;
  stopReason: string | null;
  sentence: string;
  done: string[];
  notDone: string[];
  safeToRunAgain: { answer: SafeToRepeat; text: string };
  /** The recommended one first, three at most. */
  whatYouCanDo: string[];
  /** A stop somebody asked for. Asking and stopping are two facts; either may be missing. */
  stop: StopView | null;
  /** Where it ended for lack of progress. */
  repetition: { rounds: number; identical: number } | null;
  /** Procedures it loaded, and in which version. */
  skills: { name: string; version: string }[];
  /** What else one should know: who has the conversation, a stop that was not heeded, the procedures it loaded. */
  notes: string[];
  owner: 'agent' | 'human';
  takenBy: string | null;
};

/** Times are null where it was not asked for, or has not stopped. */
export type StopView = {
  cause: string;
  by: string | null;
  reason: string | null;
  requestedAt: string | null;
  stoppedAt: string | null;
  /** What was under way when it was asked for. */
  running: string[];
  how: string | null;
};

export type End = { state: WhyState; sentence: string; remedy?: string };

export function whyCard(story: TurnStory, now: number): WhyCard {
  const { turn } = story;
  const { state, sentence, remedy } = storyOfEnd(story, now);
  return {
    turnId: turn.turnId,
    conversationId: turn.conversationId,
    state,
    outcome: turn.outcome,
    stopReason: turn.reason,
    sentence,
    done: doneIn(story),
    notDone: notDoneIn(story),
    safeToRunAgain: safety(story, state),
    whatYouCanDo: advice(story, state, remedy).slice(0, 3),
    stop: stopView(story),
    repetition: endFacts(story).repetition ?? null,
    skills: [...story.replayed.state.skills],
    notes: notesOn(story),
    owner: turn.holder.owner,
    takenBy: turn.holder.takenBy,
  };
}

/** What the record of the turn says about a stop; of one it has not heeded, what was asked for. */
export function stopView({ turn, replayed }: TurnStory): StopView | null {
  const { stop } = replayed.state;
  const asked = stop ?? turn.request;
  if (asked === null) return null;
  return {
    ...{ cause: asked.cause, by: asked.by ?? null, reason: asked.reason ?? null },
    requestedAt: isoOrNull(asked.requestedAt),
    ...{ stoppedAt: isoOrNull(stop?.at), running: stop?.running ?? [], how: stop?.how ?? null },
  };
}

function notesOn(story: TurnStory): string[] {
  const { skills } = story.replayed.state;
  const loaded = skills.map(({ name, version }) => `${name} ${version}`);
  return [
    ...unheeded(story),
    ...ownerNote(story),
    ...(loaded.length === 0 ? [] : [`Procedures it loaded: ${listed(loaded)}.`]),
  ];
}

/** Who has the conversation, if it is not the agent's. */
export function ownerNote({ turn }: Pick<TurnStory, 'turn'>): string[] {
  const { owner, takenBy, takenAt } = turn.holder;
  if (owner === 'agent') return [];
  return takenBy === null || takenAt === null
    ? ['A person has the conversation: the agent handed it over, nobody has taken it yet.']
    : [`${takenBy} has the conversation since ${iso(takenAt)}.`];
}

/** A stop that was asked for and has not been heeded: too late, or on its way. */
export function unheeded({ turn, replayed }: TurnStory): string[] {
  const { request } = turn;
  if (request === null || replayed.state.stop?.requestedAt === request.requestedAt) return [];
  const { cause, by = 'nobody named', reason, requestedAt } = request;
  const why = reason === undefined || reason === '' ? '' : ` (${reason})`;
  const when = requestedAt === undefined ? '' : ` at ${iso(requestedAt)}`;
  const came = turn.phase === 'ended' ? 'it came too late to be heeded' : 'it has not stopped yet';
  return [`A stop (${cause}) was asked for by ${by}${when}${why}; ${came}.`];
}

/** Why it stopped, or, of a turn that has not, where it stands. */
export function storyOfEnd(story: TurnStory, now = Date.now()): End {
  const { turn, replayed } = story;
  if (turn.phase === 'ended') {
    const explanation = explanationOf(turn.reason);
    if (explanation === undefined) {
      const sentence = `Stopped with ${turn.outcome}/${turn.reason}, which this version does not know.`;
      return { state: 'ended', sentence };
    }
    const { sentence, remedy } = explanation;
    return {
      state: 'ended',
      sentence: sentence(endFacts(story)),
      ...(remedy === undefined ? {} : { remedy }),
    };
  }
  if (turn.park !== null) return parkedEnd(story, now);
  const { worker, heldUntil } = turn.holder;
  if (heldUntil !== null && heldUntil > now) {
    const sentence = `Held back until ${iso(heldUntil)}: its workers got nowhere with it; it is tried again then.`;
    return { state: 'held_back', sentence };
  }
  if (worker === 'alive') {
    const { phase } = replayed.state;
    const where = phase === 'queued' ? 'its first model call' : phase;
    return { state: 'running', sentence: `Still running (${where}); nothing has stopped.` };
  }
  const last = lastStepOf(story);
  return {
    state: 'worker_lost',
    sentence: `Reason unknown: the worker died before writing it. Last safe point: ${last}. Resume is safe.`,
  };
}

function parkedEnd(story: TurnStory, now: number): End {
  const { park } = story.turn;
  const until = park === null ? '' : iso(park.dueAt);
  const action = endFacts(story).action;
  switch (park?.kind) {
    case 'approval': {
      const reason = story.approvals.find((one) => one.id === park.approvalId)?.reason;
      const cause = reason === undefined ? '' : `: ${reason}`;
      return {
        state: 'parked',
        sentence: `Waiting for a person to decide on ${action}${cause}; expires ${until}.`,
      };
    }
    case 'verification': {
      const reads = story.turn.storedReads.filter((one) => one.park === park.number);
      const last = reads.at(-1)?.read.verdict;
      const said =
        last === undefined
          ? ''
          : ` (${count(reads.length, 're-read')} since, the last said ${last})`;
      const next =
        park.dueAt > now ? `the next re-read is due ${until}` : 'the next re-read is due';
      return { state: 'parked', sentence: `Waiting until ${action} is proven${said}; ${next}.` };
    }
    default:
      return {
        state: 'parked',
        sentence: `Backing off until ${until}: ${endFacts(story).limitedUntil === undefined ? 'the model was not available' : 'the account of the model is limited, so it was not asked'}.`,
      };
  }
}

// --- the boxes ------------------------------------------------------------------------------------------------------

const STATUS_WORDS = {
  attempted: 'sent, no answer on record',
  applied: 'answered, not proven',
  rejected: 'refused by the backend',
  unknown: 'not known whether it happened',
  verified: 'done and proven',
  not_landed: 'proven not to have happened',
} as const satisfies Record<LedgerRow['status'], string>;

function effectText(row: LedgerRow): string {
  const { settledBy, evidence = '' } = row;
  const settled =
    settledBy === undefined ? '' : `, settled by ${settledBy}: ${shorten(evidence, 200)}`;
  return `${row.tool} on ${row.resource}: ${STATUS_WORDS[row.status]} (${row.status}, operation ${row.operation})${settled}`;
}

const MAY_HAVE_HAPPENED: readonly LedgerRow['status'][] = ['attempted', 'applied', 'unknown'];

function happened(row: LedgerRow): boolean {
  return row.status === 'verified' || MAY_HAVE_HAPPENED.includes(row.status);
}

function doneIn({ ledger, earlier, deliveries }: TurnStory): string[] {
  const texts = deliveries
    .filter(({ status }) => status === 'sent')
    .map(({ kind }) => `${kind} sent to the ticket`);
  const before = earlier.filter(happened).map((row) => `${effectText(row)}, by an earlier turn`);
  return [...ledger.filter(happened).map(effectText), ...before, ...texts];
}

function notDoneIn({ ledger, calls, deliveries, turn }: TurnStory): string[] {
  const undone = ledger.filter((row) => !happened(row)).map(effectText);
  const sent = new Set(ledger.map((row) => row.operation));
  const ended = turn.phase === 'ended';
  const unsent = new Map<string, string[]>();
  for (const call of calls) {
    if (!neverSent(call, sent)) continue;
    const why = `${nameOf(call)}: ${notRun(call, ended)}`;
    unsent.set(why, [...(unsent.get(why) ?? []), call.id]);
  }
  const unsentTexts = deliveries
    .filter(({ status }) => status !== 'sent')
    .map(({ kind, status }) => `${kind}: ${DELIVERY_WORDS[status]}`);
  const answered = deliveries.some(({ kind }) => kind === 'reply');
  const silent = turn.reason === 'no_reply_needed' || turn.reason === 'superseded';
  return [
    ...undone,
    ...[...unsent].map(([why, ids]) => `${why} (call ${listed(ids)})`),
    ...unsentTexts,
    ...(ended && !answered && !silent ? ['the message was not answered by the agent'] : []),
  ];
}

/** A call that changed nothing and of which the ledger knows nothing. */
function neverSent({ effect, result }: CallState, sent: ReadonlySet<string>): boolean {
  if (effect === undefined) return result?.kind === 'rejected';
  return !sent.has(effect.operation) && result?.kind !== 'ok';
}

const DELIVERY_WORDS = {
  pending: 'not sent yet',
  sending: 'being sent',
  sent: 'sent',
  unknown: 'not known whether the ticket has it',
  dropped: 'not sent on purpose',
} as const;

function notRun({ result, step }: CallState, ended: boolean): string {
  if (result !== undefined) return result.kind === 'ok' ? 'ok' : `${result.kind}, ${result.code}`;
  return step === 'awaiting_approval' && !ended ? 'waits for a person' : 'never sent';
}

function safety({ ledger }: TurnStory, state: WhyState): WhyCard['safeToRunAgain'] {
  if (state === 'running' || state === 'parked' || state === 'held_back') {
    return {
      answer: 'nothing_to_repeat',
      text: 'It has not ended: there is nothing to run again.',
    };
  }
  const open = ledger.filter((row) => MAY_HAVE_HAPPENED.includes(row.status));
  const proven = ledger.filter((row) => row.status === 'verified');
  if (open.length > 0 && state === 'ended') {
    const names = listed(open.map((row) => `${row.tool} on ${row.resource} (${row.status})`));
    return { answer: 'no', text: `No, not before this is settled: ${names}.` };
  }
  if (open.length > 0) {
    return {
      answer: 'yes',
      text: 'Yes: the next worker re-reads what was sent before it does anything else.',
    };
  }
  if (proven.length === 0)
    return { answer: 'yes', text: 'Yes: nothing was changed, so nothing can happen twice.' };
  const names = listed(proven.map((row) => `${row.tool} on ${row.resource}`));
  return {
    answer: 'yes',
    text: `Yes: what is proven in the ledger will not happen again: ${names}.`,
  };
}

function advice(story: TurnStory, state: WhyState, remedy: string | undefined): string[] {
  const { turn, missing } = story;
  const trace = `See each step: turnkeeper trace ${turn.turnId}`;
  const gaps = missing.some((link) => !link.explained)
    ? ['The record has gaps; the trace names them.']
    : [];
  switch (state) {
    case 'parked':
      return turn.park?.approvalId === undefined
        ? ['Nothing: it goes on by itself.', trace]
        : [
            `Look at it: turnkeeper approvals show ${turn.park.approvalId}`,
            `Agree: turnkeeper approvals approve ${turn.park.approvalId} --by <you>`,
            `Refuse: turnkeeper approvals reject ${turn.park.approvalId} --by <you> --reason <why>`,
          ];
    case 'worker_lost':
      return [
        'Nothing, if another worker runs: it takes over within seconds. Else: turnkeeper worker',
        trace,
      ];
    case 'running':
    case 'held_back':
      return ['Nothing: it goes on by itself.', trace];
    default: {
      const unsure = story.ledger.some((row) => MAY_HAVE_HAPPENED.includes(row.status));
      const ledger = unsure ? [`See what was sent: turnkeeper ledger --turn ${turn.turnId}`] : [];
      const nothing = turn.outcome === 'completed' ? ['Nothing: it is done.'] : [];
      return [...(remedy === undefined ? nothing : [remedy]), ...gaps, ...ledger, trace];
    }
  }
}

/** A conversation whose message no worker has taken yet. */
export function notStarted(
  conversationId: string,
  waiting: number,
  since: number | null,
  now: number,
): WhyCard {
  const waits = since === null ? '' : `, the oldest for ${duration(now - since)}`;
  return {
    turnId: null,
    conversationId,
    state: 'not_started',
    outcome: null,
    stopReason: null,
    sentence: `Not started: ${count(waiting, 'message')} accepted and not taken by a worker yet${waits}.`,
    done: [],
    notDone: [`${count(waiting, 'message')} not answered`],
    safeToRunAgain: {
      answer: 'nothing_to_repeat',
      text: 'It has not started: there is nothing to run again.',
    },
    whatYouCanDo: ['See whether a worker runs: turnkeeper doctor', 'Start one: turnkeeper worker'],
    ...{ stop: null, repetition: null, skills: [], notes: [], owner: 'agent', takenBy: null },
  };
}
