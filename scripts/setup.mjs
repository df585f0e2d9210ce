// Brings node_modules up to date, then runs the command it was given:  node scripts/setup.mjs node scripts/demo.ts --json
// Every npm script goes through it, so that a fresh clone needs no other step; `exec` there lets a signal for npm arrive here.
// It is the one file that runs on whatever Node the machine has (20 or newer), hence plain JavaScript without dependencies. Its
// own output goes to stderr.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = join(root, 'node_modules', '.bin');

if (!isUpToDate()) install();
const [command, ...args] = process.argv.slice(2);
if (command !== undefined) run(command, args);

/** Compares what npm noted about its last install with the lockfile; both are npm's own files. */
function isUpToDate() {
  const { '': _self, ...wanted } = packagesIn('package-lock.json');
  const installed = packagesIn('node_modules/.package-lock.json');
  return Object.entries(wanted).every(([place, { version, integrity, optional }]) => {
    const found = installed[place];
    // npm leaves out what other platforms need.
    if (found === undefined) return optional === true;
    return found.version === version && found.integrity === integrity;
  });
}

function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return {};
  }
}

function install() {
  console.error('turnkeeper: installing dependencies (npm ci) …');
  // With development and optional packages whatever the environment says: Node 24 is one of them.
  const npm = ['ci', '--loglevel=error', '--include=dev', '--include=optional'];
  const script = process.env['npm_execpath'] ?? '';
  const [command, ...before] = script.endsWith('npm-cli.js') ? [process.execPath, script] : ['npm'];
  const { status } = spawnSync(command, [...before, ...npm], {
    cwd: root,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
  });
  if (status !== 0) fail('npm ci failed, see above; run it again when the cause is gone');
}

/** Ends as the command ends, and passes signals on to it. */
function run(command, args) {
  refuseAnOldNode();
  const path = bin + delimiter + (process.env['PATH'] ?? '');
  const env = { ...process.env, PATH: path };
  const child = spawn(command, args, { env, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the child as well.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => fail(`${command} could not be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

function refuseAnOldNode() {
  if (existsSync(join(bin, 'node'))) return;
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  fail(
    `Node ${process.versions.node} is too old and none came with the dependencies; use Node 22.18 or newer`,
  );
}

function fail(reason) {
  console.error(`turnkeeper: ${reason}`);
  process.exit(1);
}
