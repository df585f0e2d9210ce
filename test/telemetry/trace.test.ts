import { describe, expect, test } from 'vitest';
import { OpenSpanError, traceOf, TurnTrace } from '../../src/telemetry/index.ts';
import {
  begun,
  calls,
  checked,
  over,
  parked,
  read,
  requested,
  reread,
  rereading,
  responded,
  resumed,
  settled,
  started,
  write,
} from '../support/turn-events.ts';

const kinds = (trace: TurnTrace): string[] =>
  trace.spans.map(({ kind, status }) => `${kind} ${status}`);

describe('[P15] the trace is read off the events', () => {
  test('[S0-55] [S0-56] [S4-50] what the tool said and what the re-read said are two spans', () => {
    const trace = traceOf([
      started(),
      requested(),
      calls('put'),
      checked(write()),
      begun(),
      settled('ok'),
      rereading,
      reread('pending'),
    ]);

    expect(trace.spans.find(({ kind }) => kind === 'tool_call')?.attributes).toMatchObject({
      toolSaid: 'ok',
    });
    expect(trace.spans.find(({ kind }) => kind === 'verification_read')?.attributes).toMatchObject({
      rereadSaid: 'pending',
    });
  });

  test('a finished turn has no open span', () => {
    const trace = traceOf([
      started(),
      requested(),
      responded({ kind: 'escalate', rationale: 'x' }),
      over,
    ]);

    trace.close(1, 'strict');

    expect(kinds(trace)).toEqual(['model_call ok', 'turn ok']);
  });

  test('a wait is a span of its own, also across workers', () => {
    const trace = traceOf([
      ...[started(), requested(), calls('put'), checked(write()), begun(), settled('ok')],
      ...[rereading, reread('pending'), parked('verification'), resumed],
    ]);

    expect(kinds(trace)).toContain('wait ok');
  });
});

describe('[S3-03] [S3-21] [S3-22] a span that nobody closed', () => {
  const left = [started(), requested()];

  test('throws in development', () => {
    expect(() => traceOf(left).close(1, 'strict')).toThrow(OpenSpanError);
    expect(() => traceOf(left).close(1, 'strict')).toThrow(/model/);
  });

  test('is undetermined in production: neither an error nor missing', () => {
    const trace = traceOf(left);

    trace.close(1, 'lenient');

    expect(kinds(trace)).toEqual(['turn undetermined', 'model_call undetermined']);
  });

  test('of a lost worker is undetermined as soon as another one goes on', () => {
    const trace = traceOf([
      started(),
      requested(),
      calls('get'),
      checked(read()),
      begun(),
      resumed,
    ]);

    expect(kinds(trace)).toContain('tool_call undetermined');
  });

  test('may not be opened a second time', () => {
    expect(() => traceOf([...left, requested()])).toThrow(OpenSpanError);
  });
});
