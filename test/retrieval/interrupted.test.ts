import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { IndexReport } from '../../src/retrieval/indexer.ts';
import { embeddingServer } from './embedding-server.ts';
import { folder, openStore } from './support.ts';

const CHILD = fileURLToPath(new URL('index-child.ts', import.meta.url));
const FILES = 100;
const SECTIONS = 100;
/** Requests at which the indexing process is killed, each counted from the last start. */
const KILLS = { beforeItsAnswer: 20, afterItsAnswer: 35 };

test(
  'indexing 10,000 chunks survives kill -9 before and right after an answer without embedding anything twice',
  { timeout: 180_000 },
  async () => {
    const { store, prefix } = openStore();
    const root = folder(
      Object.fromEntries(Array.from({ length: FILES }, (_, file) => [`f${file}.md`, textOf(file)])),
    );
    const server = await embeddingServer();
    let child: ChildProcess | undefined;
    const start = (): { ended: Promise<unknown>; output: () => string } => {
      const running = spawn(process.execPath, [
        CHILD,
        inject('redisUrl'),
        prefix,
        root,
        server.baseUrl,
      ]);
      child = running;
      let output = '';
      running.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      onTestFinished(() => {
        running.kill('SIGKILL');
      });
      return { ended: once(running, 'close'), output: () => output };
    };

    server.hooks.before = (count) => {
      if (count === KILLS.beforeItsAnswer) child?.kill('SIGKILL');
    };
    await start().ended;
    const second = server.requests.length;
    server.hooks.before = () => {};
    server.hooks.after = (count) => {
      if (count === second + KILLS.afterItsAnswer) child?.kill('SIGKILL');
    };
    await start().ended;
    server.hooks.after = () => {};
    const last = start();
    await last.ended;

    const report = JSON.parse(last.output()) as IndexReport;
    expect(report.chunks).toBe(FILES * SECTIONS);
    expect(report.embedded).toBeLessThan(FILES * SECTIONS - 40 * 96);
    expect(server.computed.size).toBe(FILES * SECTIONS);
    expect(new Set(server.computed.values())).toEqual(new Set([1]));
    // Beside the batches, each kill cost at most the request that was under way; it carried the same key.
    expect(server.requests.length).toBeLessThanOrEqual(Math.ceil((FILES * SECTIONS) / 96) + 2);
    expect((await store.fingerprints()).size).toBe(FILES);
  },
);

function textOf(file: number): string {
  return Array.from(
    { length: SECTIONS },
    (_, section) => `## Part ${section}\n\nFact ${file}-${section}.\n`,
  ).join('\n');
}
