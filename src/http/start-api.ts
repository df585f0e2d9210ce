import pino, { type Logger } from 'pino';
import type { Queues } from '../producers/index.ts';
import { ApiKeys } from '../store/api-keys.ts';
import { AuditLog } from '../store/audit.ts';
import { DeadLetters } from '../store/dead-letters.ts';
import { HttpRecords } from '../store/http-records.ts';
import type { Store } from '../store/index.ts';
import { Records } from '../store/records.ts';
import { TurnFeed } from '../store/turn-feed.ts';
import type { OperatorPort, ReprocessPort } from './operator-port.ts';
import type { Api, Parts } from './parts.ts';
import { addApprovals } from './routes/approvals.ts';
import { addAudit } from './routes/audit.ts';
import { addConversations } from './routes/conversations.ts';
import { addHealth } from './routes/health.ts';
import { addKeys } from './routes/keys.ts';
import { addLedger } from './routes/ledger.ts';
import { addMessages } from './routes/messages.ts';
import { addReprocess } from './routes/reprocess.ts';
import { addTurnEvents } from './routes/turn-events.ts';
import { addTurns } from './routes/turns.ts';
import { addDeadLetters } from './routes/dead-letters.ts';
import { addWebhooks, type WebhookOptions } from './routes/webhooks.ts';
import { noMeter, type Meter } from '../telemetry/metrics/index.ts';
import { buildServer, type ServerOptions } from './server.ts';

export type ApiOptions = Omit<ServerOptions, 'logger' | 'addRoutes'> &
  Partial<WebhookOptions> & {
    /** On a connection that fails at once instead of waiting for Redis: `ingressConnection`. */
    store: Store;
    /** On the same connection. */
    queues: Queues;
    operator: OperatorPort;
    /** Without it there are no routes for it. */
    reprocess?: ReprocessPort;
    /** The text of /metrics; without it there is no such route. */
    metrics?: () => Promise<string>;
    /** Default: nothing is measured. */
    meter?: Meter;
    logger?: Logger;
    /** Default 127.0.0.1. */
    host?: string;
    /** Default: one that is free. */
    port?: number;
    /** A stream of turn events breaks off after this long; its reader comes back. Milliseconds. Default 50,000. */
    streamMs?: number;
  };

export type RunningApi = {
  url: string;
  /** Takes no new requests, answers those at hand, and ends the streams. The store is the caller's to close. */
  close(): Promise<void>;
};

/** Starts the HTTP service: intake, operator API, health, and its own documentation. */
export async function startApi(options: ApiOptions): Promise<RunningApi> {
  const { store, queues, operator, reprocess, metrics, host = '127.0.0.1', port = 0 } = options;
  const feed = new TurnFeed(store);
  const parts: Parts = {
    ...{ store, queues, operator, feed },
    records: new Records(store),
    http: new HttpRecords(store),
    keys: new ApiKeys(store),
    audit: new AuditLog(store),
    letters: new DeadLetters(store),
    meter: options.meter ?? noMeter,
  };
  const addRoutes = (api: Api): void => {
    addMessages(api, parts);
    addWebhooks(api, parts, { ...options, sources: options.sources ?? [] });
    addDeadLetters(api, parts);
    addTurns(api, parts);
    addTurnEvents(api, parts, { streamMs: options.streamMs ?? 50_000 });
    addConversations(api, parts);
    addApprovals(api, parts);
    addLedger(api, parts);
    if (reprocess !== undefined) addReprocess(api, parts, reprocess);
    addKeys(api, parts);
    addAudit(api, parts);
    addHealth(api, parts, metrics);
  };
  const logger = options.logger ?? pino({ level: 'silent' });
  const api = await buildServer(parts, { ...options, logger, addRoutes });
  const url = await api.listen({ host, port });
  return {
    url,
    async close() {
      await api.close();
      feed.close();
    },
  };
}
