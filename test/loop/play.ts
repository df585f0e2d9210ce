import { modelClient } from '../../src/calls/index.ts';
import { defineAgent, type AgentOptions } from '../../src/config/index.ts';
import type { Approval, Delivery, ToolContract } from '../../src/contracts/index.ts';
import {
  budgetLeft,
  readPlan,
  runTurn,
  type AgentRules,
  type ClaimedTurn,
  type Clock,
  type Judge,
  type Model,
  type Ports,
  type Rest,
  type TurnStore,
  type View,
} from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { loadSkillTool } from '../../src/skills/index.ts';
import { TurnTrace } from '../../src/telemetry/index.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { MemoryTarget, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { openStore } from '../support/store.ts';

type Opened = Awaited<ReturnType<typeof openStore>>;

export type PlayOptions = Partial<Omit<AgentOptions, 'model' | 'tools'>> & {
  /** What the model answers to what it sees; instead of it a whole model. */
  policy?: (view: View) => ScriptedAnswer | Promise<ScriptedAnswer>;
  model?: Model;
  shop?: Shop;
  tools?: readonly ToolContract[];
  judge?: AgentRules['judge'];
  verifier?: Judge;
  /** The loop's clock. Default: the store's. */
  clock?: Clock;
  /** What people do when the turn waits for them. Nothing: it is left waiting. */
  people?: (approval: Approval, opened: Opened) => Promise<void>;
  /** Runs right before a step of the store; for worlds that change at a certain moment. */
  before?: (step: keyof TurnStore) => void;
  conversationId?: string;
  opened?: Opened;
};

/** One message from its acceptance to its end or to the wait nobody answers. */
export type Played = {
  rest: Rest;
  claimed: ClaimedTurn;
  trace: TurnTrace;
};

/**
 * A conversation hosted without queues on the real store: claims, drives, re-reads, and lets people decide. For tests
 * that look at the loop alone and try many worlds.
 */
export async function converse(options: PlayOptions = {}) {
  const opened = options.opened ?? (await openStore());
  const { store, records } = opened;
  const { shop = new Shop(), conversationId = 'c1' } = options;
  const id = `test/${conversationId}`;
  const views: View[] = [];
  const deliveries: Delivery[] = [];
  const clock = options.clock ?? store.clock();
  let turnId = '';

  const portsOf = (trace: TurnTrace, changed: Partial<PlayOptions>): Ports => {
    const all = { ...options, ...changed };
    const { policy, tools = shopTools(shop), verifier, skills = [] } = all;
    const inner =
      all.model ?? scriptedModel(policy ?? (() => ({ kind: 'escalate', rationale: '' })));
    const model: Model = {
      ...inner,
      ask(view, call) {
        views.push(structuredClone(view));
        return inner.ask(view, call);
      },
    };
    const { rules } = defineAgent({
      name: 'test agent',
      instructions: 'Help.',
      target: new MemoryTarget(),
      approvalLimits: { EUR: 5_000 },
      ...all,
      model,
      tools,
    });
    const builtIn = skills.length > 0 ? [loadSkillTool(skills)] : [];
    return {
      store: watched(store, deliveries, all.before),
      model: modelClient(model),
      tools: new ToolExecutor(new ToolRegistry([...tools, ...builtIn]), clock, verifier),
      clock,
      observer: { observe: (event) => trace.observe(event) },
      rules,
    };
  };

  const claim = async (): Promise<ClaimedTurn> => {
    const reply = await store.claimTurn(id, { jobId: 'job', workerId: 'w' });
    if (reply.kind !== 'claimed') throw new Error(`not claimed: ${reply.kind}`);
    ({ turnId } = reply.turn.claim);
    return reply.turn;
  };

  /** Goes on with the open turn until it ends or waits for somebody who does nothing. */
  const goOn = async (changed: Partial<PlayOptions> = {}): Promise<Played> => {
    const trace = new TurnTrace();
    const people = changed.people ?? options.people;
    for (;;) {
      const claimed = await claim();
      const ports = portsOf(trace, changed);
      const rest = await runTurn(claimed, ports);
      if (rest.kind === 'ended') return { rest, claimed, trace };
      if (rest.park.kind === 'verification') {
        await reread(opened, ports, id);
      } else if (rest.park.kind === 'approval') {
        const [approval] = await records.pendingApprovals();
        if (approval === undefined || people === undefined) return { rest, claimed, trace };
        await people(approval, opened);
      }
    }
  };

  return {
    ...opened,
    shop,
    views,
    deliveries,
    goOn,
    /** Texts of a kind that are to go out. */
    said: (kind: Delivery['kind']) =>
      deliveries.filter((one) => one.kind === kind).map(({ text }) => text),
    async say(text = 'Please cancel order 1.', changed: Partial<PlayOptions> = {}) {
      await store.acceptMessage(ticket({ conversationId, text }));
      return goOn(changed);
    },
    /** The newest turn as it is on record. */
    async turn() {
      const newest = await records.turn(turnId);
      if (newest === undefined) throw new Error('no turn');
      return newest;
    },
    ledger: () => records.ledger(id),
  };
}

/** One message; the conversation and what came of it. */
export async function play(options: PlayOptions = {}, text?: string) {
  const conversation = await converse(options);
  if (conversation.shop.orders.size === 0) conversation.shop.add({ id: '1' });
  const played = await conversation.say(text);
  return { ...conversation, ...played, turn: await conversation.turn() };
}

/** What the verification worker does for a parked turn, without waiting. */
async function reread({ store }: Opened, { tools, rules }: Ports, conversationId: string) {
  let attempts = 1;
  for (let number = 1; number <= attempts; number += 1) {
    const parked = await store.parkedTurn(conversationId);
    const call = parked?.calls.find(({ step }) => step === 'verifying');
    if (parked === undefined || call?.effect === undefined) throw new Error('nothing to re-read');
    ({ attempts } = readPlan(tools, call));
    const read = await tools.verify(call, {
      operation: call.effect.operation,
      validUntil: store.clock().now() + 1_000,
      silenceMs: parked.silenceMs,
      budget: budgetLeft(parked.accounts, parked, rules, store.clock().now()),
      principal: parked.messages[0]?.requester ?? { id: '', assurance: 'none' },
    });
    const waiting = { conversationId, turnId: parked.turnId, park: parked.park.number };
    await store.recordVerdict(waiting, number, read, number >= attempts);
    if (read.verdict === 'landed' || read.verdict === 'blocked') return;
  }
}

/** The store, with what it is given to deliver noted. */
function watched(
  store: Opened['store'],
  deliveries: Delivery[],
  before: PlayOptions['before'] = () => {},
): TurnStore {
  return {
    record(...args) {
      before('record');
      return store.record(...args);
    },
    limitAccount: (...args) => store.limitAccount(...args),
    bookStake(...args) {
      before('bookStake');
      return store.bookStake(...args);
    },
    peekEffect(...args) {
      before('peekEffect');
      return store.peekEffect(...args);
    },
    park(claim, transition, wait) {
      before('park');
      deliveries.push(...wait.deliveries);
      return store.park(claim, transition, wait);
    },
    commit(claim, transition, commit) {
      before('commit');
      deliveries.push(...commit.deliveries);
      return store.commit(claim, transition, commit);
    },
  };
}
