import { EventEmitter, once } from 'node:events';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** One line of the log. `event` is what `waitFor` can wait on, `verb:operation:subject`; other fields depend on `kind`. */
export interface LogEntry {
  seq: number;
  at: string;
  kind: string;
  event: string | null;
  [field: string]: unknown;
}

export interface LogFilter {
  /** Only entries with a greater `seq`. */
  after: number;
  kind?: string | undefined;
  operation?: string | undefined;
  /** The order or conversation the entry is about. */
  subject?: string | undefined;
}

export interface WaitOptions {
  /** Only entries with a greater `seq` count; 0 means an event of the past answers at once. */
  after: number;
  timeoutMs: number;
  closing: AbortSignal;
}

const TABLE = `
CREATE TABLE IF NOT EXISTS log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL, event TEXT,
  operation TEXT, subject TEXT, fields TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS log_event ON log (event, seq);
CREATE TRIGGER IF NOT EXISTS log_is_never_changed BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS log_is_never_shortened BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
`;

const SELECT = 'SELECT seq, at, kind, event, fields FROM log';

/** The append-only record of what arrived and what was done. An entry commits or vanishes with the transaction that wrote it. */
export class EventLog {
  readonly #db: DatabaseSync;
  readonly #now: () => number;
  readonly #insert: StatementSync;
  readonly #appended = new EventEmitter().setMaxListeners(0);

  constructor(db: DatabaseSync, now: () => number) {
    db.exec(TABLE);
    this.#db = db;
    this.#now = now;
    this.#insert = db.prepare(
      'INSERT INTO log (at, kind, event, operation, subject, fields) VALUES (?, ?, ?, ?, ?, ?)',
    );
  }

  append(
    kind: string,
    event: string | null,
    about: { operation: string; subject: string | null },
    fields: Record<string, unknown>,
  ): void {
    const at = new Date(this.#now()).toISOString();
    const line = JSON.stringify({ operation: about.operation, ...fields });
    this.#insert.run(at, kind, event, about.operation, about.subject, line);
    // A transaction is synchronous, so this runs after its commit; waiters read the table again.
    queueMicrotask(() => this.#appended.emit('appended'));
  }

  entries(filter: LogFilter): LogEntry[] {
    const rows = this.#db
      .prepare(
        `${SELECT} WHERE seq > :after AND (:kind IS NULL OR kind = :kind)
         AND (:operation IS NULL OR operation = :operation) AND (:subject IS NULL OR subject = :subject) ORDER BY seq`,
      )
      .all({
        after: filter.after,
        kind: filter.kind ?? null,
        operation: filter.operation ?? null,
        subject: filter.subject ?? null,
      });
    return rows.map(toEntry);
  }

  /** The first matching entry, now or later; `undefined` when the time is over or the service closes. */
  async waitFor(event: string, options: WaitOptions): Promise<LogEntry | undefined> {
    const over = AbortSignal.any([options.closing, AbortSignal.timeout(options.timeoutMs)]);
    for (;;) {
      const row = this.#db
        .prepare(`${SELECT} WHERE event = ? AND seq > ? ORDER BY seq LIMIT 1`)
        .get(event, options.after);
      if (row !== undefined) return toEntry(row);
      try {
        await once(this.#appended, 'appended', { signal: over });
      } catch {
        return undefined;
      }
    }
  }
}

function toEntry(row: Record<string, unknown>): LogEntry {
  const fields = JSON.parse(String(row['fields'])) as Record<string, unknown>;
  const event = typeof row['event'] === 'string' ? row['event'] : null;
  return {
    seq: Number(row['seq']),
    at: String(row['at']),
    kind: String(row['kind']),
    event,
    ...fields,
  };
}
