import type { Facts } from '../contracts/index.ts';
import type { AgentRules } from './ports.ts';
import { allCalls, type TurnState } from './state.ts';
import { evidenceIds } from './view.ts';

/**
 * Whether a finish candidate may end the turn. The model saying so is no evidence: every effect must be settled, every
 * cited observation must exist, and the agent's own conditions must hold. Returns the objection, worded for the model.
 */
export function judgeFinish(state: TurnState, facts: Facts, rules: AgentRules): string | undefined {
  const proposal = state.rounds.at(-1)?.proposal;
  if (proposal?.kind !== 'finish_candidate') return 'there is no finish candidate';
  const open = allCalls(state).find(({ effect }) =>
    ['attempted', 'applied', 'unknown'].includes(effect?.status ?? ''),
  );
  if (open !== undefined) return `${open.tool} (${open.id}) is not verified yet`;
  const known = evidenceIds(state);
  for (const claim of proposal.claims) {
    const missing = claim.evidence.find((id) => !known.has(id));
    if (missing !== undefined) return `the evidence ${missing} does not exist in this turn`;
  }
  return rules.judge?.(proposal.reply, facts, allCalls(state));
}
