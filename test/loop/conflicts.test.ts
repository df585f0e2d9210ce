import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ProposalInput, Stake, ToolContract } from '../../src/contracts/index.ts';
import { callsToCheck, type CallState, type View } from '../../src/loop/index.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { defineTool } from '../../src/tools/index.ts';
import { contract } from './contract.ts';
import { play } from './play.ts';

type Reach = { on: string[] };
const reach = {
  input: z.object({ on: z.array(z.string()) }),
  resource: (args: unknown) => (args as Reach).on,
  provenance: { on: 'model' } as const,
};
const read = contract({ ...reach, name: 'read', effect: 'read' });
const write = contract({ ...reach, name: 'write' });
const tools = new ToolExecutor(new ToolRegistry([read, write]), { now: () => 1 });

/** `r a` reads object a, `w a b` writes a and b; a `!` says that the call is done already. */
function callOf(text: string, index: number): CallState {
  const [kind = '', ...on] = text.replace('!', '').split(' ');
  const tool = { r: 'read', w: 'write' }[kind] ?? kind;
  const step = text.endsWith('!') ? 'done' : 'proposed';
  return { id: `1.${index + 1}`, tool, arguments: { on }, step };
}

/** Which calls of a round are checked together first, by their place in the round. */
function first(...texts: string[]): number[] {
  return callsToCheck(texts.map(callOf), tools).map(({ inRound }) => inRound);
}

describe('[S4-35] [S4-41] the objects decide what runs side by side, not the number of calls', () => {
  test('[S4-36] reads go together, also of the same object', () => {
    expect(first('r a', 'r a', 'r b')).toEqual([0, 1, 2]);
    expect(first('r a', 'r b', 'r c', 'r d', 'r e')).toEqual([0, 1, 2, 3, 4]);
  });

  test('[S4-37] [S4-38] two writes never go together, whatever they touch', () => {
    expect(first('w a', 'w a')).toEqual([0]);
    expect(first('w a', 'w b')).toEqual([0]);
    expect(first('w a!', 'w a')).toEqual([1]);
  });

  test('[S4-40] a read and a write of one object run in the order they were proposed in', () => {
    expect(first('r a', 'w a')).toEqual([0]);
    expect(first('w a', 'r a')).toEqual([0]);
    expect(first('w a!', 'r a')).toEqual([1]);
    expect(first('w b a', 'r a')).toEqual([0]);
  });

  test('a read of something else joins a write, and a write waits for everything before it', () => {
    expect(first('w a', 'r b')).toEqual([0, 1]);
    expect(first('r b', 'w a')).toEqual([0]);
    expect(first('r b', 'w a', 'r c')).toEqual([0, 2]);
  });

  test('a read does not overtake a write of its object that still waits', () => {
    expect(first('r a', 'w a', 'r a')).toEqual([0]);
    expect(first('r a!', 'w a', 'r a')).toEqual([1]);
    expect(first('r a!', 'w a!', 'r a')).toEqual([2]);
    expect(first('w a', 'w b', 'r b')).toEqual([0]);
  });

  test('[S4-41] a part of an object belongs to it, an object of a similar name does not', () => {
    expect(first('w order:1', 'r order:1/line:2')).toEqual([0]);
    expect(first('w order:1/line:2', 'r order:1')).toEqual([0]);
    expect(first('w order:1/line:1', 'r order:1/line:2')).toEqual([0, 1]);
    expect(first('w order:1', 'r order:12')).toEqual([0, 1]);
    expect(first('w order:12', 'r order:1')).toEqual([0, 1]);
  });

  test('a call nobody can read touches nothing, and is looked at with the rest', () => {
    expect(first('unknown a', 'w a')).toEqual([0]);
    expect(first('w a', 'unknown a')).toEqual([0, 1]);
    const unreadable: CallState = { ...callOf('r a', 1), arguments: 'x' };
    expect(callsToCheck([callOf('w a', 0), unreadable], tools)).toHaveLength(2);
  });

  test('only what is proposed or approved is taken', () => {
    const steps: CallState['step'][] = ['proposed', 'approved', 'admitted', 'running', 'done'];
    const calls = steps.map((step, index): CallState => ({ ...callOf('r a', index), step }));

    expect(callsToCheck(calls, tools).map(({ call }) => call.step)).toEqual([
      'proposed',
      'approved',
    ]);
  });
});

describe('side by side in a turn', () => {
  /** Two objects; notes when each call begins and ends. */
  function world() {
    const log: string[] = [];
    const running = new Set<string>();
    const meet = Promise.withResolvers<void>();
    const tool = (name: 'read' | 'write'): ToolContract =>
      defineTool({
        ...contract(reach),
        name,
        effect: name === 'read' ? 'read' : 'write',
        input: reach.input,
        output: z.object({ ok: z.boolean() }),
        async run({ on }: Reach) {
          const call = `${name} ${on.join(' ')}`;
          log.push(`${call} begins${running.size > 0 ? ` beside ${[...running].join(', ')}` : ''}`);
          running.add(call);
          if (running.size > 1) meet.resolve();
          await Promise.race([meet.promise, name === 'write' ? undefined : turnOfTheLoop()]);
          running.delete(call);
          return { ok: true };
        },
      });
    return { log, tools: [tool('read'), tool('write')] };
  }

  const once =
    (...calls: [tool: string, ...on: string[]][]) =>
    (view: { rounds: readonly unknown[] }) =>
      view.rounds.length > 0
        ? { kind: 'finish_candidate' as const, reply: 'Done.' }
        : {
            kind: 'tool_calls' as const,
            calls: calls.map(([tool, ...on], index) => ({
              ...{ id: `c${index}`, tool },
              arguments: { on },
            })),
          };

  test('[S4-36] two reads are under way at the same time', async () => {
    const { log, tools: own } = world();

    await play({ tools: own, policy: once(['read', 'a'], ['read', 'b']) });

    expect(log).toEqual(['read a begins', 'read b begins beside read a']);
  });

  test('[S4-37] [S4-38] two writes of one object are not: the second begins after the first was verified', async () => {
    const { log, tools: own } = world();

    const { turn } = await play({ tools: own, policy: once(['write', 'a'], ['write', 'a']) });

    // The same operation is on record by then, so the second is answered with the outcome of the first.
    expect(log).toEqual(['write a begins']);
    expect(turn.state.rounds[0]?.calls[1]?.result).toMatchObject({ kind: 'ok', earlier: true });
  });

  test('[S4-40] a read after a write of its object sees what the write did', async () => {
    const { log, tools: own } = world();

    const { turn } = await play({ tools: own, policy: once(['write', 'a'], ['read', 'a']) });

    expect(log).toEqual(['write a begins', 'read a begins']);
    const order = turn.events.flatMap((event) =>
      event.type === 'verification_read' || event.type === 'call_started'
        ? [`${event.type} ${event.callId}`]
        : [],
    );
    expect(order).toEqual(['call_started 1.1', 'verification_read 1.1', 'call_started 1.2']);
  });
});

describe('[S4-39] what leaves the company', () => {
  const mail = (deduplicated: boolean, stake: Stake | 'never' = 'never') =>
    contract({
      name: 'send_mail',
      external: true,
      approval: () => stake,
      idempotency: { scope: 'intent', occurrence: null, enforcesValidity: true, deduplicated },
    });
  const policy = (view: View): ProposalInput =>
    view.rounds.length > 0
      ? { kind: 'finish_candidate', reply: 'Sent.' }
      : { kind: 'tool_calls', calls: [{ id: 'c1', tool: 'send_mail', arguments: {} }] };

  test('to a receiver who cannot tell a repeat needs a person', async () => {
    const { records, rest } = await play({ tools: [mail(false)], policy });

    expect(rest).toMatchObject({ kind: 'parked', park: { kind: 'approval' } });
    expect((await records.pendingApprovals())[0]?.reason).toBe(
      'it leaves the company, and the receiver cannot tell a repeat',
    );
  });

  test('to a receiver who can needs none', async () => {
    const { turn } = await play({ tools: [mail(true)], policy });

    expect(turn.reason).toBe('replied');
  });
});

/** Lets everything that is ready go first. */
function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
