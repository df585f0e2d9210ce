import { DatabaseSync } from 'node:sqlite';

/**
 * Opens (or creates) the service's own SQLite file.
 * WAL with `synchronous = NORMAL`: a committed transaction survives SIGKILL of the process at any moment;
 * a power cut may take the last few commits, never the consistency of the file.
 */
export function openDatabase(file: string, tables: string): DatabaseSync {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000;');
  db.exec(tables);
  return db;
}

/** Runs `work` as one atomic step; a throw undoes it. Steps may be nested. `work` must be synchronous. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('SAVEPOINT step');
  try {
    const result = work();
    db.exec('RELEASE step');
    return result;
  } catch (error) {
    undo(db);
    throw error;
  }
}

/** Runs `work` and takes back everything it wrote: the answer of an act that never happened. */
export function rehearse<T>(db: DatabaseSync, work: () => T): T {
  db.exec('SAVEPOINT step');
  try {
    return work();
  } finally {
    undo(db);
  }
}

function undo(db: DatabaseSync): void {
  db.exec('ROLLBACK TO step; RELEASE step');
}
