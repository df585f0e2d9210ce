import type { Claim } from '../contracts/index.ts';
import { within } from '../calls/index.ts';
import type { CallState, Citations } from '../loop/index.ts';
import { checkClaims, citationOf, citedDocuments, isCitation, parseCitation } from './cite.ts';
import { judgeClaims } from './cite-judge.ts';
import type { SupportJudge } from './judge.ts';
import type { Knowledge } from './knowledge.ts';
import { Purse } from './purse.ts';
import { renderCitations, withoutClaims } from './render-citations.ts';
import { knowledgeAnswerSchema, SEARCH_TOOL } from './search-tool.ts';

type Documents = { knowledge: Pick<Knowledge, 'documents'> };

/**
 * Looks up what a reply cites: every range must stand in the document as it is now, in a passage the model was shown in this
 * turn, and support its claim by its words, or by the judge where there is one.
 */
export function citationsOf(knowledge: Documents['knowledge'], judge?: SupportJudge): Citations {
  return {
    async check(finish, { budget, ...limits }) {
      const purse = new Purse(budget);
      const paid = () => (purse.spent.inputTokens === 0 ? {} : { usage: purse.spent });
      // A judge watches the silence of its own calls.
      const ended = await within({ ...limits, silenceMs: limits.timeoutMs }, ({ signal }) =>
        lookUp(finish, { knowledge, purse, signal, ...(judge === undefined ? {} : { judge }) }),
      );
      if (ended.kind === 'threw') throw ended.error;
      if (ended.kind === 'answered') return { ...ended.value, ...paid() };
      const { by, abandoned } = ended;
      const code = by === 'stop' ? 'stopped' : 'timed_out';
      const failed = { code, ...(abandoned ? { abandoned } : {}) } as const;
      return { objection: NOT_IN_TIME, failed, ...paid() };
    },
  };
}

async function lookUp(
  { reply, as, claims: stated, calls, channel }: Parameters<Citations['check']>[0],
  {
    knowledge,
    judge,
    purse,
    signal,
  }: Documents & { judge?: SupportJudge; purse: Purse; signal: AbortSignal },
): ReturnType<Citations['check']> {
  const { searches, shown, observed } = seenIn(calls);
  // A search is no evidence: its passages are.
  const claims = stated.map(({ text, evidence }): Claim => {
    return { text, evidence: evidence.filter((one) => !searches.has(one)) };
  });
  if (as === 'replied' && claims.length === 0 && shown.size > 0) return { objection: NO_CLAIM };
  const documents = await knowledge.documents(citedDocuments(claims));
  let checked = checkClaims(claims, documents, observed);
  if (judge !== undefined) checked = await judgeClaims(checked, claims, { judge, purse, signal });
  const unseen = claims.findIndex(({ evidence }) =>
    evidence.some((one) => isCitation(one) && !wasShown(one, shown)),
  );
  const refused = new Set(checked.objections.map(({ claim }) => claim));
  if (unseen !== -1) refused.add(unseen);
  const located = checked.located.filter(({ claim }) => !refused.has(claim));
  if (refused.size === 0) return { reply: renderCitations(reply, claims, located, channel) };
  const [first] = checked.objections;
  const objection =
    first?.message ??
    `"${claims[unseen]?.text ?? ''}" cites a passage that was not shown in this turn`;
  const without = withoutClaims(
    reply,
    claims.filter((_claim, index) => refused.has(index)),
  );
  if (without === undefined) return { objection };
  // A claim that shared its sentence with a refused one is gone with it.
  const isLeft = ({ text }: Claim): boolean => !reply.includes(text) || without.includes(text);
  const left = claims.filter((claim, index) => !refused.has(index) && isLeft(claim));
  if (left.length === 0) return { objection };
  const cited = located.filter(({ claim }) => claims[claim] && left.includes(claims[claim]));
  return { objection, without: renderCitations(without, claims, cited, channel) };
}

const NOT_IN_TIME =
  'nobody could look up in time what the reply cites: leave the claims out, or finish as no_answer';

const NO_CLAIM =
  'passages were found and the reply claims nothing: name each statement with its passage, or finish as no_answer';

/** What the calls of a turn have shown: ranges of documents, and what else there is to rest a claim on. */
function seenIn(calls: readonly CallState[]) {
  const searches = new Set<string>();
  const shown = new Set<string>();
  const observed = new Map<string, string>();
  for (const { id, tool, result, effect } of calls) {
    if (result?.kind !== 'ok') continue;
    const reads = effect?.reads.flatMap(({ observation }) => observation ?? []) ?? [];
    if (tool !== SEARCH_TOOL) {
      const all = [result.observation, ...reads];
      observed.set(id, all.map(({ data }) => JSON.stringify(data)).join(' '));
      continue;
    }
    searches.add(id);
    const found = knowledgeAnswerSchema.safeParse(result.observation.data).data;
    if (found?.verdict !== 'found') continue;
    for (const { evidence } of found.passages) shown.add(evidence);
  }
  return { searches, shown, observed };
}

/** The range lies inside of one that was shown, in the same version. */
function wasShown(evidence: string, shown: ReadonlySet<string>): boolean {
  const cited = parseCitation(evidence);
  if (cited === undefined) return false;
  if (shown.has(citationOf(cited))) return true;
  return [...shown].some((one) => {
    const range = parseCitation(one);
    return (
      range?.documentId === cited.documentId &&
      range.version === cited.version &&
      range.start <= cited.start &&
      cited.end <= range.end
    );
  });
}
