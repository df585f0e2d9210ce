import { startOrderService } from '../examples/technova/order-service/start.ts';
import { readWorld } from '../examples/technova/agent/fixtures.ts';
import { ServiceClient } from '../examples/technova/service/service-client.ts';
import { modelClient } from '../src/calls/index.ts';
import type { Agent } from '../src/config/index.ts';
import {
  budgetLeft,
  currentCalls,
  fold,
  principalOf,
  readPlan,
  runTurn,
  timeoutOf,
  type CallState,
  type Ports,
} from '../src/loop/index.ts';
import { loadSkillTool } from '../src/skills/index.ts';
import { TurnTrace } from '../src/telemetry/index.ts';
import { ToolExecutor, ToolRegistry } from '../src/tools/index.ts';
import type { EvalCase } from './case.ts';
import { CaseClock } from './clock.ts';
import { MemoryStore } from './memory-store.ts';

/** A turn that is claimed more often gets nowhere. */
const MOST_CLAIMS = 50;
const STARTS_AT = Date.parse('2026-03-04T12:00:00Z');

/** A case that came to rest: what is on record, the trace of each turn, and the shop's own log of what was done. */
export type Played = {
  store: MemoryStore;
  /** By turn id. */
  traces: ReadonlyMap<string, TurnTrace>;
  effects: readonly Readonly<Record<string, unknown>>[];
};

/**
 * The other host of the loop: no Redis, no queues, no workers. It claims, lets `runTurn` drive the turn, and where that
 * has to wait it moves the clock of the case and does what a verification worker or an approver would.
 */
export async function playCase(
  one: EvalCase,
  agentOf: (shopUrl: string) => Agent,
): Promise<Played> {
  const clock = new CaseClock(STARTS_AT);
  const seed = readWorld(STARTS_AT);
  const service = await startOrderService({ seed, clock: () => clock.now() });
  try {
    const shop = new ServiceClient(service.url);
    if (one.settings !== undefined) await shop.post('/admin/settings', one.settings);
    if (one.faults !== undefined) await shop.post('/admin/faults', { faults: one.faults });
    const host = new CaseHost(one, agentOf(service.url), clock);
    for (const [index, text] of one.messages.entries()) await host.answer(index, text);
    const effects = await shop.log({ kind: 'effect' });
    return { store: host.store, traces: host.traces, effects };
  } finally {
    await service.close();
  }
}

class CaseHost {
  readonly store: MemoryStore;
  readonly traces = new Map<string, TurnTrace>();
  readonly #case: EvalCase;
  readonly #agent: Agent;
  readonly #clock: CaseClock;
  readonly #tools: ToolExecutor;

  constructor(one: EvalCase, agent: Agent, clock: CaseClock) {
    this.#case = one;
    this.#agent = agent;
    this.#clock = clock;
    this.store = new MemoryStore(`evals/${one.id}`, clock);
    const tools = [...agent.tools, loadSkillTool(agent.skills)];
    this.#tools = new ToolExecutor(new ToolRegistry(tools), clock);
  }

  /** Hands a message in and goes on until nobody waits, or a person is needed who does not come. */
  async answer(index: number, text: string): Promise<void> {
    this.store.accept({ messageId: `m${index + 1}`, text, requester: this.#case.requester });
    for (let claims = 0; claims < MOST_CLAIMS; claims += 1) {
      const claimed = this.store.claim();
      if (claimed === undefined) return;
      const { turnId } = claimed.claim;
      const trace = this.traces.get(turnId) ?? new TurnTrace();
      this.traces.set(turnId, trace);
      const rest = await runTurn(claimed, this.#ports(trace));
      if (rest.kind === 'parked' && !(await this.#wake())) return;
    }
    throw new Error(`case ${this.#case.id} did not come to rest in ${MOST_CLAIMS} claims`);
  }

  #ports(trace: TurnTrace): Ports {
    return {
      store: this.store,
      model: modelClient(this.#agent.model),
      tools: this.#tools,
      clock: this.#clock,
      observer: { observe: (event) => trace.observe(event) },
      rules: this.#agent.rules,
    };
  }

  /** Lets happen what the turn waits for; false when it waits for somebody who does not come. */
  async #wake(): Promise<boolean> {
    const { parked } = this.store;
    if (parked === undefined) return true;
    const { kind, dueAt } = parked.park;
    switch (kind) {
      case 'back_off':
        this.#clock.advanceTo(dueAt);
        return true;
      case 'verification':
        await this.#reread();
        return true;
      case 'approval':
        return this.#decide();
      default:
        return kind satisfies never;
    }
  }

  #decide(): boolean {
    const { approver } = this.#case;
    if (approver === undefined) return false;
    if (approver === 'takes over') {
      this.store.takeOver('a colleague');
    } else if (approver === 'nobody') {
      this.#clock.advanceTo(this.store.parked?.park.dueAt ?? 0);
      this.store.decide('expired', 'clock');
    } else {
      this.store.decide(approver, 'a colleague');
    }
    return true;
  }

  /** Re-reads the world until it is certain or the attempts are used up, as far apart as the contract wants. */
  async #reread(): Promise<void> {
    const { parked } = this.store;
    const state = fold(parked?.events ?? []);
    const call = currentCalls(state).find(({ step }) => step === 'verifying');
    if (parked === undefined || call === undefined) return;
    const { attempts, backoffMs, maxBackoffMs } = readPlan(this.#tools, call);
    this.#clock.advanceTo(parked.park.dueAt);
    for (let number = 1; number <= attempts; number += 1) {
      const read = await this.#tools.verify(call, {
        operation: call.effect?.operation ?? '',
        validUntil: this.#clock.now() + timeoutOf(this.#tools.find(call.tool)),
        silenceMs: this.#agent.rules.limits.silenceMs,
        principal: principalOf(parked.messages),
        budget: budgetLeft(state, this.store, this.#agent.rules, this.#clock.now()),
      });
      this.store.storeVerdict(read, number >= attempts);
      if (isConclusive(read, call)) return;
      this.#clock.advance(Math.min(maxBackoffMs, backoffMs * 2 ** number));
    }
  }
}

function isConclusive(
  { verdict, at }: { verdict: string; at: number },
  { effect }: CallState,
): boolean {
  if (verdict === 'landed' || verdict === 'blocked') return true;
  const expired = effect?.validUntil !== undefined && at > effect.validUntil;
  return verdict === 'not_landed' && effect?.answered === false && expired;
}
