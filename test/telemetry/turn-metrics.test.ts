import { describe, expect, test } from 'vitest';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { decide, fold, initialState, type Rest } from '../../src/loop/index.ts';
import { DEFAULT_LIMITS } from '../../src/contracts/index.ts';
import { PrometheusMeter, TurnMetrics } from '../../src/telemetry/metrics/index.ts';
import { traceIdOf } from '../../src/telemetry/otel/index.ts';
import {
  asks,
  at,
  begun,
  calls,
  checked,
  decided,
  finish,
  judged,
  over,
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
  text: 'hi',
  requester: { id: 'ana', assurance: 'verified' as const },
  acceptedAt: at - 3_000,
};
const ended: Rest = {
  kind: 'ended',
  ending: { outcome: 'completed', reason: 'replied' },
  waiting: 0,
  deliver: false,
};

/** Plays events into the metrics of one turn; `before` is on record already. */
function play(events: readonly TurnEvent[], before: readonly TurnEvent[] = []) {
  const meter = new PrometheusMeter({ tools: ['put'] });
  const metrics = new TurnMetrics({
    meter,
    turn: { claim, events: before, messages: [message] },
    model: { provider: 'openai', name: 'gpt' },
    hasTool: (name) => name === 'put',
    previousEndedAt: at - 500,
  });
  let state = before.length === 0 ? initialState(DEFAULT_LIMITS) : fold(before);
  for (const event of events) {
    state = decide(state, event).state;
    metrics.observe(event, state);
  }
  return { meter, metrics };
}

const value = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`turnkeeper_${series} `))
      ?.split(' ')[1],
  );

const acted = [started(), requested(), calls('put'), checked(write()), begun(), settled('ok')];
const finished = [requested(), responded(finish), judged(), over];

const waiting: TurnEvent = {
  type: 'turn_parked',
  at,
  park: { number: 1, kind: 'approval', dueAt: at + 1_000, callId: '1.1', approvalId: 'a1' },
};

describe('metrics of a turn', () => {
  test('an end is counted when it is on record, not before', async () => {
    const { meter, metrics } = play([started(), ...finished]);
    const series = 'turns_total{outcome="completed",stop_reason="replied",source="zendesk"}';

    expect(value(await meter.text(), series)).toBe(0);
    metrics.rested(ended);
    const text = await meter.text();
    expect(value(text, series)).toBe(1);
    expect(value(text, 'customer_wait_seconds_sum{source="zendesk"}')).toBe(3);
    expect(text).toContain(`trace_id="${traceIdOf('t1')}"`);
    expect(value(text, 'turn_queue_wait_seconds_sum{source="zendesk"}')).toBe(3);
    expect(value(text, 'turn_handoff_seconds_sum{source="zendesk"}')).toBe(0.5);
    expect(value(text, 'turn_budget_remaining_ratio_sum{account="rounds"}')).toBe(0.8);
  });

  test('[S0-56] the gap lies between what the tool said and the re-read that found it, across claims', async () => {
    const before = [...acted, rereading, reread('pending'), parked('verification')];
    const landed = reread('landed', { final: true, at: at + 7_000 });
    const { meter } = play([resumed, landed], before);

    const text = await meter.text();
    expect(value(text, 'verification_gap_seconds_sum{tool="put"}')).toBe(7);
    expect(value(text, 'verifications_total{tool="put",verdict="landed"}')).toBe(1);
    expect(value(text, 'verification_reads_sum{tool="put"}')).toBe(2);
    expect(value(text, 'effects_total{tool="put",effect_status="verified"}')).toBe(1);
    expect(value(text, 'park_seconds_count{park="verification"}')).toBe(1);
    // What an earlier worker has counted is not counted again.
    expect(value(text, 'effects_total{tool="put",effect_status="applied"}')).toBe(0);
  });

  test('each status of an effect is counted once', async () => {
    const { meter } = play(acted);

    const text = await meter.text();
    expect(value(text, 'effects_total{tool="put",effect_status="attempted"}')).toBe(1);
    expect(value(text, 'effects_total{tool="put",effect_status="applied"}')).toBe(1);
    expect(value(text, 'tool_calls_total{tool="put",tool_result="ok"}')).toBe(1);
  });

  test('[P16] a tool the agent does not have gets no series of its own', async () => {
    const { meter } = play([started(), requested(), calls('ignore_previous'), checked(rejected())]);

    const text = await meter.text();
    expect(text).not.toContain('ignore_previous');
    expect(value(text, 'tool_calls_total{tool="other",tool_result="rejected"}')).toBe(1);
    expect(value(text, 'call_rejections_total{check="authorization",code="no"}')).toBe(1);
  });

  test('an approval is counted with the time until its decision', async () => {
    const before = [started(), requested(), calls('put'), checked(asks()), waiting];
    const { meter } = play([resumed, { ...decided('approved'), at: at + 60_000 }], before);

    const text = await meter.text();
    expect(value(text, 'approvals_decided_total{decision="approved"}')).toBe(1);
    expect(value(text, 'approval_wait_seconds_sum{decision="approved"}')).toBe(60);
  });

  test('tokens and money are counted by model', async () => {
    const { meter } = play([started(), requested(), responded(finish)]);

    const text = await meter.text();
    const labels = 'provider="openai",model="m"';
    expect(value(text, `model_calls_total{${labels},model_result="ok"}`)).toBe(1);
    expect(value(text, `model_tokens_total{${labels},token_kind="input"}`)).toBe(50);
    expect(value(text, `model_cost_dollars_total{${labels}}`)).toBe(0.000005);
  });
});
