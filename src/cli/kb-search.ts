import type { Command } from 'commander';
import type { Ranked } from '../retrieval/ports.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { knowledgeOptions, OFFLINE, OFFLINE_HELP, withKnowledge } from './kb-connection.ts';
import type { Output } from './output.ts';
import { shorten, visible } from './visible-text.ts';
import { count } from './wording.ts';

/** The JSON of `kb search`. */
export type Searched = {
  question: string;
  verdict: 'found' | 'no_result';
  /** Best score after reranking, 0 to 1; null when nothing was recalled. */
  best: number | null;
  threshold: number;
  /** What a model is shown, best first. */
  passages: SearchedPassage[];
  /** What it is told it can still offer instead. */
  menu: string[];
  /** All that were recalled, best first. */
  candidates: Omit<SearchedPassage, 'text'>[];
};
export type SearchedPassage = {
  evidence: string;
  documentId: string;
  title: string;
  heading: string;
  text: string;
  vectorScore: number | null;
  lexicalScore: number | null;
  rerankScore: number;
};

export function addKbSearch(kb: Command): void {
  kb.command('search')
    .description(
      'Asks as the agent asks: what it would be shown, or why it would be shown nothing.',
    )
    .argument('<question...>')
    .option(OFFLINE, OFFLINE_HELP)
    .addHelpText('after', '\nEnds with 3 when nothing passes the gate.')
    .action((words: string[], options: { offline?: boolean }, command: Command) =>
      perform(command, (invocation) => ask(invocation, words.join(' '), options.offline === true)),
    );
}

async function ask(invocation: Invocation, question: string, offline: boolean): Promise<ExitCode> {
  const { out } = invocation;
  const { openKnowledge } = await import('../retrieval/knowledge.ts');
  const { citationOf } = await import('../retrieval/cite.ts');
  const { GATE_THRESHOLD } = await import('../retrieval/gate.ts');
  const options = await knowledgeOptions(invocation, offline);
  const searched = await withKnowledge(invocation, async (store): Promise<Searched> => {
    const knowledge = openKnowledge(store, options);
    const { passages, ranked } = await knowledge.search(question);
    await knowledge.close();
    const shown = (one: Ranked): SearchedPassage => {
      const { documentId, title, heading, text, vectorScore, lexicalScore, rerankScore } = one;
      const scores = { vectorScore, lexicalScore, rerankScore };
      return { evidence: citationOf(one), documentId, title, heading, text, ...scores };
    };
    return {
      question,
      verdict: passages.length > 0 ? 'found' : 'no_result',
      best: ranked[0]?.rerankScore ?? null,
      threshold: GATE_THRESHOLD,
      passages: passages.map(shown),
      menu: passages.length > 0 ? [] : [...knowledge.menu()],
      candidates: ranked.map((one) => {
        const { text: _, ...rest } = shown(one);
        return rest;
      }),
    };
  });
  out.card(searched, {
    id: (one) => one.passages.map(({ evidence }) => evidence).join('\n'),
    rows: (one) => one.candidates,
    text: (one) => textOf(one, out),
  });
  return searched.verdict === 'found' ? EXIT.ok : EXIT.notFound;
}

const TEXT_SHOWN = 240;

function textOf(
  { verdict, best, threshold, passages, menu, candidates }: Searched,
  out: Output,
): string {
  const scores = (one: Omit<SearchedPassage, 'text'>): string =>
    `rerank ${fixed(one.rerankScore)}, vector ${fixed(one.vectorScore)}, words ${fixed(one.lexicalScore)}`;
  if (verdict === 'no_result') {
    const closest = candidates[0];
    return [
      out.mark('attention', `no result: the best score is ${fixed(best)}, below ${threshold}`),
      ...(closest === undefined
        ? []
        : [`closest: ${visible(closest.evidence)} (${scores(closest)})`]),
      'What the agent can still offer:',
      ...menu.map((line) => `  ${visible(line)}`),
    ].join('\n');
  }
  return [
    out.mark(
      'good',
      `found: ${count(passages.length, 'passage')} of ${candidates.length} candidates`,
    ),
    ...passages.flatMap((one) => [
      '',
      out.strong(`${visible(one.title)}  ${visible(one.heading)}`),
      `  ${visible(one.evidence)}  ${scores(one)}`,
      `  ${shorten(visible(one.text), TEXT_SHOWN)}`,
    ]),
  ].join('\n');
}

/** Rounded down: a score below the gate must not look like one at it. */
function fixed(score: number | null): string {
  return score === null ? '-' : (Math.floor(score * 1e4) / 1e4).toFixed(4);
}
