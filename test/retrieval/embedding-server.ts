import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { wordVectorOf } from './support.ts';

type Asked = { input: string[]; model: string; dimensions?: number };
/** `drop`: the connection ends without an answer. A number: that status. */
export type Fault = 'drop' | 'stall' | number;

/** A server that speaks the embeddings API, computes each idempotency key once, and counts. */
export async function embeddingServer(dimension = 8) {
  const requests: { key: string; authorization: string; body: Asked }[] = [];
  /** How often each text was computed. */
  const computed = new Map<string, number>();
  const answered = new Map<string, string>();
  const faults: Fault[] = [];
  /** Called before a request is answered, and after its answer was handed to the network. */
  const hooks: { before?: (count: number) => void; after?: (count: number) => void } = {};
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as Asked;
      const key = String(request.headers['idempotency-key']);
      requests.push({ key, authorization: String(request.headers['authorization']), body });
      const count = requests.length;
      hooks.before?.(count);
      const fault = faults.shift();
      if (fault !== undefined) return fail(response, fault);
      const known = answered.get(key) ?? compute(body);
      answered.set(key, known);
      response.setHeader('content-type', 'application/json');
      response.end(known, () => hooks.after?.(count));
    });
  });
  const compute = ({ input }: Asked): string => {
    for (const text of input) computed.set(text, (computed.get(text) ?? 0) + 1);
    const data = input.map((text, index) => {
      return { object: 'embedding', index, embedding: [...wordVectorOf(text, dimension)] };
    });
    const tokens = input.length * 10;
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    // Not in order: the index counts.
    return JSON.stringify({ object: 'list', model: 'm', data: data.toReversed(), usage });
  };
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, requests, computed, faults, hooks };
}

function fail(response: ServerResponse, fault: Fault): void {
  if (fault === 'drop') response.socket?.destroy();
  else if (fault !== 'stall') response.writeHead(fault).end('{"error":{"message":"secret body"}}');
}
