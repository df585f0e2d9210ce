import type { Fact, Facts, Observation } from '../contracts/index.ts';
import type { Toolbox } from './ports.ts';
import { allCalls, type TurnState } from './state.ts';

/**
 * What is established: the conversation's facts and what this turn has read itself. Only answers of read tools and
 * verification reads enter; nothing becomes a fact because someone wrote it. A capped observation is no fact.
 */
export function establishedFacts(base: Facts, state: TurnState, tools: Toolbox): Facts {
  const facts: Record<string, Fact> = { ...base };
  const learn = (resource: string | undefined, observation: Observation | undefined): void => {
    if (resource === undefined || observation === undefined || observation.truncated) return;
    const { data, at, provenance } = observation;
    if ((facts[resource]?.at ?? 0) <= at) facts[resource] = { data, at, from: provenance };
  };
  for (const call of allCalls(state)) {
    const contract = tools.find(call.tool);
    const input = contract?.input.safeParse(call.arguments);
    if (contract === undefined || !input?.success) continue;
    const resource = contract.resource(input.data)[0];
    if (contract.effect === 'read' && call.result?.kind === 'ok') {
      learn(resource, call.result.observation);
    }
    for (const read of call.effect?.reads ?? []) {
      learn(contract.verify?.factOf?.(input.data) ?? resource, read.observation);
    }
  }
  return facts;
}

/** The facts that were not known before, or have been read anew. */
export function newFacts(before: Facts, after: Facts): Facts {
  return Object.fromEntries(
    Object.entries(after).filter(([resource, fact]) => before[resource] !== fact),
  );
}
