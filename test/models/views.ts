import type { CallResult } from '../../src/contracts/index.ts';
import type { ToolDescription, View, ViewRound } from '../../src/loop/index.ts';

export const GET_ORDER: ToolDescription = {
  name: 'get_order',
  description: 'Reads an order. Not for: changing it.',
  parameters: {
    type: 'object',
    properties: { orderId: { type: 'string' }, withItems: { type: 'boolean' } },
    required: ['orderId'],
  },
};

export const REFUND: ToolDescription = {
  name: 'issue_refund',
  description: 'Pays money back. Not for: orders that are not cancelled.',
  parameters: {
    type: 'object',
    properties: { orderId: { type: 'string' }, amount: { type: 'number' } },
    required: ['orderId', 'amount'],
  },
};

/** One list for all views, as in a worker. */
const TOOLS = [GET_ORDER, REFUND];

export function viewOf(changes: Partial<View> = {}): View {
  return {
    agent: 'the agent of TechNova',
    instructions: 'Help with orders.',
    skills: [],
    requester: { id: 'ana@example.com', assurance: 'verified' },
    history: [],
    messages: [{ text: 'Where is my order 7?' }],
    facts: {},
    effects: [],
    openQuestions: [],
    earlierRounds: [],
    rounds: [],
    tools: TOOLS,
    budget: { roundsLeft: 5, toolCallsLeft: 15, tokensLeft: 60_000, costMicrosLeft: 500_000 },
    ...changes,
  };
}

export function okResult(callId: string, data: unknown): CallResult {
  return {
    kind: 'ok',
    observation: {
      ...{ callId, provenance: 'get_order', trust: 'untrusted', at: 1_790_000_000_000 },
      ...{ data, size: 10, hash: '00' },
    },
  };
}

/** A round in which the model asked for orders, one call each. */
export function orderRound(number: number, ids: readonly string[], rationale?: string): ViewRound {
  return {
    proposal: {
      kind: 'tool_calls',
      calls: ids.map((orderId, index) => ({
        id: `call_${index}`,
        tool: 'get_order',
        arguments: { orderId },
      })),
      ...(rationale === undefined ? {} : { rationale }),
    },
    results: ids.map((orderId, index) => ({
      callId: `call_${index}`,
      tool: 'get_order',
      evidence: `${number}.${index + 1}`,
      result: okResult(`${number}.${index + 1}`, { id: orderId, status: 'paid' }),
    })),
  };
}
