import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A temporary folder and the processes of a run. A tiny watcher in a session of its own sees to it that neither outlives
 * us, also when we are killed: it holds the reading end of a pipe that the system closes when we are gone.
 */
export class Guard {
  readonly folder: string;
  readonly #notes: string;
  readonly #watcher;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'turnkeeper-crash-'));
    this.#notes = join(this.folder, 'processes');
    mkdirSync(this.#notes);
    const script =
      'read -r _; for note in "$1"/processes/*; do kill -9 "${note##*/}" 2>/dev/null; done; rm -rf "$1"';
    this.#watcher = spawn('/bin/sh', ['-c', script, 'guard', this.folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#watcher.stdin.on('error', () => {});
    this.#watcher.unref();
    // An open handle on the pipe must not keep this process alive.
    (this.#watcher.stdin as unknown as { unref?: () => void }).unref?.();
  }

  /** A folder inside of the run's folder. */
  path(name: string): string {
    return join(this.folder, name);
  }

  started(pid: number): void {
    writeFileSync(join(this.#notes, String(pid)), '');
  }

  /** Its id may now be given to another program. */
  ended(pid: number): void {
    rmSync(join(this.#notes, String(pid)), { force: true });
  }

  /** Everything was ended in the proper way. @param keep leaves the folder for somebody to look at */
  release(keep = false): void {
    this.#watcher.kill('SIGKILL');
    if (!keep) rmSync(this.folder, { recursive: true, force: true });
  }
}
