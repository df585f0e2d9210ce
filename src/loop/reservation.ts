import type { PlannedEffect } from '../contracts/index.ts';
import { actionHash } from './identity.ts';
import type { Reservation, Toolbox } from './ports.ts';
import type { CallState } from './state.ts';

/** The ledger row of a write that is about to be sent. */
export function reservationOf(
  call: CallState,
  effect: PlannedEffect,
  tools: Toolbox,
  validUntil?: number,
): Reservation {
  return {
    operation: effect.operation,
    tool: call.tool,
    resource: effect.resource,
    occurrence: effect.occurrence,
    actionHash: hashOfCall(call, tools),
    callId: call.id,
    arguments: inputOf(call, tools),
    ...(effect.after === undefined ? {} : { after: effect.after }),
    ...(validUntil === undefined ? {} : { validUntil }),
  };
}

/** The arguments of a call as its tool gets them: with its defaults, and without what only the model put there. */
export function inputOf({ tool, arguments: args }: CallState, tools: Toolbox): unknown {
  const input = tools.find(tool)?.input.safeParse(args);
  return input?.success === true ? input.data : args;
}

/** Digest over a call as its tool understands it: what the ledger tells a repeat from a conflict by. */
export function hashOfCall(call: CallState, tools: Toolbox): string {
  return actionHash(call.tool, inputOf(call, tools));
}
