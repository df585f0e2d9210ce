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
  ...turn: Parameters<typeof budgetLeft>
): 'cost_budget' | 'token_budget' | undefined {
  const left = budgetLeft(...turn);
  if (reserved.costMicros > left.costMicros) return 'cost_budget';
  return reserved.tokens > left.tokens ? 'token_budget' : undefined;
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

/** What a turn may still spend: of its own accounts and of its conversation's, in all and today. */
export function budgetLeft(
  { spent, limits }: Pick<TurnState, 'spent' | 'limits'>,
  claimed: Pick<ClaimedTurn, 'account'>,
  { caps }: Pick<AgentRules, 'caps'>,
  now: number,
): { tokens: number; costMicros: number } {
  const used = accountOf(claimed, now);
  const left = (name: 'tokens' | 'costMicros', today: number): number =>
    Math.min(
      limits[name],
      (caps.conversation[name] ?? Infinity) - used[name],
      (caps.day[name] ?? Infinity) - today,
    ) - spent[name];
  return {
    tokens: left('tokens', used.dayTokens),
    costMicros: left('costMicros', used.dayCostMicros),
  };
}
