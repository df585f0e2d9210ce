import type { Claim } from '../contracts/index.ts';
import type { CheckedClaims, Objection } from './cite.ts';
import type { SupportJudge } from './judge.ts';
import type { Purse } from './purse.ts';

/**
 * Asks the judge about every claim whose quotations passed by their words. One that gives no answer, or that there is not
 * enough left for, has not confirmed it.
 */
export async function judgeClaims(
  checked: CheckedClaims,
  claims: readonly Claim[],
  { judge, purse, signal }: { judge: SupportJudge; purse: Purse; signal?: AbortSignal },
): Promise<CheckedClaims> {
  const objections: Objection[] = [...checked.objections];
  for (const [claim, { text }] of claims.entries()) {
    const quotes = checked.located.filter((range) => range.claim === claim);
    if (quotes.length === 0) continue;
    // Told to end, it says that it did and judges nothing more.
    signal?.throwIfAborted();
    const quote = quotes.map((range) => range.quote).join('\n');
    const says = await purse
      .pay(judge.estimate(text, quote), () => judge.supports(text, quote, signal))
      .then((answer) => answer?.supported ?? 'unknown')
      .catch(() => 'unknown');
    if (says === 'unknown') signal?.throwIfAborted();
    if (says === true) continue;
    const message =
      says === 'unknown'
        ? `nobody could check whether the cited passage says "${text}": leave the claim out`
        : `the cited passage does not say "${text}": cite the passage that does, or leave the claim out`;
    objections.push({ claim, code: 'not_supported', message });
  }
  const refused = new Set(objections.map((one) => one.claim));
  const located = checked.located.filter((range) => !refused.has(range.claim));
  return { located, objections };
}
