import { z } from 'zod';
import type { ProposalInput, View, ViewResult } from '../../../src/index.ts';
import { REPLIES } from './replies.ts';

/** A call the policy asked for in this turn, and what the runtime says came of it. */
export type Seen = ViewResult & { args: Readonly<Record<string, unknown>> };
export type Call = { tool: string; arguments: Readonly<Record<string, unknown>> };

const argumentsSchema = z.record(z.string(), z.unknown()).catch({});

/** All calls of the turn, oldest first. */
export function seenIn(view: View): Seen[] {
  return view.rounds.flatMap(({ proposal, results }) =>
    results.map((result) => {
      const proposed = proposal?.kind === 'tool_calls' ? proposal.calls : [];
      const call = proposed.find(({ id }) => id === result.callId);
      return { ...result, args: argumentsSchema.parse(call?.arguments) };
    }),
  );
}

/** The newest call of a tool about an order. */
export function lastOf(view: View, tool: string, orderId: string): Seen | undefined {
  return seenIn(view).findLast((seen) => seen.tool === tool && seen.args['orderId'] === orderId);
}

/** Asks for calls, unless no round would be left in which to read their answers. */
export function propose(view: View, ...calls: readonly Call[]): ProposalInput {
  if (view.budget.roundsLeft < 2 || view.budget.toolCallsLeft < calls.length) {
    return escalate('there is no round left in which an answer could be read');
  }
  return {
    kind: 'tool_calls',
    calls: calls.map((call, index) => ({ id: `c${index + 1}`, ...call })),
  };
}

export function escalate(rationale: string): ProposalInput {
  return { kind: 'escalate', rationale };
}

/** A reply. Each sentence about an order is a claim that rests on the calls about that order. */
export function finish(reply: string, ...support: readonly (Seen | undefined)[]): ProposalInput {
  const seen = support.filter((one) => one?.result.kind === 'ok');
  const claims = reply.split(/(?<=[.!?]) /).flatMap((text) => {
    const about = seen.filter((one) => text.includes(String(one?.args['orderId'])));
    const evidence = about.flatMap((one) => one?.evidence ?? []);
    return evidence.length === 0 ? [] : [{ text, evidence }];
  });
  return { kind: 'finish_candidate', reply, claims };
}

/** A call that did not do what was asked: once more if it certainly never arrived, else a person. */
export function setback(view: View, { tool, args, result }: Seen): ProposalInput {
  if (result.kind === 'ok') return escalate(`${tool} is done and the order does not show it`);
  if (result.kind === 'rejected' && result.code === 'requester_not_verified') {
    return { kind: 'ask_customer', text: REPLIES.signIn };
  }
  const tries = seenIn(view).filter(
    (seen) => seen.tool === tool && seen.args['orderId'] === args['orderId'],
  );
  if (result.kind === 'failed' && result.transient && tries.length < 2) {
    return propose(view, { tool, arguments: args });
  }
  return escalate(`${tool} did not succeed: ${result.kind} (${result.code})`);
}
