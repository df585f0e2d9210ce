import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';
import type { Store } from '../../src/store/index.ts';

export const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export type Ran = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
};

export type RunOptions = {
  /** Whose records the command speaks about. */
  store?: Store;
  environment?: Record<string, string | undefined>;
  input?: string | Buffer;
  /** Default: an empty directory, so that no configuration and no .env is found. */
  directory?: string;
  /** As at a terminal, where Ctrl-C goes to everything the command has started. */
  ownGroup?: boolean;
};

/** Starts the real command line in a process of its own. */
export function startCli(args: readonly string[], options: RunOptions = {}) {
  const { store, environment = {}, input, directory = emptyDirectory() } = options;
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: directory,
    detached: options.ownGroup ?? false,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      REDIS_URL: inject('redisUrl'),
      ...(store === undefined ? {} : { TURNKEEPER_PREFIX: prefixOf(store) }),
      ...environment,
    },
  });
  let stdout = '';
  let stderr = '';
  const lookers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    lookers.forEach((look) => look());
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    lookers.forEach((look) => look());
  });
  // A command that ends before it has read everything closes its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  const ended = new Promise<Ran>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  /** Resolves once the text has been written to stdout or stderr; rejects when the process ends without it. */
  const wrote = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (stdout.includes(text) || stderr.includes(text)) resolve();
      };
      lookers.add(look);
      look();
      void ended.then((ran) =>
        reject(new Error(`ended without "${text}": ${JSON.stringify(ran)}`)),
      );
    });
  return { child, ended, wrote };
}

export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return startCli(args, options).ended;
}

/** What a command printed as JSON. */
export async function runJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], options);
  if (stdout === '') throw new Error(`nothing on stdout, code ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

export function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnkeeper-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function prefixOf(store: Store): string {
  // `{<prefix>0}` of a store with one lane.
  return store.tags()[0]?.slice(1, -2) ?? '';
}
