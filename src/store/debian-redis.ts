import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

type DebianRedis = { command: string; libraries: string } | { missing: string };

/**
 * The server out of Debian's or Ubuntu's own packages, unpacked into the user's cache folder: fetched once, needs no root,
 * installs nothing. `missing` says why there is none.
 *
 * @param path the folders that programs are looked up in
 */
export function debianRedis(path: readonly string[]): DebianRedis {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'turnkeeper');
  const root = join(cache, `redis-${process.arch}`);
  if (!existsSync(root)) {
    const programs = ['apt-get', 'apt-cache', 'dpkg-deb'];
    const has = (name: string): boolean => path.some((folder) => existsSync(join(folder, name)));
    if (!programs.every(has)) {
      return { missing: 'this is no Debian or Ubuntu, where it could be fetched' };
    }
    try {
      fetchInto(root);
    } catch (error) {
      return { missing: error instanceof Error ? error.message : String(error) };
    }
  }
  if (!existsSync(join(root, BINARY))) return { missing: `${root} holds none; delete that folder` };
  const libraries = readdirSync(join(root, 'usr/lib'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, 'usr/lib', entry.name))
    .join(delimiter);
  return { command: join(root, 'redis-server'), libraries };
}

/** The package redis-tools holds the server: one binary that decides by its name what it is. */
const BINARY = 'usr/bin/redis-check-rdb';

function fetchInto(root: string): void {
  const work = mkdtempSync(join(tmpdir(), 'turnkeeper-redis-'));
  const own = `${root}.${process.pid}`;
  try {
    const apt = aptOptions(work);
    run('apt-get', [...apt, 'update'], work);
    const shown = run('apt-cache', [...apt, 'show', 'redis-tools'], work);
    run('apt-get', [...apt, 'download', 'redis-tools', ...librariesOf(shown)], work);
    const unpacked = join(work, 'root');
    mkdirSync(unpacked);
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
      run('dpkg-deb', ['-x', file, unpacked], work);
    }
    symlinkSync(BINARY, join(unpacked, 'redis-server'));
    cpSync(unpacked, own, { recursive: true, verbatimSymlinks: true });
    keepTheFirst(own, root);
  } finally {
    rmSync(own, { recursive: true, force: true });
    rmSync(work, { recursive: true, force: true });
  }
}

/** Two first starts at the same moment: a rename onto a full folder fails, and then the other one's is as good. */
function keepTheFirst(own: string, root: string): void {
  try {
    renameSync(own, root);
  } catch (error) {
    if (!existsSync(join(root, BINARY))) throw error;
  }
}

/** Lists and archives of our own, so that neither root nor apt's locks are needed. */
function aptOptions(work: string): string[] {
  const lists = join(work, 'lists');
  const archives = join(work, 'archives');
  for (const folder of [lists, archives]) mkdirSync(join(folder, 'partial'), { recursive: true });
  return [
    ...['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache::Archives=${archives}`],
    ...['-o', 'Dir::Cache::pkgcache=', '-o', 'Dir::Cache::srcpkgcache='],
    ...['-o', 'APT::Sandbox::User=', '-o', 'Debug::NoLocking=1', '-qq'],
  ];
}

function librariesOf(shown: string): string[] {
  return (/^Depends: (.+)$/m.exec(shown)?.[1] ?? '')
    .split(',')
    .map((one) => one.trim().split(/[ |(]/)[0] ?? '')
    .filter((name) => /^(lib|lua)/.test(name) && name !== 'libc6');
}

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  const reason = error?.message ?? stderr.trim().split('\n').at(-1);
  throw new Error(`${command} failed: ${reason}`);
}
