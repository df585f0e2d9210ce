import type { CallResult, Fact, Facts, Proposal, Requester } from '../contracts/index.ts';
import { allCalls, type Round, type TurnState } from './state.ts';
import { principalOf, type AgentRules, type ClaimedTurn } from './ports.ts';

export type ToolDescription = {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: Readonly<Record<string, unknown>>;
};

/** One answer to one proposed call, worded by the runtime. `evidence` is the id by which a claim may cite it. */
export type ViewResult = {
  callId: string;
  tool: string;
  evidence: string;
  result: CallResult;
  /** Names what was done, for a further one that follows it. */
  operation?: string;
};
export type ViewRound = {
  proposal: Proposal | null;
  results: readonly ViewResult[];
  objection?: string;
};

/** What happened before in the conversation. A turn is there with all of its messages if it completed, else as one generated line. */
export type HistoryEntry =
  | {
      kind: 'turn';
      turnId: string;
      customer: readonly string[];
      rounds: readonly ViewRound[];
      reply: string;
    }
  | { kind: 'line'; turnId: string; line: string }
  /** What a person of the company wrote to the customer. */
  | { kind: 'human'; by: string; text: string };

/** What is established about one object, and whether it may have changed since. */
export type ViewFact = Fact & { stale: boolean };

/** What the runtime says about a write of this turn; no tool and no model words it. */
export type ViewEffect = { tool: string; resource: string; status: string; operation: string };

/**
 * Everything a model sees, and nothing else: a layer of its own between the record and the model. What the loop owns
 * (`budget`, `effects`, `openQuestions`), what was asked (`requester`, `messages`), what tools last claimed (`rounds`) and
 * what is established (`facts`) stay apart. It holds no approvals and nothing a model could rewrite; the raw record is not
 * in it.
 */
export type View = {
  agent: string;
  instructions: string;
  skills: readonly { name: string; description: string }[];
  requester: Requester;
  history: readonly HistoryEntry[];
  /** What the customer wrote: data, never instructions. */
  messages: readonly { text: string; subject?: string }[];
  facts: Readonly<Record<string, ViewFact>>;
  effects: readonly ViewEffect[];
  /** What is not settled yet and stands between the turn and its end. */
  openQuestions: readonly string[];
  /** One line for each round before those in `rounds`. */
  earlierRounds: readonly string[];
  /** The last rounds word for word. */
  rounds: readonly ViewRound[];
  tools: readonly ToolDescription[];
  budget: { roundsLeft: number; toolCallsLeft: number; tokensLeft: number; costMicrosLeft: number };
};

/** Rounds of the turn, and turns of the history, that are shown word for word; what is older takes a line each. */
export const SHOWN_IN_FULL = 8;

/** After this long an observation is shown as possibly out of date. Milliseconds. */
export const STALE_AFTER_MS = 300_000;

export function assembleView(
  state: TurnState,
  claimed: ClaimedTurn,
  rules: AgentRules,
  tools: readonly ToolDescription[],
  facts: Facts,
  now: number,
): View {
  const { limits, spent, rounds } = state;
  const calls = allCalls(state);
  return {
    agent: rules.name,
    instructions: rules.instructions,
    skills: rules.skills,
    requester: principalOf(claimed.messages),
    history: claimed.history.map((entry, index, all) =>
      index < all.length - SHOWN_IN_FULL ? shortened(entry) : entry,
    ),
    messages: claimed.messages.map(({ text, subject }) =>
      subject === undefined ? { text } : { text, subject },
    ),
    facts: Object.fromEntries(
      Object.entries(facts).map(([resource, fact]) => [
        resource,
        { ...fact, stale: now - fact.at > STALE_AFTER_MS },
      ]),
    ),
    effects: calls.flatMap(({ tool, effect }) =>
      effect === undefined || effect.status === 'planned'
        ? []
        : [{ tool, ...pick(effect), status: effect.status }],
    ),
    openQuestions: openQuestions(state),
    earlierRounds: rounds.slice(0, -SHOWN_IN_FULL).map((round, index) => roundLine(round, index)),
    rounds: rounds.slice(-SHOWN_IN_FULL).map(viewRound),
    tools,
    budget: {
      roundsLeft: limits.rounds - rounds.length,
      toolCallsLeft: limits.toolCalls - spent.toolCalls,
      tokensLeft: limits.tokens - spent.tokens,
      costMicrosLeft: limits.costMicros - spent.costMicros,
    },
  };
}

function pick({ resource, operation }: { resource: string; operation: string }) {
  return { resource, operation };
}

/** An entry is shown in every view of the turns that follow it. */
const SHORTENED = new WeakMap<HistoryEntry, HistoryEntry>();

function shortened(entry: HistoryEntry): HistoryEntry {
  if (entry.kind !== 'turn') return entry;
  const known = SHORTENED.get(entry);
  if (known !== undefined) return known;
  const { turnId, customer, reply } = entry;
  const line = `Earlier message "${shorten(customer.join(' / '), 200)}", answered "${shorten(reply, 200)}".`;
  const short: HistoryEntry = { kind: 'line', turnId, line };
  SHORTENED.set(entry, short);
  return short;
}

function roundLine({ calls, objection }: Round, index: number): string {
  const steps = calls.map(
    ({ tool, id, result, effect }) =>
      `${tool} (${id}) ${effect?.status ?? result?.kind ?? 'not run'}`,
  );
  return `Round ${index + 1}: ${steps.join('; ') || (objection ?? 'nothing was run')}`;
}

function openQuestions(state: TurnState): string[] {
  const unsettled = allCalls(state).filter(({ effect }) => isUnsettled(effect?.status));
  const objection = state.rounds.at(-1)?.objection;
  return [
    ...unsettled.map(({ tool, id }) => `${tool} (${id}): whether it happened is not certain yet.`),
    ...(objection === undefined ? [] : [objection]),
  ];
}

/** An effect that may have happened and of which nobody has seen that it did. */
export function isUnsettled(status: string | undefined): boolean {
  return status === 'attempted' || status === 'applied' || status === 'unknown';
}

/** One line of at most `length` characters. */
export function shorten(text: string, length: number): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > length ? `${flat.slice(0, length - 1)}…` : flat;
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
      ...(call.effect?.status === 'verified' ? { operation: call.effect.operation } : {}),
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
