import { createHmac } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { configureSource } from '../../src/producers/ingress/index.ts';
import { noMeter, PrometheusMeter } from '../../src/telemetry/metrics/index.ts';
import { startTracer, traceIdOf } from '../../src/telemetry/otel/index.ts';
import { startService } from '../http/service.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startReceiver } from '../support/otlp-receiver.ts';
import { silent, startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const SECRET = 'a-long-enough-secret';
const DAY = 86_400_000;

const about = {
  ...{ version: '1', agent: 'helper', meter: noMeter, logger: silent },
  model: { provider: 'scripted', name: 'scripted' },
};

/** A shop whose agent cancels, waits for the world to agree, and asks a person for the refund. */
async function startShop() {
  const shop = new Shop();
  shop.add({ id: '1' });
  shop.settleReads = 2;
  const clock = { offsetMs: 0 };
  const rig = await startRig({
    model: scriptedModel(cancelThenRefund),
    tools: shopTools(shop),
    approvalLimits: { EUR: 0 },
    limits: { approvalMs: 7 * DAY },
    store: { clockOffsetMs: () => clock.offsetMs },
  });
  return { shop, clock, rig };
}

test('[P15] a webhook, every job, three days of waiting and a new worker are one trace without a loose end', async () => {
  const receiver = await startReceiver();
  const { rig, clock, shop } = await startShop();
  const desk = configureSource({
    ...{ name: 'desk', type: 'zammad', secrets: [SECRET] },
    ownAuthors: ['9'],
    signedInChannels: ['web'],
  });
  const service = await startService({
    sources: [desk],
    store: { prefix: rig.store.prefix },
    // Under load the libraries take their time to load.
    maxEventLoopDelay: 10_000,
  });
  const first = await startTracer({ ...about, endpoint: receiver.url });
  const worker = await rig.startHost({ tracer: first });

  // On a busy machine the first tries may be told to come back.
  const handOver = async () => (await service.call('POST', '/v1/webhooks/desk', webhook())).status;
  await expect.poll(handOver, { timeout: 20_000 }).toBe(200);
  await rig.target.arrived('holding', 1);
  await worker.close();
  await first.close();
  clock.offsetMs += 3 * DAY;
  const [approval] = await rig.records.pendingApprovals();
  await rig.store.decideApproval(approval?.id ?? '', 'approved', 'ana');
  const second = await startTracer({ ...about, endpoint: receiver.url });
  const successor = await rig.startHost({ tracer: second });
  await rig.target.arrived('reply', 1);
  await successor.close();
  await second.close();

  const lastTurn = (await rig.records.conversation('desk/42'))?.lastTurn ?? '';
  const spans = receiver.spans();
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf(lastTurn)]));
  expect(new Set(spans.map(({ name }) => name))).toEqual(
    new Set([
      ...['invoke_agent helper', 'wait in mailbox', 'process turn', 'chat scripted'],
      ...['check get_order', 'execute_tool get_order'],
      ...['check cancel_order', 'execute_tool cancel_order', 'verify cancel_order'],
      ...['wait for verification', 'check issue_refund', 'wait for approval', 'check approval'],
      ...['approval', 'execute_tool issue_refund', 'verify issue_refund', 'check finish'],
      ...['deliver holding', 'deliver reply'],
    ]),
  );
  const ids = spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
  const root = spans.find(({ parentSpanId }) => parentSpanId === '');
  expect(root).toMatchObject({ name: 'invoke_agent helper' });
  expect(root?.seconds).toBeGreaterThan((3 * DAY) / 1_000);
  // Also what the first worker sent days before its parent was there.
  for (const { name, parentSpanId, links } of spans) {
    const leadsTo = [parentSpanId, ...links].filter((id) => id !== '');
    expect(
      leadsTo.filter((id) => !ids.includes(id)),
      name,
    ).toEqual([]);
  }
  const stretches = spans.filter(({ name }) => name === 'process turn');
  expect(stretches.length).toBeGreaterThanOrEqual(3);
  expect(stretches.slice(1).map(({ links }) => links[0])).toEqual(
    stretches.slice(0, -1).map(({ spanId }) => spanId),
  );
  expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
});

describe('an exporter whose receiver', () => {
  test.each<[string, RequestListener]>([
    ['never answers', () => {}],
    ['hangs up', (request) => void request.socket.destroy()],
    ['refuses', (_request, response) => void response.writeHead(400).end('no')],
  ])(
    '%s hurts no turn: it goes on meanwhile, and the spans are counted as lost',
    async (_how, answer) => {
      const meter = new PrometheusMeter();
      const tracer = await startTracer({ ...about, meter, endpoint: await listen(answer) });
      const { rig, shop } = await startShop();
      const worker = await rig.startHost({ tracer });

      await rig.accept(ticket());
      await rig.target.arrived('holding', 1);
      const [approval] = await rig.records.pendingApprovals();
      await rig.store.decideApproval(approval?.id ?? '', 'approved', 'ana');
      const parked = await rig.store.parkedTurn('test/c1');
      if (parked !== undefined) await rig.queues.wake(parked, 'test/c1');
      await rig.target.arrived('reply', 1);
      await worker.close();

      expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
      await tracer.close();
      expect(await meter.text()).toMatch(/^turnkeeper_spans_dropped_total [1-9]/m);
    },
  );
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://127.0.0.1:${port}`;
}

function webhook() {
  const body = JSON.stringify({
    ticket: { id: 42, title: 'My order 1' },
    article: {
      ...{ id: 71, sender: 'Customer', body: 'Cancel 1', type: 'web', internal: false },
      ...{ created_by_id: 3, created_by: { email: 'ana@example.com' } },
    },
  });
  const mac = createHmac('sha1', SECRET).update(body).digest('hex');
  return {
    body,
    headers: { 'content-type': 'application/json', 'x-hub-signature': `sha1=${mac}` },
  };
}
