import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseInput } from '../service/http-server.ts';
import { Problem } from '../service/problem.ts';
import { newConversation } from './conversation-book.ts';
import { settingsOf, writeMessage } from './desk.ts';
import { MessageRequest, StatusRequest } from './model.ts';
import type { Outcome } from '../service/call-runner.ts';
import type { Desk } from './desk.ts';
import type { Conversation, Message, MessageKind } from './model.ts';

const ConversationPath = z.object({ id: z.string() });

/** What an agent may do at the desk. There is no idempotency key: posting twice is two messages. */
export function addConversationRoutes(app: FastifyInstance, desk: Desk): void {
  app.get('/conversations/:id', (request, reply) =>
    runCall(desk, 'get', request, reply, (id) => {
      const conversation = known(desk, id);
      const messages = desk.conversations.messagesOf(id);
      const readAt = new Date(desk.now()).toISOString();
      return {
        answer: { status: 200, body: { ...conversation, messages, readAt } },
        result: 'read',
      };
    }),
  );

  app.post('/conversations/:id/replies', (request, reply) =>
    runCall(desk, 'reply', request, reply, (id) => {
      const { text, reference } = parseInput(MessageRequest, request.body);
      return applied(
        201,
        writeMessage(desk, id, { kind: 'reply', author: 'agent', text, reference }),
      );
    }),
  );

  app.post('/conversations/:id/notes', (request, reply) =>
    runCall(desk, 'note', request, reply, (id) => {
      const { text, reference } = parseInput(MessageRequest, request.body);
      return applied(
        201,
        writeMessage(desk, id, { kind: 'note', author: 'agent', text, reference }),
      );
    }),
  );

  app.put('/conversations/:id/status', (request, reply) =>
    runCall(desk, 'status', request, reply, (id) => {
      const { status, reference } = parseInput(StatusRequest, request.body);
      const message = writeMessage(desk, id, {
        kind: 'status',
        author: 'agent',
        text: status,
        reference,
      });
      desk.conversations.set({ id, status });
      return applied(200, message);
    }),
  );
}

async function runCall(
  desk: Desk,
  operation: MessageKind | 'get',
  request: FastifyRequest,
  reply: FastifyReply,
  decide: (id: string) => Outcome,
): Promise<FastifyReply> {
  const { id } = ConversationPath.parse(request.params);
  const reference = referenceOf(request.body);
  const call = {
    operation,
    subject: id,
    method: request.method,
    path: request.url,
    fields: { conversationId: id, ...(operation !== 'get' && { reference }) },
  };
  return desk.calls.run(reply, call, () => {
    if (operation !== 'get')
      assertWritable(known(desk, id), operation, settingsOf(desk).closedConversation);
    return decide(id);
  });
}

function known(desk: Desk, id: string): Conversation {
  const conversation = desk.conversations.find(id);
  if (conversation !== undefined) return conversation;
  if (settingsOf(desk).unknownConversation === 'create') return newConversation(id);
  throw new Problem(404, 'conversation_not_found', `There is no conversation ${id}.`);
}

function assertWritable(
  conversation: Conversation,
  kind: MessageKind,
  closed: 'accept' | 'refuse',
): void {
  const { id, status, mergedInto } = conversation;
  if (status === 'merged') {
    throw new Problem(
      409,
      'conversation_merged',
      `Conversation ${id} was merged into ${mergedInto ?? 'another one'}. Write there.`,
    );
  }
  if (status === 'closed' && kind === 'reply' && closed === 'refuse') {
    throw new Problem(
      409,
      'conversation_closed',
      `Conversation ${id} is closed. Open it before replying.`,
    );
  }
}

function applied(status: number, message: Message): Outcome {
  return {
    answer: { status, body: { message } },
    result: 'applied',
    fields: { messageId: message.id },
  };
}

function referenceOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null
    ? (Reflect.get(body, 'reference') ?? null)
    : null;
}
