import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Makes dist, what the published package runs: compiled modules, their types, and what lies beside them. */
const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

rmSync(dist, { recursive: true, force: true });
const compiled = spawnSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

const src = join(root, 'src');
/** What the modules read beside themselves. */
const BESIDE = ['**/*.lua', '**/*.bin', 'retrieval/offline/*.json', 'retrieval/offline/LICENSE'];
for (const file of globSync(BESIDE, { cwd: src })) cpSync(join(src, file), join(dist, file));
chmodSync(join(dist, 'cli/main.js'), 0o755);
console.log(`built ${relative(process.cwd(), dist)}`);
