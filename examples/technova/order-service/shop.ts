import type { DatabaseSync } from 'node:sqlite';
import { CallRunner } from '../service/call-runner.ts';
import { openDatabase } from '../service/database.ts';
import { EventLog } from '../service/event-log.ts';
import { FaultScript } from '../service/fault-script.ts';
import { KeyBook } from './key-book.ts';
import { OrderBook } from './order-book.ts';
import { RaceScript } from './race-script.ts';
import { RefundBook } from './refund-book.ts';
import { Settler } from './settler.ts';
import { SettingsStore } from './settings.ts';
import { TABLES } from './tables.ts';

/** Everything one order service holds. */
export interface Shop {
  db: DatabaseSync;
  orders: OrderBook;
  refunds: RefundBook;
  keys: KeyBook;
  log: EventLog;
  settings: SettingsStore;
  faults: FaultScript;
  race: RaceScript;
  settler: Settler;
  calls: CallRunner;
  /** The service's clock, epoch ms. */
  now: () => number;
}

/** Opens the shop's database and puts its parts together. `clock` is epoch ms. */
export function openShop(dataFile: string, clock: () => number, closing: AbortSignal): Shop {
  const db = openDatabase(dataFile, TABLES);
  const settings = new SettingsStore(db);
  const faults = new FaultScript();
  const now = (): number => clock() + settings.current.clockOffsetMs;
  const log = new EventLog(db, now);
  const parts = {
    db,
    orders: new OrderBook(db),
    refunds: new RefundBook(db),
    log,
    now,
  };
  return {
    ...parts,
    settings,
    faults,
    keys: new KeyBook(db),
    race: new RaceScript(settings),
    settler: new Settler(parts),
    calls: new CallRunner({ db, log, faults, closing }),
  };
}
