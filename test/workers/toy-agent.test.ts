import { mkdtempSync, readFileSync } from 'node:fs';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ProposalInput, ToolContract, TurnEvent } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { defineTool, ToolRefusal } from '../../src/tools/index.ts';
import { startRig, ticket } from '../support/rig.ts';

/** A folder of its own, two tools over it, and a note of when each write began and ended. */
function toy() {
  const folder = mkdtempSync(path.join(tmpdir(), 'toy-agent-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = (name: string) => path.join(folder, path.basename(name));
  const log: string[] = [];
  const read = defineTool({
    name: 'read_file',
    description: { use: 'Reads a file.', avoid: 'folders.' },
    input: z.object({ path: z.string() }),
    output: z.object({ text: z.string() }),
    effect: 'read',
    reversible: true,
    resource: (args) => [`file:${args.path}`],
    provenance: { path: 'customer' },
    failureModes: ['error_status'],
    authorize: () => undefined,
    async run(args) {
      const text = await readFile(file(args.path), 'utf8').catch(() => {
        throw new ToolRefusal('not_found', 'path does not exist');
      });
      return { text };
    },
  });
  const append = defineTool({
    name: 'append_line',
    description: { use: 'Appends a line to a file.', avoid: 'anything else.' },
    input: z.object({ path: z.string(), line: z.string() }),
    output: z.object({ ok: z.boolean() }),
    effect: 'write',
    reversible: true,
    resource: (args) => [`file:${args.path}`],
    provenance: { path: 'customer', line: 'model' },
    failureModes: ['error_status'],
    idempotency: { scope: 'intent', occurrence: (args) => args.line, enforcesValidity: true },
    approval: () => 'never',
    authorize: () => undefined,
    verify: {
      level: 'reread',
      read: async (args) => ({ text: await readFile(file(args.path), 'utf8') }),
      landed: (seen, args) =>
        (seen as { text: string }).text.includes(args.line) ? 'landed' : 'not_landed',
    },
    async run(args) {
      log.push(`${args.line} begins`);
      await appendFile(file(args.path), `${args.line}\n`);
      log.push(`${args.line} ends`);
      return { ok: true };
    },
  });
  return { tools: [read, append], log, text: (name: string) => readFileSync(file(name), 'utf8') };
}

async function run(text: string, tools: ToolContract[], policy: (view: View) => ProposalInput) {
  const views: View[] = [];
  const rig = await startRig({
    tools,
    model: scriptedModel((view) => {
      views.push(structuredClone(view));
      return policy(view);
    }),
  });
  await rig.startHost();
  await rig.accept(ticket({ text }));
  await rig.target.when(() => rig.target.of('reply').length + rig.target.of('note').length > 0);
  const [turn] = await rig.records.turnsOf('test/c1');
  if (turn === undefined) throw new Error('no turn');
  return { rig, views, turn };
}

const calls = (...list: [tool: string, args: object][]): ProposalInput => ({
  kind: 'tool_calls',
  calls: list.map(([tool, args], index) => ({ id: `c${index}`, tool, arguments: args })),
});

/** What an auditor reads off the record, line by line. */
function lines(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) => {
    switch (event.type) {
      case 'model_requested':
        return [`request ${event.round}`];
      case 'model_responded':
        return [`proposal ${event.proposal.kind}`];
      case 'calls_checked':
        return event.verdicts.map(({ callId, kind }) => `check ${callId} ${kind}`);
      case 'call_settled':
        return [
          `result ${event.callId} ${'code' in event.result ? event.result.code : event.result.kind}`,
        ];
      case 'verification_read':
        return [`re-read ${event.callId} ${event.read.verdict}`];
      case 'turn_ended':
        return [`stop ${event.ending.outcome} ${event.ending.reason}`];
      default:
        return [];
    }
  });
}

test('[S4-64] every round leaves its input, request, validation, result and, at the end, the reason it stopped', async () => {
  const { tools, text } = toy();

  const { turn } = await run('Add hello to notes.txt and read it.', tools, (view) => {
    if (view.rounds.length === 0)
      return calls(['append_line', { path: 'notes.txt', line: 'hello' }]);
    if (view.rounds.length === 1) return calls(['read_file', { path: 'notes.txt' }]);
    return { kind: 'finish_candidate', reply: 'Done.' };
  });

  expect(turn.messages.map((message) => message.text)).toEqual([
    'Add hello to notes.txt and read it.',
  ]);
  expect(lines(turn.events)).toEqual([
    ...['request 1', 'proposal tool_calls', 'check 1.1 admitted_write', 'result 1.1 ok'],
    're-read 1.1 landed',
    ...['request 2', 'proposal tool_calls', 'check 2.1 admitted_read', 'result 2.1 ok'],
    ...['request 3', 'proposal finish_candidate', 'stop completed replied'],
  ]);
  expect(text('notes.txt')).toBe('hello\n');
});

test('[S4-65] [S4-18] [S4-21] "path does not exist" is written back into the state each time and stops the loop at the threshold', async () => {
  const { tools } = toy();

  const { turn, views } = await run('Read missing.txt', tools, () =>
    calls(['read_file', { path: 'missing.txt' }]),
  );

  const seen = views.map((view) => view.rounds.map(({ results }) => results[0]?.result));
  const missing = {
    ...{ kind: 'refused', code: 'not_found' },
    message: 'read_file refused: path does not exist',
  };
  expect(seen).toEqual([[], [missing], [missing, missing]]);
  expect(turn.state.rounds.map((round) => round.calls[0]?.result)).toEqual([
    missing,
    missing,
    missing,
  ]);
  expect(lines(turn.events).at(-1)).toBe('stop escalated repeated_state');
  expect(turn.events.at(-1)).toMatchObject({ repetition: { rounds: 3, identical: 3 } });
});

test('[S4-66] [S4-37] two calls of a round that write the same file never run at the same time', async () => {
  const { tools, log, text } = toy();

  const { turn } = await run('Add one and two to notes.txt', tools, (view) =>
    view.rounds.length > 0
      ? { kind: 'finish_candidate', reply: 'Done.' }
      : calls(
          ['append_line', { path: 'notes.txt', line: 'one' }],
          ['append_line', { path: 'notes.txt', line: 'two' }],
        ),
  );

  expect(log).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  expect(text('notes.txt')).toBe('one\ntwo\n');
  // The second one is not even looked at before the first one was verified.
  expect(lines(turn.events)).toEqual([
    ...['request 1', 'proposal tool_calls'],
    ...['check 1.1 admitted_write', 'result 1.1 ok', 're-read 1.1 landed'],
    ...['check 1.2 admitted_write', 'result 1.2 ok', 're-read 1.2 landed'],
    ...['request 2', 'proposal finish_candidate', 'stop completed replied'],
  ]);
});

test('[S4-36] two reads of it do run at the same time', async () => {
  const { tools } = toy();

  const { turn } = await run('Read missing.txt twice', tools, (view) =>
    view.rounds.length > 0
      ? { kind: 'finish_candidate', reply: 'There is none.' }
      : calls(['read_file', { path: 'missing.txt' }], ['read_file', { path: 'other.txt' }]),
  );

  expect(turn.events.map(({ type }) => type).filter((type) => type.startsWith('call_'))).toEqual([
    ...['call_started', 'call_started', 'call_settled', 'call_settled'],
  ]);
});
