import type { EventOf, ToolContract } from '../../src/contracts/index.ts';
import type { Model, View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket, type RigOptions } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

/** What a call that is under way does when it is told to end. `finishes`: it answers all the same, within its grace. */
export type Manner = 'obeys' | 'ignores' | 'finishes';

/** A call to another system that has begun and does not come to its end by itself. */
export class Held {
  readonly #begun = Promise.withResolvers<void>();
  readonly #manner: Manner;

  constructor(manner: Manner) {
    this.#manner = manner;
  }

  /** Resolves when the call is under way. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Stands in the call: settles as its manner says once it is told to end. */
  wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => {
      if (this.#manner === 'obeys') reject(new Error('told to end'));
      if (this.#manner === 'finishes') resolve();
    });
    this.#begun.resolve();
    return promise;
  }
}

/** The model of a policy, held at the first look it gets in a round. */
export function heldModel(
  held: Held,
  policy: (view: View) => ScriptedAnswer = cancelThenRefund,
  atRound = 0,
): Model {
  const scripted = scriptedModel(policy);
  return {
    ...scripted,
    async ask(view, call) {
      if (view.rounds.length === atRound) await held.wait(call.signal);
      return scripted.ask(view, call);
    },
  };
}

/** A tool of the shop that has done its work and holds its answer back. */
export function heldTool(shop: Shop, name: string, held: Held): Partial<ToolContract> {
  const tool = shopTools(shop).find((one) => one.name === name);
  if (tool === undefined) throw new RangeError(`the shop has no tool ${name}`);
  return {
    timeoutMs: 60_000,
    async run(args, context) {
      const answer = await tool.run(args, context);
      await held.wait(context.signal);
      return answer;
    },
  };
}

export type ShopOptions = Partial<RigOptions> & {
  shop?: Shop;
  policy?: (view: View) => ScriptedAnswer | Promise<ScriptedAnswer>;
  changed?: Parameters<typeof shopTools>[1];
};

/** The shop with its order 1, an agent that cancels and refunds it, and people who may step in. No worker yet. */
export async function openShop(options: ShopOptions = {}) {
  const { shop = new Shop(), policy = cancelThenRefund, changed, ...rest } = options;
  if (!shop.orders.has('1')) shop.add({ id: '1' });
  const views: View[] = [];
  const rig = await startRig({
    model: scriptedModel((view) => {
      views.push(structuredClone(view));
      return policy(view);
    }),
    // On a busy machine an ordinary call must not count as lost.
    tools: shopTools(shop).map((tool) => ({ ...tool, timeoutMs: 2_000, ...changed?.[tool.name] })),
    approvalLimits: { EUR: 5_000 },
    ...rest,
  });
  const operator = new Operator(rig);
  /** Turns of the conversation, oldest first. */
  const turns = async (conversationId = 'test/c1'): Promise<TurnRecord[]> =>
    (await rig.records.turnsOf(conversationId)).toSorted((a, b) => a.startedAt - b.startedAt);
  const openTurn = async (conversationId = 'test/c1'): Promise<string> =>
    (await rig.records.conversation(conversationId))?.openTurn ?? '';
  /** Resolves once a turn of the conversation waits without a worker. */
  const parked = async (conversationId = 'test/c1') => {
    const turns = rig.queues.of('turns', conversationId);
    for (;;) {
      const waiting = await rig.store.parkedTurn(conversationId);
      const resting = await turns.getJobCountByTypes('waiting-children', 'delayed');
      if (waiting !== undefined && resting > 0) return waiting;
    }
  };
  const refunds = () => shop.effects.filter(({ kind }) => kind === 'refund');
  const say = (text: string, who = 'ana@example.com') =>
    rig.accept(ticket({ text, requester: { id: who, assurance: 'verified' } }));
  return { ...rig, shop, views, operator, turns, openTurn, parked, refunds, say };
}

export const HOUR = 3_600_000;

export const DAY = 24 * HOUR;

/** A cancellation of which every re-read says that it is pending, an hour apart. */
export const SLOW_CANCELLATION = cancellationWhen(() => false);

/** A cancellation that has landed when `landed` says so; its re-reads are an hour apart. */
export function cancellationWhen(
  landed: () => boolean,
  more: { attempts?: number } = {},
): ShopOptions['changed'] {
  return {
    cancel_order: {
      verify: {
        level: 'reread',
        read: () => Promise.resolve({ status: landed() ? 'cancelled' : 'cancellation_pending' }),
        landed: (read) =>
          (read as { status: string }).status === 'cancelled' ? 'landed' : 'pending',
        // The order itself is read by its own tool.
        factOf: () => 'order:1/cancellation',
        backoffMs: HOUR,
        maxBackoffMs: HOUR,
        ...more,
      },
    },
  };
}

/** A clock that tests move instead of waiting, and what wakes those that wait by it. */
export class Time {
  offsetMs = 0;

  /** For the store. */
  readonly store = { clockOffsetMs: (): number => this.offsetMs };

  /** An hour, a day: whatever was delayed until then is due, and comes up. */
  async pass(
    { queues, store }: Pick<Awaited<ReturnType<typeof openShop>>, 'queues' | 'store'>,
    ms: number,
    conversationId = 'test/c1',
  ): Promise<void> {
    this.offsetMs += ms;
    const parked = await store.parkedTurn(conversationId);
    if (parked !== undefined && parked.park.kind !== 'back_off') {
      const { turnId, park } = parked;
      await queues.hurry({ conversationId, turnId, park: park.number }, park.kind);
    }
    for (const job of await queues.of('turns', conversationId).getDelayed()) {
      await job.promote().catch(() => {});
    }
  }
}

export function stopOf(turn: TurnRecord | undefined): EventOf<'stop_requested'> | undefined {
  return turn?.events.find((event) => event.type === 'stop_requested');
}
