import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { indexDocuments } from '../examples/technova/agent/index-documents.ts';
import { connect, Store } from '../src/store/index.ts';
import { startRedis } from '../src/store/embedded-redis.ts';
import { debianPackage, programOnPath } from './debian-package.ts';

/**
 * What docker-compose.yml starts, without Docker, as far as this machine has the parts: Redis, the example's two systems, a
 * worker, the API and Prometheus with the rules. Grafana, the collector and Tempo are started by Docker only.
 */
const root = join(import.meta.dirname, '..');
const DATA = join(root, '.data');
const WORKER_METRICS = 9464;
const API_METRICS = 9465;
const API = 4477;
/** A customer of the example's world, whose order can be cancelled and is above the limit for a refund. */
const FIRST_MESSAGE = JSON.stringify({
  ...{ source: 'desk', conversationId: '1', messageId: '1' },
  text: 'Please cancel my order 4482 and refund the $740.',
  requester: { id: 'ana.keller@example.com', assurance: 'verified' },
});
/** Longest a part may take to be ready, or to end. Milliseconds. */
const PATIENCE_MS = 20_000;

type Part = {
  name: string;
  command: string;
  args: readonly string[];
  environment?: Record<string, string>;
  /** Answers 200 when the part is ready. */
  health: string;
  /** Where a person looks. */
  place: string;
};

const running: ChildProcess[] = [];
let stopping = false;

const redis = await startRedis({ dataDir: join(DATA, 'redis') });
say('redis', redis.url);
try {
  await indexHelpPages(redis.url);
  for (const part of parts(redis.url)) await start(part);
  await startPrometheus();
  for (const name of ['grafana', 'otel-collector', 'tempo']) {
    say(name, 'not here; docker compose up starts it');
  }
  say('ready', 'stop with Ctrl-C. In another terminal:');
  say('', `echo '${FIRST_MESSAGE}' | npm run -s turnkeeper -- enqueue -`);
  for (const command of ['watch', 'turns list', 'why desk/1', 'approvals list']) {
    say('', `npm run -s turnkeeper -- ${command}`);
  }
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
stopping = true;
await Promise.all(running.toReversed().map(stop));
await redis.stop();

function parts(redisUrl: string): Part[] {
  const example = (name: string, port: number, more: Record<string, string> = {}): Part => ({
    name,
    command: process.execPath,
    args: [`examples/technova/${name}/main.ts`],
    environment: { PORT: String(port), ...more },
    health: `http://127.0.0.1:${port}/state`,
    place: `http://127.0.0.1:${port}`,
  });
  const own = (name: string, metricsPort: number, ...more: string[]): Part => ({
    name,
    command: process.execPath,
    args: ['src/cli/main.ts', name, ...more],
    environment: {
      REDIS_URL: redisUrl,
      ORDER_SERVICE_URL: 'http://127.0.0.1:4001',
      TICKET_DESK_URL: 'http://127.0.0.1:4002',
      METRICS_PORT: String(metricsPort),
    },
    health: `http://127.0.0.1:${metricsPort}/healthz`,
    place: `metrics at http://127.0.0.1:${metricsPort}/metrics`,
  });
  const api = own('api', API_METRICS, '--port', String(API));
  const world = { SEED_FILE: 'examples/technova/fixtures/world.json' };
  return [
    example('order-service', 4001, world),
    example('ticket-desk', 4002),
    own('worker', WORKER_METRICS),
    { ...api, place: `http://127.0.0.1:${API}, described at /docs; ${api.place}` },
  ];
}

/** What the example answers from; what is indexed already is not done again. */
async function indexHelpPages(redisUrl: string): Promise<void> {
  const store = new Store({ redis: connect(redisUrl), prefix: 'tk' });
  try {
    const { documents } = await indexDocuments(store);
    const { added, changed, unchanged } = documents;
    say('help pages', `${added + changed + unchanged} documents, ${added + changed} new`);
  } finally {
    await store.redis.quit();
  }
}

async function startPrometheus(): Promise<void> {
  const unpacked = debianPackage('prometheus', 'usr/bin/prometheus');
  const fetched = 'missing' in unpacked ? undefined : join(unpacked.root, 'usr/bin/prometheus');
  const command = programOnPath('prometheus') ?? fetched;
  if (command === undefined) {
    return say('prometheus', `not here: ${'missing' in unpacked ? unpacked.missing : ''}`);
  }
  const folder = join(DATA, 'prometheus');
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    [
      'global: { scrape_interval: 5s, evaluation_interval: 5s }',
      `rule_files: ['${join(root, 'grafana/prometheus')}/*.rules.yml']`,
      'scrape_configs:',
      '  - job_name: turnkeeper',
      `    static_configs: [{ targets: ['127.0.0.1:${WORKER_METRICS}', '127.0.0.1:${API_METRICS}'] }]`,
      '',
    ].join('\n'),
  );
  await start({
    name: 'prometheus',
    command,
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:9090',
      '--enable-feature=exemplar-storage',
      '--log.level=warn',
    ],
    health: 'http://127.0.0.1:9090/-/ready',
    place: 'http://127.0.0.1:9090, the alerts at /alerts',
  });
}

async function start({ name, command, args, environment, health, place }: Part): Promise<void> {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
    // Ctrl-C is for this process: it stops the others in their order.
    detached: true,
  });
  running.push(child);
  child.on('exit', (code) => {
    if (!stopping) say(name, `ended with ${code}`);
  });
  for (let waited = 0; waited < PATIENCE_MS; waited += 100) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    const answer = await fetch(health).catch(() => undefined);
    if (answer?.ok === true) return say(name, place);
    await elapse(100);
  }
  throw new Error(`${name} did not answer at ${health} within ${PATIENCE_MS / 1_000} s`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  child.kill('SIGTERM');
  await Promise.race([ended, elapse(PATIENCE_MS).then(() => child.kill('SIGKILL'))]);
}

function say(name: string, text: string): void {
  console.log(`${name.padEnd(15)} ${text}`);
}
