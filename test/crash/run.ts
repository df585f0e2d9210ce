import { setTimeout as pause } from 'node:timers/promises';
import { Approvers } from './approvers.ts';
import { Customers } from './customers.ts';
import { collect, reasonOf, type Complaint } from './evidence.ts';
import { FaultLoop, Hits } from './faults.ts';
import { House } from './house.ts';
import { judge, type Finding } from './judge.ts';
import { planLoad, type PlannedMessage } from './load.ts';
import { Random } from './random.ts';
import type { RunSettings } from './settings.ts';
import { Stage } from './stage.ts';

export type RunResult = {
  settings: RunSettings;
  findings: Finding[];
  hits: Hits;
  messages: number;
  answered: number;
  retries: number;
  seconds: number;
  complaints: Map<string, number>;
};

export type RunHooks = {
  onProgress?: (line: string) => void;
  /** Once everything is up and before anybody writes. */
  setUp?: (stage: Stage) => Promise<void> | void;
  /** Faults of a scenario of its own, while everybody writes. The run only counts if it comes to its end. */
  act?: (stage: Stage) => Promise<void>;
  /** Keeps a customer waiting before a message. */
  mayWrite?: (message: PlannedMessage, stage: Stage) => Promise<void>;
  /** Leaves the logs and data of the run in place. */
  keep?: boolean;
};

/** One crash run: a full house, faults all the time, and then the judge. */
export async function run(settings: RunSettings, hooks: RunHooks = {}): Promise<RunResult> {
  const startedAt = Date.now();
  const random = new Random(settings.seed);
  const load = planLoad(settings, random.fork());
  const stage = await Stage.open(settings, load.orders);
  try {
    await stage.addWorkers(settings);
    if (settings.flakyServices) await stage.makeFlaky(settings);
    await hooks.setUp?.(stage);
    const messages = load.conversations.flat();
    const house = new House(stage, messages);
    const customers = new Customers(`redis://127.0.0.1:${stage.toRedis.port}`, {
      ...settings,
      mayWrite: (message) => hooks.mayWrite?.(message, stage) ?? Promise.resolve(),
    });
    const approvers = new Approvers(`redis://127.0.0.1:${stage.toRedis.port}`, settings);
    const faults =
      settings.faults === 'none'
        ? undefined
        : new FaultLoop({
            stage,
            settings: settings.faults,
            random: random.fork(),
            conversationIds: load.conversations.flatMap(([first]) => first?.conversationId ?? []),
            loseOrderAnswers: settings.keys === 'on',
            progress: () => house.answered / messages.length,
          });
    approvers.start();
    faults?.start();
    const writing = customers.writeAll(load.conversations, settings.paceMs, random.fork());
    const acting = new Act(hooks.act?.(stage));
    const cameToRest = await house.rest(settings, hooks.onProgress);
    await acting.over(startedAt + settings.timeLimitMs);
    await faults?.stop();
    const findings: Finding[] = [];
    if (!cameToRest) findings.push(...(await house.whatHangs()));
    await approvers.close();
    await customers.close();
    await writing;
    const hits = faults?.hits ?? new Hits();
    findings.push(...acting.findings(), ...floorOf(settings, hits));
    if (cameToRest) findings.push(...(await house.leftovers()));
    const evidence = await collect(stage, load.conversations, customers, approvers);
    findings.push(...judge(evidence));
    return {
      settings,
      findings,
      hits,
      messages: messages.length,
      answered: house.answered,
      retries: customers.retries,
      seconds: (Date.now() - startedAt) / 1_000,
      complaints: countComplaints(evidence.complaints),
    };
  } finally {
    await stage.close(hooks.keep);
    if (hooks.keep === true) hooks.onProgress?.(`logs and data are in ${stage.guard.folder}`);
  }
}

/** What a scenario does while everybody writes. */
class Act {
  #problem: string | undefined = 'what the scenario is about never happened';
  readonly #acting: Promise<void>;

  constructor(acting: Promise<void> = Promise.resolve()) {
    this.#acting = acting.then(
      () => (this.#problem = undefined),
      (error: unknown) => void (this.#problem = String(error)),
    );
  }

  async over(deadline: number): Promise<void> {
    await Promise.race([this.#acting, pause(Math.max(0, deadline - Date.now()))]);
  }

  findings(): Finding[] {
    return this.#problem === undefined ? [] : [{ rule: 'not an idle pass', what: this.#problem }];
  }
}

function floorOf({ floor }: RunSettings, hits: Hits): Finding[] {
  const redisKills = hits.faults.get('SIGKILL of Redis') ?? 0;
  return [
    ...(hits.total < floor.faults ? [`${hits.total} faults, wanted ${floor.faults}`] : []),
    ...(redisKills < floor.redisKills
      ? [`${redisKills} kills of Redis, wanted ${floor.redisKills}`]
      : []),
    ...hits.below(floor.hitsPerPhase),
  ].map((what) => ({ rule: 'not an idle pass', what }));
}

function countComplaints(complaints: readonly Complaint[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const complaint of complaints) {
    const why = reasonOf(complaint);
    const text = why === undefined ? complaint.msg : `${complaint.msg}: ${why}`;
    const name = text
      .replaceAll(/x[\w-]{21}|\b\d[\d-]*\b|[0-9a-f]{8}-[0-9a-f-]{27}/g, 'N')
      .slice(0, 160);
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  return found;
}
