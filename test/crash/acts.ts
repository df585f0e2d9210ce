import { setTimeout as pause } from 'node:timers/promises';
import type { Request } from '../support/tcp-proxy.ts';
import type { PlannedMessage } from './load.ts';
import { sampleOne } from './phases.ts';
import type { Stage } from './stage.ts';
import type { WorkerProcess } from './worker-process.ts';

// What scenarios do to workers and their connections.

/** The conversation that scenarios with one turn are about. */
export const FIRST = 'crash/c1';

/** Conversation 1 is hit at its first step, conversation 2 at its second one, and so on to the last one of the longest turn. */
export const EACH_STEP = {
  conversations: 32,
  messages: 1,
  wishes: ['cancel-and-refund'],
  workers: 3,
  sendTimeoutMs: 4_000,
  timeLimitMs: 90_000,
} as const;

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(20);
}

/** Does something to the first request of any worker that contain one of `texts`; resolves when it is done. */
export async function first(
  { workers }: Stage,
  way: 'toRedis' | 'toOrders',
  texts: readonly string[],
  act: (request: Request, worker: WorkerProcess) => void,
): Promise<void> {
  let done = false;
  for (const worker of workers) {
    worker[way].when(texts, 1, (request) => {
      if (!done) act(request, worker);
      done = true;
    });
  }
  await until(() => done);
}

/** Does something to the nth request of the nth conversation that runs one of our scripts. */
export async function atEachStep(
  { workers }: Stage,
  act: (request: Request, worker: WorkerProcess) => void,
): Promise<void> {
  const steps = Array.from({ length: EACH_STEP.conversations }, () => 0);
  let done = 0;
  for (const worker of workers) {
    for (const index of steps.keys()) {
      // Our scripts are the only ones that get the conversation as an argument of its own.
      worker.toRedis.when([`\r\ncrash/c${index + 1}\r\n`], Infinity, (request) => {
        steps[index] = (steps[index] ?? 0) + 1;
        if (steps[index] !== index + 1) return;
        done += 1;
        act(request, worker);
      });
    }
  }
  await until(() => done >= STEPS_AT_LEAST);
}

/** So many steps a turn that cancels and refunds takes, its texts included, whatever happens. */
const STEPS_AT_LEAST = 20;

/** Customers begin one after the other, so that a fault hits a few of them and not all. */
export function oneByOne({ ticket }: PlannedMessage): Promise<void> {
  return pause(400 * Number(ticket.conversationId.slice(1)));
}

/** A worker parks its turn, adds the child that is to wake it, and dies before its job waits for that child. */
export async function dieBeforeTheJobWaits(stage: Stage): Promise<void> {
  let requests = 0;
  for (const worker of stage.workers) {
    // What names the children of a job: adding one, then moving the job to those that wait.
    worker.toRedis.when(['turns:1:dependencies'], 2, (request) => {
      requests += 1;
      if (requests !== 2) return;
      request.lose();
      void worker.kill();
    });
  }
  await until(() => requests > 1);
}

/** The worker that has the first conversation, as soon as one has it. */
export async function holder(
  { onlooker, workers }: Stage,
  besides?: WorkerProcess,
): Promise<WorkerProcess> {
  for (;;) {
    const workerId = (await sampleOne(onlooker, FIRST))?.workerId;
    const found = workers.find((worker) => worker.workerId === workerId);
    if (found !== undefined && found !== besides) return found;
    await pause(20);
  }
}

/** Puts a worker to sleep until another one has its turn, and wakes it up at once. */
export async function takenOver(stage: Stage, sleeper: WorkerProcess): Promise<void> {
  sleeper.stop();
  await holder(stage, sleeper);
  sleeper.goOn();
}

/** After what it is sending has left. */
export function killSoon(worker: WorkerProcess): void {
  void pause(20).then(() => worker.kill());
}
