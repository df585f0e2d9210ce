import { detectAll } from 'tinyld';

/** Below this a guess is worse than none. */
const LEAST_ACCURACY = 0.15;
const LEAST_LEAD = 1.5;
/** More text does not make it surer. */
const LOOKED_AT = 500;

/** The language of a text as an ISO 639-1 code, or undefined where that cannot be told. */
export function languageOf(text: string): string | undefined {
  const [first, second] = detectAll(text.slice(0, LOOKED_AT));
  if (first === undefined || first.accuracy < LEAST_ACCURACY) return undefined;
  const ahead = second === undefined || first.accuracy >= LEAST_LEAD * second.accuracy;
  return ahead ? first.lang : undefined;
}
