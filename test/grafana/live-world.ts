import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { DeliveryTarget, ToolContract } from '../../src/contracts/index.ts';
import { defineAgent } from '../../src/config/index.ts';
import type { Model, View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { acceptMessage, Queues } from '../../src/producers/index.ts';
import { configureSource } from '../../src/producers/ingress/index.ts';
import { connect, Store } from '../../src/store/index.ts';
import { startRedis } from '../../src/store/embedded-redis.ts';
import { Records } from '../../src/store/records.ts';
import {
  PrometheusMeter,
  serveMetrics,
  sharedGauges,
  watchProcess,
} from '../../src/telemetry/metrics/index.ts';
import { sharedState, WorkerHost } from '../../src/workers/index.ts';
import { startService } from '../http/service.ts';
import { MemoryTarget, silent, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const SECRET = 'a-long-enough-secret';

/** A shop that can go dark: what it is asked to do is lost, and it can no longer be read. */
class LiveShop extends Shop {
  dark = false;

  override read(id: string) {
    if (this.dark) throw new Error('connection lost');
    return super.read(id);
  }

  override async cancel(...given: Parameters<Shop['cancel']>) {
    if (this.dark) throw new Error('connection lost');
    return super.cancel(...given);
  }
}

/** A ticketing system that refuses the tickets named `locked-…`. */
class LiveTarget extends MemoryTarget {
  override send(message: Parameters<DeliveryTarget['send']>[0]) {
    if (message.externalId.startsWith('locked-')) {
      return Promise.resolve({ kind: 'refused', reason: 'not_allowed' }) as never;
    }
    return super.send(message);
  }
}

const call = (tool: string, args: object): ScriptedAnswer => ({
  kind: 'tool_calls',
  calls: [{ id: 'c1', tool, arguments: args }],
});
const done: ScriptedAnswer = { kind: 'finish_candidate', reply: 'Done.' };

/** What the model does is the first word of the message; the second is the order it is about. */
function policyOf(barrier: () => Promise<void>): (view: View) => Promise<ScriptedAnswer> {
  return async (view) => {
    const [wish, orderId = '1'] = (view.messages[0]?.text ?? '').split(' ');
    const round = view.rounds.length;
    if (wish === 'cut-off') return { kind: 'fails', failure: { kind: 'max_tokens' } };
    if (wish === 'hello' || wish === 'dear') return done;
    if (round === 0) return call('get_order', { orderId });
    if (round > 1) return done;
    if (wish === 'refund') return call('issue_refund', { orderId, amount: 2_000 });
    if (wish === 'slowly') return call('cancel_slowly', { orderId });
    await barrier();
    return call('cancel_order', { orderId });
  };
}

/**
 * One deployment: a Redis of its own, a worker, the service that takes webhooks, and the exporter. Its clock can be moved
 * ahead; nothing that is measured is ever set.
 */
export async function startLiveWorld() {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnkeeper-alerts-'));
  const server = await startRedis({ dataDir });
  const redis = connect(server.url);
  const clock = { offsetMs: 0 };
  const storeOptions = { clockOffsetMs: () => clock.offsetMs };
  const store = new Store({ redis, prefix: 'alerts', ...storeOptions });
  await store.open();
  const queues = new Queues(store);
  const records = new Records(store);
  const meter = new PrometheusMeter({ sources: ['test', 'desk'] });
  const shop = new LiveShop();
  const barrier = { wait: (): Promise<void> => Promise.resolve() };
  const target = new LiveTarget();
  const agent = defineAgent({
    name: 'test agent',
    instructions: 'Help.',
    target,
    model: priced(policyOf(() => barrier.wait())),
    tools: toolsOf(shop),
    approvalLimits: { EUR: 1_000 },
    limits: { parks: 1_000, costMicros: 20_000_000 },
  });
  sharedGauges(meter, sharedState(store, queues));
  const stopWatching = watchProcess(meter, { version: '0.1.0', ping: () => redis.ping() });
  const exporter = await serveMetrics(meter, { port: 0 });
  const desk = configureSource({
    ...{ name: 'desk', type: 'zammad', secrets: [SECRET] },
    ownAuthors: ['9'],
  });
  const service = await startService({
    ...{ redisUrl: server.url, meter, sources: [desk] },
    // Everything of this deployment is one process.
    maxEventLoopDelay: 10_000,
  });

  let worker: WorkerHost | undefined;
  const world = {
    ...{ server, redis, store, queues, records, shop, target, clock, barrier },
    port: exporter.port,
    async startWorker(): Promise<void> {
      const options = { store, queues, agent, logger: silent, meter, reconcileEveryMs: 500 };
      worker = new WorkerHost({ ...options, concurrency: 50 });
      await worker.ready();
    },
    async stopWorker(): Promise<void> {
      await worker?.close(2_000);
      worker = undefined;
    },
    /** A customer writes; each name is a conversation of its own. */
    write: (name: string, text: string) =>
      acceptMessage(store, queues, ticket({ conversationId: name, text }), { meter }),
    async webhook(id: number, secret = SECRET): Promise<number> {
      const body = JSON.stringify({
        ticket: { id, title: 'Order' },
        article: {
          ...{ id, sender: 'Customer', body: 'hello', type: 'web', internal: false },
          ...{ created_by_id: 3, created_by: { email: 'ana@example.com' } },
        },
      });
      const mac = createHmac('sha1', secret).update(body).digest('hex');
      const headers = { 'content-type': 'application/json', 'x-hub-signature': `sha1=${mac}` };
      return (await service.call('POST', '/v1/webhooks/desk', { body, headers })).status;
    },
    /** A person answers every approval that waits. */
    async decideAll(decision: 'approved' | 'rejected'): Promise<void> {
      for (const { id, conversationId, turnId } of await records.pendingApprovals()) {
        await store.decideApproval(id, decision, 'tester');
        const parked = await store.parkedTurn(conversationId, turnId);
        if (parked === undefined) continue;
        const { number, kind } = parked.park;
        await queues.hurry({ conversationId, turnId, park: number }, kind);
      }
    },
  };
  await world.startWorker();
  onTestFinished(async () => {
    stopWatching();
    await exporter.close();
    await world.stopWorker().catch(() => {});
    await queues.close().catch(() => {});
    redis.disconnect();
    await server.kill('SIGKILL').catch(() => {});
    rmSync(dataDir, { recursive: true, force: true });
  });
  return world;
}

export type LiveWorld = Awaited<ReturnType<typeof startLiveWorld>>;

/** The shop's tools, and a cancellation that is looked at for as long as it takes. */
function toolsOf(shop: Shop): ToolContract[] {
  const tools = shopTools(shop, { get_order: { timeoutMs: 2_000 } });
  const cancel = tools.find(({ name }) => name === 'cancel_order');
  if (cancel?.verify?.level !== 'reread') throw new Error('cancel_order is not verified');
  const patient = { ...cancel.verify, attempts: 1_000, backoffMs: 100, maxBackoffMs: 200 };
  return [...tools, { ...cancel, name: 'cancel_slowly', verify: patient }];
}

/** A model that costs nearly nothing, and more than a dollar a turn where the customer says `dear`. */
function priced(policy: (view: View) => Promise<ScriptedAnswer>): Model {
  const cheap = scriptedModel(policy, { microsPerToken: 1 });
  const dear = scriptedModel(policy, { microsPerToken: 60_000 });
  const of = (view: View): Model => (view.messages[0]?.text === 'dear' ? dear : cheap);
  return {
    estimate: (view) => of(view).estimate(view),
    ask: (view, limits) => of(view).ask(view, limits),
  };
}
