import { setTimeout as pause } from 'node:timers/promises';
import { key } from '../../src/store/keys.ts';
import type { ScriptName } from '../../src/store/scripts.ts';
import {
  atEachStep,
  dieBeforeTheJobWaits,
  EACH_STEP,
  first,
  FIRST,
  holder,
  killSoon,
  oneByOne,
  takenOver,
  until,
} from './acts.ts';
import type { Finding } from './judge.ts';
import { sampleOne } from './phases.ts';
import { run, type RunHooks } from './run.ts';
import { textsOf } from './script-texts.ts';
import { scenarioSize, type RunSettings } from './settings.ts';

type Scenario = { settings: Partial<RunSettings> } & RunHooks;

const ONE_TURN = { conversations: 1, messages: 1 };
/** A model slow enough that another worker can take its turn over in the middle of an answer. */
const SLOW_MODEL = { ...ONE_TURN, workers: 2, modelMs: 2_500, keys: 'off' } as const;
const REFUND = 'POST /orders/1-1/refunds';

/**
 * Single faults at a chosen moment: small runs that hit on purpose what the big run hits by chance. Same processes, same
 * judge.
 */
export const SCENARIOS = {
  'nothing goes wrong': {
    settings: { conversations: 6, messages: 3, workers: 2 },
  },

  /** Far longer than a few looks take. */
  'cancellations take their time': {
    settings: { conversations: 4, messages: 1, wishes: ['cancel'], settleMs: [5_000, 6_000] },
  },

  'everything is handed over twice at once': {
    settings: { twice: 1, wishes: ['refund'] },
  },

  /** Executed, but nobody is told: the client sends it again. */
  'answers of Redis are lost': {
    settings: { wishes: ['cancel-and-refund', 'refund'], workers: 2, sendTimeoutMs: 1_000 },
    act: async (stage) => {
      const scripts: ScriptName[] = [
        ...(['claim-turn', 'record-transition', 'park-turn', 'commit-turn'] as const),
        ...(['record-verdict', 'claim-delivery', 'settle-delivery'] as const),
      ];
      const lost = scripts.map((script) => {
        const counts = stage.workers.map(({ toRedis }) =>
          toRedis.when(textsOf(script, stage.slackMs), 3, (request) => request.loseAnswer()),
        );
        return () => counts.reduce((sum, count) => sum + count(), 0);
      });
      await until(() => lost.every((count) => count() > 1));
    },
  },

  /** Nobody goes on with the next message in the same step, and there is one. */
  'answers to commits are lost': {
    settings: { wishes: ['status'], messages: 4, messagesPerWakeUp: 1, sendTimeoutMs: 1_000 },
    act: async (stage) => {
      const texts = textsOf('commit-turn', stage.slackMs);
      const counts = stage.workers.map(({ toRedis }) =>
        toRedis.when(texts, 6, (request) => request.loseAnswer()),
      );
      await until(() => counts.some((count) => count() > 2));
    },
  },

  'a worker dies before each step of a turn': {
    settings: EACH_STEP,
    mayWrite: oneByOne,
    act: (stage) =>
      atEachStep(stage, (request, worker) => {
        request.lose();
        void worker.kill();
      }),
  },

  'a worker dies after each step of a turn': {
    settings: EACH_STEP,
    mayWrite: oneByOne,
    act: (stage) =>
      atEachStep(stage, (request, worker) => {
        request.loseAnswer();
        killSoon(worker);
      }),
  },

  'the answer to each step of a turn is lost': {
    settings: EACH_STEP,
    mayWrite: oneByOne,
    act: (stage) => atEachStep(stage, (request) => request.loseAnswer()),
  },

  /** A worker sleeps while the model thinks, another one takes the turn over, the first one wakes up. */
  'a worker wakes up too late to act': {
    settings: { ...SLOW_MODEL, wishes: ['refund'] },
    act: async (stage) => takenOver(stage, await holder(stage)),
  },

  'a worker wakes up too late to commit': {
    settings: { ...SLOW_MODEL, wishes: ['status'] },
    act: async (stage) => {
      await until(async () => (await stage.orders.log({ operation: 'get' })).length > 0);
      // What the order service said is on record, and the model thinks about its reply.
      await until(
        async () => (await sampleOne(stage.onlooker, FIRST))?.phase === 'requesting_model',
      );
      await takenOver(stage, await holder(stage));
    },
  },

  /** An older copy of the data was put back, and the number of a claim comes up a second time. */
  'two claims have the same number': {
    settings: { ...SLOW_MODEL, wishes: ['refund'] },
    act: async (stage) => {
      const sleeper = await holder(stage);
      const { redis, store } = stage.onlooker;
      await redis.hset(key(store.tagOf(FIRST), 'conv', FIRST), 'epoch', '0', 'token', '');
      await takenOver(stage, sleeper);
    },
  },

  /** Between the park on record and the job's move to those that wait. */
  'a worker dies right after it parked': {
    settings: { ...ONE_TURN, wishes: ['cancel'], workers: 2, settleMs: [9_000, 9_000] },
    act: async (stage) => {
      await first(stage, 'toRedis', textsOf('park-turn', stage.slackMs), (request, worker) => {
        request.loseAnswer();
        killSoon(worker);
      });
    },
  },

  /** Its child is there, and the job that should wait for it is run again. */
  'a worker dies before its job waits': {
    // Nobody agrees before another worker has the job.
    settings: { ...ONE_TURN, wishes: ['refund-big'], workers: 2, approveEveryMs: 7_000 },
    act: dieBeforeTheJobWaits,
  },

  /** The turn had been recovered, found nothing decided, and was about to wait again. */
  'an approval comes just before its turn waits for it again': {
    settings: { ...ONE_TURN, wishes: ['refund-big'], workers: 3, approveEveryMs: 3_600_000 },
    act: async (stage) => {
      await dieBeforeTheJobWaits(stage);
      await first(stage, 'toRedis', textsOf('park-turn', stage.slackMs), (request) =>
        request.hold(2_000),
      );
      const { store, queues, records } = stage.onlooker;
      const [approval] = await records.pendingApprovals();
      if (approval === undefined) throw new Error('nobody was asked');
      const { id, conversationId, turnId } = approval;
      await store.decideApproval(id, 'approved', 'ana');
      const park = (await store.parkedTurn(conversationId, turnId))?.park.number ?? 1;
      await queues.hurry({ conversationId, turnId, park }, 'approval');
    },
  },

  'answers of the desk are lost': {
    settings: { wishes: ['status'], sendTimeoutMs: 1_000 },
    setUp: async (stage) => {
      const faults = [{ operation: 'reply', kind: 'drop_after', times: 3 }];
      await stage.desk.post('/admin/faults', { faults });
    },
  },

  /** The desk has the text; who asks Redis what is to be done about it has to ask twice. */
  'answers of the desk and about its texts are lost': {
    settings: { wishes: ['status'], sendTimeoutMs: 1_000 },
    setUp: async (stage) => {
      const faults = [{ operation: 'reply', kind: 'drop_after', times: 3 }];
      await stage.desk.post('/admin/faults', { faults });
      let asked = 0;
      for (const { toRedis } of stage.workers) {
        toRedis.when(textsOf('claim-delivery', stage.slackMs), Infinity, (request) => {
          asked += 1;
          if (asked % 2 === 1) request.loseAnswer();
        });
      }
    },
  },

  /** Only the ledger stands between the model and a second payment. */
  'the model proposes a refund again': { settings: { keys: 'off', wishes: ['refund-twice'] } },

  'answers of the order service are lost': {
    settings: { keys: 'off', wishes: ['refund'] },
    setUp: async (stage) => {
      const faults = [{ operation: 'refund', kind: 'drop_after', times: 2 }];
      await stage.orders.post('/admin/faults', { faults });
    },
  },

  /** It was given up, and sent again, before it arrives. */
  'a refund arrives after its time': {
    settings: { ...ONE_TURN, keys: 'off', wishes: ['refund'], toolTimeoutMs: 1_000 },
    act: async (stage) => {
      await first(stage, 'toOrders', [REFUND], (request) => request.hold(4_000));
      await pause(4_500);
    },
  },

  /** The worker that sent it is dead, and the next one has looked for it already. */
  'a refund arrives late, within its time': {
    settings: { ...ONE_TURN, keys: 'off', wishes: ['refund'], toolTimeoutMs: 9_000, workers: 2 },
    act: async (stage) => {
      await first(stage, 'toOrders', [REFUND], (request, worker) => {
        request.hold(7_000);
        killSoon(worker);
      });
      await pause(7_500);
    },
  },

  'every wake-up is lost': {
    settings: { wakes: false, slackMs: 1_000, wishes: ['status'] },
  },

  /** The one before is answered, its job is not over, and nobody looks after the conversation for a long time. */
  'a message comes in between': {
    settings: { ...ONE_TURN, messages: 2, wishes: ['status'], slackMs: 600_000 },
    mayWrite: async ({ number }, stage) => {
      if (number === 1) {
        // What a worker says to BullMQ between the commit and the end of the job.
        for (const { toRedis } of stage.workers)
          toRedis.when(['poke'], 1, (one) => one.hold(2_500));
        return;
      }
      const { redis, store } = stage.onlooker;
      await until(async () => (await redis.zcard(key(store.tagOf(FIRST), 'ended'))) > 0);
    },
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

export async function play(name: ScenarioName): Promise<Finding[]> {
  const { settings, ...hooks }: Scenario = SCENARIOS[name];
  const { findings } = await run(scenarioSize(settings), hooks);
  return findings;
}
