import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DEFAULT_LIMITS, type CallResult, type Observation } from '../../src/contracts/index.ts';
import { initialState, type CallState, type Round, type TurnState } from '../../src/loop/index.ts';
import { fingerprint, identicalFailures, repetitionOf } from '../../src/loop/repetition.ts';
import { defineTool, ToolRefusal } from '../../src/tools/index.ts';
import { converse, play } from './play.ts';

const call = (tool: string, args: object, result?: CallResult, request?: string): CallState => ({
  id: '1.1',
  tool,
  arguments: args,
  step: 'done',
  ...(result === undefined ? {} : { result }),
  ...(request === undefined ? {} : { request }),
});
const ok = (hash: string): CallResult => ({ kind: 'ok', observation: { hash } as Observation });
const refused = (code: string): CallResult => ({ kind: 'refused', code, message: 'no' });
const round = (...calls: CallState[]): Round => ({ proposal: null, calls });
const after = (rounds: Round[], identical = 3): TurnState => ({
  ...initialState({ ...DEFAULT_LIMITS, identicalFailures: identical }),
  rounds,
});

const A = round(call('get', { id: 'a' }, ok('h1')));
const B = round(call('get', { id: 'b' }, ok('h2')));

describe('a pattern of rounds without progress', () => {
  test('[S4-19] A, A is none yet, A, A, A is, and it says how far back it goes', () => {
    expect(repetitionOf(after([A, A]))).toBeUndefined();
    expect(repetitionOf(after([A, A, A]))).toEqual({ pattern: 'identical', rounds: 3 });
    expect(repetitionOf(after([B, A, A, A]))).toEqual({ pattern: 'identical', rounds: 3 });
    expect(repetitionOf(after([A, A, A, A]))).toEqual({ pattern: 'identical', rounds: 4 });
  });

  test('[S4-19] A, B, A, B is one, A, B, A and A, B, A, A are none', () => {
    expect(repetitionOf(after([A, B, A, B]))).toEqual({ pattern: 'alternating', rounds: 4 });
    expect(repetitionOf(after([B, A, B, A, B]))).toEqual({ pattern: 'alternating', rounds: 4 });
    expect(repetitionOf(after([A, B, A]))).toBeUndefined();
    expect(repetitionOf(after([A, B, A, A]))).toBeUndefined();
    expect(repetitionOf(after([B, B, A, B]))).toBeUndefined();
    expect(repetitionOf(after([A, A, A, A], 5))).toBeUndefined();
  });

  test('[S4-19] the limit of the turn says how many identical rounds are too many', () => {
    expect(repetitionOf(after([A, A], 2))).toEqual({ pattern: 'identical', rounds: 2 });
    expect(repetitionOf(after([A], 2))).toBeUndefined();
  });

  test('[S4-19] A, B, A, B needs as many rounds as the limit of identical ones and one more, and four at least', () => {
    expect(repetitionOf(after([A, B, A, B, A], 4))).toEqual({ pattern: 'alternating', rounds: 5 });
    expect(repetitionOf(after([A, B, A, B], 4))).toBeUndefined();
    expect(repetitionOf(after([B, B, A, B, A], 4))).toBeUndefined();
    expect(repetitionOf(after([A, B, A], 2))).toBeUndefined();
    expect(repetitionOf(after([A, B, A, B], 2))).toEqual({ pattern: 'alternating', rounds: 4 });
    const C = round(call('get', { id: 'c' }, ok('h3')));
    expect(repetitionOf(after([A, B, C, B]))).toBeUndefined();
    expect(repetitionOf(after([A, B, A, C]))).toBeUndefined();
  });

  test('the order of the calls in a round does not matter, another result does', () => {
    const one = call('get', { id: 'a' }, ok('h1'));
    const two = call('get', { id: 'b' }, ok('h2'));
    const changed = round(one, call('get', { id: 'b' }, ok('h3')));

    expect(repetitionOf(after([round(one, two), round(two, one), round(one, two)]))).toBeDefined();
    expect(repetitionOf(after([round(one, two), round(one, two), changed]))).toBeUndefined();
  });

  test('rounds without calls, or with calls that were never answered, are no pattern', () => {
    const unanswered = round(call('get', { id: 'a' }, ok('h1')), call('get', { id: 'b' }));

    expect(repetitionOf(after([]))).toBeUndefined();
    expect(repetitionOf(after([round(), round(), round()]))).toBeUndefined();
    expect(repetitionOf(after([unanswered, unanswered, unanswered]))).toBeUndefined();
    expect(repetitionOf(after([A, B, round(), B]))).toBeUndefined();
  });
});

describe('the fingerprint of a call', () => {
  test('[S4-19] is made of tool, arguments and result', () => {
    const base = fingerprint(call('get', { id: 'a' }), refused('gone'));

    expect(fingerprint(call('get', { id: 'a' }), refused('gone'))).toBe(base);
    expect(fingerprint(call('put', { id: 'a' }), refused('gone'))).not.toBe(base);
    expect(fingerprint(call('get', { id: 'b' }), refused('gone'))).not.toBe(base);
    expect(fingerprint(call('get', { id: 'a' }), refused('busy'))).not.toBe(base);
    expect(
      fingerprint(call('get', { id: 'a' }), { ...refused('gone'), kind: 'unknown' } as CallResult),
    ).not.toBe(base);
  });

  test('of an answer holds its digest, of a failure its code, never a text', () => {
    expect(fingerprint(call('get', {}, undefined, 'r'), ok('h1'))).toBe('r ok h1');
    expect(fingerprint(call('get', {}, undefined, 'r'), refused('gone'))).toBe('r refused gone');
  });

  test('the failure seen most often counts', () => {
    expect(identicalFailures({ failures: {} })).toBe(0);
    expect(identicalFailures({ failures: { a: 1, b: 2 } })).toBe(2);
  });
});

describe('[S2-45] a turn that gets nowhere', () => {
  const list = (view: { rounds: readonly unknown[] }, remark: string, path = '/none') => ({
    kind: 'tool_calls' as const,
    calls: [
      { id: 'c1', tool: 'list', arguments: { path, remark: `${remark} ${view.rounds.length}` } },
    ],
  });
  const tool = (cosmetic: readonly string[], run: (path: string) => Promise<{ files: string[] }>) =>
    defineTool({
      name: 'list',
      description: { use: 'Lists a folder.', avoid: 'files.' },
      input: z.object({ path: z.string(), remark: z.string() }),
      output: z.object({ files: z.array(z.string()) }),
      effect: 'read',
      reversible: true,
      resource: ({ path }) => [`folder:${path}`],
      provenance: { path: 'customer', remark: 'model' },
      cosmetic,
      failureModes: ['error_status'],
      authorize: () => undefined,
      run: ({ path }) => run(path),
    });
  const missing = () => Promise.reject(new ToolRefusal('not_found', 'path does not exist'));

  test('[S4-20] [S4-21] the third identical failure stops it, however it words the request; record and note hold both counts', async () => {
    const { turn, said } = await play({
      policy: (view) => list(view, 'please'),
      tools: [tool(['remark'], missing)],
    });

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'repeated_state' });
    expect(turn.events.at(-1)).toMatchObject({
      type: 'turn_ended',
      repetition: { rounds: 3, identical: 3 },
    });
    expect(said('note')[0]).toContain('3 rounds, 3 identical.');
  });

  test('arguments that are not cosmetic make another request of it', async () => {
    const { turn } = await play({
      policy: (view) => list(view, 'please'),
      tools: [tool([], missing)],
      limits: { rounds: 10 },
    });

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'consecutive_failures' });
    expect(turn.events.at(-1)).toMatchObject({ repetition: { rounds: 5, identical: 1 } });
  });

  test('[S4-19] the same answer three times is no progress either', async () => {
    const { turn } = await play({
      policy: (view) => list(view, 'again'),
      tools: [tool(['remark'], () => Promise.resolve({ files: ['a'] }))],
    });

    expect(turn.reason).toBe('repeated_state');
    expect(turn.events.at(-1)).toMatchObject({ repetition: { rounds: 3, identical: 3 } });
  });

  test('[S4-19] going back and forth between two requests is stopped after the second time', async () => {
    const { turn, said } = await play({
      policy: (view) => list(view, 'x', view.rounds.length % 2 === 0 ? '/a' : '/b'),
      tools: [tool(['remark'], (path) => Promise.resolve({ files: [path] }))],
      limits: { rounds: 10 },
    });

    expect(turn.reason).toBe('repeated_state');
    expect(turn.events.at(-1)).toMatchObject({ repetition: { rounds: 4, identical: 4 } });
    expect(said('note')[0]).toContain('4 rounds, 4 identical.');
  });

  test('an answer that changes is progress', async () => {
    let reads = 0;
    const { turn } = await play({
      policy: (view) => list(view, 'x'),
      tools: [
        tool(['remark'], () => {
          reads += 1;
          return Promise.resolve({ files: [String(reads)] });
        }),
      ],
      limits: { rounds: 4 },
    });

    expect(turn).toMatchObject({ reason: 'max_rounds' });
    expect(turn.events.at(-1)).not.toHaveProperty('repetition');
  });

  test('[S4-22] what the customer may not see is not asked for over and over: it escalates', async () => {
    const conversation = await converse({
      policy: () => ({
        kind: 'tool_calls',
        calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '2' } }],
      }),
    });
    conversation.shop.add({ id: '2', owner: 'bob@example.com' });

    await conversation.say('What is with order 2?');

    const turn = await conversation.turn();
    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'repeated_state' });
    const refusals = turn.state.rounds.flatMap(({ calls }) => calls.map(({ result }) => result));
    expect(refusals).toMatchObject([
      { code: 'not_yours' },
      { code: 'not_yours' },
      { code: 'not_yours' },
    ]);
  });
});
