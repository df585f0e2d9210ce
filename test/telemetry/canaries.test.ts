import { Writable } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { REDACTED_PATHS } from '../../src/telemetry/index.ts';
import { PrometheusMeter } from '../../src/telemetry/metrics/index.ts';
import { startTracer, traceIdOf } from '../../src/telemetry/otel/index.ts';
import { startReceiver } from '../support/otlp-receiver.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const CANARIES = {
  mail: 'canary.person@example.com',
  card: '4111 1111 1111 1111',
  phone: '+49 170 7654321',
  key: 'sk-canary-abcdefghijkl',
};
const SECRET = new RegExp(
  Object.values(CANARIES)
    .map((text) => text.replaceAll(/[+.]/g, String.raw`\$&`))
    .join('|'),
);

test('[S2-36] [S2-42] [P16] no canary gets into logs, spans or metrics, whoever wrote it', async () => {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const logger = pino({ level: 'trace', redact: [...REDACTED_PATHS] }, sink);
  const receiver = await startReceiver();
  const meter = new PrometheusMeter();
  const tracer = await startTracer({
    ...{ endpoint: receiver.url, version: '1', agent: 'helper', meter, logger },
    model: { provider: 'scripted', name: 'scripted' },
  });
  const shop = new Shop();
  shop.add({ id: '1', owner: CANARIES.mail });
  const everything = Object.values(CANARIES).join(' ');
  const observed = { meter, tracer };
  const rig = await startRig({
    // The model repeats what it was told, in an argument, in a name and in its last words.
    model: scriptedModel((view) => {
      if (view.rounds.length === 0) {
        return {
          kind: 'tool_calls',
          calls: [{ id: 'c', tool: 'get_order', arguments: { orderId: '1' } }],
        };
      }
      if (view.rounds.length === 1) {
        return {
          kind: 'tool_calls',
          calls: [{ id: 'c', tool: CANARIES.key, arguments: { everything } }],
        };
      }
      return { kind: 'escalate', rationale: everything };
    }),
    tools: shopTools(shop),
    host: { logger, ...observed },
  });
  await rig.startHost();

  const requester = { id: CANARIES.mail, assurance: 'verified' as const };
  await rig.accept(ticket({ text: everything, requester }));
  await rig.target.arrived('note', 1);
  const turnId = (await rig.records.conversation('test/c1'))?.lastTurn ?? '';
  await tracer.close();

  expect(lines.join('')).not.toMatch(SECRET);
  expect(receiver.text()).not.toMatch(SECRET);
  expect(await meter.text()).not.toMatch(SECRET);
  // All three were there to leak into.
  expect(lines.join('')).toContain(`"traceId":"${traceIdOf(turnId)}"`);
  expect(receiver.text()).toContain('turnkeeper.dropped_messages');
  expect(await meter.text()).toContain('stop_reason="model_escalated",source="test"} 1');
});
