import { randomUUID } from 'node:crypto';
import helmet from '@fastify/helmet';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import { fastifySSE } from '@fastify/sse';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import underPressure from '@fastify/under-pressure';
import Fastify, { LogController, type FastifyBaseLogger } from 'fastify';
import {
  jsonSchemaTransform,
  serializerCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Store } from '../store/index.ts';
import { SharedCounts } from '../store/shared-counts.ts';
import { guardRoutes } from './caller.ts';
import { notFound, Problem, sendProblem } from './problem.ts';
import type { Api, Parts } from './parts.ts';
import { validatorCompiler } from './validation.ts';

export type ServerOptions = {
  logger: FastifyBaseLogger;
  /** Largest body of the API in bytes. Default 2 MiB: a text of 1 MB as JSON. */
  bodyLimit?: number;
  /** Requests a minute of a key that has no rate of its own, and of one address for one webhook. Default 60,000. */
  perMinute?: number;
  /** Requests a minute of one address without a valid key. Default 600. */
  strangersPerMinute?: number;
  /** Above this delay of the event loop requests are turned away. Milliseconds. Default 500. */
  maxEventLoopDelay?: number;
  /** The addresses of proxies whose X-Forwarded-For is believed. Default: none. */
  trustProxy?: readonly string[];
  /** Adds routes that are part of the documented API. */
  addRoutes(api: Api): void;
};

/** The server without its routes: everything that holds for all of them. */
export async function buildServer(
  { store, keys }: Pick<Parts, 'store' | 'keys'>,
  options: ServerOptions,
): Promise<Api> {
  const { bodyLimit = 2 * 1_048_576, perMinute = 60_000, strangersPerMinute = 600 } = options;
  const api: Api = Fastify({
    loggerInstance: options.logger,
    // Addresses of requests may hold secrets: what is logged of one stands below.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    requestTimeout: 30_000,
    trustProxy: [...(options.trustProxy ?? [])],
  }).withTypeProvider<ZodTypeProvider>();
  api.setValidatorCompiler(validatorCompiler);
  api.setSerializerCompiler(serializerCompiler);
  api.removeContentTypeParser('text/plain');
  api.setErrorHandler(sendProblem);
  api.setNotFoundHandler((request, reply) =>
    sendProblem(
      notFound('route', `${request.method} ${request.url.split('?', 1)[0]}`),
      request,
      reply,
    ),
  );
  api.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions, key } = request;
    const ms = Math.round(reply.elapsedTime);
    request.log.info(
      { method, route: routeOptions.url, status: reply.statusCode, ms, key: key?.id },
      'request',
    );
    done();
  });

  await api.register(underPressure, {
    maxEventLoopDelay: options.maxEventLoopDelay ?? 500,
    retryAfter: 5,
  });
  await api.register(helmet, { contentSecurityPolicy: { directives: DOCS_POLICY } });
  await api.register(fastifySSE, { heartbeatInterval: 15_000 });
  guardRoutes(api, keys, DOCS);
  await limitRates(api, store, { perMinute, strangersPerMinute });
  await api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Turnkeeper',
        description: 'Messages in; turns, approvals and effects to look at and act on.',
        version: '1',
      },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    },
    transform: jsonSchemaTransform,
  });
  await api.register(swaggerUi, { routePrefix: DOCS });
  api.get('/openapi.json', { schema: { hide: true }, config: { access: 'public' } }, () =>
    api.swagger(),
  );
  options.addRoutes(api);
  return api;
}

/** Per key; for webhooks per source and address; for everybody else per address. */
async function limitRates(
  api: Api,
  store: Store,
  { perMinute, strangersPerMinute }: { perMinute: number; strangersPerMinute: number },
): Promise<void> {
  const counts = new SharedCounts(store, RATE_WINDOW_MS);
  api.addHook('onClose', (_api, done) => {
    counts.close();
    done();
  });
  await api.register(rateLimit, {
    timeWindow: RATE_WINDOW_MS,
    store: class {
      incr(key: string, told: Told): void {
        told(null, counts.add(key));
      }

      child(): this {
        return this;
      }
    },
    keyGenerator: ({ key, ip, routeOptions, params }) => {
      if (key !== null) return `key:${key.id}`;
      const address = normalizeIP(ip);
      return isWebhook(routeOptions.url) ? `hook:${hookOf(params)}:${address}` : `ip:${address}`;
    },
    max: ({ key, routeOptions }) => {
      if (key !== null) return key.perMinute ?? perMinute;
      return isWebhook(routeOptions.url) ? perMinute : strangersPerMinute;
    },
    errorResponseBuilder: (_request, { max, ttl }) =>
      new Problem(429, {
        code: 'rate_limited',
        detail: `more than ${max} requests a minute`,
        fix: 'try again after Retry-After seconds',
        retryAfter: Math.ceil(ttl / 1_000),
      }),
  });
}

const RATE_WINDOW_MS = 60_000;
type Told = (error: Error | null, result: { current: number; ttl: number }) => void;

const DOCS = '/docs';

/** The docs page asks nobody else for anything. */
const DOCS_POLICY = {
  defaultSrc: ["'none'"],
  connectSrc: ["'self'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'"],
  upgradeInsecureRequests: null,
};

function isWebhook(url: string | undefined): boolean {
  return url?.startsWith('/v1/webhooks/') ?? false;
}

function hookOf(params: unknown): string {
  return z.object({ source: z.string().max(64) }).safeParse(params).data?.source ?? '';
}
