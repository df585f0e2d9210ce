import { describe, expect, test } from 'vitest';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { noMeter, PrometheusMeter } from '../../src/telemetry/metrics/index.ts';
import { startTracer } from '../../src/telemetry/otel/index.ts';
import { startReceiver } from '../support/otlp-receiver.ts';
import { deserted } from '../support/technova.ts';
import { silent } from '../support/rig.ts';
import { at, parked, requested, responded, resumed, started } from '../support/turn-events.ts';

const claim = {
  conversationId: 'zendesk/4482',
  turnId: 't1',
  token: '',
  intent: 'i1',
  jobId: '',
  workerId: '',
};
const message = {
  id: 'm1',
  messageId: '1',
  text: 'Card 4111 1111 1111 1111, mail ana@example.com, phone +49 170 1234567, key sk-abcdefghijklmnop',
  requester: { id: 'ana@example.com', assurance: 'verified' as const },
  acceptedAt: at - 2_000,
};
const ending = [
  responded({ kind: 'escalate', rationale: 'call +49 170 1234567' }),
  { type: 'turn_ended', at, ending: { outcome: 'escalated', reason: 'model_escalated' } },
] as TurnEvent[];

const options = {
  version: '1.0.0',
  agent: 'helper',
  model: { provider: 'openai', name: 'gpt' },
  meter: noMeter,
  logger: silent,
};

describe('export over OTLP', () => {
  test('[S2-42] [P16] sends the spans of a turn that rested, with everything secret replaced', async () => {
    const receiver = await startReceiver();
    const tracer = await startTracer({ ...options, endpoint: receiver.url });
    const turn = tracer.turn({ claim, messages: [message], events: [] });

    for (const event of [started(), requested(), ...ending]) turn.observe(event);
    turn.rested();
    tracer.delivery({
      ...{ turnId: 't1', deliveryId: 'd1', kind: 'note', status: 'sent', attempt: 0 },
      ...{ startedAt: at, endedAt: at + 5 },
    });
    await tracer.close();

    const sent = receiver.text();
    for (const name of ['invoke_agent helper', 'chat gpt', 'wait in mailbox', 'deliver note']) {
      expect(sent).toContain(name);
    }
    expect(sent).toContain('turnkeeper.dropped_messages');
    expect(sent).toContain('[mail]');
    expect(sent).not.toMatch(/4111 1111|ana@example|170 1234567|sk-abc/);
  });

  test('each rest of a turn sends what came since the one before', async () => {
    const receiver = await startReceiver();
    const tracer = await startTracer({ ...options, endpoint: receiver.url });
    const events = [
      ...[started(), requested(), responded({ kind: 'escalate', rationale: 'x' })].slice(0, 2),
      { type: 'model_failed', at, failure: { kind: 'overloaded' }, latencyMs: 1 },
      parked('back_off'),
    ] as TurnEvent[];
    const turn = tracer.turn({ claim, messages: [message], events });

    for (const event of [resumed, requested(), ...ending]) turn.observe(event);
    turn.rested();
    await tracer.close();

    const sent = receiver.text();
    expect(sent).toContain('wait for back_off');
    expect(sent).not.toContain('wait in mailbox');
    expect(sent.split('chat gpt')).toHaveLength(2);
  });

  test('a receiver that is away harms nobody: the spans are counted and forgotten', async () => {
    const meter = new PrometheusMeter();
    const tracer = await startTracer({ ...options, meter, endpoint: await deserted() });
    const turn = tracer.turn({ claim, messages: [message], events: [] });

    for (const event of [started(), requested(), ...ending]) turn.observe(event);
    turn.rested();
    await tracer.close();

    expect(await meter.text()).toMatch(/^turnkeeper_spans_dropped_total [1-9]/m);
  });

  test('a record that cannot be read is not exported, and nothing is thrown', async () => {
    const tracer = await startTracer({ ...options, endpoint: await deserted() });
    const turn = tracer.turn({ claim, messages: [message], events: [] });

    turn.observe(ending[1] as TurnEvent);

    expect(() => turn.rested()).not.toThrow();
    await tracer.close();
  });
});
