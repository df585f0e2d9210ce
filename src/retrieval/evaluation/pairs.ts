import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InvalidInputError } from '../../contracts/index.ts';

/** A question and the document that answers it; `null` where no document does. */
export type Pair = { id: string; question: string; document: string | null; split: Split };
/** Scores are calibrated on one half; the figures come from the other. */
export type Split = 'tuning' | 'held';

const pairSchema = z.object({
  id: z.string(),
  question: z.string().min(1),
  document: z.string(),
  split: z.enum(['tuning', 'held']),
});
const probeSchema = z.object({
  id: z.string(),
  text: z.string().min(1),
  category: z.string().optional(),
});

/** Questions with their documents, one JSON object a line. @throws InvalidInputError naming file and line */
export function readPairs(file: string): Pair[] {
  return readLines(file, pairSchema);
}

/**
 * Questions that no document answers, one JSON object with `id` and `text` a line. Their half is drawn from their id.
 *
 * @param category takes only the lines of this category. @throws InvalidInputError naming file and line
 */
export function readProbes(file: string, category?: string): Pair[] {
  return readLines(file, probeSchema)
    .filter((probe) => category === undefined || probe.category === category)
    .map(({ id, text }) => ({ id, question: text, document: null, split: splitOf(id) }));
}

function splitOf(id: string): Split {
  return (createHash('sha256').update(id).digest()[0] ?? 0) % 2 === 0 ? 'tuning' : 'held';
}

function readLines<T>(file: string, schema: z.ZodType<T>): T[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, at) => {
    if (line.trim() === '') return [];
    const parsed = schema.safeParse(parseJson(line));
    if (parsed.success) return [parsed.data];
    const problem = parsed.error.issues[0];
    throw new InvalidInputError(
      `${file}:${at + 1}`,
      line,
      `${problem?.path.join('.') || 'the line'}: ${problem?.message}`,
    );
  });
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
