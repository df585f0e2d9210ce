import type { CallState } from './state.ts';
import type { Toolbox } from './ports.ts';

/** A call that waits, where it stands in its round, and the concrete objects it touches. */
type Open = { call: CallState; inRound: number; writes: boolean; touches: readonly string[] };

/**
 * The next calls to check and run side by side. Reads go together. A write goes alone among writes and after everything
 * proposed before it, so that its checks see what that found; a read joins it unless it touches the same object. The
 * objects decide, not the number of calls.
 */
export function callsToCheck(
  calls: readonly CallState[],
  tools: Toolbox,
): readonly { call: CallState; inRound: number }[] {
  const open = calls
    .map((call, inRound) => ({ call, inRound, ...reach(call, tools) }))
    .filter(({ call }) => call.step === 'proposed' || call.step === 'approved');
  const taken: Open[] = [];
  for (const [index, one] of open.entries()) {
    const waiting = open.slice(0, index).filter((other) => !taken.includes(other));
    const first = one.writes ? index === 0 : true;
    const clear = [...taken, ...waiting].every((other) => !other.writes || !meet(one, other));
    if (first && clear) taken.push(one);
  }
  return taken.map(({ call, inRound }) => ({ call, inRound }));
}

function reach(call: CallState, tools: Toolbox): Pick<Open, 'writes' | 'touches'> {
  const contract = tools.find(call.tool);
  const input = contract?.input.safeParse(call.arguments);
  if (contract === undefined || input?.success !== true) return { writes: false, touches: [] };
  return { writes: contract.effect === 'write', touches: contract.resource(input.data) };
}

function meet(one: Open, other: Open): boolean {
  return one.touches.some((a) => other.touches.some((b) => overlap(a, b)));
}

/** `order:1` holds `order:1/line:2`; `order:1` and `order:12` have nothing to do with each other. */
function overlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
