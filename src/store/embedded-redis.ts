import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { TurnkeeperError } from '../contracts/index.ts';

export type RedisOrigin = 'path' | 'debian-packages';

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

/** There is no Redis on this machine and none could be fetched. */
export class RedisNotFoundError extends TurnkeeperError {
  readonly code = 'redis_not_found';

  constructor(detail: string) {
    super(
      `no redis-server or valkey-server on the PATH and ${detail}. Install one (brew install redis, apt-get install ` +
        'redis-server), start one (docker compose up redis), or point REDIS_URL at one',
    );
  }
}

/** The server ended before it answered. */
export class RedisStartError extends TurnkeeperError {
  readonly code = 'redis_start';

  constructor(port: number, output: string) {
    const busy = /address already in use/i.test(output);
    super(
      busy
        ? `port ${port} is in use by another program; stop that program or choose another port`
        : `redis-server did not start on port ${port}: ${lastLine(output)}`,
    );
  }
}

type RedisServer = { command: string; origin: RedisOrigin; libraries?: string };

/**
 * Starts a Redis on loopback that keeps what it acknowledges: append-only file, synced before each answer. It ends with
 * this process, however this process ends.
 *
 * @param options.dataDir holds the append-only file; a second start on the same folder joins the running server
 * @throws RedisNotFoundError, RedisStartError
 */
export async function startRedis(options: {
  dataDir: string;
  port?: number;
}): Promise<RunningRedis> {
  const { dataDir } = options;
  mkdirSync(dataDir, { recursive: true });
  const note = join(dataDir, 'running.json');
  const running = await joinRunning(note, options.port);
  if (running !== undefined) return running;

  const server = findRedisServer();
  const port = options.port ?? (await freePort());
  const child = spawn(
    server.command,
    [
      ...['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir],
      ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
      ...['--maxmemory-policy', 'noeviction', '--hz', '100', '--daemonize', 'no'],
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      // A Ctrl-C is for us: the server must outlive the turns that come to rest because of it.
      detached: true,
      env: server.libraries ? { ...process.env, LD_LIBRARY_PATH: server.libraries } : process.env,
    },
  );
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-4_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = new Promise<void>((resolve) => {
    child.on('exit', () => resolve());
    child.on('error', () => resolve());
  });
  let alive = true;
  void ended.then(() => {
    alive = false;
  });
  const { pid } = child;
  if (pid === undefined) throw new RedisStartError(port, 'could not be started');
  endWithThisProcess(pid);

  while (alive && !(await answers(port))) await pause(20);
  if (!alive) throw new RedisStartError(port, output);
  const version = /Redis version=([\d.]+)|version=([\d.]+)/.exec(output)?.[1] ?? 'unknown';
  const { origin } = server;
  writeFileSync(note, JSON.stringify({ pid, port, version, origin }));
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
    rmSync(note, { force: true });
  };
  return {
    ...{ url: `redis://127.0.0.1:${port}`, port, pid, version, origin, joined: false },
    kill,
    stop: () => kill('SIGTERM'),
  };
}

/** @throws RedisNotFoundError */
export function findRedisServer(): RedisServer {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of ['redis-server', 'valkey-server']) {
      const command = join(folder, name);
      if (existsSync(command)) return { command, origin: 'path' };
    }
  }
  return debianRedisServer();
}

async function joinRunning(
  note: string,
  wantedPort: number | undefined,
): Promise<RunningRedis | undefined> {
  if (!existsSync(note)) return undefined;
  const { pid, port, version, origin } = JSON.parse(readFileSync(note, 'utf8')) as {
    pid: number;
    port: number;
    version: string;
    origin: RedisOrigin;
  };
  if ((wantedPort !== undefined && wantedPort !== port) || !isAlive(pid) || !(await answers(port))) {
    return undefined;
  }
  return {
    ...{ url: `redis://127.0.0.1:${port}`, port, pid, version, origin, joined: true },
    stop: () => Promise.resolve(),
    kill: () => Promise.reject(new Error('a joined server belongs to the process that started it')),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * A tiny watcher holds the reading end of a pipe of ours. When this process ends, by whatever signal, the pipe closes and
 * the watcher ends the server. It is in a session of its own, so that a Ctrl-C reaches us first.
 */
function endWithThisProcess(pid: number): void {
  const watcher = spawn('/bin/sh', ['-c', `cat >/dev/null; kill ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  // An open handle on the pipe must not keep this process alive.
  (watcher.stdin as unknown as { unref?: () => void }).unref?.();
}

/** A PING over a bare socket: the server answers commands, not only connections. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ host: '127.0.0.1', port });
    const done = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(500, () => done(false));
    socket.on('error', () => done(false));
    socket.on('connect', () => socket.write('PING\r\n'));
    socket.on('data', (chunk) => done(chunk.toString().startsWith('+PONG')));
  });
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

// --- Debian's own packages, without root ------------------------------------------------------------------------------

/** Debian's redis-tools holds the server binary; its libraries are fetched beside it. Nothing is installed. */
function debianRedisServer(): RedisServer {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'turnkeeper');
  const root = join(cache, `redis-${process.arch}`);
  if (!existsSync(root)) fetchDebianPackages(cache, root);
  const command = join(root, 'usr/bin/redis-check-rdb');
  if (!existsSync(command)) throw new RedisNotFoundError(`${root} holds none; delete that folder`);
  // The binary decides by its name what it is.
  const server = join(root, 'redis-server');
  const libraries = readdirSync(join(root, 'usr/lib'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, 'usr/lib', entry.name))
    .join(delimiter);
  return { command: server, origin: 'debian-packages', libraries };
}

function fetchDebianPackages(cache: string, root: string): void {
  if (!hasCommand('apt-get') || !hasCommand('dpkg-deb')) {
    throw new RedisNotFoundError('this is no Debian or Ubuntu, where it could be fetched');
  }
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'turnkeeper-redis-'));
  try {
    const lists = join(work, 'lists');
    const archives = join(work, 'archives');
    for (const folder of [join(lists, 'partial'), join(archives, 'partial')]) {
      mkdirSync(folder, { recursive: true });
    }
    const apt = [
      ...['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache::Archives=${archives}`],
      ...['-o', `Dir::Cache::pkgcache=`, '-o', `Dir::Cache::srcpkgcache=`],
      ...['-o', 'APT::Sandbox::User=', '-o', 'Debug::NoLocking=1', '-qq'],
    ];
    run('apt-get', [...apt, 'update'], work);
    const shown = run('apt-cache', [...apt, 'show', 'redis-tools'], work);
    const needed = (/^Depends: (.+)$/m.exec(shown)?.[1] ?? '')
      .split(',')
      .map((one) => one.trim().split(/[ |(]/)[0] ?? '')
      .filter((name) => /^(lib|lua)/.test(name) && name !== 'libc6');
    run('apt-get', [...apt, 'download', 'redis-tools', ...needed], work);
    const unpacked = join(work, 'root');
    mkdirSync(unpacked);
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
      run('dpkg-deb', ['-x', file, unpacked], work);
    }
    run('ln', ['-s', 'usr/bin/redis-check-rdb', join(unpacked, 'redis-server')], work);
    run('cp', ['-a', unpacked, `${root}.${process.pid}`], work);
    // Whoever comes second keeps the first one's folder.
    if (existsSync(root)) rmSync(`${root}.${process.pid}`, { recursive: true });
    else renameSync(`${root}.${process.pid}`, root);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function hasCommand(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
}

function run(command: string, args: string[], cwd: string): string {
  const result = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (result.status !== 0) {
    throw new RedisNotFoundError(`${command} failed: ${lastLine(result.stderr ?? '')}`);
  }
  return result.stdout;
}
