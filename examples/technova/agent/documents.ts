import { z } from 'zod';
import type { ProposalInput, View } from '../../../src/index.ts';
import { MENU, REPLIES } from './replies.ts';
import { propose, seenIn, setback } from './turn-so-far.ts';

const TOOL = 'search_knowledge';

/** What the search shows, as far as an answer needs it. */
const foundSchema = z.discriminatedUnion('verdict', [
  z.object({
    verdict: z.literal('found'),
    passages: z.array(z.object({ evidence: z.string(), text: z.string() })).min(1),
  }),
  z.object({ verdict: z.literal('no_result'), menu: z.array(z.string()) }),
]);

/** Longest question the search takes, in characters. */
const LONGEST_QUESTION = 500;

/**
 * The next step towards an answer from the documents: search, then one sentence of what was found, with its source.
 * Nothing when there are no documents or none of them answers.
 */
export function fromDocuments(view: View): ProposalInput | undefined {
  if (!view.tools.some(({ name }) => name === TOOL)) return undefined;
  const question = questionIn(view);
  const searched = seenIn(view).findLast(({ tool }) => tool === TOOL);
  if (searched === undefined) {
    return propose(view, { tool: TOOL, arguments: { question } });
  }
  if (searched.result.kind !== 'ok') return setback(view, searched);
  const found = foundSchema.parse(searched.result.observation.data);
  return found.verdict === 'found' ? answer(question, found.passages) : undefined;
}

/** What the agent can do instead, in the words of the search where there was one. */
export function menuOf(view: View): string {
  const searched = seenIn(view).findLast(({ tool }) => tool === TOOL);
  const data = searched?.result.kind === 'ok' ? searched.result.observation.data : undefined;
  const found = foundSchema.safeParse(data).data;
  return REPLIES.menu(found?.verdict === 'no_result' ? found.menu : MENU);
}

function questionIn({ messages }: View): string {
  const text = messages
    .map((message) => message.text)
    .join('\n')
    .trim();
  return text.slice(0, LONGEST_QUESTION).padEnd(3, '?');
}

type Passage = { evidence: string; text: string };
type Sentence = { text: string; evidence: string; fits: number };

/** Says one sentence of the best passage, and cites the place it stands at. */
function answer(question: string, [best]: readonly Passage[]): ProposalInput | undefined {
  const asked = stemsIn(question);
  const sentences = best === undefined ? [] : sentencesOf(best, asked);
  const said = sentences.toSorted((a, b) => b.fits - a.fits)[0];
  if (said === undefined) return undefined;
  const { text, evidence } = said;
  return { kind: 'finish_candidate', reply: text, claims: [{ text, evidence: [evidence] }] };
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

function sentencesOf({ evidence, text }: Passage, asked: ReadonlySet<string>): Sentence[] {
  const [, document = '', start = '0'] = /^(doc:[^#]+)#(\d+)-\d+$/.exec(evidence) ?? [];
  return [...SENTENCES.segment(text)].flatMap(({ segment, index }) => {
    const words = segment.trim();
    // Headings and lists are no sentences.
    if (!/^[\p{Lu}\d].*[.!?]$/su.test(words)) return [];
    const from = Number(start) + index + segment.indexOf(words);
    const stems = stemsIn(words);
    return {
      text: words.replaceAll(/[*_`]/g, '').replaceAll(/\s+/g, ' '),
      evidence: `${document}#${from}-${from + words.length}`,
      fits: [...stems].filter((stem) => asked.has(stem)).length,
    };
  });
}

/** The beginnings of the words that mean something. */
function stemsIn(text: string): Set<string> {
  const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
  return new Set(words.map((word) => word.slice(0, 5)));
}
