import { handsOver, type Delivery, type Ending } from '../contracts/index.ts';
import { digest } from './identity.ts';
import type { AgentRules, ClaimedTurn } from './ports.ts';
import { allCalls, type CallState, type TurnState } from './state.ts';
import { viewRound, type HistoryEntry } from './view.ts';

/** The reply of a turn that completed with one; the only text of the model that ever goes out. */
export function replyOf(state: TurnState, ending: Ending): string | undefined {
  if (ending.outcome !== 'completed') return undefined;
  const proposal = state.rounds.at(-1)?.proposal;
  switch (proposal?.kind) {
    case 'finish_candidate':
      return proposal.as === 'no_reply_needed' ? undefined : proposal.reply;
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
  const unknown = calls.filter(({ effect }) =>
    ['attempted', 'unknown', 'applied'].includes(effect?.status ?? ''),
  );
  const undone = calls.filter(
    ({ effect, step }) =>
      effect !== undefined && (effect.status === 'planned' || step === 'proposed'),
  );
  const identical = Math.max(0, ...Object.values(state.failures));
  const model = state.rounds.at(-1)?.proposal;
  return [
    `Turnkeeper stopped: ${ending.outcome} (${ending.reason}).`,
    ...(model?.kind === 'escalate' ? [`Model's reason: ${shorten(model.rationale, 300)}`] : []),
    `Asked: ${shorten(claimed.messages.map((message) => message.text).join(' / '), 300)}`,
    `Done: ${effectLines(calls).join('; ') || 'nothing'}.`,
    `Not certain: ${unknown.map(describe).join('; ') || 'nothing'}.`,
    `Left undone: ${undone.map(describe).join('; ') || 'nothing'}.`,
    unknown.length > 0
      ? 'Next: settle what is not certain in the system that owns it before anything is repeated.'
      : 'Next: it is safe to act or to reprocess; what is on record as done will not happen again.',
    `${state.rounds.length} rounds, ${identical} identical failures.`,
  ].join('\n');
}

function effectLines(calls: readonly CallState[]): string[] {
  return calls
    .filter(({ effect }) => effect !== undefined && effect.status !== 'planned')
    .map(describe);
}

function describe({ tool, effect }: CallState): string {
  return `${tool} ${effect?.resource ?? ''} ${effect?.status ?? 'not run'}`;
}

function shorten(text: string, length: number): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > length ? `${flat.slice(0, length - 1)}…` : flat;
}
