import { describe, expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { OpenSpanError, traceOf, TurnTrace } from '../../src/telemetry/index.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';
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

  test('because the model client rejected is undetermined once another claim goes on, and the turn ends', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    let asked = 0;
    const ended = Promise.withResolvers<TurnTrace>();
    const rig = await startRig({
      model: scriptedModel(() => {
        asked += 1;
        if (asked === 2) return Promise.reject(new Error('a client that rejects'));
        return asked === 1
          ? {
              kind: 'tool_calls',
              calls: [{ id: 'c', tool: 'get_order', arguments: { orderId: '1' } }],
            }
          : { kind: 'finish_candidate', reply: 'Hello.' };
      }),
      tools: shopTools(shop),
      host: { onTrace: (_turnId, trace) => ended.resolve(trace) },
    });
    await rig.startHost();

    await rig.accept(ticket());
    const trace = await ended.promise;

    expect(kinds(trace).filter((kind) => kind.startsWith('model_call'))).toEqual([
      ...['model_call ok', 'model_call undetermined', 'model_call ok'],
    ]);
    expect(trace.openSpans).toEqual([]);
  });
});
