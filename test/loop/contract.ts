import { z } from 'zod';
import type { AcceptedMessage, Observation, ToolContract } from '../../src/contracts/index.ts';
import { DEFAULT_LIMITS } from '../../src/contracts/index.ts';
import {
  initialState,
  type CallState,
  type HistoryEntry,
  type TurnState,
} from '../../src/loop/index.ts';

/** A write with a complete contract that does nothing, for tests of one part of it. */
export function contract(overrides: Partial<ToolContract> = {}): ToolContract {
  return {
    name: 'send_money',
    description: { use: 'Sends money.', avoid: 'anything else.' },
    input: z.record(z.string(), z.unknown()),
    output: z.unknown(),
    effect: 'write',
    reversible: false,
    resource: () => ['account:1'],
    provenance: {},
    failureModes: ['times_out'],
    authorize: () => undefined,
    idempotency: { scope: 'intent', occurrence: null, enforcesValidity: true },
    approval: () => 'never',
    verify: { level: 'reread', read: () => Promise.resolve({}), landed: () => 'landed' },
    run: () => Promise.resolve({}),
    ...overrides,
  };
}

export function observed(data: unknown, overrides: Partial<Observation> = {}): Observation {
  return {
    ...{ callId: '1.1', provenance: 'get_order', trust: 'untrusted' },
    ...{ at: 1_000, data, size: 1, hash: 'h' },
    ...overrides,
  };
}

/** A call that was answered. */
export function answered(
  tool: string,
  data: unknown,
  overrides: Partial<CallState> = {},
): CallState {
  const result = { kind: 'ok', observation: observed(data) } as const;
  return { id: '1.1', tool, arguments: {}, step: 'done', result, ...overrides };
}

/** A turn with one round of these calls. */
export function turnWith(...calls: CallState[]): TurnState {
  return {
    ...initialState(DEFAULT_LIMITS),
    intent: 'i1',
    phase: 'validating_actions',
    rounds: [{ proposal: null, calls }],
  };
}

export function message(text: string, subject?: string): AcceptedMessage {
  return {
    ...{ id: 'm1', messageId: 'm1', acceptedAt: 1, text },
    requester: { id: 'ana@example.com', assurance: 'verified' },
    ...(subject === undefined ? {} : { subject }),
  };
}

/** An earlier turn of the conversation with one answered call. */
export function earlierTurn(
  customer: string,
  result?: { tool: string; data: unknown; operation?: string },
  reply = 'Done.',
): HistoryEntry {
  const rounds =
    result === undefined
      ? []
      : [
          {
            proposal: null,
            results: [
              {
                ...{ callId: 'c1', tool: result.tool, evidence: '1.1' },
                result: { kind: 'ok' as const, observation: observed(result.data) },
                ...(result.operation === undefined ? {} : { operation: result.operation }),
              },
            ],
          },
        ];
  return { kind: 'turn', turnId: 't0', customer: [customer], rounds, reply };
}
