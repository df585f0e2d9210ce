import { setTimeout as elapse } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { technovaAgent, type TechnovaOptions } from '../../examples/technova/agent/agent.ts';
import { messagesOf, type Ticket } from '../../examples/technova/agent/fixtures.ts';
import { indexDocuments } from '../../examples/technova/agent/index-documents.ts';
import { startOrderService } from '../../examples/technova/order-service/start.ts';
import { ServiceClient } from '../../examples/technova/service/service-client.ts';
import { startTicketDesk } from '../../examples/technova/ticket-desk/start.ts';
import type { Approval, TicketMessage, ToolContract } from '../../src/contracts/index.ts';
import { conversationIdOf } from '../../src/store/index.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { openDocuments } from '../../src/turnkeeper.ts';
import { startRig, ticket } from './rig.ts';

const OWNER = 'ana@example.com';

/** An order of Ana's, paid and not shipped, that is cancelled as soon as it is read again. */
export function orderOf(overrides: Record<string, unknown> = {}) {
  return {
    id: '4482',
    customerId: OWNER,
    status: 'paid',
    placedAt: daysAgo(2),
    currency: 'EUR',
    total: 4_000,
    lines: [{ id: 'line-1', sku: 'CASE-1', name: 'Case', quantity: 1, unitPrice: 4_000 }],
    settleMs: 0,
    ...overrides,
  };
}

export const glasses = {
  id: 'line-2',
  sku: 'GLASS-1',
  name: 'Glass',
  quantity: 2,
  unitPrice: 1_100,
};
export const bowl = { id: 'line-1', sku: 'BOWL-3', name: 'Bowl', quantity: 1, unitPrice: 1_800 };

/** A delivered order of a bowl for 18.00 and two glasses at 11.00. */
export function delivered(overrides: Record<string, unknown> = {}) {
  return orderOf({
    status: 'delivered',
    deliveredAt: daysAgo(5),
    total: 4_000,
    lines: [bowl, glasses],
    ...overrides,
  });
}

export function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}

/** An address where nobody listens: one where somebody did. */
export async function deserted(): Promise<string> {
  const { url, close } = await startTicketDesk();
  await close();
  return url;
}

/** Both services in this process, ended with the test. */
export async function startServices(
  world: { orders: readonly object[] } = { orders: [orderOf()] },
) {
  const [orders, desk] = await Promise.all([startOrderService({ seed: world }), startTicketDesk()]);
  onTestFinished(async () => {
    await Promise.all([orders.close(), desk.close()]);
  });
  return { shop: new ServiceClient(orders.url), desk: new ServiceClient(desk.url) };
}

/** The turns that came to rest, by conversation, and who waits for them. */
class Rested {
  readonly #turns = new Map<string, TurnRecord>();
  readonly #looks = new Set<() => void>();

  add(turn: TurnRecord): void {
    if (this.#turns.get(turn.turnId)?.phase !== 'ended') this.#turns.set(turn.turnId, turn);
    for (const look of this.#looks) look();
  }

  /** Oldest first, once they are as wished. */
  async until(
    conversationId: string,
    ready: (turns: readonly TurnRecord[]) => boolean,
  ): Promise<TurnRecord[]> {
    const { promise, resolve } = Promise.withResolvers<TurnRecord[]>();
    const look = (): void => {
      const turns = [...this.#turns.values()].filter(
        (turn) => turn.conversationId === conversationId,
      );
      if (ready(turns)) resolve(turns.toSorted((a, b) => a.startedAt - b.startedAt));
    };
    this.#looks.add(look);
    look();
    return promise.finally(() => this.#looks.delete(look));
  }
}

/** Milliseconds a call may take, and the first delay between re-reads; the example's own are 2,000 and 200. */
export type Pace = { timeoutMs: number; backoffMs: number };
/** For what only waiting shows: long enough for a call that is not lost. */
export const HURRIED: Pace = { timeoutMs: 800, backoffMs: 40 };

function paced(tool: ToolContract, { timeoutMs, backoffMs }: Pace): ToolContract {
  const { verify } = tool;
  return {
    ...tool,
    timeoutMs,
    ...(verify === undefined ? {} : { verify: { ...verify, backoffMs } }),
  };
}

/** The example as it runs in production, on the real Redis of the run and real services over HTTP. */
export async function startTechnova(
  world: { orders: readonly object[] } = { orders: [orderOf()] },
  options: Partial<TechnovaOptions> & {
    pace?: Pace;
    /** With its help pages. Default: it knows none. */
    documents?: boolean;
  } = {},
) {
  const { pace, documents = false, ...agentOptions } = options;
  const { shop, desk } = await startServices(world);
  const agent = technovaAgent({
    orderServiceUrl: shop.url,
    ticketDeskUrl: desk.url,
    ...agentOptions,
  });
  const { rules, skills, model, target } = agent;
  const tools = pace === undefined ? agent.tools : agent.tools.map((tool) => paced(tool, pace));
  const rested = new Rested();
  const rig = await startRig({
    ...rules,
    tools,
    skills,
    model,
    target,
    // A wake-up that is lost between a decision and the park it decides is repaired after this long.
    store: { slackMs: 1_000 },
    host: {
      sendTimeoutMs: 1_000,
      onTrace: (turnId) => {
        void rig.records.turn(turnId).then((turn) => turn && rested.add(turn));
      },
    },
  });
  if (documents) await indexDocuments(rig.store);
  const opened = documents ? await openDocuments(agent, rig.store) : undefined;
  await rig.startHost(opened?.host);
  // The rig, which came first, ends after it.
  onTestFinished(() => opened?.close());

  const ended = (count = 1, conversationId = 'test/c1'): Promise<TurnRecord[]> =>
    rested.until(
      conversationId,
      (found) => found.filter(({ phase }) => phase === 'ended').length >= count,
    );
  const waiting = (conversationId = 'test/c1'): Promise<TurnRecord[]> =>
    rested.until(conversationId, (found) => found.some(({ park }) => park?.kind === 'approval'));

  /** The turn of a conversation with one message, once it has ended or waits for a person. */
  const rest = async (conversationId = 'test/c1'): Promise<TurnRecord> => {
    const [turn] = await rested.until(conversationId, (found) =>
      found.some(({ phase, park }) => phase === 'ended' || park?.kind === 'approval'),
    );
    if (turn === undefined) throw new Error('no turn');
    return turn;
  };

  /** The request that waits after the turn has parked so often for a person. */
  const asked = async (times: number, conversationId = 'test/c1'): Promise<Approval> => {
    await rested.until(conversationId, (found) =>
      found.some((turn) => approvalParks(turn) >= times),
    );
    const pending = await rig.records.pendingApprovals();
    const approval = pending.find((one) => one.conversationId === conversationId);
    if (approval === undefined) throw new Error(`nothing of ${conversationId} waits for a person`);
    return approval;
  };

  const say = (text: string, message: Partial<TicketMessage> = {}) =>
    rig.accept(ticket({ text, requester: { id: OWNER, assurance: 'verified' }, ...message }));
  /** One message, one turn: how it ended. */
  const answer = async (text: string): Promise<TurnRecord> => {
    await say(text);
    await ended(1);
    return rest();
  };
  const decide = async (decision: 'approved' | 'rejected', conversationId = 'test/c1') => {
    const { id, turnId } = await asked(1, conversationId);
    await rig.store.decideApproval(id, decision, 'tester');
    const parked = await rig.store.parkedTurn(conversationId);
    if (parked === undefined) return;
    await rig.queues.hurry({ conversationId, turnId, park: parked.park.number }, parked.park.kind);
  };

  const effects = (operation?: string) =>
    shop.log({ kind: 'effect', ...(operation === undefined ? {} : { operation }) });
  const refunds = () => effects('refund');
  /** What the customer was sent in a conversation, oldest first, once there are so many messages. */
  const repliesIn = async (conversation = 'c1', count = 1): Promise<string[]> => {
    for (let seq = 0, arrived = 0; arrived < count; arrived += 1) {
      const wait = `wait=applied:reply:${conversation}&after=${seq}`;
      const { status, body } = await desk.get(`/admin/events?${wait}`);
      if (status !== 200)
        throw new Error(`${arrived} of ${count} replies arrived in ${conversation}`);
      seq = (body as { seq: number }).seq;
    }
    const log = await desk.log({ kind: 'effect', operation: 'reply', subject: conversation });
    return log.map((entry) => String(entry['text']));
  };
  return {
    rig,
    shop,
    desk,
    agent,
    say,
    answer,
    ended,
    waiting,
    rest,
    asked,
    decide,
    effects,
    refunds,
    repliesIn,
  };
}

function approvalParks({ events }: TurnRecord): number {
  return events.filter((event) => event.type === 'turn_parked' && event.park.kind === 'approval')
    .length;
}

export type Technova = Awaited<ReturnType<typeof startTechnova>>;

/** Plays the customer and the approver of a ticket; answers how it ended, in the words of the fixture. */
export async function play(
  { rig, ended, waiting, decide }: Technova,
  given: Ticket,
): Promise<{ turns: unknown[]; effects: unknown[] }> {
  const parts = messagesOf(given);
  const conversationId = conversationIdOf('technova', given.conversationId);
  const sent = Promise.all(
    parts.map(async ({ afterMs, message }) => {
      if (afterMs > 0) await elapse(afterMs);
      await rig.accept(message);
    }),
  );
  if (given.approval !== undefined) await decide(given.approval, conversationId);
  const own = parts.filter(({ expect }) => expect !== undefined);
  await ('phase' in given.expect ? waiting(conversationId) : ended(own.length, conversationId));
  await sent;

  const turns = await rig.records.turnsOf(conversationId);
  const ledger = await rig.records.ledger(conversationId);
  return {
    turns: turns
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(({ phase, outcome, reason }) =>
        phase === 'ended' ? { outcome, stopReason: reason } : { phase },
      ),
    effects: ledger.map(({ tool, resource, status, arguments: args }) => {
      const amount = (args as { amount?: number }).amount;
      return { tool, resource, ...(amount === undefined ? {} : { amount }), status };
    }),
  };
}
