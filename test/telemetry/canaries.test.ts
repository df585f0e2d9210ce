import { Writable } from 'node:stream';
import pino from 'pino';
import { z } from 'zod';
import { expect, test } from 'vitest';
import type { ToolContract } from '../../src/contracts/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { LOG_REDACTION } from '../../src/telemetry/index.ts';
import { PrometheusMeter } from '../../src/telemetry/metrics/index.ts';
import { startTracer, traceIdOf } from '../../src/telemetry/otel/index.ts';
import { ToolRefusal } from '../../src/tools/index.ts';
import { startReceiver } from '../support/otlp-receiver.ts';
import { watchQueues } from '../support/queue-writes.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const CANARIES = {
  mail: 'canary.person@example.com',
  card: '4111 1111 1111 1111',
  phone: '+49 170 7654321',
  key: 'sk-canary-abcdefghijkl',
};
const EVERYTHING = Object.values(CANARIES).join(' ');
const SECRET = new RegExp(
  Object.values(CANARIES)
    .map((text) => text.replaceAll(/[+.]/g, String.raw`\$&`))
    .join('|'),
);

/** Everything a process tells the outside: its log, the spans it exports, its metrics. */
async function startObserved() {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const logger = pino({ level: 'trace', redact: LOG_REDACTION }, sink);
  const receiver = await startReceiver();
  const meter = new PrometheusMeter();
  const tracer = await startTracer({
    ...{ endpoint: receiver.url, version: '1', agent: 'helper', meter, logger },
    model: { provider: 'scripted', name: 'scripted' },
  });
  return {
    host: { logger, meter, tracer },
    /** What was told, once the tracer has sent what it has. */
    told: async () => {
      await tracer.close();
      return { log: lines.join(''), spans: receiver.text(), metrics: await meter.text() };
    },
  };
}

const requester = { id: CANARIES.mail, assurance: 'verified' as const };
const call = (tool: string, args: object): ScriptedAnswer => ({
  kind: 'tool_calls',
  calls: [{ id: 'c', tool, arguments: args }],
});

test('[S2-36] [S2-42] [P16] no canary gets into logs, spans or metrics, whoever wrote it', async () => {
  const { host, told } = await startObserved();
  const shop = new Shop();
  shop.add({ id: '1', owner: CANARIES.mail });
  const rig = await startRig({
    // The model repeats what it was told, in an argument, in a name and in its last words.
    model: scriptedModel((view) => {
      if (view.rounds.length === 0) return call('get_order', { orderId: '1' });
      if (view.rounds.length === 1) return call(CANARIES.key, { everything: EVERYTHING });
      return { kind: 'escalate', rationale: EVERYTHING };
    }),
    tools: shopTools(shop),
    host,
  });
  await rig.startHost();

  await rig.accept(ticket({ text: EVERYTHING, requester }));
  await rig.target.arrived('note', 1);
  const turnId = (await rig.records.conversation('test/c1'))?.lastTurn ?? '';
  const { log, spans, metrics } = await told();

  expect(log).not.toMatch(SECRET);
  expect(spans).not.toMatch(SECRET);
  expect(metrics).not.toMatch(SECRET);
  // All three were there to leak into.
  expect(log).toContain(`"traceId":"${traceIdOf(turnId)}"`);
  expect(spans).toContain('turnkeeper.dropped_messages');
  expect(metrics).toContain('stop_reason="model_escalated",source="test"} 1');
});

test('[P16] nor does one of a tool, a re-read, a provider or an error; the queues hold ids only', async () => {
  const { host, told } = await startObserved();
  const shop = new Shop();
  shop.add({ id: '1', owner: CANARIES.mail });
  shop.settleReads = 2;
  const tools = shopTools(shop).map((tool): ToolContract => {
    const { verify } = tool;
    const said = z.looseObject({});
    if (tool.name === 'get_order')
      return { ...tool, output: said, run: (args) => reading(shop, args) };
    if (verify?.level !== 'reread') return tool;
    const read: typeof verify.read = async (...given) => ({
      ...((await verify.read(...given)) as object),
      note: EVERYTHING,
    });
    return { ...tool, verify: { ...verify, read } };
  });
  let failures = 0;
  const rig = await startRig({
    model: scriptedModel(({ rounds }) => {
      if (rounds.length < 3) return call('get_order', { orderId: String(1 + rounds.length) });
      if (rounds.length === 3) return call('cancel_order', { orderId: '1' });
      failures += 1;
      if (failures === 1) {
        return { kind: 'fails', failure: { kind: 'overloaded', detail: EVERYTHING } };
      }
      return failures === 2
        ? Promise.reject(new Error(EVERYTHING))
        : { kind: 'escalate', rationale: 'x' };
    }),
    tools,
    host,
  });
  const queues = await watchQueues(rig.redis, rig.store.tagOf('test/c1'));
  await rig.startHost();

  await rig.accept(ticket({ text: `${EVERYTHING} orders 1, 2 and 3`, requester }));
  await rig.target.arrived('note', 1);
  const turnId = (await rig.records.conversation('test/c1'))?.lastTurn ?? '';
  const { events = [] } = (await rig.records.turn(turnId)) ?? {};
  const { log, spans, metrics } = await told();

  // It was played as meant: everything came in, and the turn waited twice.
  const results = events.flatMap((event) =>
    event.type === 'call_settled' ? [event.result.kind] : [],
  );
  expect(results).toEqual(['ok', 'refused', 'failed', 'ok']);
  expect(JSON.stringify(events)).toMatch(SECRET);
  expect(events.filter(({ type }) => type === 'turn_parked')).toHaveLength(2);
  expect(log).toContain('"message":"[mail] [number] [phone] [key]"');
  expect(log).not.toMatch(SECRET);
  expect(spans).not.toMatch(SECRET);
  expect(metrics).not.toMatch(SECRET);
  const jobs = await queues.written();
  expect(jobs).toContain('test/c1');
  expect(jobs).not.toMatch(SECRET);
  // A re-read that proves nothing yet ends its job with an error of ours.
  expect(jobs).toContain('verification pending');
  expect(jobs).not.toMatch(/\.[jt]s:\d/);
});

/** The orders of the second test: one that says too much, one that is refused with too much, one that breaks with it. */
async function reading(shop: Shop, args: unknown): Promise<unknown> {
  const { orderId } = args as { orderId: string };
  if (orderId === '2') throw new ToolRefusal('not_now', EVERYTHING);
  if (orderId === '3') throw new Error(EVERYTHING);
  return { ...shop.read(orderId), note: EVERYTHING };
}
