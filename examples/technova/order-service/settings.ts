import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';

const Switch = z.enum(['on', 'off']);

/** Something else changes the order right after its nth authoritative read, before the reader can act on it. */
export const Race = z.strictObject({
  orderId: z.string().min(1),
  /** Counted from 1 since the race was set. */
  afterRead: z.int().min(1).default(1),
  change: z.enum(['ship', 'reinstate']).default('ship'),
});
export type Race = z.infer<typeof Race>;

export const Settings = z.strictObject({
  /** Off: every refund asked for is paid, whatever the order's state. */
  refundGuard: Switch,
  /** Off: keys are ignored, but still logged. */
  idempotency: Switch,
  /** How far the eventual read lags behind. */
  replicaLagMs: z.int().min(0),
  /** 0: a refund is settled when it is created. */
  refundSettleMs: z.int().min(0),
  /** Status of an accepted cancellation: 202, or 200 with the same body. */
  acceptedStatus: z.union([z.literal(202), z.literal(200)]),
  /** Moves the service's clock (validity, settling, replica); lets a test pass time without waiting. */
  clockOffsetMs: z.int(),
  /** "Now" for the refund window; `null`: the service's clock. */
  businessNow: z.iso.datetime().nullable(),
  race: Race.nullable(),
});
export type Settings = z.infer<typeof Settings>;

export const SettingsChange = Settings.partial();

const DEFAULTS: Settings = {
  refundGuard: 'on',
  idempotency: 'on',
  replicaLagMs: 0,
  refundSettleMs: 0,
  acceptedStatus: 202,
  clockOffsetMs: 0,
  businessNow: null,
  race: null,
};

/** The switches; kept in the database, so that they survive a restart. */
export class SettingsStore {
  readonly #db: DatabaseSync;
  #current: Settings;

  constructor(db: DatabaseSync) {
    this.#db = db;
    const row = db.prepare("SELECT document FROM settings WHERE name = 'current'").get();
    const stored =
      row === undefined ? {} : SettingsChange.parse(JSON.parse(String(row['document'])));
    this.#current = Settings.parse({ ...DEFAULTS, ...stored });
  }

  get current(): Settings {
    return this.#current;
  }

  /** Changes what is named, keeps the rest. */
  change(changed: z.infer<typeof SettingsChange>): Settings {
    this.#current = Settings.parse({ ...this.#current, ...changed });
    this.#db
      .prepare("INSERT OR REPLACE INTO settings (name, document) VALUES ('current', ?)")
      .run(JSON.stringify(this.#current));
    return this.#current;
  }
}
