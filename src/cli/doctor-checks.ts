import { loadAgent, maskedUrl, type Settings } from '../config/index.ts';
import { TurnkeeperError } from '../contracts/index.ts';
import { providersOf, type ProviderModel } from '../models/index.ts';
import { LaneCountError } from '../store/index.ts';
import { storedLanes } from '../store/records.ts';
import { loadSkillTool } from '../skills/index.ts';
import { ToolRegistry } from '../tools/index.ts';
import { reachRedis, withQueues, type Connected } from './connection.ts';
import { CommandError } from './errors.ts';
import { readRedisFacts, type RedisFacts } from './redis-settings.ts';
import { count, duration, iso } from './wording.ts';
import type { Queues } from '../producers/index.ts';

/** One line of `doctor`, and its JSON. */
export type Check = {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  /** What was found. */
  value: string;
  /** What to do about it; null when nothing. */
  fix: string | null;
};

export async function allChecks(
  settings: Settings,
  configFile: string | undefined,
): Promise<Check[]> {
  return [...(await redisChecks(settings)), ...(await agentChecks(configFile))];
}

async function redisChecks(settings: Settings): Promise<Check[]> {
  let reached: Awaited<ReturnType<typeof reachRedis>>;
  try {
    reached = await reachRedis(settings);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [fail('redis', error.message, error.next ?? '')];
  }
  const { redis, url } = reached;
  try {
    const facts = await readRedisFacts(redis);
    const stored = await storedLanes(redis, settings.TURNKEEPER_PREFIX);
    const lanes = lanesCheck(settings.LANES, stored);
    return [
      ok('redis at', maskedUrl(url)),
      ...settingChecks(facts),
      lanes,
      ...(lanes.status === 'fail' ? [] : await withQueues(settings, workChecks)),
    ];
  } finally {
    redis.disconnect();
  }
}

const OLDEST_REDIS = [6, 2] as const;
const SKEW_LIMIT_MS = 1_000;

export function settingChecks(facts: RedisFacts): Check[] {
  const { version = 'unknown', hz, evictedKeys, usedMemory, maxMemory, skewMs } = facts;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const old = major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1]);
  const skew = `${duration(Math.abs(skewMs))} ${skewMs < 0 ? 'behind' : 'ahead of'} this host`;
  return [
    old
      ? fail('redis', `version ${version}`, 'update it to 6.2 or newer')
      : ok('redis', `version ${version}`),
    exactly('appendonly', facts.appendonly, 'yes', 'what was accepted is lost when Redis ends'),
    exactly(
      'appendfsync',
      facts.appendfsync,
      'always',
      'what was accepted last is lost with the machine',
    ),
    exactly('maxmemory-policy', facts.maxmemoryPolicy, 'noeviction', 'records may vanish'),
    hz !== undefined && hz < 100
      ? warn('hz', String(hz), 'waits end up to 91 ms late: CONFIG SET hz 100')
      : known('hz', hz),
    (evictedKeys ?? 0) > 0
      ? fail(
          'evicted keys',
          String(evictedKeys),
          'records are gone: more memory, maxmemory-policy noeviction',
        )
      : known('evicted keys', evictedKeys),
    memoryCheck(usedMemory, maxMemory),
    Math.abs(skewMs) > SKEW_LIMIT_MS
      ? warn('clock', skew, 'let NTP set both clocks; waits end early or late by that much')
      : ok('clock', skew),
  ];
}

function exactly(check: string, value: string | undefined, wanted: string, danger: string): Check {
  if (value === undefined) return known(check, value);
  return value === wanted
    ? ok(check, value)
    : warn(check, value, `${danger}: CONFIG SET ${check} ${wanted}`);
}

function memoryCheck(used: number | undefined, most: number | undefined): Check {
  if (used === undefined) return known('memory', used);
  const text = `${megabytes(used)} used`;
  if (most === undefined || most === 0) return ok('memory', `${text}, no limit`);
  const share = Math.round((used / most) * 100);
  const value = `${text} of ${megabytes(most)} (${share} %)`;
  if (share < 80) return ok('memory', value);
  return warn('memory', value, 'raise maxmemory; at the limit no message is accepted');
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

function lanesCheck(wanted: number | undefined, stored: number | undefined): Check {
  if (stored === undefined)
    return ok('lanes', `${wanted ?? 1}, fixed when the first worker starts`);
  if (wanted === undefined || wanted === stored) return ok('lanes', String(stored));
  return fail(
    'lanes',
    `LANES is ${wanted}, this Redis has ${stored}`,
    new LaneCountError(stored, wanted).message,
  );
}

/** Overdue work is looked at within seconds; after this long nobody seems to look. */
const OVERDUE_MS = 30_000;

async function workChecks({
  store,
  records,
  queues,
}: Connected & { queues: Queues }): Promise<Check[]> {
  const perLane = await Promise.all(
    store.tags().map((tag) => queues.inLane('turns', tag).getWorkers()),
  );
  const fewest = Math.min(...perLane.map((workers) => workers.length));
  const due = await records.oldestDue();
  const overdueMs = due === undefined ? 0 : Date.now() - due.dueAt;
  const overdue = (one: { kind: string; conversationId: string }): string =>
    `${one.kind} of ${one.conversationId}, ${duration(overdueMs)} ago`;
  const unclear = await records.unclearDeliveries();
  return [
    fewest === 0
      ? warn(
          'workers',
          'none',
          'nothing is answered: start one with "turnkeeper worker" or "turnkeeper up"',
        )
      : ok('workers', `${count(fewest, 'process', 'processes')} alive`),
    due !== undefined && overdueMs > OVERDUE_MS
      ? warn(
          'oldest due',
          overdue(due),
          'nobody looks at it: start a worker with "turnkeeper worker"',
        )
      : ok('oldest due', due === undefined ? 'nothing is due' : iso(due.dueAt)),
    unclear > 0
      ? warn(
          'unclear texts',
          String(unclear),
          'look into the tickets whether they arrived; they are not sent again',
        )
      : ok('unclear texts', '0'),
  ];
}

async function agentChecks(configFile: string | undefined): Promise<Check[]> {
  try {
    const { agent, file } = await loadAgent(configFile === undefined ? {} : { file: configFile });
    const builtIn = agent.skills.length > 0 ? [loadSkillTool(agent.skills)] : [];
    const loaded = ok('config', `${agent.rules.name}, from ${file}`);
    try {
      const registry = new ToolRegistry([...agent.tools, ...builtIn]);
      return [
        loaded,
        ok('tools', `${count(agent.tools.length, 'tool')}, each with its whole contract`),
        ...providersOf(agent.model).map((provider) => offerCheck(provider, registry)),
      ];
    } catch (error) {
      if (!(error instanceof TurnkeeperError)) throw error;
      return [
        loaded,
        fail('tools', error.message, 'complete the contract in the file that defines the tool'),
      ];
    }
  } catch (error) {
    if (!(error instanceof TurnkeeperError)) throw error;
    return [fail('config', error.message, 'no worker starts without it')];
  }
}

/** Whether the tools can be offered to a model; nothing is sent to it. */
function offerCheck(provider: ProviderModel, registry: ToolRegistry): Check {
  const name = `${provider.modelName} at ${new URL(provider.endpoint).host}`;
  try {
    provider.checkTools({
      find: (tool) => registry.find(tool),
      descriptions: () => registry.descriptions,
    });
    return ok('model', `${name}, prices from ${provider.priceSource}`);
  } catch (error) {
    if (!(error instanceof TurnkeeperError)) throw error;
    return fail('model', `${name}: ${error.message}`, 'no worker starts until the tool is changed');
  }
}

function ok(check: string, value: string): Check {
  return { check, status: 'ok', value, fix: null };
}

function warn(check: string, value: string, fix: string): Check {
  return { check, status: 'warn', value, fix };
}

function fail(check: string, value: string, fix: string): Check {
  return { check, status: 'fail', value, fix };
}

/** A value that needs no judging, or that this Redis does not tell. */
function known(check: string, value: string | number | undefined): Check {
  return value === undefined
    ? warn(check, 'not readable', 'this Redis does not tell; look it up where it is hosted')
    : ok(check, String(value));
}
