import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as elapse } from 'node:timers/promises';
import { ZodError } from 'zod';
import type { ApiAnswer, ApiCall, Route, Vendor } from './vendor.ts';

/**
 * What goes wrong with a call. Without `after` the system did nothing: it answers `status`, cuts the connection, or
 * never answers. With it the same happens once the effect is there. `cut_mid` ends the connection within the answer,
 * `garbage` answers 200 with no JSON, `late` cuts it and does the effect `ms` later, `delay` only answers later.
 */
export type Fault =
  | { how: 'status' | 'status_after'; status: number; headers?: Record<string, string> }
  | { how: 'cut' | 'cut_after' | 'cut_mid' | 'hang' | 'hang_after' | 'garbage' }
  | { how: 'late' | 'delay'; ms: number };

/** One call of the API as it arrived. */
export type ApiLogEntry = {
  method: string;
  path: string;
  effect: Route['effect'];
  body: unknown;
  fault?: Fault['how'];
};

export type FaultChooser = (entry: ApiLogEntry) => Fault | undefined;

type Served = Pick<ApiCall, 'book' | 'posted' | 'changed'>;

/** The HTTP side of a fake desk. Listens on 127.0.0.1. */
export async function serveApi(
  vendor: Vendor,
  served: Served,
  log: ApiLogEntry[],
  choose: FaultChooser,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    answer(vendor, served, log, choose, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the desk has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  vendor: Vendor,
  served: Served,
  log: ApiLogEntry[],
  choose: FaultChooser,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url = '/', headers } = request;
  const { pathname, searchParams: query } = new URL(url, 'http://desk');
  const text = await bodyOf(request);
  if (!vendor.authorised(headers)) return reply(response, { status: 401, body: { error: 'no' } });
  const route = vendor.routes.find((one) => one.method === method && one.path.test(pathname));
  if (route === undefined) return reply(response, { status: 404, body: { error: 'no such path' } });

  const body: unknown = text === '' ? {} : JSON.parse(text);
  const entry: ApiLogEntry = { method, path: pathname, effect: route.effect, body };
  const fault = choose(entry);
  if (fault !== undefined) entry.fault = fault.how;
  log.push(entry);
  const params = route.path.exec(pathname)?.slice(1) ?? [];
  const act = (): ApiAnswer => {
    try {
      return route.handle({ ...served, params, query, body });
    } catch (error) {
      if (!(error instanceof ZodError)) throw error;
      return { status: 422, body: { error: error.message } };
    }
  };

  switch (fault?.how) {
    case undefined:
      return reply(response, act());
    case 'delay':
      await elapse(fault.ms);
      return reply(response, act());
    case 'status':
      return reply(response, { status: fault.status, body: { error: 'fault' } }, fault.headers);
    case 'status_after':
      act();
      return reply(response, { status: fault.status, body: { error: 'fault' } }, fault.headers);
    case 'cut':
      response.destroy();
      return;
    case 'cut_after':
      act();
      response.destroy();
      return;
    case 'cut_mid':
      return cutMid(response, act());
    case 'hang':
      return;
    case 'hang_after':
      act();
      return;
    case 'garbage':
      act();
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>welcome</html>');
      return;
    case 'late':
      response.destroy();
      await elapse(fault.ms);
      act();
      return;
    default:
      return fault satisfies never;
  }
}

function reply(
  response: ServerResponse,
  { status, body }: ApiAnswer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function cutMid(response: ServerResponse, { status, body }: ApiAnswer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-length': String(Buffer.byteLength(text)) });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
