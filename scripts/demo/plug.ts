import type { TurnEvent } from '../../src/contracts/index.ts';
import { key } from '../../src/store/keys.ts';
import type { Household, WorkerProcess } from './household.ts';
import { answer } from './operator.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';

/** A worker that was killed: times in ms since the epoch. */
export type Kill = {
  worker: string;
  pid: number;
  /** The order service had paid, and had not answered yet. */
  appliedAt: number;
  killedAt: number;
};

/** What became of it: the record of the turn, and counts from the order service's log. */
export type Recovery = Kill & {
  /** The answer of the order service reached the turn after all. */
  answerSeen: boolean;
  /** Who went on with the turn. */
  resumedBy: string | null;
  resumedAfterMs: number | null;
  endedAfterMs: number | null;
  refundRequests: number;
  effectsApplied: number;
};

/** Longer than any caller waits: the answer certainly does not come before the kill. */
const ANSWER_AFTER_MS = 10_000;

/**
 * Approves the refund of the scenario and kills the worker process that pays it: after the order service has paid and
 * before it has answered. A new worker process is started at once, as a supervisor would.
 */
export async function pullThePlug(
  house: Household,
  stage: Stage,
  scenario: Scenario,
  say: (line: string) => void,
): Promise<Kill> {
  const { shop, settings, workers, records } = stage;
  const { orderId, conversationId } = scenario;
  const pending = await records.pendingApprovals();
  const request = pending.find((approval) => approval.conversationId === conversationId);
  if (request === undefined) throw new Error(`nothing of ${conversationId} waits for a person`);
  const fault = { operation: 'refund', orderId, kind: 'pause_after', ms: ANSWER_AFTER_MS };
  await shop.client.post('/admin/faults', { faults: [fault] });
  const paid = shop.client.waitFor(`applied:refund:${orderId}`);
  say(await answer(settings, request.id, 'approved'));

  const { at } = await paid;
  const holder = await holderOf(stage, scenario);
  const victim = workers.find(({ workerId }) => workerId === holder);
  if (victim === undefined) throw new Error(`no worker of the demo is ${holder}`);
  const killedAt = Date.now();
  await victim.kill();
  say(
    `order ${orderId} is refunded, the answer is not sent: ${victim.name} (pid ${victim.pid}) killed with SIGKILL`,
  );
  workers.push(await house.worker(`worker-${workers.length + 1}`, stage));
  return { worker: victim.name, pid: victim.pid, appliedAt: Date.parse(at), killedAt };
}

/** What became of it, once the turn is at rest. */
export async function recoveryFrom(
  kill: Kill,
  stage: Stage,
  scenario: Scenario,
): Promise<Recovery> {
  const { records, shop, workers } = stage;
  const { killedAt } = kill;
  const conversation = await records.conversation(scenario.conversationId);
  const turn = await records.turn(conversation?.openTurn ?? conversation?.lastTurn ?? '');
  const resumed = turn?.events.find(
    (event) => event.type === 'turn_resumed' && event.at >= killedAt,
  );
  const about = { operation: 'refund', subject: scenario.orderId };
  const requests = await shop.client.log({ kind: 'request', ...about });
  const effects = await shop.client.log({ kind: 'effect', ...about });
  const holder = await holderOf(stage, scenario);
  const since = (at: number | null | undefined): number | null => (at ? at - killedAt : null);
  return {
    ...kill,
    answerSeen: (turn?.events ?? []).some(isAnswerOfRefund),
    resumedBy: workers.find(({ workerId }: WorkerProcess) => workerId === holder)?.name ?? null,
    resumedAfterMs: since(resumed?.at),
    endedAfterMs: since(turn?.endedAt),
    refundRequests: requests.length,
    effectsApplied: effects.length,
  };
}

function isAnswerOfRefund(event: TurnEvent): boolean {
  if (event.type !== 'call_settled' || event.result.kind !== 'ok') return false;
  const { data } = event.result.observation;
  return typeof data === 'object' && data !== null && 'refund' in data;
}

/** The worker that holds the conversation of the scenario, by the store's word. */
async function holderOf(
  { turnkeeper }: Stage,
  { conversationId }: Scenario,
): Promise<string | null> {
  const { store } = turnkeeper;
  return store.redis.hget(key(store.tagOf(conversationId), 'conv', conversationId), 'worker');
}
