import type { Claim } from '../contracts/index.ts';
import type { StoredDocument } from '../store/knowledge.ts';
import { concept } from './synonyms.ts';
import { contentWords } from './words.ts';

/** A place in a document: offsets are UTF-16 code units of that version's text, the end not included. */
export type Citation = { documentId: string; version: string; start: number; end: number };

/** A citation that was found, with what stands there. */
export type LocatedRange = Citation & {
  /** Which claim it belongs to, from 0. */
  claim: number;
  quote: string;
  title: string;
  url?: string;
  /** The heading the range stands under. */
  heading: string;
};

export const OBJECTIONS = [
  'no_evidence',
  'malformed_citation',
  'unknown_document',
  'outdated_version',
  'range_outside',
  'not_supported',
] as const;
export type Objection = {
  claim: number;
  code: (typeof OBJECTIONS)[number];
  /** For the model: what is wrong and what would do. */
  message: string;
};

export type CheckedClaims = {
  located: readonly LocatedRange[];
  /** At most one a claim; empty when all may stand. */
  objections: readonly Objection[];
};

/** What a citation is compared with: the documents as they are now. */
export type CitableDocument = Pick<
  StoredDocument,
  'id' | 'title' | 'version' | 'text' | 'url' | 'chunks'
>;

const DOCUMENT = /^doc:(?<documentId>[^@#\s]+)@(?<version>[0-9a-f]+)#(?<start>\d+)-(?<end>\d+)$/;

/** The evidence id of a range: `doc:<id>@<version>#<start>-<end>`. */
export function citationOf(place: Citation): string {
  return `doc:${placeOf(place)}`;
}

/** Names a range where it must not be taken for evidence: `<id>@<version>#<start>-<end>`. */
export function placeOf({ documentId, version, start, end }: Citation): string {
  return `${documentId}@${version}#${start}-${end}`;
}

export function isCitation(evidence: string): boolean {
  return evidence.startsWith('doc:');
}

/** @returns undefined when it is not of the form `doc:<id>@<version>#<start>-<end>` */
export function parseCitation(evidence: string): Citation | undefined {
  const { documentId = '', version = '', start, end } = DOCUMENT.exec(evidence)?.groups ?? {};
  return start === undefined
    ? undefined
    : { documentId, version, start: Number(start), end: Number(end) };
}

/** The documents that claims cite, so that a caller knows what to load. */
export function citedDocuments(claims: readonly Claim[]): string[] {
  const ids = claims.flatMap(({ evidence }) =>
    evidence.map((one) => parseCitation(one)?.documentId),
  );
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/**
 * Locates every cited range in the stored documents and checks that the quotations support their claim by its words. Other
 * evidence, ids of observations, is others' to judge where it stands alone; beside a citation it may support the claim too. A
 * claim without any evidence is objected to. Pure.
 *
 * @param observed what observations of the turn say, by their evidence id
 */
export function checkClaims(
  claims: readonly Claim[],
  documents: readonly CitableDocument[],
  observed: ReadonlyMap<string, string> = new Map(),
): CheckedClaims {
  const byId = new Map(documents.map((document) => [document.id, document]));
  const located: LocatedRange[] = [];
  const objections: Objection[] = [];
  claims.forEach(({ text, evidence }, claim) => {
    if (evidence.length === 0) {
      const message = `the claim "${text}" has no evidence: cite a passage or an observation, or leave it out`;
      objections.push({ claim, code: 'no_evidence', message });
      return;
    }
    const found = evidence.filter(isCitation).map((one) => locate(one, claim, byId));
    const problem = found.find((one) => 'code' in one);
    if (problem !== undefined) {
      objections.push(problem);
      return;
    }
    const ranges = found.filter((one) => 'quote' in one);
    const others = evidence.flatMap((one) => observed.get(one) ?? []);
    if (ranges.length > 0 && !supports(text, ranges, others)) {
      const message = `the cited passage does not say "${text}": cite the passage that does, or leave the claim out`;
      objections.push({ claim, code: 'not_supported', message });
      return;
    }
    located.push(...ranges);
  });
  return { located, objections };
}

function locate(
  evidence: string,
  claim: number,
  documents: ReadonlyMap<string, CitableDocument>,
): LocatedRange | Objection {
  const objection = (code: Objection['code'], problem: string): Objection => {
    return { claim, code, message: `${evidence}: ${problem}` };
  };
  const citation = parseCitation(evidence);
  if (citation === undefined) {
    return objection(
      'malformed_citation',
      'must be doc:<id>@<version>#<start>-<end>, as the search gave it',
    );
  }
  const document = documents.get(citation.documentId);
  if (document === undefined) return objection('unknown_document', 'there is no such document');
  const { version, text, title, url, chunks } = document;
  if (version !== citation.version) {
    return objection(
      'outdated_version',
      `the document has changed, it is ${version} now; search again`,
    );
  }
  const { start, end } = citation;
  if (start >= end || end > text.length) {
    return objection('range_outside', `the document has ${text.length} characters`);
  }
  const heading = chunks.find((chunk) => chunk.start <= start && start < chunk.end)?.heading ?? '';
  return {
    ...{ ...citation, claim, quote: text.slice(start, end), title, heading },
    ...(url === undefined ? {} : { url }),
  };
}

/** Share of a claim's words that must stand in what it cites. Every number must. */
const SUPPORTED = 0.6;

function supports(
  claim: string,
  ranges: readonly LocatedRange[],
  observed: readonly string[],
): boolean {
  const cited = [
    ...ranges.map(({ title, heading, quote }) => `${title} ${heading} ${quote}`),
    ...observed,
  ].join(' ');
  const numbers = new Set(ranges.flatMap(({ quote }) => numbersOf(quote)));
  const seen = new Set(observed.flatMap(numbersOf));
  // Records hold amounts in minor units.
  const stands = (number: string): boolean =>
    numbers.has(number) || seen.has(number) || seen.has(String(Math.round(Number(number) * 100)));
  if (!numbersOf(claim).every(stands)) return false;
  const words = [...new Set(contentWords(claim).map(concept))];
  const there = new Set(contentWords(cited).map(concept));
  const found = words.filter((word) => there.has(word)).length;
  return words.length === 0 || found / words.length >= SUPPORTED;
}

/** Numbers with their point, without marks between thousands: `12.90`, `25000`. */
function numbersOf(text: string): string[] {
  const found = text.match(/\d+(?:[.,]\d+)*/g) ?? [];
  return found.map((number) =>
    number
      .replaceAll(/[.,](?=\d{3}(?!\d))/g, '')
      .replace(',', '.')
      .replace(/\.0+$/, ''),
  );
}
