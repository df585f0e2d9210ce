import type {
  CallVerdict,
  Check,
  Denial,
  Facts,
  PlannedEffect,
  Requester,
  Stake,
  ToolContract,
} from '../contracts/index.ts';
import { ASSURANCES } from '../contracts/index.ts';
import { operationKey } from './identity.ts';
import type { AgentRules, Toolbox } from './ports.ts';
import type { CallState, TurnState } from './state.ts';

export type CheckContext = {
  state: TurnState;
  facts: Facts;
  principal: Requester;
  rules: AgentRules;
  tools: Toolbox;
};

/** Passed as far as it can be told without the ledger; `person` says why somebody must agree first. */
export type Passed = {
  kind: 'passed';
  contract: ToolContract;
  effect?: PlannedEffect;
  person?: string;
};
export type Rejection = Extract<CallVerdict, { kind: 'rejected' }>;

/**
 * The six checks in their order; the first that says no is the answer. The fifth has two halves: the operation is
 * named here, and whether the ledger lets it run is decided by the ledger itself, in the step that reserves the row.
 */
export function checkCall(
  call: CallState,
  place: { inRound: number; inBatch: number },
  context: CheckContext,
): Passed | Rejection {
  const { state, facts, principal, rules, tools } = context;
  const reject = (check: Check, denial: Denial): Rejection => ({
    kind: 'rejected',
    callId: call.id,
    check,
    ...denial,
  });
  const contract = tools.find(call.tool);

  // 1 schema
  if (contract === undefined && !isRecord(call.arguments)) {
    return reject('schema', { code: 'invalid_arguments', message: 'arguments must be an object.' });
  }
  const input = contract?.input.safeParse(call.arguments);
  if (input?.success === false) {
    const issues = input.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    return reject('schema', { code: 'invalid_arguments', message: issues.join('; ') });
  }

  // 2 allowlist, range and target
  if (contract === undefined || input === undefined) {
    const known = tools.descriptions().map((tool) => tool.name);
    return reject('allowlist', {
      code: 'unknown_tool',
      message: `there is no tool ${call.tool}; there are ${known.join(', ')}.`,
    });
  }
  const outOfRange = contract.range?.(input.data, facts);
  if (outOfRange !== undefined) return reject('allowlist', outOfRange);

  // 3 identity and authorization
  const needed = contract.assurance ?? (contract.effect === 'write' ? 'verified' : 'none');
  if (ASSURANCES.indexOf(principal.assurance) < ASSURANCES.indexOf(needed)) {
    return reject('authorization', {
      code: 'requester_not_verified',
      message: `${call.tool} needs a ${needed} requester; this one is ${principal.assurance}.`,
    });
  }
  const denial = contract.authorize(input.data, principal, facts);
  if (denial !== undefined) return reject('authorization', denial);

  // 4 budgets
  if (call.step === 'proposed') {
    if (place.inRound >= state.limits.callsPerRound) {
      return reject('budget', {
        code: 'max_calls_per_round',
        message: `only ${state.limits.callsPerRound} calls of a round are run; ask again next round.`,
      });
    }
    if (state.spent.toolCalls + place.inBatch >= state.limits.toolCalls) {
      return reject('budget', {
        code: 'max_tool_calls',
        message: `the turn has used its ${state.limits.toolCalls} tool calls.`,
      });
    }
  }
  if (contract.effect === 'read' || contract.idempotency === undefined) {
    return { kind: 'passed', contract };
  }

  // 5 idempotency: name the operation
  const occurrence = contract.idempotency.occurrence?.(input.data);
  const resource = contract.resource(input.data)[0] ?? '';
  const after = typeof occurrence === 'object' ? occurrence.after : undefined;
  const label = typeof occurrence === 'object' ? `after:${occurrence.after}` : (occurrence ?? '');
  const effect: PlannedEffect = {
    operation: operationKey({
      scope: contract.idempotency.scope,
      intent: state.intent,
      tool: call.tool,
      resource,
      occurrence: label,
    }),
    resource,
    occurrence: label,
    ...(after === undefined ? {} : { after }),
  };

  // 6 approval
  const stake = contract.approval?.(input.data, facts) ?? 'never';
  const person = personNeeded(stake, rules.approvalLimits);
  return { kind: 'passed', contract, effect, ...(person === undefined ? {} : { person }) };
}

function personNeeded(
  stake: Stake | 'never' | 'always',
  limits: AgentRules['approvalLimits'],
): string | undefined {
  if (stake === 'never') return undefined;
  if (stake === 'always') return 'this action always needs a person';
  const limit = limits[stake.currency];
  if (limit === undefined) return `no limit is configured for ${stake.currency}`;
  return stake.amount > limit
    ? `${stake.summary} is above the limit of ${formatMoney(limit, stake.currency)}`
    : undefined;
}

/** Minor units to text, e.g. `74000, EUR` -> `740.00 EUR`. */
export function formatMoney(amount: number, currency: string): string {
  return `${(amount / 100).toFixed(2)} ${currency}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The next calls to check: the leading reads together, or one write alone, so that each write sees what came before. */
export function callsToCheck(
  calls: readonly CallState[],
  tools: Toolbox,
): readonly { call: CallState; inRound: number }[] {
  const open = calls
    .map((call, inRound) => ({ call, inRound }))
    .filter(({ call }) => call.step === 'proposed' || call.step === 'approved');
  const firstWrite = open.findIndex(({ call }) => tools.find(call.tool)?.effect === 'write');
  if (firstWrite === -1) return open;
  return firstWrite === 0 ? open.slice(0, 1) : open.slice(0, firstWrite);
}
