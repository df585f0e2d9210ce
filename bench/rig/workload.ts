import { z } from 'zod';
import {
  defineAgent,
  defineTool,
  scriptedModel,
  type Agent,
  type ScriptedAnswer,
  type TicketMessage,
  type ToolContract,
  type View,
} from '../../src/index.ts';

/**
 * What a turn does between its two model calls: a read; a write that its first re-read proves; a write that the re-read
 * of a parked turn proves after 200 ms; one that stays parked.
 */
export type Work = 'read' | 'write' | 'park-200ms' | 'stay-parked';

/** Called inside a model call or a tool call; the call goes on when it resolves. */
export type Gate = (at: 'model' | 'tool') => Promise<void>;

const line = z.object({ line: z.string() });
const state = z.object({ line: z.string(), status: z.string() });

/** An agent whose model, tool and ticketing system answer at once: what is measured is the runtime. */
export function benchAgent(work: Work, gate?: Gate): Agent {
  const tool = work === 'read' ? readTool(gate) : writeTool(work);
  return defineAgent({
    name: 'bench',
    instructions: 'Answer questions about orders.',
    tools: [tool],
    // A thousand messages of one conversation in a minute are what is measured here.
    caps: { day: { replies: 1_000_000 } },
    model: scriptedModel(async (view) => {
      await gate?.('model');
      return answer(view, tool.name);
    }),
    target: {
      send: (message) => Promise.resolve({ kind: 'sent', targetId: message.reference }),
      find: () => Promise.resolve({ kind: 'absent' }),
    },
  });
}

/** First asks for the one tool, then replies. */
function answer(view: View, tool: string): ScriptedAnswer {
  if (view.rounds.length > 0)
    return { kind: 'finish_candidate', reply: 'Your order is on its way.' };
  const found = /line (\S+)/.exec(view.messages[0]?.text ?? '')?.[1] ?? 'none';
  return { kind: 'tool_calls', calls: [{ id: 'c1', tool, arguments: { line: found } }] };
}

function readTool(gate?: Gate): ToolContract {
  return defineTool({
    ...{ name: 'get_line', effect: 'read', reversible: true, input: line, output: state },
    description: { use: 'Reads a line of an order.', avoid: 'changing one.' },
    resource: (args) => [`order:${args.line}`],
    provenance: { line: 'customer' },
    failureModes: ['times_out'],
    authorize: () => undefined,
    async run(args) {
      await gate?.('tool');
      return { line: args.line, status: 'shipped' };
    },
  });
}

const readBack = z.object({ line: z.string(), reads: z.number() });

function writeTool(work: Exclude<Work, 'read'>): ToolContract {
  const reads = new Map<string, number>();
  return defineTool({
    ...{ name: 'mark_line', effect: 'write', reversible: true, input: line, output: state },
    description: { use: 'Marks a line of an order.', avoid: 'reading one.' },
    resource: (args) => [`order:${args.line}`],
    provenance: { line: 'customer' },
    failureModes: ['times_out'],
    idempotency: { scope: 'intent', occurrence: null, enforcesValidity: true },
    authorize: () => undefined,
    approval: () => 'never',
    run: (args) => Promise.resolve({ line: args.line, status: 'marked' }),
    verify: {
      level: 'reread',
      backoffMs: work === 'stay-parked' ? 3_600_000 : 200,
      maxBackoffMs: 3_600_000,
      read(args) {
        const count = (reads.get(args.line) ?? 0) + 1;
        reads.set(args.line, count);
        return Promise.resolve({ line: args.line, reads: count });
      },
      landed: (read) => (work === 'write' || readBack.parse(read).reads > 1 ? 'landed' : 'pending'),
    },
  });
}

/**
 * Messages of many conversations: the first of each, then the second of each, and so on. Those of a conversation ask
 * about one order; each writing turn has a line of it for itself.
 */
export function* tickets(
  work: Work,
  conversations: number,
  messages: number,
  options: { textLength?: number; firstConversation?: number } = {},
): Generator<TicketMessage> {
  const { textLength = 120, firstConversation = 0 } = options;
  for (let message = 0; message < messages; message += 1) {
    for (let index = 0; index < conversations; index += 1) {
      const conversation = firstConversation + index;
      const what = work === 'read' ? String(conversation) : `${conversation}/${message}`;
      yield {
        source: 'bench',
        conversationId: `c${conversation}`,
        messageId: `m${message}`,
        deliveryId: `d${conversation}-${message}`,
        text: `Where is line ${what} ?`.padEnd(textLength, ' Please have a look.'),
        requester: { id: `customer-${conversation}@example.com`, assurance: 'verified' },
      };
    }
  }
}
