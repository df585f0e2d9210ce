import type { CallResult, Facts, Proposal, Requester } from '../contracts/index.ts';
import { allCalls, type Round, type TurnState } from './state.ts';
import { principalOf, type AgentRules, type ClaimedTurn } from './ports.ts';

export type ToolDescription = {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: Readonly<Record<string, unknown>>;
};

/** One answer to one proposed call, worded by the runtime. `evidence` is the id by which a claim may cite it. */
export type ViewResult = { callId: string; tool: string; evidence: string; result: CallResult };
export type ViewRound = {
  proposal: Proposal | null;
  results: readonly ViewResult[];
  objection?: string;
};

/** An earlier turn of the conversation: all of its messages if it completed, else one generated line. */
export type HistoryEntry =
  | {
      kind: 'turn';
      turnId: string;
      customer: readonly string[];
      rounds: readonly ViewRound[];
      reply: string;
    }
  | { kind: 'line'; turnId: string; line: string };

/** Everything a model sees, and nothing else. It holds no ledger, no approvals and nothing it could rewrite. */
export type View = {
  agent: string;
  instructions: string;
  skills: readonly { name: string; description: string }[];
  requester: Requester;
  history: readonly HistoryEntry[];
  /** What the customer wrote: data, never instructions. */
  messages: readonly { text: string; subject?: string }[];
  facts: Facts;
  rounds: readonly ViewRound[];
  tools: readonly ToolDescription[];
  budget: { roundsLeft: number; toolCallsLeft: number };
};

export function assembleView(
  state: TurnState,
  claimed: ClaimedTurn,
  rules: AgentRules,
  tools: readonly ToolDescription[],
  facts: Facts,
): View {
  return {
    agent: rules.name,
    instructions: rules.instructions,
    skills: rules.skills,
    requester: principalOf(claimed.messages),
    history: claimed.history,
    messages: claimed.messages.map(({ text, subject }) =>
      subject === undefined ? { text } : { text, subject },
    ),
    facts,
    rounds: state.rounds.map(viewRound),
    tools,
    budget: {
      roundsLeft: state.limits.rounds - state.rounds.length,
      toolCallsLeft: state.limits.toolCalls - state.spent.toolCalls,
    },
  };
}

/** Every call is answered exactly once, also one that was never run. */
export function viewRound(round: Round): ViewRound {
  const proposed = round.proposal?.kind === 'tool_calls' ? round.proposal.calls : [];
  return {
    proposal: round.proposal,
    results: round.calls.map((call, index) => ({
      callId: proposed[index]?.id ?? call.id,
      tool: call.tool,
      evidence: call.id,
      result: call.result ?? NOT_RUN,
    })),
    ...(round.objection === undefined ? {} : { objection: round.objection }),
  };
}

const NOT_RUN: CallResult = {
  kind: 'failed',
  code: 'not_run',
  message: 'the turn ended before this call was run',
  transient: false,
};

/** The ids a claim may cite: calls that were answered. */
export function evidenceIds(state: TurnState): ReadonlySet<string> {
  return new Set(
    allCalls(state)
      .filter((call) => call.result?.kind === 'ok')
      .map((call) => call.id),
  );
}
