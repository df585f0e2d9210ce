import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Random } from '../crash/random.ts';
import { key } from '../../src/store/keys.ts';
import { DeskCustomers } from './customers.ts';
import { judge } from './judge.ts';
import { fullSize, smallSize, type DeskRunSettings } from './settings.ts';
import { DeskStage } from './stage.ts';

/** `node test/e2e/desks.ts [--small] [--seed N] [--keep]`: the front door and the way back of four desks, under kills. */

export type DeskRunResult = {
  findings: string[];
  messages: number;
  replies: number;
  /** Events that the desks sent a second time, and that they gave up on. */
  duplicates: number;
  lostEvents: number;
  apiKills: number;
  workerKills: number;
  seconds: number;
};

export async function runDesks(
  settings: DeskRunSettings,
  {
    keep = false,
    onProgress = () => {},
  }: { keep?: boolean; onProgress?: (line: string) => void } = {},
): Promise<DeskRunResult> {
  const startedAt = Date.now();
  const random = new Random(settings.seed);
  const stage = await DeskStage.open(settings, random);
  const customers = new DeskCustomers(stage, settings);
  const kills = new KillLoop(stage, settings, random.fork());
  try {
    const writing = customers.write(random.fork(), kills.start());
    const hanging = await rest(stage, customers, settings, writing, onProgress);
    await kills.stop();
    customers.close();
    // What was on its way when everything had been answered would show now.
    await Promise.all(stage.desks.map((desk) => desk.hooks.settled()));
    await pause(2 * settings.sweepEverySeconds * 1_000);
    const threads = customers.threads;
    const result = {
      messages: threads.flatMap(({ asked }) => asked).length,
      replies: threads.flatMap(({ desk, ticket }) => desk.replies(ticket)).length,
      duplicates: stage.desks.reduce((sum, desk) => sum + copiesOf(desk.hooks.log), 0),
      lostEvents: stage.desks.reduce((sum, desk) => sum + desk.hooks.lost, 0),
      apiKills: stage.api.kills,
      workerKills: stage.workers.reduce((sum, worker) => sum + worker.kills, 0),
      seconds: (Date.now() - startedAt) / 1_000,
    };
    const ended = [stage.api, ...stage.workers].flatMap((one) => one.endedByItself);
    const findings = [
      ...hanging,
      ...ended.map((how) => `a process ended by itself: ${how}`),
      ...floorOf(settings, result),
      ...(await judge(stage, threads)),
    ];
    return { findings, ...result };
  } finally {
    customers.close();
    await kills.stop();
    await stage.close(keep);
    if (keep) onProgress(`logs are in ${stage.guard.folder}`);
  }
}

/** Until everybody has written and been answered; says what is left when that takes too long. */
async function rest(
  stage: DeskStage,
  customers: DeskCustomers,
  { timeLimitMs }: DeskRunSettings,
  writing: Promise<void>,
  onProgress: (line: string) => void,
): Promise<string[]> {
  const deadline = Date.now() + timeLimitMs;
  let told = Date.now();
  let written = false;
  void writing.then(() => (written = true));
  while (Date.now() < deadline) {
    const open = customers.threads.flatMap(({ desk, ticket, asked, beforePeople }) => {
      const missing = (beforePeople ?? asked.length) - desk.replies(ticket).length;
      return missing > 0 ? [`${desk.kind}/${ticket}: ${missing} not answered`] : [];
    });
    const left = await leftIn(stage);
    if (written && open.length === 0 && left.length === 0) return [];
    if (Date.now() - told > 5_000) {
      told = Date.now();
      onProgress(`${open.length} tickets wait for an answer, ${left.length} have work left`);
    }
    await pause(100);
    if (Date.now() >= deadline) {
      const stuck = written ? [] : ['somebody still waits to write: a person who was not noticed'];
      return ['came to no rest', ...stuck, ...open, ...left].slice(0, 20);
    }
  }
  return ['came to no rest'];
}

async function leftIn({ store }: DeskStage): Promise<string[]> {
  const [tag = ''] = store.tags();
  const [due, undelivered] = await Promise.all([
    store.redis.zrange(key(tag, 'due'), '0', '-1'),
    store.redis.zrange(key(tag, 'undelivered'), '0', '-1'),
  ]);
  return [
    ...due.map((conversation) => `${conversation}: a turn is open`),
    ...undelivered.map((conversation) => `${conversation}: a text is not sent`),
  ];
}

/** First tries beyond the first of an event. */
function copiesOf(log: readonly { event: number; attempt: number }[]): number {
  const first = log.filter(({ attempt }) => attempt === 1);
  return first.length - new Set(first.map(({ event }) => event)).size;
}

function floorOf({ floor }: DeskRunSettings, result: Omit<DeskRunResult, 'findings'>): string[] {
  return (Object.keys(floor) as (keyof typeof floor)[]).flatMap((name) =>
    result[name] < floor[name]
      ? [`an idle pass: ${result[name]} ${name}, wanted ${floor[name]}`]
      : [],
  );
}

/** Kills the service or a worker, over and over, one at a time. */
class KillLoop {
  readonly #stage: DeskStage;
  readonly #settings: DeskRunSettings;
  readonly #random: Random;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(stage: DeskStage, settings: DeskRunSettings, random: Random) {
    this.#stage = stage;
    this.#settings = settings;
    this.#random = random;
  }

  /** Resolves when the last one was killed. */
  start(): Promise<void> {
    return (this.#running = this.#loop());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { killEveryMs, downMs, mostKills } = this.#settings;
    const { signal } = this.#stop;
    const { api, workers } = this.#stage;
    for (let count = 0; count < mostKills; count += 1) {
      // The service is among the first, however the draw goes.
      const isApi = count === 1 || this.#random.chance(0.4);
      const victim = isApi ? api : this.#random.pick(workers);
      // Nobody is killed before it has come back: something must get done in between.
      do await pause(this.#random.between(...killEveryMs), undefined, { signal }).catch(() => {});
      while (!victim.ready && !signal.aborted);
      if (signal.aborted) return;
      await victim.kill(isApi ? this.#random.between(...downMs) : 0);
    }
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      small: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000));
  console.log(`desks, seed ${seed}`);
  const { findings, ...result } = await runDesks(values.small ? smallSize(seed) : fullSize(seed), {
    keep: values.keep,
    onProgress: (line) => console.log(line),
  });
  console.log(JSON.stringify(result));
  for (const finding of findings) console.log(`  - ${finding}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
