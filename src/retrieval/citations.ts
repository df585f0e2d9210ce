import type { Claim } from '../contracts/index.ts';
import type { Citations } from '../loop/index.ts';
import { checkClaims, citationOf, citedDocuments, isCitation, parseCitation } from './cite.ts';
import { judgeClaims } from './cite-judge.ts';
import type { SupportJudge } from './judge.ts';
import type { Knowledge } from './knowledge.ts';
import { renderCitations, withoutClaims } from './render-citations.ts';

/**
 * Looks up what a reply cites: every range must stand in the document as it is now, in a passage the model was shown in this
 * turn, and support its claim by its words, or by the judge where there is one.
 */
export function citationsOf(
  knowledge: Pick<Knowledge, 'documents'>,
  judge?: SupportJudge,
): Citations {
  return {
    async check({ reply, claims, shown, channel }) {
      const documents = await knowledge.documents(citedDocuments(claims));
      let checked = checkClaims(claims, documents);
      if (judge !== undefined) checked = await judgeClaims(checked, claims, judge);
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
    },
  };
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
