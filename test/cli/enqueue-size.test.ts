import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Enqueued } from '../../src/cli/hand-in.ts';
import { ticket } from '../support/rig.ts';
import { emptyDirectory, runJson } from './run-cli.ts';

test.each(['jsonl', 'csv'] as const)(
  'a file of any size is read in the memory a small one needs: %s',
  async (format) => {
    const text = 'Where is my order? '.repeat(500);
    const rows = Array.from({ length: 6_000 }, (_, at) =>
      format === 'csv'
        ? `test,c${at},m${at},ana,verified,${text}\n`
        : `${JSON.stringify(ticket({ messageId: `m${at}`, text }))}\n`,
    );
    const header = 'source,conversationId,messageId,requester.id,requester.assurance,text\n';
    const directory = emptyDirectory();
    const file = `large.${format}`;
    writeFileSync(join(directory, file), `${format === 'csv' ? header : ''}${rows.join('')}`);

    const read = await runJson<Enqueued>(['enqueue', file, '--dry-run'], {
      directory,
      environment: { NODE_OPTIONS: '--max-old-space-size=72', REDIS_URL: undefined },
    });

    expect(statSync(join(directory, file)).size).toBeGreaterThan(50_000_000);
    expect(read).toMatchObject({ accepted: 6_000, bad: 0 });
  },
  90_000,
);
