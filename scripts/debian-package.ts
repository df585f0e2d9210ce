import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Where the files of a package lie, or why there are none. */
export type Unpacked = { root: string } | { missing: string };

/**
 * The files of one Debian package, unpacked into the user's cache folder: fetched once, needs no root, installs nothing
 * and runs no script of the package. What it depends on is not fetched.
 *
 * @param proof a file of the package that must be there
 */
export function debianPackage(name: string, proof: string): Unpacked {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'turnkeeper');
  const root = join(cache, `${name}-${process.arch}`);
  if (existsSync(join(root, proof))) return { root };
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const has = (tool: string): boolean => folders.some((folder) => existsSync(join(folder, tool)));
  if (!['apt-get', 'dpkg-deb'].every(has)) {
    return { missing: `this is no Debian or Ubuntu, where ${name} could be fetched` };
  }
  try {
    fetchInto(root, name);
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) };
  }
  if (existsSync(join(root, proof))) return { root };
  return { missing: `${root} holds no ${proof}; delete that folder` };
}

/** A program on the PATH. */
export function programOnPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

function fetchInto(root: string, name: string): void {
  const work = mkdtempSync(join(tmpdir(), 'turnkeeper-deb-'));
  const own = `${root}.${process.pid}`;
  try {
    const apt = aptOptions(work);
    run('apt-get', [...apt, 'update'], work);
    run('apt-get', [...apt, 'download', name], work);
    const [archive] = readdirSync(work).filter((file) => file.endsWith('.deb'));
    if (archive === undefined) throw new Error(`apt-get brought no ${name}`);
    run('dpkg-deb', ['-x', archive, join(work, 'root')], work);
    mkdirSync(join(root, '..'), { recursive: true });
    cpSync(join(work, 'root'), own, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(own, root);
    } catch (error) {
      // Another process was first: its files are as good.
      if (!existsSync(root)) throw error;
    }
  } finally {
    rmSync(own, { recursive: true, force: true });
    rmSync(work, { recursive: true, force: true });
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

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(`${command} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
}
