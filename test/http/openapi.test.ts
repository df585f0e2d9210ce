import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { ROLES } from '../../src/store/api-keys.ts';
import { startService, type Service } from './service.ts';

type Content = Readonly<Record<string, { schema?: object }>>;
type Operation = {
  operationId?: string;
  summary?: string;
  tags?: string[];
  security?: object[];
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, { description: string; content?: Content }>>;
};
type Document = {
  openapi: string;
  info: { title: string; version: string };
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: { securitySchemes: Readonly<Record<string, object>> };
};

test('/openapi.json is the OpenAPI 3.1 document of the pages, and each of its schemas is a JSON schema', async () => {
  const service = await start();
  const document = await documentOf(service);

  expect(document).toEqual((await service.call('GET', '/docs/json')).body);
  expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Turnkeeper', version: '1' } });
  const ajv = new Ajv2020({ strict: false, logger: false });
  const schemas = operations(document).flatMap(({ operation }) => [
    ...(operation.parameters ?? []).map(({ schema }) => schema),
    ...schemasIn(operation.requestBody?.content),
    ...Object.values(operation.responses).flatMap(({ content }) => schemasIn(content)),
  ]);
  expect(schemas.length).toBeGreaterThan(100);
  for (const schema of schemas)
    expect([schema, ajv.validateSchema(schema)]).toEqual([schema, true]);
});

test('every operation has a name of its own, says what it does, and names its path parameters and its refusals', async () => {
  const all = operations(await documentOf(await start()));

  const names = all.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(all.length);
  for (const { path, method, operation } of all) {
    const { summary, tags, parameters = [], security, responses } = operation;
    const about = `${method} ${path}`;
    expect([about, summary, tags]).toEqual([about, expect.any(String), [expect.any(String)]]);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = parameters.filter((one) => one.in === 'path' && one.required === true);
    expect([about, declared.map(({ name }) => name).toSorted()]).toEqual([
      about,
      inPath.toSorted(),
    ]);
    for (const [status, { description }] of Object.entries(responses)) {
      expect([about, status, description]).toEqual([about, status, expect.stringMatching(/\w/)]);
    }
    if (security === undefined) continue;
    const refusals = ['400', '401', '403', '404', '429', '503'];
    const body = method === 'post' ? ['413', '415'] : [];
    expect([about, Object.keys(responses)]).toEqual([
      about,
      expect.arrayContaining([...refusals, ...body]),
    ]);
  }
});

test('no route answers with a status it does not document, whoever asks for what', async () => {
  const service = await start({ bodyLimit: 2_000 });
  const every = await service.tokenFor(ROLES);
  const foreign = await service.tokenFor(ROLES, { source: 'elsewhere' });
  const json = { 'content-type': 'application/json' };
  const asked = [
    {},
    { token: every },
    { token: every, body: {} },
    { token: foreign, body: { reason: 'a test' } },
    { token: every, body: '{', headers: json },
    { token: every, body: 'x'.repeat(3_000), headers: json },
    { token: every, body: 'words', headers: { 'content-type': 'text/plain' } },
  ];
  for (const { path, method, operation } of operations(await documentOf(service))) {
    const place = path.replaceAll(/\{\w+\}/g, 'x1');
    for (const { body, ...options } of asked) {
      const sent = method === 'post' && body !== undefined ? { ...options, body } : options;
      const { status } = await service.call(method.toUpperCase(), place, sent);
      expect([method, path, sent, Object.keys(operation.responses)]).toEqual([
        ...[method, path, sent],
        expect.arrayContaining([String(status)]),
      ]);
    }
  }
});

function start(options: { bodyLimit?: number } = {}): Promise<Service> {
  return startService({
    ...options,
    metrics: () => Promise.resolve(''),
    reprocess: {
      plan: () => Promise.resolve({ id: 'batch1', source: null }),
      status: () => Promise.resolve(undefined),
      move: () => Promise.resolve({ kind: 'not_found' }),
    },
  });
}

async function documentOf({ call }: Service): Promise<Document> {
  const { status, body } = await call<Document>('GET', '/openapi.json');
  expect(status).toBe(200);
  return body;
}

function operations({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function schemasIn(content: Content = {}): object[] {
  return Object.values(content).flatMap(({ schema }) => (schema === undefined ? [] : [schema]));
}
