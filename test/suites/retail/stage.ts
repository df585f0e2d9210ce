import { ServiceClient } from '../../../examples/technova/service/service-client.ts';
import type { RunningService } from '../../../examples/technova/service/service-process.ts';
import { startTicketDesk } from '../../../examples/technova/ticket-desk/start.ts';
import { acceptMessage, Queues } from '../../../src/producers/index.ts';
import { connect, conversationIdOf, Store } from '../../../src/store/index.ts';
import { Records, type TurnRecord } from '../../../src/store/records.ts';
import { Guard } from '../../crash/guard.ts';
import { RedisProcess } from '../../crash/redis-process.ts';
import type { Task } from './data.ts';
import { Fleet } from './fleet.ts';
import { FrontDoor } from './front-door.ts';

const SOURCE = 'retail';
/** A turn that takes longer hangs. Milliseconds. */
const LONGEST_TURN_MS = 120_000;

/** A conversation came to its end: its turn, and what was written to the ticket. */
export type Played = { turn: TurnRecord; replies: readonly string[] };

/** The whole pipeline: a Redis, worker processes, the suite's shop and a ticket desk. */
export class Stage {
  readonly door: FrontDoor;
  readonly fleet: Fleet;
  readonly #guard: Guard;
  readonly #redis: RedisProcess;
  readonly #service: RunningService;
  readonly #desk: ServiceClient;
  readonly #store: Store;
  readonly #queues: Queues;
  readonly #records: Records;

  private constructor(
    parts: { door: FrontDoor; fleet: Fleet; guard: Guard; redis: RedisProcess },
    service: RunningService,
  ) {
    this.door = parts.door;
    this.fleet = parts.fleet;
    this.#guard = parts.guard;
    this.#redis = parts.redis;
    this.#service = service;
    this.#desk = new ServiceClient(service.url);
    this.#store = new Store({ redis: connect(parts.redis.url), slackMs: 1_000 });
    this.#queues = new Queues(this.#store);
    this.#records = new Records(this.#store);
  }

  static async open(options: { seed: number; workers: number }): Promise<Stage> {
    const guard = new Guard();
    const [redis, door, service] = await Promise.all([
      RedisProcess.start(guard.path('redis')),
      FrontDoor.open(options.seed),
      startTicketDesk(),
    ]);
    const fleet = await Fleet.start(options.workers, guard, {
      REDIS_URL: redis.url,
      SHOP_URL: door.url,
      DESK_URL: service.url,
      WORKER_LOG: guard.path('workers.log'),
      // A worker is started again and again: its code is compiled once.
      NODE_COMPILE_CACHE: guard.path('compiled'),
    });
    return new Stage({ door, fleet, guard, redis }, service);
  }

  /** Hands a task's message in as the customer's and answers once the ticket has its answer. */
  async play(task: Task, customer: string, conversationId: string): Promise<Played> {
    await acceptMessage(this.#store, this.#queues, {
      source: SOURCE,
      conversationId,
      messageId: 'm1',
      subject: task.id,
      text: task.messages.join('\n'),
      requester: { id: customer, assurance: 'verified' },
    });
    await this.#desk.waitFor(`applied:reply:${conversationId}`, LONGEST_TURN_MS);
    const id = conversationIdOf(SOURCE, conversationId);
    const turnId = (await this.#records.conversation(id))?.lastTurn;
    const turn = await this.#records.turn(turnId ?? '');
    if (turn === undefined) throw new Error(`${conversationId} was answered without a turn`);
    const written = await this.#desk.log({
      kind: 'effect',
      operation: 'reply',
      subject: conversationId,
    });
    return { turn, replies: written.map((entry) => String(entry['text'])) };
  }

  async close(): Promise<void> {
    await this.fleet.close();
    await this.#queues.close();
    this.#store.redis.disconnect();
    await Promise.all([this.door.close(), this.#service.close(), this.#redis.stop()]);
    this.#guard.release();
  }
}
