import { z } from 'zod';
import { inTransaction } from '../service/database.ts';
import { faultFields, RandomFaults } from '../service/fault-script.ts';
import { parseInput } from '../service/http-server.ts';
import { addLogRoutes } from '../service/log-routes.ts';
import { keepSettings, settingsOf, writeMessage } from './desk.ts';
import { ConversationSeed, DeskSettings, MessageRequest } from './model.ts';
import type { ScriptedFault } from '../service/fault-script.ts';
import type { HttpServer } from '../service/http-server.ts';
import type { Desk } from './desk.ts';

const ConversationPath = z.object({ id: z.string() });
const Conversations = z.strictObject({ conversations: z.array(ConversationSeed) });

const FaultRequest = z.strictObject({
  faults: z
    .array(
      z.strictObject({
        operation: z.enum(['reply', 'note', 'status', 'get']),
        conversationId: z.string().optional(),
        ...faultFields,
      }),
    )
    .default([]),
  random: RandomFaults.optional(),
});

/** What tests, the demo and the judge use. Not for agents. */
export function addAdminRoutes({ app, closing }: HttpServer, desk: Desk): void {
  addLogRoutes(app, desk.log, closing);

  app.post('/admin/conversations', (request) => {
    const { conversations } = parseInput(Conversations, request.body);
    return inTransaction(desk.db, () => ({
      conversations: conversations.map((seed) => desk.conversations.set(seed)),
    }));
  });

  app.post('/admin/conversations/:id/human-reply', async (request, reply) => {
    const { id } = ConversationPath.parse(request.params);
    const { text, reference } = parseInput(MessageRequest, request.body);
    const message = inTransaction(desk.db, () => {
      desk.conversations.set({ id, owner: 'human' });
      return writeMessage(desk, id, { kind: 'reply', author: 'human', text, reference });
    });
    return reply.code(201).send({ message });
  });

  app.post('/admin/settings', (request) => {
    const settings = DeskSettings.parse({
      ...settingsOf(desk),
      ...parseInput(DeskSettings.partial(), request.body),
    });
    keepSettings(desk, settings);
    return { settings };
  });

  app.post('/admin/faults', (request) => {
    const { faults, random } = parseInput(FaultRequest, request.body);
    desk.faults.install(faults.map(toScripted), random);
    return desk.faults.state();
  });

  app.get('/state', () => ({
    settings: settingsOf(desk),
    faults: desk.faults.state(),
    conversations: desk.conversations.all().map((conversation) => ({
      ...conversation,
      messages: desk.conversations.messagesOf(conversation.id),
    })),
  }));
}

function toScripted({
  conversationId,
  ...fault
}: z.infer<typeof FaultRequest>['faults'][number]): ScriptedFault {
  return { ...fault, subject: conversationId };
}
