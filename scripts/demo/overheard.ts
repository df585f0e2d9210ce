import { z } from 'zod';
import type { ProposalInput, View } from '../../src/index.ts';
import type { ViewResult, ViewRound } from '../../src/loop/view.ts';
import { isProposalTool } from '../../src/models/proposal-tools.ts';
import type { ModelRequest, Said } from '../../test/support/model-server/index.ts';

/*
 * The other side of the wire: what a model that is asked by Chat Completions can know. Everything here is read out of the
 * request; nothing of Turnkeeper's record, of the tickets or of the shop is.
 */

const requestSchema = z.object({
  messages: z.array(
    z.discriminatedUnion('role', [
      z.object({ role: z.literal('system'), content: z.string() }),
      z.object({ role: z.literal('user'), content: z.string() }),
      z.object({
        role: z.literal('assistant'),
        tool_calls: z
          .array(
            z.object({
              id: z.string(),
              function: z.object({ name: z.string(), arguments: z.string() }),
            }),
          )
          .default([]),
      }),
      z.object({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
    ]),
  ),
});

const offerSchema = z.object({
  tools: z
    .array(
      z.object({
        function: z.object({
          name: z.string(),
          description: z.string(),
          parameters: z.record(z.string(), z.unknown()),
        }),
      }),
    )
    .default([]),
});

const lineSchema = z.object({
  from: z.string(),
  text: z.string(),
  subject: z.string().exactOptional(),
});

const factSchema = z.object({
  resource: z.string(),
  from: z.string(),
  at: z.iso.datetime(),
  stale: z.boolean().default(false),
  data: z.unknown(),
});

const resultSchema = z.object({
  evidence: z.string().default(''),
  operation: z.string().exactOptional(),
  status: z.enum(['ok', 'rejected', 'refused', 'failed', 'unknown']),
  code: z.string().default(''),
  message: z.string().default(''),
  transient: z.boolean().default(false),
  from: z.string().default(''),
  at: z.iso.datetime().default('1970-01-01T00:00:00Z'),
  data: z.unknown().optional(),
});

/** What a policy needs of a view. */
export function overheard({ body }: Pick<ModelRequest, 'body'>): View {
  const { messages } = requestSchema.parse(body);
  const system = messages.flatMap((one) => (one.role === 'system' ? [one.content] : [])).join('\n');
  // What customers write never starts a line of its own in it.
  const situation = system.slice(system.lastIndexOf('# Requester\n'));
  const { said, rounds, earlier } = readTalk(messages);
  return {
    agent: '',
    instructions: '',
    skills: skillsIn(system),
    requester: requesterIn(situation),
    history: [{ kind: 'turn', turnId: '', customer: [], rounds: earlier, reply: '' }],
    messages: said,
    facts: factsIn(situation),
    effects: [],
    openQuestions: [],
    earlierRounds: [],
    rounds,
    tools: toolsIn(body),
    budget: budgetIn(situation),
  };
}

type Messages = z.infer<typeof requestSchema>['messages'];

/** The customer's last words in a row are what this turn is about; what was done before them belongs to earlier turns. */
function readTalk(messages: Messages) {
  const earlier: ViewRound[] = [];
  let said: { text: string; subject?: string }[] = [];
  let rounds: ViewRound[] = [];
  let goesOn = false;
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') {
      goesOn = false;
      if (message.tool_calls.length > 0) rounds.push(roundOf(message.tool_calls, messages, index));
    }
    if (message.role !== 'user') continue;
    for (const line of message.content.split('\n')) {
      const { from, ...words } = lineSchema.parse(JSON.parse(line));
      if (from !== 'customer') {
        goesOn = false;
        continue;
      }
      if (!goesOn) {
        earlier.push(...rounds);
        [said, rounds] = [[], []];
      }
      said.push(words);
      goesOn = true;
    }
  }
  return { said, rounds, earlier };
}

type Calls = Extract<Messages[number], { role: 'assistant' }>['tool_calls'];

function roundOf(calls: Calls, messages: Messages, index: number): ViewRound {
  const answers = messages.slice(index + 1, index + 1 + calls.length);
  return {
    proposal: {
      kind: 'tool_calls',
      calls: calls.map(({ id, function: { name, arguments: args } }) => ({
        id,
        tool: name,
        arguments: JSON.parse(args) as unknown,
      })),
    },
    results: answers.flatMap((answer) => {
      if (answer.role !== 'tool') return [];
      const call = calls.find(({ id }) => id === answer.tool_call_id);
      return [resultOf(answer.tool_call_id, call?.function.name ?? '', answer.content)];
    }),
  };
}

function resultOf(callId: string, tool: string, content: string): ViewResult {
  const { evidence, operation, status, code, message, transient, from, at, data } =
    resultSchema.parse(JSON.parse(content));
  const named = { callId, tool, evidence, ...(operation === undefined ? {} : { operation }) };
  switch (status) {
    case 'ok': {
      const read = { callId, provenance: from, trust: 'untrusted', at: Date.parse(at) } as const;
      return {
        ...named,
        result: { kind: status, observation: { ...read, data, size: 0, hash: '' } },
      };
    }
    case 'rejected':
      return { ...named, result: { kind: status, check: 'schema', code, message } };
    case 'failed':
      return { ...named, result: { kind: status, code, message, transient } };
    case 'refused':
    case 'unknown':
      return { ...named, result: { kind: status, code, message } };
    default:
      return status satisfies never;
  }
}

function requesterIn(situation: string): View['requester'] {
  const [, line = ''] = situation.split('\n', 2);
  return z
    .object({ id: z.string(), assurance: z.enum(['verified', 'claimed', 'none']) })
    .parse(JSON.parse(line));
}

function factsIn(situation: string): View['facts'] {
  const [, section = ''] = situation.split('# Established facts\n', 2);
  const lines = (section.split('\n\n', 1)[0] ?? '')
    .split('\n')
    .filter((one) => one.startsWith('{'));
  return Object.fromEntries(
    lines.map((line) => {
      const { resource, from, at, stale, data } = factSchema.parse(JSON.parse(line));
      return [resource, { data, from, at: Date.parse(at), stale }];
    }),
  );
}

/** What it may call, without the ways to end a turn. */
function toolsIn(body: unknown): View['tools'] {
  const offered = offerSchema.parse(body).tools.map((tool) => tool.function);
  return offered.filter(({ name }) => !isProposalTool(name));
}

function skillsIn(system: string): View['skills'] {
  const [, section = ''] = system.split('# Procedures\n', 2);
  return [...section.matchAll(/^- ([\w-]+): (.*)$/gm)].map(([, name = '', description = '']) => ({
    name,
    description,
  }));
}

function budgetIn(situation: string): View['budget'] {
  const [, rounds, calls] =
    /^(-?\d+) answers of yours, this one included; (-?\d+) tool calls\.$/m.exec(situation) ?? [];
  return {
    roundsLeft: Number(rounds),
    toolCallsLeft: Number(calls),
    tokensLeft: Number.MAX_SAFE_INTEGER,
    costMicrosLeft: Number.MAX_SAFE_INTEGER,
  };
}

/** A proposal in the words of a model: calls of the tools it was offered. */
export function saidOf(proposal: ProposalInput): Said {
  const { kind, ...args } = proposal;
  switch (proposal.kind) {
    case 'tool_calls':
      return {
        calls: proposal.calls.map(({ id, tool, arguments: given }) => ({
          id,
          name: tool,
          arguments: z.record(z.string(), z.unknown()).parse(given),
        })),
      };
    case 'finish_candidate': {
      const { reply, claims = [], as = 'replied' } = proposal;
      return { calls: [{ name: 'finish', arguments: { reply, claims, as } }] };
    }
    case 'ask_customer':
    case 'escalate':
    case 'refuse':
      return { calls: [{ name: kind, arguments: args }] };
    default:
      return proposal satisfies never;
  }
}
