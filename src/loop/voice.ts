import { handsOver, type Delivery, type Ending, type EventOf } from '../contracts/index.ts';
import { digest } from './identity.ts';
import type { AgentRules, ClaimedTurn } from './ports.ts';
import { allCalls, type CallState, type TurnState } from './state.ts';
import { identicalFailures, repetitionOf } from './repetition.ts';
import { isUnsettled, shorten, viewRound, type HistoryEntry } from './view.ts';

/** The reply of a turn that completed with one; the only text of the model that ever goes out. */
export function replyOf(state: TurnState, ending: Ending): string | undefined {
  if (ending.outcome !== 'completed') return undefined;
  const { proposal, reply } = state.rounds.at(-1) ?? {};
  switch (proposal?.kind) {
    case 'finish_candidate':
      return proposal.as === 'no_reply_needed' ? undefined : (reply ?? proposal.reply);
    case 'ask_customer':
      return proposal.text;
    case 'refuse':
      return proposal.reply;
    default:
      return undefined;
  }
}

export function deliveriesAtEnd(
  claimed: ClaimedTurn,
  state: TurnState,
  ending: Ending,
  rules: AgentRules,
): Delivery[] {
  const reply = replyOf(state, ending);
  const deliveries: Delivery[] = [];
  if (reply !== undefined) deliveries.push(delivery(claimed, 'reply', reply));
  if (handsOver(ending)) {
    // After a takeover the customer already talks to a person; everyone else is told once that one is coming.
    if (ending.reason !== 'human_takeover') {
      deliveries.push(delivery(claimed, 'handover', rules.texts.handover));
    }
    deliveries.push(delivery(claimed, 'note', handoverNote(claimed, state, ending)));
  }
  return deliveries;
}

export function holdingDelivery(claimed: ClaimedTurn, rules: AgentRules): Delivery {
  return delivery(claimed, 'holding', rules.texts.holding);
}

/** Where earlier deliveries are still on their way, their worker will find the new ones by itself. */
export function isNews(deliveries: readonly Delivery[], unsettled: number): boolean {
  return deliveries.length > 0 && unsettled <= deliveries.length;
}

function delivery(claimed: ClaimedTurn, kind: Delivery['kind'], text: string): Delivery {
  const { turnId } = claimed.claim;
  return { id: digest('delivery', turnId, kind), kind, text, turnId };
}

/** What the model-facing history keeps of a turn: everything if it completed, else one generated line. */
export function historyEntry(claimed: ClaimedTurn, state: TurnState, ending: Ending): HistoryEntry {
  const { turnId } = claimed.claim;
  const customer = claimed.messages.map((message) => message.text);
  if (ending.outcome === 'completed') {
    const rounds = state.rounds.map(viewRound);
    return { kind: 'turn', turnId, customer, rounds, reply: replyOf(state, ending) ?? '' };
  }
  const effects = effectLines(allCalls(state)).join('; ') || 'no effects';
  const line = `Earlier message "${shorten(customer.join(' / '), 200)}": ${ending.outcome} (${ending.reason}); ${effects}.`;
  return { kind: 'line', turnId, line };
}

/** For the people who take over: what was asked, done, unknown and left undone, and what is safe now. */
function handoverNote(claimed: ClaimedTurn, state: TurnState, ending: Ending): string {
  const calls = allCalls(state);
  const unknown = calls.filter(({ effect }) => isUnsettled(effect?.status));
  const undone = calls.filter(
    ({ effect, step }) => effect?.status === 'planned' || step === 'proposed',
  );
  const { rounds, identical } = progressOf(state);
  const model = state.rounds.at(-1)?.proposal;
  return [
    `Turnkeeper stopped: ${ending.outcome} (${ending.reason}).`,
    ...(model?.kind === 'escalate' ? [`Model's reason: ${shorten(model.rationale, 300)}`] : []),
    ...stoppedBy(state),
    `Asked: ${shorten(claimed.messages.map((message) => message.text).join(' / '), 300)}`,
    `Done: ${effectLines(calls).join('; ') || 'nothing'}.`,
    `Not certain: ${unknown.map(describe).join('; ') || 'nothing'}.`,
    `Left undone: ${undone.map(describe).join('; ') || 'nothing'}.`,
    unknown.length > 0
      ? 'Next: settle what is not certain in the system that owns it before anything is repeated.'
      : 'Next: it is safe to act or to reprocess; what is on record as done will not happen again.',
    `${rounds} rounds, ${identical} identical.`,
    ...(ending.outcome === 'budget_exhausted' ? [`Used: ${spentOf(state)}.`] : []),
  ].join('\n');
}

/** Who asked for the stop, when, and what was under way then: nothing is claimed to be rolled back. */
function stoppedBy({ stop }: TurnState): string[] {
  if (stop?.requestedAt === undefined) return [];
  const { by = 'nobody named', reason = '', running = [], how = 'stopped' } = stop;
  const met = running.length === 0 ? 'nothing was under way' : `${running.join(', ')} ${HOW[how]}`;
  return [
    `Asked to stop by ${by} at ${new Date(stop.requestedAt).toISOString()}${reason === '' ? '' : ` (${shorten(reason, 200)})`}; stopped at ${new Date(stop.at).toISOString()}; ${met}.`,
  ];
}

const HOW = {
  stopped: 'ended when told to',
  completed: 'ran to its end all the same',
  abandoned: 'was left behind and may still be running',
} as const;

/** How far a turn got without getting further: rounds in all, and how many of them, or of their calls, were the same. */
function progressOf(state: TurnState): { rounds: number; identical: number } {
  const repeated = repetitionOf(state)?.rounds ?? 0;
  return {
    rounds: state.rounds.length,
    identical: Math.max(identicalFailures(state), repeated),
  };
}

function spentOf({ rounds, spent, limits }: TurnState): string {
  return [
    `${rounds.length} of ${limits.rounds} rounds`,
    `${spent.toolCalls} of ${limits.toolCalls} tool calls`,
    `${spent.tokens} of ${limits.tokens} tokens`,
    `${spent.costMicros} of ${limits.costMicros} micro-dollars`,
  ].join(', ');
}

function effectLines(calls: readonly CallState[]): string[] {
  return calls
    .filter(({ effect }) => effect !== undefined && effect.status !== 'planned')
    .map(describe);
}

/** One line whatever tool and resource are called: their names may hold what a model or a customer wrote. */
function describe({ tool, effect }: CallState): string {
  const done =
    effect === undefined ? 'not run' : `${shorten(effect.resource, 200)} ${effect.status}`;
  return `${shorten(tool, 100)} ${done}`;
}

/** What the end of a turn says about its lack of progress, if that is why it ended. */
export function repetitionAt(
  state: TurnState,
  { reason }: Ending,
): Pick<EventOf<'turn_ended'>, 'repetition'> {
  const stuck = reason === 'repeated_state' || reason === 'consecutive_failures';
  return stuck ? { repetition: progressOf(state) } : {};
}
