import type { Claim } from '../contracts/index.ts';
import type { LocatedRange } from './cite.ts';

/** How a channel shows where a statement comes from. */
export type CitationStyle = 'links' | 'footnotes';

/** Channels that show Markdown links. Everywhere else a link would be raw text, so sources stand below the reply. */
const STYLES: Readonly<Record<string, CitationStyle>> = { chat: 'links', web: 'links' };

function citationStyle(channel: string | undefined): CitationStyle {
  return STYLES[channel ?? ''] ?? 'footnotes';
}

/**
 * The reply with its sources: after the sentence that states a claim, or at its end where the reply words it differently.
 * A source without an address is named in a footnote whatever the channel.
 */
export function renderCitations(
  reply: string,
  claims: readonly Claim[],
  located: readonly LocatedRange[],
  channel?: string,
): string {
  const links = citationStyle(channel) === 'links';
  const notes: string[] = [];
  const marks = claims.map((_, claim) => {
    const sources = located.filter((range) => range.claim === claim);
    const shown = sources.map((range) => {
      if (links && range.url !== undefined) return `([${escaped(range.title)}](${range.url}))`;
      const note = noteOf(range);
      if (!notes.includes(note)) notes.push(note);
      return `[${notes.indexOf(note) + 1}]`;
    });
    return [...new Set(shown)].join(' ');
  });
  const marked = claims.reduce(
    (text, { text: claim }, at) => insert(text, claim, marks[at] ?? ''),
    reply,
  );
  const list = notes.map((note, at) => `[${at + 1}] ${note}`);
  return list.length === 0 ? marked : `${marked}\n\n${list.join('\n')}`;
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * The reply without the sentences that state the given claims, whole sentences only.
 *
 * @returns undefined when one of them is not there word for word, or nothing is left: then nothing may be sent
 */
export function withoutClaims(reply: string, claims: readonly Claim[]): string | undefined {
  if (claims.some(({ text }) => !reply.includes(text))) return undefined;
  const refused = claims.flatMap(({ text }) => placesOf(text, reply));
  const left = [...SENTENCES.segment(reply)]
    .filter(({ segment, index }) =>
      refused.every(({ start, end }) => end <= index || index + segment.trimEnd().length <= start),
    )
    .map(({ segment }) => segment)
    .join('')
    .trim();
  return left === '' ? undefined : left;
}

/** Every place at which a text stands: what is said twice is left out twice. */
function placesOf(text: string, reply: string): { start: number; end: number }[] {
  if (text === '') return [];
  const places: { start: number; end: number }[] = [];
  for (let at = reply.indexOf(text); at !== -1; at = reply.indexOf(text, at + text.length)) {
    places.push({ start: at, end: at + text.length });
  }
  return places;
}

function insert(reply: string, claim: string, mark: string): string {
  if (mark === '') return reply;
  const at = reply.indexOf(claim);
  const end = at === -1 ? reply.trimEnd().length : sentenceEnd(reply, at + claim.length);
  return `${reply.slice(0, end)} ${mark}${reply.slice(end)}`;
}

/** Behind the marks that close the sentence. */
function sentenceEnd(text: string, from: number): number {
  return from + (/^[.!?"”')]*/.exec(text.slice(from))?.[0].length ?? 0);
}

function noteOf({ title, heading, url }: LocatedRange): string {
  const name = heading === '' ? title : `${title}, ${heading}`;
  return url === undefined ? name : `${name}: ${url}`;
}

function escaped(text: string): string {
  return text.replaceAll(/[[\]\\]/g, String.raw`\$&`);
}
