import { setTimeout as pause } from 'node:timers/promises';
import type { Finding } from './judge.ts';
import { claimOf, openTurnOf } from './phases.ts';
import { run, type RunHooks } from './run.ts';
import { textsOf } from './script-texts.ts';
import { scenarioSize, type RunSettings } from './settings.ts';
import type { Stage } from './stage.ts';

type Scenario = { settings: Partial<RunSettings> } & RunHooks;

const FIRST = 'crash/c1';
const REFUNDS = ['POST /orders/1-1/refunds'];

/**
 * Single faults at a chosen moment: small runs that hit on purpose what the big run hits by chance. Judged by the same
 * judge; the planted faults are caught by them.
 */
export const SCENARIOS = {
  /** Nothing goes wrong at all. */
  'a quiet day': {
    settings: { conversations: 6, wishes: ['cancel-and-refund', 'refund', 'status'], workers: 2 },
  },

  /** The source hands every message over twice at once. */
  'everything is handed over twice': {
    settings: { twice: 1, wishes: ['refund'] },
  },

  /** Each script is executed, and the answer of several calls never arrives: the client sends them again. */
  'answers of Redis are lost': {
    settings: { wishes: ['cancel-and-refund', 'refund'], workers: 2, sendTimeoutMs: 1_000 },
    act: (stage) =>
      Promise.all(
        (
          [
            'claim-turn',
            'record-transition',
            'park-turn',
            'commit-turn',
            'record-verdict',
            'claim-delivery',
            'settle-delivery',
          ] as const
        ).map(async (script) => {
          const hits = stage.workers.map(({ toRedis }) =>
            toRedis.when(textsOf(script), 3, (request) => request.loseAnswer()),
          );
          await until(() => hits.some((count) => count() > 1));
        }),
      ).then(() => {}),
  },

  /** A worker falls asleep while the model thinks, another one takes the turn over, and the first one wakes up. */
  'a worker wakes up too late to act': {
    settings: { ...ONE_TURN(), wishes: ['refund'], workers: 2, modelMs: 2_500 },
    act: async (stage) => {
      const sleeper = await workerOf(stage, await until(() => claimOf(stage.onlooker, FIRST)));
      await takenOverWhileAsleep(stage, sleeper);
    },
  },

  /** The same, when nothing is left to do but to end the turn. */
  'a worker wakes up too late to commit': {
    settings: { ...ONE_TURN(), wishes: ['status'], workers: 2, modelMs: 2_500 },
    act: async (stage) => {
      await until(async () => (await stage.orders.log({ operation: 'get' })).length > 0 || undefined);
      const sleeper = await workerOf(stage, await until(() => claimOf(stage.onlooker, FIRST)));
      await takenOverWhileAsleep(stage, sleeper);
    },
  },

  /** An operator put an older copy of the data back: the number of the claim comes up a second time. */
  'a claim has the number of an earlier one': {
    settings: { ...ONE_TURN(), wishes: ['refund'], workers: 2, modelMs: 2_500 },
    act: async (stage) => {
      const sleeper = await workerOf(stage, await until(() => claimOf(stage.onlooker, FIRST)));
      sleeper.stop();
      await forgetClaim(stage);
      await takenOverWhileAsleep(stage, sleeper);
    },
  },

  /** The worker dies between the park on record and the job's move to those that wait. */
  'a worker dies right after it parked': {
    settings: { ...ONE_TURN(), wishes: ['cancel'], workers: 2, settleMs: 9_000 },
    act: async (stage) => {
      const parked = stage.workers.map((worker) =>
        worker.toRedis.when(textsOf('park-turn'), 1, (request) => {
          request.loseAnswer();
          void pause(20).then(() => worker.kill());
        }),
      );
      await until(() => parked.some((count) => count() > 0));
    },
  },

  /** The desk has the text, and the worker is not told. */
  'answers of the desk are lost': {
    settings: { wishes: ['status'], sendTimeoutMs: 1_000 },
    setUp: async (stage) => {
      const faults = [{ operation: 'reply', kind: 'drop_after', times: 3 }];
      await stage.desk.post('/admin/faults', { faults });
    },
  },

  /** The model forgets what it did and proposes it again; the order service does not look at keys. */
  'the model repeats itself': { settings: { keys: 'off', wishes: ['refund-twice'] } },

  /** The refund is paid, and the worker is not told; the order service does not look at keys. */
  'an answer of the order service is lost': {
    settings: { keys: 'off', wishes: ['refund'] },
    setUp: async (stage) => {
      const faults = [{ operation: 'refund', kind: 'drop_after', times: 2 }];
      await stage.orders.post('/admin/faults', { faults });
    },
  },

  /** The refund is on its way for longer than it is valid, and arrives after it was sent again. */
  'a refund arrives after its time': {
    settings: { ...ONE_TURN(), keys: 'off', wishes: ['refund'], toolTimeoutMs: 1_000 },
    act: (stage) => heldUp(stage, 3_500),
  },

  /** The worker dies with the refund on its way; it arrives when the next worker has looked already. */
  'a refund arrives when another worker has the turn': {
    settings: { ...ONE_TURN(), keys: 'off', wishes: ['refund'], toolTimeoutMs: 9_000, workers: 2 },
    act: async (stage) => {
      const sent = stage.workers.map((worker) =>
        worker.toOrders.when(REFUNDS, 1, (request) => {
          request.hold(7_000);
          void pause(20).then(() => worker.kill());
        }),
      );
      await until(() => sent.some((count) => count() > 0));
    },
  },

  /** Everybody's wake-up is lost. */
  'nobody is poked': { settings: { wakes: false, slackMs: 1_000, wishes: ['status'] } },

  /** A message comes when the last one is answered and its job is not over yet. No reconciler looks for a long time. */
  'a message comes in between': {
    settings: { ...ONE_TURN(), messages: 2, wishes: ['status'], slackMs: 600_000, paceMs: 0 },
    act: async (stage) => {
      const held = stage.workers.map(({ toRedis }) =>
        // What the worker says to BullMQ after the commit.
        toRedis.when(['{tk0}:deliveries:\r\n'], 1, (request) => request.hold(2_500)),
      );
      await until(() => held.some((count) => count() > 0));
    },
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

export async function play(name: ScenarioName): Promise<Finding[]> {
  const { settings, ...hooks }: Scenario = SCENARIOS[name];
  const { findings } = await run(scenarioSize(settings), hooks);
  return findings;
}
