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
import { actionHash, operationKey } from './identity.ts';
import type { AgentRules, ClaimedTurn, Toolbox } from './ports.ts';
import { originsOf } from './provenance.ts';
import { isAmount, personNeeded } from './risk.ts';
import type { CallState, TurnState } from './state.ts';

export type CheckContext = {
  state: TurnState;
  facts: Facts;
  principal: Requester;
  rules: AgentRules;
  tools: Toolbox;
  claimed: Pick<ClaimedTurn, 'messages' | 'history'>;
};

/** Passed as far as it can be told without the ledger; `person` says why somebody must agree first. */
export type Passed = {
  kind: 'passed';
  contract: ToolContract;
  effect?: PlannedEffect;
  /** Where the values of a write came from. */
  origins?: Record<string, string | null>;
  /** What can be booked on the customer's day. */
  stake?: Stake;
  person?: string;
  request?: string;
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
  const contract = tools.find(call.tool);
  let request: { request?: string } = {};
  const reject = (check: Check, denial: Denial): Rejection => ({
    kind: 'rejected',
    callId: call.id,
    check,
    ...denial,
    ...request,
  });

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
  request = requestOf(call, contract, input.data);
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
    return { kind: 'passed', contract, ...request };
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
  const traced = originsOf(contract, input.data as Record<string, unknown>, {
    ...{ state, facts, claimed: context.claimed },
    parameters: tools.descriptions().find(({ name }) => name === call.tool)?.parameters ?? {},
  });
  const person = personNeeded(
    {
      tool: call.tool,
      arguments: input.data,
      stake,
      reversible: contract.reversible,
      origins: traced,
      facts,
    },
    contract,
    rules.risk,
  );
  const origins = Object.fromEntries(traced.map(({ argument, from }) => [argument, from]));
  return {
    kind: 'passed',
    contract,
    effect,
    origins,
    ...(typeof stake === 'object' && isAmount(stake.amount) ? { stake } : {}),
    ...(person === undefined ? {} : { person }),
    ...request,
  };
}

/** What is asked for without the arguments that change nothing; only where the contract names some. */
function requestOf(
  call: CallState,
  { cosmetic = [] }: ToolContract,
  input: unknown,
): { request?: string } {
  if (cosmetic.length === 0 || !isRecord(input)) return {};
  const rest = Object.entries(input).filter(([name]) => !cosmetic.includes(name));
  return { request: actionHash(call.tool, Object.fromEntries(rest)) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
