import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InvalidInputError } from '../contracts/index.ts';
import { GATE_THRESHOLD } from './gate.ts';

/** Maps the scores of one reranker, fed by one embedder, to 0 to 1, so that the gate is the same number for all of them. */
export const calibrationSchema = z.object({
  embedder: z.string(),
  reranker: z.string(),
  /** When it was made, and on what. */
  date: z.iso.date(),
  data: z.string(),
  /** The raw score that becomes 0.72. */
  threshold: z.number(),
  slope: z.number().positive(),
});
export type Calibration = z.infer<typeof calibrationSchema>;

const GATE_LOG_ODDS = Math.log(GATE_THRESHOLD / (1 - GATE_THRESHOLD));

/** The calibrated score. Keeps the order; a raw score at the threshold or above never comes out below 0.72. */
export function calibrated(raw: number, { threshold, slope }: Calibration): number {
  const score = 1 / (1 + Math.exp(-(slope * (raw - threshold) + GATE_LOG_ODDS)));
  return raw >= threshold ? Math.max(score, GATE_THRESHOLD) : Math.min(score, BELOW_GATE);
}

/** The largest number below the gate: rounding must not let through what is not there yet. */
const BELOW_GATE = GATE_THRESHOLD - Number.EPSILON / 2;

/** What `kb eval --calibrate` writes. @throws InvalidInputError naming the file */
export function readCalibration(file: string | URL): Calibration {
  const parsed = calibrationSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new InvalidInputError(
    `${issue?.path.join('.') ?? ''} of ${String(file)}`,
    issue?.input,
    'make it again with "turnkeeper kb eval <pairs> --calibrate <file>"',
  );
}

/** The calibration of the parts that need no key. */
export function shippedCalibration(): Calibration {
  return readCalibration(new URL('offline/calibration.json', import.meta.url));
}

/** One question of the tuning half: its best raw score, and whether a right document is among the best five. */
export type Observed = { best: number; answerable: boolean; right: boolean };

/** The share of answerable questions that still pass on the half it is made on. The other half does a little worse. */
const COVERAGE = 0.85;

/**
 * The strictest threshold at which 85 % of the answerable questions still pass: what it keeps out in addition costs
 * nothing that was asked for. The slope is that of the log odds of being answered right, by the best raw score.
 */
export function calibrate(observed: readonly Observed[]): Pick<Calibration, 'threshold' | 'slope'> {
  const answerable = observed.filter((one) => one.answerable);
  const passing = answerable
    .filter((one) => one.right)
    .map((one) => one.best)
    .toSorted((a, b) => b - a);
  const threshold = passing[Math.ceil(COVERAGE * answerable.length) - 1] ?? passing.at(-1);
  if (threshold === undefined) {
    throw new InvalidInputError(
      'pairs',
      observed.length,
      'must hold questions that are answered right',
    );
  }
  return { threshold, slope: slopeOf(observed) };
}

/** Logistic regression on one number, by Newton's method; a small ridge keeps separable data finite. */
function slopeOf(observed: readonly Observed[]): number {
  const spread = deviation(observed.map((one) => one.best)) || 1;
  let [intercept, slope] = [0, 1];
  for (let step = 0; step < 50; step += 1) {
    let [g0, g1, h00, h01, h11] = [-0.01 * intercept, -0.01 * slope, 0.01, 0, 0.01];
    for (const { best, right } of observed) {
      const x = best / spread;
      const p = 1 / (1 + Math.exp(-(intercept + slope * x)));
      const [error, weight] = [(right ? 1 : 0) - p, p * (1 - p)];
      g0 += error;
      g1 += error * x;
      h00 += weight;
      h01 += weight * x;
      h11 += weight * x * x;
    }
    const determinant = h00 * h11 - h01 * h01;
    intercept += (h11 * g0 - h01 * g1) / determinant;
    slope += (h00 * g1 - h01 * g0) / determinant;
  }
  return Math.max(slope / spread, 1e-6);
}

function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
  return Math.sqrt(
    values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length || 1),
  );
}
