import { createServer, type Server } from 'node:http';
import type { PrometheusMeter } from './prometheus-meter.ts';

export type ServedMetrics = { port: number; close(): Promise<void> };

/**
 * Serves `/metrics`, and `/healthz` for the container's health check, of a process that has no other server.
 *
 * @param options `host` default 127.0.0.1; `port` 0 takes a free one
 */
export async function serveMetrics(
  meter: PrometheusMeter,
  options: { port: number; host?: string },
): Promise<ServedMetrics> {
  const { port, host = '127.0.0.1' } = options;
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (request.method !== 'GET' || (path !== '/metrics' && path !== '/healthz')) {
      response.writeHead(404).end();
      return;
    }
    if (path === '/healthz') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
      return;
    }
    meter.text().then(
      (text) => response.writeHead(200, { 'content-type': meter.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await listen(server, port, host);
  // A process that has nothing else to do may end.
  server.unref();
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}
