import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Api, Behaviour, ModelRequest, Policy, Said, StreamEvent } from './behaviour.ts';
import { chatBody, chatEvents } from './chat.ts';
import { messagesBody, messagesEvents } from './messages.ts';
import { heardIn, toolsIn } from './requests.ts';
import { responsesBody, responsesEvents } from './responses.ts';

export type ModelServer = {
  /** Base of every path, such as `http://127.0.0.1:4711`. OpenAI's APIs are under `/v1`. */
  origin: string;
  /** Every request so far, the newest thousand. */
  requests: ModelRequest[];
  /** Open TCP connections. */
  connections(): Promise<number>;
  /** Requests whose answer is neither complete nor cut. */
  open(): number;
  close(): Promise<void>;
};

const SPEECH: Record<
  Api,
  {
    path: string;
    whole(said: Said, model: string): object;
    events(said: Said, model: string): StreamEvent[];
  }
> = {
  chat: { path: '/v1/chat/completions', whole: chatBody, events: chatEvents },
  responses: { path: '/v1/responses', whole: responsesBody, events: responsesEvents },
  messages: { path: '/v1/messages', whole: messagesBody, events: messagesEvents },
};

const KEPT = 1_000;

/** A server on 127.0.0.1 that speaks the APIs of OpenAI and Anthropic; a policy decides what it does with each request. */
export async function startModelServer(policy: Policy, port = 0): Promise<ModelServer> {
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 32 * 1024 * 1024 });
  const requests: ModelRequest[] = [];
  let number = 0;
  let open = 0;
  for (const api of ['chat', 'responses', 'messages'] as const) {
    app.post(SPEECH[api].path, async (request, reply) => {
      const seen = readRequest(api, request, number);
      number += 1;
      open += 1;
      reply.raw.once('close', () => {
        open -= 1;
      });
      requests.push(seen);
      if (requests.length > KEPT) requests.shift();
      await perform(await policy(seen), seen, reply);
      return reply;
    });
  }
  await app.listen({ host: '127.0.0.1', port });
  const address = app.server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${address.port}`,
    requests,
    connections: () =>
      new Promise((resolve, reject) => {
        app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    open: () => open,
    close: () => app.close(),
  };
}

function readRequest(api: Api, request: FastifyRequest, number: number): ModelRequest {
  const body = request.body as Record<string, unknown>;
  return {
    api,
    model: String(body['model']),
    stream: body['stream'] === true,
    tools: toolsIn(body),
    heard: heardIn(body),
    body,
    headers: request.headers,
    number,
  };
}

async function perform(
  behaviour: Behaviour,
  request: ModelRequest,
  reply: FastifyReply,
): Promise<void> {
  const { model, stream, api } = request;
  switch (behaviour.do) {
    case 'answer': {
      const { delayMs = 0, paceMs = 0, ...said } = behaviour;
      if (delayMs > 0) await sleep(delayMs);
      if (!stream) return void (await reply.send(SPEECH[api].whole(said, model)));
      const events = SPEECH[api].events(said, model);
      const response = openStream(reply);
      for (const event of events) {
        if (response.destroyed) return;
        response.write(wire(event));
        if (paceMs > 0) await sleep(paceMs);
      }
      return void response.end();
    }
    case 'stall':
    case 'cut': {
      const said = behaviour.said ?? { text: 'Let me see what I can' };
      const part = stream
        ? SPEECH[api].events(said, model).slice(0, -3).map(wire).join('')
        : JSON.stringify(SPEECH[api].whole(said, model)).slice(0, 40);
      const response = openStream(reply, stream ? undefined : 'application/json');
      response.write(part, () => {
        if (behaviour.do === 'cut') response.destroy();
      });
      return;
    }
    case 'hang_up':
      reply.hijack();
      return void reply.raw.destroy();
    case 'status':
      return void (await reply
        .code(behaviour.status)
        .headers(behaviour.headers ?? {})
        .send(behaviour.body ?? ''));
    case 'body': {
      const { body, type = 'application/json' } = behaviour;
      return void (await reply
        .type(type)
        .send(typeof body === 'string' ? body : JSON.stringify(body)));
    }
    case 'events': {
      const response = openStream(reply);
      for (const data of behaviour.events) response.write(wire(named({ data }, api)));
      return void response.end();
    }
    default:
      behaviour satisfies never;
  }
}

function openStream(reply: FastifyReply, type = 'text/event-stream'): ServerResponse {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' });
  raw.flushHeaders();
  return raw;
}

/** Anthropic's client reads named events only. */
function named(event: StreamEvent, api: Api): StreamEvent {
  const { data } = event;
  const type = typeof data === 'object' && 'type' in data ? String(data.type) : undefined;
  return api === 'chat' || type === undefined ? event : { ...event, event: type };
}

function wire({ event, data }: StreamEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
