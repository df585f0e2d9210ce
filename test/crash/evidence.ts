import { readFileSync } from 'node:fs';
import type { LogEntry } from '../../examples/technova/service/event-log.ts';
import type { LedgerRow } from '../../src/contracts/index.ts';
import { key } from '../../src/store/keys.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import type { Approvers } from './approvers.ts';
import type { AcceptedMessage, Customers } from './customers.ts';
import type { PlannedMessage } from './load.ts';
import type { Stage } from './stage.ts';

/** What a worker complained about. */
export type Complaint = { msg: string; err?: { message?: string }; error?: string };

/** Why, as far as the worker could tell. */
export function reasonOf({ err, error }: Complaint): string | undefined {
  return err?.message ?? error;
}

/** All that a run is judged by: the logs of the two services, the store, and what the callers were told. */
export type Evidence = {
  planned: readonly (readonly PlannedMessage[])[];
  accepted: readonly AcceptedMessage[];
  turns: readonly TurnRecord[];
  /** Turns whose record makes no sense, and why. */
  unreadable: readonly string[];
  /** Turn records in the store, listed or not. */
  turnsStored: number;
  ledger: readonly LedgerRow[];
  orderLog: readonly LogEntry[];
  deskLog: readonly LogEntry[];
  approvals: Approvers['answers'];
  complaints: readonly Complaint[];
  endedByThemselves: readonly string[];
};

export async function collect(
  stage: Stage,
  planned: readonly (readonly PlannedMessage[])[],
  customers: Pick<Customers, 'accepted'>,
  approvers: Pick<Approvers, 'answers'>,
): Promise<Evidence> {
  const { records, store, redis } = stage.onlooker;
  const ids = await records.turnIds({ limit: 100_000 });
  const unreadable: string[] = [];
  const turns = await inBatches(ids, (id) =>
    records.turn(id).catch((error: unknown) => {
      unreadable.push(`turn ${id}: ${String(error)}`);
      return undefined;
    }),
  );
  const conversationIds = planned.flatMap(([first]) => first?.conversationId ?? []);
  const ledger = await inBatches(conversationIds, (id) => records.ledger(id));
  const [tag = ''] = store.tags();
  const [orderLog, deskLog] = await Promise.all([stage.orders.log(), stage.desk.log()]);
  return {
    planned,
    accepted: customers.accepted,
    turns: turns.flatMap((turn) => turn ?? []),
    unreadable,
    turnsStored: await countKeys(redis, `${key(tag, 'turn')}:*`),
    ledger: ledger.flat(),
    orderLog,
    deskLog,
    approvals: approvers.answers,
    complaints: stage.workers.flatMap((_, index) => readLog(stage.logOf(index + 1))),
    endedByThemselves: stage.workers.flatMap((worker) => worker.endedByThemselves),
  };
}

async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += 100) {
    results.push(...(await Promise.all(items.slice(at, at + 100).map(work))));
  }
  return results;
}

async function countKeys(redis: Stage['onlooker']['redis'], pattern: string): Promise<number> {
  const escaped = pattern.replaceAll(/[{}[\]]/g, String.raw`\$&`);
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', escaped, 'COUNT', 1_000);
    for (const name of keys) found.add(name);
    cursor = next;
  } while (cursor !== '0');
  return found.size;
}

/** A process that was killed in the middle of a line leaves half of it. */
function readLog(file: string): Complaint[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Complaint];
    } catch {
      return [];
    }
  });
}
