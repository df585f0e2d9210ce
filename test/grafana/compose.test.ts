import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { debianPackage } from '../../scripts/debian-package.ts';

type Service = {
  image?: string;
  build?: object;
  healthcheck?: { test: string[] };
  command?: string[];
  depends_on?: Record<string, { condition: string }>;
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string>;
};
type Compose = { services: Record<string, Service>; volumes: Record<string, unknown> };

const root = fileURLToPath(new URL('../../', import.meta.url));
const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
  merge: true,
}) as Compose;
const services = Object.entries(compose.services);

/** The schema of the Compose specification, as Debian's docker-compose carries it. */
const SCHEMA = 'usr/lib/python3/dist-packages/compose/config/compose_spec.json';
const unpacked = debianPackage('docker-compose', SCHEMA);
const skipped = 'missing' in unpacked ? ` (skipped: ${unpacked.missing})` : '';

describe('docker-compose.yml', () => {
  test.skipIf('missing' in unpacked)(
    `follows the schema of the Compose specification${skipped}`,
    () => {
      if ('missing' in unpacked) return;
      const schema = readFileSync(join(unpacked.root, SCHEMA), 'utf8');
      // It names itself with the old `id`, and formats that only Docker knows.
      const json = schema
        .replaceAll(/"id": "[^"]*",/g, '')
        .replace('http://json-schema', 'https://json-schema');
      const ajv = new Ajv2019({ strict: false, validateFormats: false });
      const validate = ajv.compile(JSON.parse(json) as object);
      const plain = JSON.parse(JSON.stringify(compose)) as object;

      expect(validate(plain), JSON.stringify(validate.errors)).toBe(true);
      expect(validate({ services: { redis: { imagine: 'redis' } } })).toBe(false);
    },
  );

  test('has every part a person needs to see why agents stop', () => {
    expect(Object.keys(compose.services).toSorted()).toEqual([
      ...['api', 'grafana', 'order-service', 'otel-collector', 'prometheus', 'redis'],
      ...['tempo', 'ticket-desk', 'worker'],
    ]);
  });

  test('publishes nothing beyond this machine', () => {
    for (const [name, { ports = [] }] of services) {
      for (const port of ports) expect(port, name).toMatch(/^127\.0\.0\.1:/);
    }
  });

  test('checks the health of everything that can be asked', () => {
    const unasked = services.filter(([, { healthcheck }]) => healthcheck === undefined);

    expect(unasked.map(([name]) => name)).toEqual(['otel-collector', 'tempo']);
  });

  test('mounts only files there are, and volumes it names', () => {
    for (const [name, { volumes = [] }] of services) {
      for (const volume of volumes) {
        const [from = ''] = volume.split(':');
        const known = from.startsWith('.')
          ? existsSync(join(root, from))
          : Object.keys(compose.volumes).includes(from);
        expect(known, `${name}: ${volume}`).toBe(true);
      }
    }
  });

  test('waits only for services there are, by a condition they can fulfil', () => {
    for (const [name, { depends_on = {} }] of services) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const target = compose.services[other];
        expect(target, `${name} waits for ${other}`).toBeDefined();
        if (condition === 'service_healthy') expect(target?.healthcheck, other).toBeDefined();
      }
    }
  });

  test('runs Redis as the promises need it', () => {
    expect(compose.services['redis']?.command?.join(' ')).toMatch(
      /--appendonly yes --appendfsync always .*--maxmemory-policy noeviction --hz 100/,
    );
  });

  test('scrapes each process where it serves its metrics', () => {
    const config = readFileSync(join(root, 'grafana/prometheus/prometheus.yml'), 'utf8');

    for (const name of ['api', 'worker']) {
      expect(compose.services[name]?.environment?.['METRICS_PORT']).toBe('9464');
      expect(config).toContain(name);
    }
    expect(config.match(/9464/g)).toHaveLength(2);
  });
});
