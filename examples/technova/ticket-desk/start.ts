import { createHttpServer, listen } from '../service/http-server.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { addConversationRoutes } from './conversation-routes.ts';
import { openDesk } from './desk.ts';
import { parseConversations } from './seeding.ts';
import type { RunningService } from '../service/service-process.ts';

export interface TicketDeskOptions {
  /** 0 (default) picks a free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** SQLite file; default `:memory:`. */
  dataFile?: string;
  /** `{conversations: [...]}`; conversations that are stored already keep their state. */
  seed?: unknown;
  /** Epoch ms; default the system clock. */
  clock?: () => number;
}

/** Starts the ticket desk in this process. Fails with one readable line on a bad seed or a port in use. */
export async function startTicketDesk(options: TicketDeskOptions = {}): Promise<RunningService> {
  const { port = 0, host = '127.0.0.1', dataFile = ':memory:', seed, clock = Date.now } = options;
  const seeds = seed === undefined ? [] : parseConversations(seed);
  const server = createHttpServer();
  const desk = openDesk(dataFile, clock, server.closing);
  server.app.addHook('onClose', () => desk.db.close());
  addConversationRoutes(server.app, desk);
  addAdminRoutes(server, desk);
  for (const conversation of seeds) {
    if (desk.conversations.find(conversation.id) === undefined)
      desk.conversations.set(conversation);
  }
  const url = await listen(server.app, host, port);
  return { url, close: () => server.app.close() };
}
