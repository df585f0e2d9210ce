import { modelClient } from '../../src/calls/index.ts';
import { defineAgent } from '../../src/config/index.ts';
import type { ToolContract } from '../../src/contracts/index.ts';
import { readPlan, runTurn, type Model, type Ports, type TurnStore } from '../../src/loop/index.ts';
import type { Store } from '../../src/store/index.ts';
import { TurnTrace } from '../../src/telemetry/index.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { MemoryTarget } from './rig.ts';

/** The worker is gone in the middle of what it did. */
export class Crash extends Error {}

export type DriverOptions = {
  store: Store;
  clock: { offsetMs: number };
  model: Model;
  tools: ToolContract[];
  approvalLimits?: Record<string, number>;
  /** Dies at these steps, counted over store calls: before (`false`) or after (`true`) the step took effect. */
  crashes: { step: number; after: boolean }[];
};

/**
 * Hosts the loop without BullMQ: claims, drives, dies where it is told, claims again; waits by moving the clock. For
 * tests that try very many interleavings on the real store.
 */
export async function driveToRest(
  options: DriverOptions,
  conversationId = 'test/c1',
): Promise<void> {
  const { store, clock, model } = options;
  const tools = new ToolExecutor(new ToolRegistry(options.tools), store.clock());
  const { rules } = defineAgent({
    name: 'driver',
    instructions: '',
    tools: options.tools,
    model,
    target: new MemoryTarget(),
    approvalLimits: options.approvalLimits ?? { EUR: 1_000_000 },
    limits: { rounds: 12, consecutiveFailures: 50, identicalFailures: 50, parks: 50 },
  });
  const crashing = crashingStore(store, options.crashes);
  for (let claims = 0; claims < 200; claims += 1) {
    const claimed = await store.claimTurn(conversationId, { jobId: 'job', workerId: `w${claims}` });
    if (claimed.kind === 'empty') return;
    if (claimed.kind === 'held') {
      clock.offsetMs += Math.max(1, claimed.until - store.clock().now());
      continue;
    }
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    const trace = new TurnTrace();
    const observer = {
      observe: (event: Parameters<TurnTrace['observe']>[0]) => trace.observe(event),
    };
    const ports: Ports = {
      store: crashing,
      model: modelClient(model),
      tools,
      clock: store.clock(),
      observer,
      rules,
    };
    try {
      const rest = await runTurn(claimed.turn, ports);
      if (rest.kind === 'parked') await wake(options, tools, conversationId);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
  throw new Error('the turn did not come to rest in 200 claims');
}

/** What the verification and approval workers would do for the parked turn. */
async function wake({ store, clock }: DriverOptions, tools: ToolExecutor, conversationId: string) {
  const parked = await store.parkedTurn(conversationId);
  if (parked === undefined) return;
  const { turnId, park, calls } = parked;
  clock.offsetMs += Math.max(0, park.dueAt - store.clock().now()) + 1;
  const call = calls.find((one) => one.step === 'verifying');
  if (park.kind !== 'verification' || call?.effect === undefined) return;
  const { attempts } = readPlan(tools, call);
  for (let number = 1; number <= attempts; number += 1) {
    const read = await tools.verify(call, {
      operation: call.effect.operation,
      validUntil: store.clock().now() + 1_000,
      silenceMs: 1_000,
      budget: parked.accounts.limits,
      principal: { id: 'ana@example.com', assurance: 'verified' },
    });
    const waiting = { conversationId, turnId, park: park.number };
    await store.recordVerdict(waiting, number, read, number >= attempts);
    if (read.verdict === 'landed' || read.verdict === 'blocked') return;
  }
}

function crashingStore(store: Store, crashes: DriverOptions['crashes']): TurnStore {
  let steps = 0;
  const at = async <T>(step: () => Promise<T>): Promise<T> => {
    steps += 1;
    const crash = crashes.find((one) => one.step === steps);
    if (crash?.after === false) throw new Crash();
    const result = await step();
    if (crash?.after === true) throw new Crash();
    return result;
  };
  return {
    record: (...args) => at(() => store.record(...args)),
    limitAccount: (...args) => at(() => store.limitAccount(...args)),
    bookStake: (...args) => at(() => store.bookStake(...args)),
    peekEffect: (...args) => at(() => store.peekEffect(...args)),
    park: (...args) => at(() => store.park(...args)),
    commit: (...args) => at(() => store.commit(...args)),
  };
}
