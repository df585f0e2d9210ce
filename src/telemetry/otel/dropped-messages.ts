import {
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
} from '@opentelemetry/semantic-conventions/incubating';
import type { Proposal } from '../../contracts/index.ts';
import type { TurnState } from '../../loop/index.ts';
import type { RecordedTurn } from './turn-spans.ts';

/** Longest text kept of all messages of one side, in UTF-16 units. */
const KEPT = 4_000;

/**
 * What a turn that did not complete keeps out of the history: the messages of the customer and what the model made of
 * them, in the form of the conventions. The texts are redacted like every other attribute when they are exported.
 */
export function droppedMessages(
  turn: RecordedTurn,
  state: TurnState,
): Record<string, string> | undefined {
  if (state.ending === undefined || state.ending.outcome === 'completed') return undefined;
  const said = turn.messages.map(({ text }) => message('user', text));
  const proposed = state.rounds.flatMap(({ proposal }) =>
    proposal === null ? [] : [message('assistant', textOf(proposal))],
  );
  return {
    [ATTR_GEN_AI_INPUT_MESSAGES]: JSON.stringify(said),
    [ATTR_GEN_AI_OUTPUT_MESSAGES]: JSON.stringify(proposed),
  };
}

function message(role: 'user' | 'assistant', content: string) {
  return { role, parts: [{ type: 'text', content: content.slice(0, KEPT) }] };
}

function textOf(proposal: Proposal): string {
  switch (proposal.kind) {
    case 'tool_calls':
      return `calls ${proposal.calls.map(({ tool }) => tool).join(', ')}`;
    case 'ask_customer':
      return proposal.text;
    case 'escalate':
      return proposal.rationale;
    case 'finish_candidate':
    case 'refuse':
      return proposal.reply;
    default:
      return proposal satisfies never;
  }
}
