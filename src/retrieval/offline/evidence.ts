import type { Candidate, Recall, WordCounts } from '../ports.ts';
import { RECALLED } from '../recall.ts';
import { concept } from '../synonyms.ts';
import { contentWords } from '../words.ts';
import { sentenceVector, wordVector } from './offline-embedder.ts';
import { dot, wordShare, type WordVectors } from './word-vectors.ts';

/**
 * What speaks for a passage as an answer, each a number near 0 to 1. "Weight" is how much a word says: rare words count
 * nearly whole, everyday words little. "Match" is 1 for a word the passage has (or a synonym of it), less for a word it has
 * something near to, by the cosine of the words' vectors.
 */
export const EVIDENCE = [
  /** Matched weight of the question's words by the whole passage. */
  'coverage',
  /** The same, counting only words that are there. */
  'exact',
  /** Weight of the words that stand in title or heading. */
  'heading',
  /** Matched weight by the best single sentence together with title and heading. */
  'sentence',
  /** Matched weight by the best single sentence alone. */
  'alone',
  /** Cosine of question and passage. */
  'passageCosine',
  /** Cosine of question and the nearest sentence. */
  'sentenceCosine',
  /** Match of the word that is matched least. */
  'weakest',
  /** Weight that is not matched, in all. */
  'unmatched',
  /** Number of words that are there. */
  'matchedWords',
  /** Share of the words that are there, each by how rare it is in the knowledge base. */
  'rare',
  /** Rarity of the words that are there, in all. */
  'rareInAll',
  /** Neighbours in the question that stand in one sentence. */
  'neighbours',
  /** How much likelier the passage makes the question than ordinary English does; in all and for each word. */
  'likelihood',
  'likelihoodPerWord',
  /** How much more often the knowledge base uses the question's words than ordinary English: mean, least, and what is below. */
  'home',
  'homeLeast',
  'foreign',
  /** Share of the weight that no passage of the knowledge base has. */
  'absent',
  /** Words of the question. */
  'length',
  /** The mean of the candidates: a question that is near to everything is about nothing here. */
  'meanCoverage',
  'meanCosine',
  'meanSentence',
  'meanLikelihood',
  /** Products of the above. */
  'homeRare',
  'homeCoverage',
  'exactCoverage',
  'headingExact',
  'coverageCosine',
] as const;
export type Evidence = Record<(typeof EVIDENCE)[number], number>;

type Word = { concept: string; weight: number; vector: Float32Array; share: number };
/** A word of a passage. */
type Other = {
  concept: string;
  /** Cosine with each word of the question. */
  cosines: readonly number[];
};
type Sentence = { words: readonly Other[]; concepts: ReadonlySet<string>; vector: Float32Array };

/** Looks each word of the passages up once, however often it stands there. */
class Vocabulary {
  readonly vectors: WordVectors;
  readonly #asked: readonly Word[];
  readonly #known = new Map<string, Other>();

  constructor(asked: readonly Word[], vectors: WordVectors) {
    this.#asked = asked;
    this.vectors = vectors;
  }

  of(word: string): Other {
    const known = this.#known.get(word);
    if (known !== undefined) return known;
    const { vector } = wordVector(word, this.vectors);
    const cosines = this.#asked.map((one) => dot(one.vector, vector));
    const other = { concept: concept(word), cosines };
    this.#known.set(word, other);
    return other;
  }
}

/** The evidence for every candidate, in their order. */
export function evidenceOf(question: string, recall: Recall, vectors: WordVectors): Evidence[] {
  const words = [...new Set(contentWords(question))].map((word): Word => {
    const { vector, weight } = wordVector(word, vectors);
    return { concept: concept(word), weight, vector, share: wordShare(word, vectors) };
  });
  const vocabulary = new Vocabulary(words, vectors);
  const asked = sentenceVector(question, vectors);
  const about = aboutQuestion(words, recall.words);
  const single = recall.candidates.map((candidate) =>
    aboutPassage(words, asked, candidate, recall.words, vocabulary),
  );
  // A small knowledge base has few candidates; those it lacks count as far away.
  const mean = (name: keyof (typeof single)[number]): number =>
    sum(single, (one) => one[name]) / Math.max(RECALLED, single.length);
  const means = {
    meanCoverage: mean('coverage'),
    meanCosine: mean('passageCosine'),
    meanSentence: mean('sentence'),
    meanLikelihood: mean('likelihood'),
  };
  return single.map((one) => ({
    ...one,
    ...about,
    ...means,
    homeRare: about.home * one.rare,
    homeCoverage: about.home * one.coverage,
    exactCoverage: one.exact * one.coverage,
    headingExact: one.heading * one.exact,
    coverageCosine: one.coverage * one.sentenceCosine,
  }));
}

/** Content words of a chunk of ordinary length. */
const WORDS_OF_A_CHUNK = 60;

function aboutQuestion(words: readonly Word[], counts: WordCounts) {
  const homes = words.map((word) => {
    const expected = Math.min(1, WORDS_OF_A_CHUNK * word.share);
    const containing = counts.containing.get(word.concept) ?? 0;
    const seen = (containing + 0.02) / (counts.chunks || 1);
    // A rare word that is absent says little, but never that the question belongs here.
    const home = clamp(Math.log(seen / expected) / 4, -1, containing === 0 ? -0.05 : 1);
    return { weight: word.weight, home, absent: containing === 0 };
  });
  const weight = sum(homes, (one) => one.weight) || 1;
  return {
    home: sum(homes, (one) => one.weight * one.home) / weight,
    homeLeast: Math.min(1, ...homes.map((one) => one.home)),
    foreign:
      Math.min(
        2,
        sum(homes, (one) => one.weight * Math.max(0, -one.home)),
      ) / 2,
    absent: sum(homes, (one) => (one.absent ? one.weight : 0)) / weight,
    length: Math.min(6, words.length) / 6,
  };
}

function aboutPassage(
  words: readonly Word[],
  asked: Float32Array,
  { title, heading, text }: Candidate,
  counts: WordCounts,
  vocabulary: Vocabulary,
) {
  const sentences = sentencesOf(text, vocabulary);
  const name = new Set(contentWords(`${title} ${heading}`).map(concept));
  const all = new Set([...name, ...sentences.flatMap((one) => [...one.concepts])]);
  const passage = sentenceVector(`${title} ${text}`, vocabulary.vectors);
  const whole = sum(words, (word) => word.weight) || 1;
  const near = sentences.map((one) => words.map((_, at) => nearest(at, one.words)));
  const matches = words.map((word, at) =>
    all.has(word.concept) ? 1 : Math.max(0, ...near.map((one) => one[at] ?? 0)),
  );
  const perSentence = sentences.map((one, index) => {
    const part = (word: Word, at: number): number =>
      one.concepts.has(word.concept) ? 1 : (near[index]?.[at] ?? 0);
    const named = (word: Word, at: number): number => (name.has(word.concept) ? 1 : part(word, at));
    return {
      alone: sum(words, (word, at) => word.weight * part(word, at)) / whole,
      named: sum(words, (word, at) => word.weight * named(word, at)) / whole,
      cosine: dot(one.vector, asked),
    };
  });
  const there = words.filter((word) => all.has(word.concept));
  const rarity = (word: Word): number =>
    Math.log((counts.chunks + 1) / ((counts.containing.get(word.concept) ?? 0) + 0.5)) /
    Math.log(2 * (counts.chunks + 1));
  const likelihood = sum(words, (word, at) => likelihoodOf(word, at, name, sentences));
  return {
    coverage: sum(words, (word, at) => word.weight * (matches[at] ?? 0)) / whole,
    exact: sum(there, (word) => word.weight) / whole,
    heading: sum(words, (word) => (name.has(word.concept) ? word.weight : 0)) / whole,
    sentence: Math.max(0, ...perSentence.map((one) => one.named)),
    alone: Math.max(0, ...perSentence.map((one) => one.alone)),
    passageCosine: dot(passage, asked),
    sentenceCosine: Math.max(-1, ...perSentence.map((one) => one.cosine)),
    weakest: Math.min(1, ...words.map((word, at) => 1 - word.weight * (1 - (matches[at] ?? 0)))),
    unmatched:
      Math.min(
        3,
        sum(words, (word, at) => word.weight * (1 - (matches[at] ?? 0))),
      ) / 3,
    matchedWords: Math.min(4, there.length) / 4,
    rare: sum(there, rarity) / (sum(words, rarity) || 1),
    rareInAll:
      Math.min(
        3,
        sum(there, (word) => word.weight * rarity(word)),
      ) / 3,
    neighbours: Math.min(3, neighbours(words, sentences)) / 3,
    likelihood: likelihood / 20,
    likelihoodPerWord: likelihood / (words.length || 1) / 6,
  };
}

function sentencesOf(text: string, vocabulary: Vocabulary): Sentence[] {
  return text
    .split(/(?<=[.?!:])\s+|\r?\n\s*\n/)
    .filter((sentence) => sentence.trim() !== '')
    .map((sentence) => {
      const words = [...new Set(contentWords(sentence))].map((word) => vocabulary.of(word));
      return {
        words,
        concepts: new Set(words.map((word) => word.concept)),
        vector: sentenceVector(sentence, vocabulary.vectors),
      };
    });
}

/** Cosine below which two words have nothing to do with each other. */
const UNRELATED = 0.4;

/** Match of the question's word at this place with the nearest of the others, words that are the same aside. */
function nearest(at: number, others: readonly Other[]): number {
  const best = others.reduce((most, other) => Math.max(most, other.cosines[at] ?? 0), 0);
  return Math.max(0, (best - UNRELATED) / (1 - UNRELATED));
}

/** Log of how much likelier the word is in the passage than in ordinary English, a share of 0.4 being left to the latter. */
function likelihoodOf(
  word: Word,
  at: number,
  name: ReadonlySet<string>,
  sentences: readonly Sentence[],
): number {
  let count = name.has(word.concept) ? 1 : 0;
  let length = 0;
  for (const { words } of sentences) {
    length += words.length;
    for (const other of words) {
      const same = other.concept === word.concept;
      count += same ? 1 : Math.max(0, (other.cosines[at] ?? 0) - 0.6);
    }
  }
  const ratio = count / Math.max(20, length) / word.share;
  return Math.max(-1, Math.log(0.4 + 0.6 * Math.min(2_000, ratio)));
}

function neighbours(words: readonly Word[], sentences: readonly Sentence[]): number {
  return words.filter(({ concept: left }, at) => {
    const right = words[at + 1]?.concept;
    if (right === undefined) return false;
    return sentences.some(({ concepts }) => concepts.has(left) && concepts.has(right));
  }).length;
}

function sum<T>(list: readonly T[], value: (one: T, at: number) => number): number {
  return list.reduce((total, one, at) => total + value(one, at), 0);
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}
