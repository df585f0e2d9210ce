import type { Claim, EventOf, Facts, Observation } from '../contracts/index.ts';
import type { AgentRules, Citations, ClaimedTurn } from './ports.ts';
import { allCalls, type TurnState } from './state.ts';
import { isUnsettled } from './view.ts';

/**
 * Whether a finish candidate may end the turn. The model saying so is no evidence: every effect must be settled, every
 * claim must stand in what it cites, the success conditions of the skills that were loaded and the agent's own must hold.
 * Returns the objection, worded for the model.
 */
export function judgeFinish(state: TurnState, facts: Facts, rules: AgentRules): string | undefined {
  const proposal = state.rounds.at(-1)?.proposal;
  if (proposal?.kind !== 'finish_candidate') return 'there is no finish candidate';
  const calls = allCalls(state);
  const open = calls.find(({ effect }) => isUnsettled(effect?.status));
  if (open !== undefined) return `${open.tool} (${open.id}) is not verified yet`;
  const { reply, as, claims } = proposal;
  for (const claim of claims) {
    const objection = checkClaim(claim, state);
    if (objection !== undefined) return objection;
  }
  const finish = { reply, as, claims, facts, calls };
  for (const { name } of state.skills) {
    const objection = rules.successOf[name]?.(finish);
    if (objection !== undefined) return `${name}: ${objection}`;
  }
  return rules.judge?.(finish);
}

/**
 * What the agent's own conditions object to in a question or a refusal: it goes out as well, and is no place to say what a
 * reply may not. A question is no finish, so no skill has to have succeeded.
 */
export function judgeText(state: TurnState, facts: Facts, rules: AgentRules): string | undefined {
  const proposal = state.rounds.at(-1)?.proposal;
  const evidence = { claims: [], facts, calls: allCalls(state) };
  switch (proposal?.kind) {
    case 'ask_customer':
      return rules.judge?.({ reply: proposal.text, as: 'asked_customer', ...evidence });
    case 'refuse':
      return rules.judge?.({ reply: proposal.reply, as: 'declined', ...evidence });
    default:
      return undefined;
  }
}

/** A claim must cite calls of this turn that were answered, and every number and id in it must stand in one of them. */
function checkClaim({ text, evidence }: Claim, state: TurnState): string | undefined {
  if (evidence.length === 0) {
    return `"${text}" cites nothing: name the observation it rests on, or leave the claim out`;
  }
  const cited: string[] = [];
  for (const id of evidence.filter((one) => !isDocument(one))) {
    const observations = observationsOf(id, state);
    if (observations.length === 0) return `the evidence ${id} does not exist in this turn`;
    cited.push(...observations.map(({ data }) => JSON.stringify(data)));
  }
  // What rests on documents too is looked up in them.
  if (evidence.some(isDocument)) return undefined;
  const values = cited.flatMap(valuesIn);
  const missing = valuesIn(text).find((value) => !values.some((seen) => agree(value, seen)));
  return missing === undefined
    ? undefined
    : `"${text}": ${missing} does not stand in ${evidence.join(', ')}`;
}

/** Evidence that is a range of a document, not a call of this turn. */
function isDocument(evidence: string): boolean {
  return evidence.startsWith('doc:');
}

/** What a call answered and what its re-reads found. */
function observationsOf(id: string, state: TurnState): Observation[] {
  const call = allCalls(state).find((one) => one.id === id);
  if (call?.result?.kind !== 'ok') return [];
  const reads = call.effect?.reads.flatMap(({ observation }) => observation ?? []) ?? [];
  return [call.result.observation, ...reads];
}

/** Numbers, amounts and ids of a text: what can be held against a record without understanding the sentence. */
function valuesIn(text: string): string[] {
  return text.match(/\d+(?:[.,]\d+)*/g) ?? [];
}

/** Equal as written, or as an amount in main and in minor units: `740.00` stands in `74000`. */
function agree(stated: string, seen: string): boolean {
  if (stated === seen) return true;
  const [one, other] = [stated, seen].map((value) =>
    Number(value.replace(/,(?=\d{3}\b)/g, '').replace(',', '.')),
  );
  if (one === undefined || other === undefined) return false;
  return one === other || Math.round(one * 100) === other;
}

/** A finish candidate as its citations are looked up. */
export function citedBy(state: TurnState, claimed: ClaimedTurn): Cited | undefined {
  const proposal = state.rounds.at(-1)?.proposal;
  if (proposal?.kind !== 'finish_candidate') return undefined;
  const { reply, as, claims } = proposal;
  const channel = claimed.messages[0]?.channel;
  const cited = { reply, as, claims, calls: allCalls(state) };
  return channel === undefined ? cited : { ...cited, channel };
}

/** What follows from it: the reply as it goes out, or what the model is told, and what is left without the claims in question. */
export function judgementOf(
  { reply }: Cited,
  looked: Awaited<ReturnType<Citations['check']>>,
): Pick<EventOf<'finish_judged'>, 'objection' | 'uncited' | 'reply' | 'usage'> {
  const paid = looked.usage === undefined ? {} : { usage: looked.usage };
  if ('reply' in looked) return looked.reply === reply ? paid : { reply: looked.reply, ...paid };
  const left = looked.without === undefined ? {} : { reply: looked.without };
  return { objection: looked.objection, uncited: true, ...left, ...paid };
}

type Cited = Parameters<Citations['check']>[0];
