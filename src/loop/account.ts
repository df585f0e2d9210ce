import type { Account, Delivery } from '../contracts/index.ts';
import type { AgentRules, ClaimedTurn } from './ports.ts';
import type { TurnState } from './state.ts';

// What a conversation may use beyond what its turns may: one turn at a time, so the account at its claim is exact.

/** The account of the conversation before this turn, on the day of `now`. */
export function accountOf({ account }: Pick<ClaimedTurn, 'account'>, now: number): Account {
  const day = new Date(now).toISOString().slice(0, 10);
  const { tokens, costMicros, replies } = account ?? { tokens: 0, costMicros: 0, replies: 0 };
  if (account?.day === day) return account;
  return { tokens, costMicros, replies, day, dayTokens: 0, dayCostMicros: 0, dayReplies: 0 };
}

/** The account after this turn. */
export function accountAfter(
  claimed: Pick<ClaimedTurn, 'account'>,
  { spent, reserved }: Pick<TurnState, 'spent' | 'reserved'>,
  deliveries: readonly Delivery[],
  now: number,
): Account {
  const before = accountOf(claimed, now);
  const tokens = spent.tokens + reserved.tokens;
  const costMicros = spent.costMicros + reserved.costMicros;
  const replies = deliveries.filter(({ kind }) => kind === 'reply').length;
  return {
    day: before.day,
    tokens: before.tokens + tokens,
    costMicros: before.costMicros + costMicros,
    replies: before.replies + replies,
    dayTokens: before.dayTokens + tokens,
    dayCostMicros: before.dayCostMicros + costMicros,
    dayReplies: before.dayReplies + replies,
  };
}

/** Which money-like account a model call would overdraw: asked before it is made, so that it is not. */
export function exhaustedBy(
  reserved: { tokens: number; costMicros: number },
  { spent, limits }: Pick<TurnState, 'spent' | 'limits'>,
  claimed: Pick<ClaimedTurn, 'account'>,
  { caps }: Pick<AgentRules, 'caps'>,
  now: number,
): 'cost_budget' | 'token_budget' | undefined {
  const used = accountOf(claimed, now);
  const over = (name: 'tokens' | 'costMicros', before: number, cap = Infinity): boolean =>
    before + spent[name] + reserved[name] > cap;
  const exhausts = (name: 'tokens' | 'costMicros', day: number): boolean =>
    over(name, 0, limits[name]) ||
    over(name, used[name], caps.conversation[name]) ||
    over(name, day, caps.day[name]);
  if (exhausts('costMicros', used.dayCostMicros)) return 'cost_budget';
  return exhausts('tokens', used.dayTokens) ? 'token_budget' : undefined;
}

/** The conversation has had all the replies it may get: it goes to people before anything is thought about it. */
export function repliesUsedUp(
  claimed: Pick<ClaimedTurn, 'account'>,
  { caps }: Pick<AgentRules, 'caps'>,
  now: number,
): boolean {
  const { replies, dayReplies } = accountOf(claimed, now);
  const { conversation, day } = caps;
  return replies >= (conversation.replies ?? Infinity) || dayReplies >= (day.replies ?? Infinity);
}

/** What a turn may still spend. */
export function budgetLeft({ spent, limits }: Pick<TurnState, 'spent' | 'limits'>): {
  tokens: number;
  costMicros: number;
} {
  return {
    tokens: limits.tokens - spent.tokens,
    costMicros: limits.costMicros - spent.costMicros,
  };
}
