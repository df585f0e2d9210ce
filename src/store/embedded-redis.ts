import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { TurnkeeperError } from '../contracts/index.ts';
import { ask, freePort } from './loopback.ts';
import { findRedisServer, type RedisOrigin, type RedisServer } from './redis-server.ts';
import { RunningNote, type Running } from './running-note.ts';

export { freePort } from './loopback.ts';

export type RunningRedis = {
  url: string;
  port: number;
  pid: number;
  version: string;
  origin: RedisOrigin;
  /** Another process of ours had started it; `stop` leaves it alone. */
  joined: boolean;
  /** Shuts it down after its data is on disk. */
  stop(): Promise<void>;
  /** Sends a signal, for tests that pull the plug. Resolves when the process is gone. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
};

/** The server ended before it answered, or its folder is taken. */
export class RedisStartError extends TurnkeeperError {
  readonly code = 'redis_start';
}

/**
 * Starts a Redis on loopback that keeps what it acknowledges: append-only file, synced before each answer. It ends with
 * this process, however this process ends.
 *
 * @param options.dataDir holds the append-only file; a second start on the same folder joins the running server
 * @param options.port default: a free one
 * @throws RedisNotFoundError, RedisStartError
 */
export async function startRedis(options: {
  dataDir: string;
  port?: number;
}): Promise<RunningRedis> {
  const { dataDir } = options;
  mkdirSync(dataDir, { recursive: true });
  const note = new RunningNote(dataDir);
  const server = findRedisServer();
  const port = options.port ?? (await freePort());
  for (;;) {
    let child: ChildProcess | undefined;
    const running = await note.readOrWrite(() => {
      child = launch(server, dataDir, port);
      return { pid: child.pid ?? 0, port, origin: server.origin };
    });
    if (child !== undefined) return started(child, running, note);
    const version = await versionOf(running, SILENT_MS);
    if (version === undefined) {
      note.remove(running);
      continue;
    }
    if (options.port === undefined || options.port === running.port) {
      return joined(running, version);
    }
    throw new RedisStartError(
      `the data in ${dataDir} is in use by a server on port ${running.port}; use that port or stop that server`,
    );
  }
}

function launch(server: RedisServer, dataDir: string, port: number): ChildProcess {
  const child = spawn(
    server.command,
    [
      ...['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir],
      ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
      ...['--maxmemory-policy', 'noeviction', '--hz', '100', '--daemonize', 'no'],
      // Most of our hashes are small: kept as lists they take half the memory. (The name that Redis 6 knows, too.)
      ...['--hash-max-ziplist-value', '512'],
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      // A Ctrl-C is for us: the server must outlive the turns that come to rest because of it.
      detached: true,
      env: server.libraries ? { ...process.env, LD_LIBRARY_PATH: server.libraries } : process.env,
    },
  );
  if (child.pid !== undefined) endWithThisProcess(child, child.pid);
  return child;
}

async function started(
  child: ChildProcess,
  running: Running,
  note: RunningNote,
): Promise<RunningRedis> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4_000);
    });
  }
  const ended = new Promise<undefined>((resolve) => {
    child.on('close', () => resolve(undefined));
    child.on('error', (error) => {
      output += `\n${error.message}`;
      resolve(undefined);
    });
  });
  const version = await versionOf(running);
  if (version === undefined) {
    await ended;
    note.remove(running);
    throw new RedisStartError(startProblem(running.port, output));
  }
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
    note.remove(running);
  };
  const url = `redis://127.0.0.1:${running.port}`;
  return { ...running, url, version, joined: false, kill, stop: () => kill('SIGTERM') };
}

function joined(running: Running, version: string): RunningRedis {
  return {
    ...running,
    url: `redis://127.0.0.1:${running.port}`,
    version,
    joined: true,
    stop: () => Promise.resolve(),
    kill: () => Promise.reject(new Error('a joined server belongs to the process that started it')),
  };
}

/** A process id may belong to another program by now: one that does not answer for so long is no server. Milliseconds. */
const SILENT_MS = 5_000;

/**
 * The version of the server with this process id on this port, as soon as it has read its data and answers commands;
 * `undefined` when the process is gone, is silent for too long, or somebody else has the port.
 */
async function versionOf({ pid, port }: Running, silentMs = Infinity): Promise<string | undefined> {
  let heardAt = Date.now();
  while (isAlive(pid) && Date.now() - heardAt < silentMs) {
    const info = await ask(port, 'INFO server');
    const owner = /process_id:(\d+)/.exec(info ?? '')?.[1];
    if (owner !== undefined && owner !== String(pid)) return undefined;
    if (owner !== undefined) heardAt = Date.now();
    if (owner !== undefined && (await ask(port, 'PING'))?.startsWith('+PONG')) {
      return /redis_version:(\S+)/.exec(info ?? '')?.[1] ?? 'unknown';
    }
    await pause(20);
  }
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0) && !isZombie(pid);
  } catch {
    return false;
  }
}

/** In a container without an init process nobody clears away a server whose parent was killed. */
function isZombie(pid: number): boolean {
  const state = `/proc/${pid}/stat`;
  return existsSync(state) && / Z /.test(readFileSync(state, 'utf8'));
}

/**
 * A tiny watcher holds the reading end of a pipe of ours. When this process ends, by whatever signal, the pipe closes and
 * the watcher ends the server. It is in a session of its own, so that a Ctrl-C reaches us first.
 */
function endWithThisProcess(server: ChildProcess, pid: number): void {
  const watcher = spawn('/bin/sh', ['-c', `read -r _; kill ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  // An open handle on the pipe must not keep this process alive.
  (watcher.stdin as unknown as { unref?: () => void }).unref?.();
  // The process id may then be given to another program.
  server.on('exit', () => watcher.kill('SIGKILL'));
}

function startProblem(port: number, output: string): string {
  if (/address already in use/i.test(output)) {
    return `port ${port} is in use by another program; stop that program or choose another port`;
  }
  return `redis-server did not start on port ${port}: ${output.trim().split('\n').at(-1) ?? ''}`;
}
