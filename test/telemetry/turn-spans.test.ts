import { describe, expect, test } from 'vitest';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { spanIdOf, traceIdOf, turnSpans, type TurnSpan } from '../../src/telemetry/otel/index.ts';
import {
  asks,
  at,
  begun,
  calls,
  checked,
  decided,
  parked,
  rejected,
  requested,
  reread,
  rereading,
  responded,
  resumed,
  settled,
  started,
  write,
} from '../support/turn-events.ts';

const who = { agent: 'helper', provider: 'openai', model: 'gpt' };
const message = {
  id: 'm1',
  messageId: '1',
  text: 'My card is 4111 1111 1111 1111',
  requester: { id: 'ana', assurance: 'verified' as const },
  acceptedAt: at - 2_000,
};

function spansOf(...events: TurnEvent[]): TurnSpan[] {
  return turnSpans(
    { turnId: 't1', conversationId: 'zendesk/4482', messages: [message], events },
    who,
  );
}

function named(spans: readonly TurnSpan[], name: string): TurnSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no ${name} among ${spans.map((span) => span.name)}`);
  return found;
}

const acted = [started(), requested(), calls('put'), checked(write()), begun(), settled('ok')];
const escalated = [
  requested(),
  responded({ kind: 'escalate', rationale: 'write to ana@example.com' }),
  { type: 'turn_ended', at, ending: { outcome: 'escalated', reason: 'model_escalated' } },
] as TurnEvent[];

const waiting: TurnEvent = {
  type: 'turn_parked',
  at,
  park: { number: 1, kind: 'approval', dueAt: at + 1_000, callId: '1.1', approvalId: 'a1' },
};

describe('[S3-39] a turn as OpenTelemetry spans', () => {
  test('[S2-36] [S2-37] [S2-38] [S2-40] [S2-41] model and tool spans follow the GenAI conventions and carry ids and digests', () => {
    const spans = spansOf(...acted);

    expect(named(spans, 'chat gpt').attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt',
      'gen_ai.response.model': 'm',
      'gen_ai.usage.input_tokens': 50,
      'turnkeeper.proposal': 'tool_calls',
      'turnkeeper.turn_id': 't1',
      'turnkeeper.step': 2,
      'turnkeeper.latency_ms': 1,
      'turnkeeper.retry': 0,
      'turnkeeper.next_phase': 'validating_actions',
      'turnkeeper.state_version': 3,
    });
    expect(named(spans, 'execute_tool put').attributes).toMatchObject({
      'turnkeeper.step': 4,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'put',
      'gen_ai.tool.call.id': '1.1',
      'turnkeeper.action_id': 'op1',
      'turnkeeper.arguments_digest': expect.stringMatching(/^[0-9a-f]{16}$/),
      'turnkeeper.tool_said': 'ok',
      'turnkeeper.provenance': 'tool',
      'turnkeeper.effect_status': 'applied',
    });
  });

  test('[S2-41] a failed model call says why, the next one which try it is, and the turn why it stopped', () => {
    const failed: TurnEvent = {
      type: 'model_failed',
      ...{ at, failure: { kind: 'overloaded' }, latencyMs: 7 },
    };
    const spans = spansOf(
      ...[started(), requested(), failed, parked('back_off'), resumed],
      ...escalated,
    );

    const [first, second] = spans.filter(({ name }) => name === 'chat gpt');
    expect(first).toMatchObject({
      status: 'error',
      attributes: { 'error.type': 'overloaded', 'turnkeeper.latency_ms': 7 },
    });
    expect(second?.attributes['turnkeeper.retry']).toBe(1);
    expect(named(spans, 'invoke_agent helper').attributes).toMatchObject({
      'turnkeeper.outcome': 'escalated',
      'turnkeeper.stop_reason': 'model_escalated',
    });
  });

  test('[S2-39] what each check said of a call is a span: which check, with which code', () => {
    const check = named(
      spansOf(started(), requested(), calls('put'), checked(rejected())),
      'check put',
    );

    expect(check.attributes).toMatchObject({
      'turnkeeper.call_id': '1.1',
      'turnkeeper.verdict': 'rejected',
      'turnkeeper.check': 'authorization',
      'turnkeeper.code': 'no',
    });
    const asking = spansOf(started(), requested(), calls('put'), checked(asks()));
    expect(named(asking, 'check put').attributes).toMatchObject({
      'turnkeeper.verdict': 'needs_approval',
      'turnkeeper.approval_id': 'a1',
    });
  });

  test('one trace from the message on: the turn begins with its acceptance, the wait in the mailbox is a span', () => {
    const spans = spansOf(started(), ...escalated);

    const turn = named(spans, 'invoke_agent helper');
    expect(turn.startedAt).toBe(message.acceptedAt);
    expect(turn.parentSpanId).toBeUndefined();
    expect(named(spans, 'wait in mailbox')).toMatchObject({
      parentSpanId: turn.spanId,
      startedAt: message.acceptedAt,
      endedAt: at,
    });
    expect(turn.attributes).toMatchObject({ 'turnkeeper.stop_reason': 'model_escalated' });
    expect(traceIdOf('t1')).toMatch(/^[0-9a-f]{32}$/);
  });

  test('the same record gives the same spans, and a longer one only adds to them', () => {
    const before = spansOf(...acted, rereading, reread('pending'), parked('verification'));
    const after = spansOf(
      ...[...acted, rereading, reread('pending'), parked('verification')],
      ...[resumed, reread('landed', { final: true })],
    );

    expect(after.slice(0, before.length)).toEqual(before);
  });

  test('[S0-56] [P15] waits for a re-read are visible, and a new worker links to the stretch before', () => {
    const spans = spansOf(
      ...[...acted, rereading, reread('pending'), parked('verification')],
      ...[resumed, reread('landed', { final: true }), ...escalated],
    );

    expect(named(spans, 'wait for verification').parentSpanId).toBe(spanIdOf('t1', 'turn'));
    const stretches = spans.filter(({ name }) => name === 'process turn');
    expect(stretches).toHaveLength(2);
    expect(stretches[1]?.linkedSpanId).toBe(stretches[0]?.spanId);
    const reads = spans.filter(({ name }) => name === 'verify put');
    expect(reads.map(({ attributes }) => attributes['turnkeeper.reread_said'])).toEqual([
      'pending',
      'landed',
    ]);
  });

  test('[S2-39] the wait for a person ends with the decision, however late the turn hears of it', () => {
    const spans = spansOf(
      ...[started(), requested(), calls('put'), checked(asks()), waiting],
      ...[resumed, { ...decided('rejected'), at: at + 5 }],
    );

    expect(named(spans, 'approval')).toMatchObject({
      startedAt: at,
      endedAt: at + 5,
      attributes: { 'turnkeeper.decision': 'rejected', 'turnkeeper.approval_id': 'a1' },
    });
  });

  test('[S3-22] what a lost worker had open is undetermined: neither an error nor missing', () => {
    const spans = spansOf(started(), requested(), resumed);

    expect(named(spans, 'chat gpt').status).toBe('undetermined');
    expect(named(spans, 'process turn').status).toBe('undetermined');
  });

  test('[S3-04] what a failed turn keeps out of the history stands on its model call', () => {
    const failed = named(spansOf(started(), ...escalated), 'chat gpt');
    const [dropped] = failed.events;

    expect(dropped?.name).toBe('turnkeeper.dropped_messages');
    expect(dropped?.attributes['gen_ai.input.messages']).toContain('My card is');
    expect(dropped?.attributes['gen_ai.output.messages']).toContain('write to');
    const done = spansOf(started(), requested(), responded({ kind: 'refuse', reply: 'No.' }), {
      type: 'turn_ended',
      at,
      ending: { outcome: 'completed', reason: 'declined' },
    });
    expect(named(done, 'chat gpt').events).toEqual([]);
  });
});
