import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Calibration } from '../retrieval/calibration.ts';
import type { Asked, Figures, Share } from '../retrieval/evaluation/evaluate.ts';
import { perform, type Invocation } from './invocation.ts';
import { knowledgeOptions, OFFLINE, OFFLINE_HELP, withKnowledge } from './kb-connection.ts';
import { progressBar } from './kb-progress.ts';
import type { Output } from './output.ts';
import { visible } from './visible-text.ts';
import { day, iso } from './wording.ts';

/** The JSON of `kb eval`. */
export type Evaluated = {
  date: string;
  embedder: string;
  reranker: string;
  calibration: Calibration;
  threshold: number;
  documents: number;
  /** The half the calibration was made on: shown for comparison, proves nothing. */
  tuning: Figures;
  /** The other half: the figures. */
  held: Figures;
};

type Options = {
  outOfScope?: string;
  category?: string;
  calibrate?: string;
  data?: string;
  offline?: boolean;
};

export function addKbEval(kb: Command): void {
  kb.command('eval')
    .description('Measures search on questions with known documents, and calibrates the gate.')
    .argument('<pairs>', 'JSON lines: {"id", "question", "document", "split": "tuning" or "held"}')
    .option('--out-of-scope <file>', 'JSON lines {"id", "text"}: questions no document answers')
    .option('--category <name>', 'of that file only the lines with this "category"')
    .option(
      '--calibrate <file>',
      'makes the calibration anew from the tuning half and writes it here',
    )
    .option('--data <text>', 'what the calibration was made on, for its record')
    .option(OFFLINE, OFFLINE_HELP)
    .addHelpText(
      'after',
      '\nIndex the documents first. Figures come from the half that was not used for tuning.',
    )
    .action((pairs: string, options: Options, command: Command) =>
      perform(command, (invocation) => evaluate(invocation, pairs, options)),
    );
}

async function evaluate(
  invocation: Invocation,
  pairsFile: string,
  options: Options,
): Promise<void> {
  const { out } = invocation;
  const { readPairs, readProbes } = await import('../retrieval/evaluation/pairs.ts');
  const { calibrationOf, figuresOf } = await import('../retrieval/evaluation/evaluate.ts');
  const { calibrated, shippedCalibration } = await import('../retrieval/calibration.ts');
  const { knowledgeParts, openUncalibrated } = await import('../retrieval/knowledge.ts');
  const { requireCalibration } = await import('../retrieval/search.ts');
  const { GATE_THRESHOLD } = await import('../retrieval/gate.ts');
  const pairs = readPairs(pairsFile);
  const { outOfScope, category } = options;
  if (outOfScope !== undefined) pairs.push(...readProbes(outOfScope, category));
  const parts = knowledgeParts(await knowledgeOptions(invocation, options.offline === true));
  const { embedder, reranker } = parts;
  const names = { embedder: embedder.model, reranker: reranker.name };
  const bar = progressBar('questions');
  const { asked, documents } = await withKnowledge(invocation, async (store) => {
    const knowledge = openUncalibrated(store, parts, (raw) => raw);
    const all: Asked[] = [];
    try {
      for (const pair of pairs) {
        all.push({ pair, ranked: (await knowledge.search(pair.question)).ranked });
        bar.show(all.length, pairs.length);
      }
    } finally {
      bar.end();
      await knowledge.close();
    }
    return { asked: all, documents: (await store.fingerprints()).size };
  });
  const date = iso(Date.now()).slice(0, 10);
  let calibration: Calibration;
  if (options.calibrate === undefined) {
    calibration = parts.calibration ?? shippedCalibration();
    requireCalibration(calibration, embedder, reranker);
  } else {
    calibration = calibrationOf(asked, { ...names, date, data: options.data ?? pairsFile });
    writeFileSync(options.calibrate, `${JSON.stringify(calibration, null, 2)}\n`);
  }
  const scaled = asked.map(({ pair, ranked }): Asked => ({
    pair,
    ranked: ranked.map((one) => ({
      ...one,
      rerankScore: calibrated(one.rerankScore, calibration),
    })),
  }));
  const evaluated: Evaluated = {
    ...{ date, ...names, calibration, threshold: GATE_THRESHOLD, documents },
    tuning: figuresOf(scaled, 'tuning'),
    held: figuresOf(scaled, 'held'),
  };
  out.card(evaluated, {
    id: () => '',
    rows: (one) => [
      { half: 'tuning', ...flat(one.tuning) },
      { half: 'held', ...flat(one.held) },
    ],
    text: (one) => textOf(one, out),
  });
}

function flat(figures: Figures): Record<string, number> {
  const { recallAt20, meanReciprocalRank, answered, outOfScopePassed, precisionOfGate } = figures;
  return {
    recallAt20: recallAt20.share,
    meanReciprocalRank,
    answered: answered.share,
    outOfScopePassed: outOfScopePassed.share,
    precisionOfGate: precisionOfGate.share,
  };
}

function textOf(one: Evaluated, out: Output): string {
  const half = (name: string, figures: Figures): string[] => [
    '',
    out.strong(name),
    `  right document among the 20 recalled    ${shareText(figures.recallAt20)}`,
    `  mean reciprocal rank after reranking    ${figures.meanReciprocalRank.toFixed(3)}`,
    `  answered: passed, right document shown  ${shareText(figures.answered)}`,
    `  passed although no document answers     ${shareText(figures.outOfScopePassed)}`,
    `  precision of what passed                ${shareText(figures.precisionOfGate)}`,
  ];
  const { calibration, documents } = one;
  return [
    `${visible(one.embedder)}, ${visible(one.reranker)}, ${documents} documents, gate at ${one.threshold}`,
    `calibrated ${day(Date.parse(calibration.date)).slice(0, 10)} on ${visible(calibration.data)}`,
    ...half('held-out half', one.held),
    ...half('tuning half', one.tuning),
  ].join('\n');
}

function shareText({ count, of }: Share): string {
  return of === 0 ? '-' : `${((100 * count) / of).toFixed(1)} % (${count} of ${of})`;
}
