import type { Facts, Stake, ToolContract } from '../contracts/index.ts';
import { digest } from './identity.ts';
import type { Origin } from './provenance.ts';

/** What a rule of a company sees of an action before it happens. */
export type RiskyAction = {
  tool: string;
  arguments: unknown;
  stake: Stake | 'never' | 'always';
  reversible: boolean;
  /** Where each value came from. */
  origins: readonly Origin[];
  facts: Facts;
};

/**
 * When a person must agree. All parts compose: the first that asks, asks. Amounts in minor units, by currency; a currency
 * without a limit always asks.
 */
export type RiskPolicy = {
  /** Largest amount of one action that needs no person. */
  limits: Readonly<Record<string, number>>;
  /** Largest sum of a customer's actions of a day (UTC) that needs no person. A currency without one has no such sum. */
  customerDay: Readonly<Record<string, number>>;
  /** The company's own conditions, such as ambiguity or what cannot be undone: why a person must agree, or nothing. */
  rule?(action: RiskyAction): string | undefined;
  /** Named in every approval. An approval given under another version is asked for again. */
  version: string;
};

/** The version of a policy that names none: it changes with every limit. */
export function versionOf({ limits, customerDay }: Omit<RiskPolicy, 'version'>): string {
  return digest('policy', JSON.stringify([Object.entries(limits), Object.entries(customerDay)]));
}

/** Why a person must agree, as far as the action itself tells; the sum of the day is looked up afterwards. */
export function personNeeded(
  action: RiskyAction,
  contract: Pick<ToolContract, 'external' | 'idempotency'>,
  policy: RiskPolicy,
): string | undefined {
  const { stake, origins } = action;
  if (stake === 'always') return 'this action always needs a person';
  const untraced = origins.filter(({ from }) => from === null).map(({ argument }) => argument);
  if (untraced.length > 0) {
    return `${untraced.join(', ')}: the value does not come from where it must come from`;
  }
  if (contract.external === true && contract.idempotency?.deduplicated === false) {
    return 'it leaves the company, and the receiver cannot tell a repeat';
  }
  const own = policy.rule?.(action);
  if (own !== undefined || stake === 'never') return own;
  if (!isAmount(stake.amount)) {
    return `${stake.summary}: what is at stake is not a whole number of minor units`;
  }
  const limit = limitIn(policy.limits, stake.currency);
  if (limit === undefined) return `no limit is configured for ${stake.currency}`;
  return stake.amount > limit
    ? `${stake.summary} is above the limit of ${formatMoney(limit, stake.currency)}`
    : undefined;
}

/** What a policy says of a currency. One that is called like a property of every object is not configured by that. */
export function limitIn(
  limits: Readonly<Record<string, number>>,
  currency: string,
): number | undefined {
  return Object.hasOwn(limits, currency) ? limits[currency] : undefined;
}

/** What can be compared with a limit and added up; nothing else is. */
export function isAmount(amount: number): boolean {
  return Number.isSafeInteger(amount) && amount >= 0;
}

/** Minor units to text, e.g. `74000, EUR` -> `740.00 EUR`. */
export function formatMoney(amount: number, currency: string): string {
  return `${(amount / 100).toFixed(2)} ${currency}`;
}
