import { randomUUID } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Check } from '../../src/cli/doctor-checks.ts';
import { startModelServer } from '../support/model-server/index.ts';
import { ticket } from '../support/rig.ts';
import { emptyDirectory, runCli, runJson, startCli } from './run-cli.ts';

const INDEX = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;

function directoryWith(baseURL: string, tools = '[]', model = 'gpt-5-mini'): string {
  const directory = emptyDirectory();
  const settings = { apiKey: 'sk-proj-verysecretverysecret', model, api: 'chat', baseURL };
  writeFileSync(
    join(directory, 'turnkeeper.config.ts'),
    `import { defineAgent, openaiModel } from ${JSON.stringify(INDEX)};
export default defineAgent({
  name: 'a', instructions: 'Help.', tools: ${tools},
  model: openaiModel(${JSON.stringify(settings)}),
  target: { send: async () => ({ kind: 'sent', targetId: '1' }), find: async () => ({ kind: 'absent' }) },
});
`,
  );
  return directory;
}

const NOBODY = 'http://127.0.0.1:9/v1';

describe('--record and --replay', () => {
  test('what one worker has heard from its model another one plays without it, and the file holds no secret', async () => {
    const server = await startModelServer(() => ({
      ...{ do: 'answer', text: 'You wrote from ana@example.com. It is on its way.' },
    }));
    onTestFinished(() => server.close());
    const directory = directoryWith(`${server.origin}/v1`);
    const answeredBy = async (option: 'record' | 'replay') => {
      const environment = { TURNKEEPER_PREFIX: `m${randomUUID().slice(0, 8)}-`, LOG_LEVEL: 'info' };
      const where = { directory, environment };
      const worker = startCli(['worker', `--${option}`, 'heard.jsonl'], where);
      await worker.wrote('worker ready');
      const input = JSON.stringify(ticket({ text: 'Where is it?' }));
      await runCli(['enqueue', '-'], { ...where, input });
      await worker.wrote('"status":"sent"');
      worker.child.kill('SIGTERM');
      await worker.ended;
      return runJson<{ stopReason: string }>(['why', 'test/c1'], where);
    };

    const recorded = await answeredBy('record');
    await server.close();
    const played = await answeredBy('replay');

    expect([recorded.stopReason, played.stopReason]).toEqual(['replied', 'replied']);
    expect(server.requests).toHaveLength(1);
    const file = join(directory, 'heard.jsonl');
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('It is on its way.');
    expect(text).not.toMatch(/ana@example|sk-proj/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test.each([
    [['--replay', 'none.jsonl'], /--replay none\.jsonl: the file cannot be used \(ENOENT\)/],
    [['--record', 'no/such/folder'], /--record .*cannot be used \(ENOENT\)/],
    [['--record', 'a', '--replay', 'a'], /cannot be used with option '--replay/],
  ])('%j starts no worker and says what is wrong', async (options, message) => {
    for (const command of ['worker', 'up']) {
      const { code, stderr } = await runCli([command, ...options], {
        directory: directoryWith(NOBODY),
      });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
  });

  test('a line that is no exchange is named', async () => {
    const directory = directoryWith(NOBODY);
    writeFileSync(join(directory, 'heard.jsonl'), '{"view": 1}\n');

    const { code, stderr } = await runCli(['worker', '--replay', 'heard.jsonl'], { directory });

    expect(code).not.toBe(0);
    expect(stderr).toMatch(/heard\.jsonl, line 1/);
  });
});

describe('before a worker starts', () => {
  test('a model nobody knows the price of is refused, and nothing is started', async () => {
    const directory = directoryWith(NOBODY, '[]', 'my-own-model');

    const { code, stderr } = await runCli(['worker'], { directory });

    expect(code).not.toBe(0);
    expect(stderr).toMatch(/model is "my-own-model": .*set prices/);
  });

  test('doctor says what cannot be offered to the model, and where the prices are from', async () => {
    const fit = await runJson<Check[]>(['doctor'], { directory: directoryWith(NOBODY) });
    const tool = `[{ name: 'finish', description: { use: 'u', avoid: 'a' }, input: z.object({}), output: z.any(),
      effect: 'read', reversible: true, resource: () => [], provenance: {}, failureModes: ['times_out'],
      timeoutMs: 1000, authorize: () => undefined, run: async () => ({}) }]`;
    const zod = pathToFileURL(join(import.meta.dirname, '../../node_modules/zod/index.js')).href;
    const directory = directoryWith(NOBODY, tool);
    const config = join(directory, 'turnkeeper.config.ts');
    writeFileSync(config, `import { z } from '${zod}';\n${readFileSync(config, 'utf8')}`);
    const unfit = await runJson<Check[]>(['doctor'], { directory });

    const modelOf = (checks: Check[]) => checks.find(({ check }) => check === 'model');
    expect(modelOf(fit)).toMatchObject({
      ...{
        status: 'ok',
        value: expect.stringMatching(/^gpt-5-mini at 127\.0\.0\.1:9, prices from/),
      },
    });
    expect(modelOf(unfit)).toMatchObject({
      ...{ status: 'fail', value: expect.stringContaining('give the tool another name') },
    });
  });
});
