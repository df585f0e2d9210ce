import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ModelFinding } from '../../src/models/index.ts';
import { fault, startModelServer, type Policy } from '../support/model-server/index.ts';
import { agentFile } from './agent-file.ts';
import { emptyDirectory, runCli, runJson } from './run-cli.ts';

const INDEX = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;

async function directoryWith(policy: Policy): Promise<string> {
  const server = await startModelServer(policy);
  onTestFinished(() => server.close());
  const directory = emptyDirectory();
  const settings = {
    apiKey: 'k',
    model: 'gpt-5-mini',
    api: 'chat',
    baseURL: `${server.origin}/v1`,
  };
  writeFileSync(
    join(directory, 'turnkeeper.config.ts'),
    `import { defineAgent, openaiModel } from ${JSON.stringify(INDEX)};
export default defineAgent({
  name: 'a', instructions: 'Help.', tools: [],
  model: openaiModel(${JSON.stringify(settings)}),
  target: { send: async () => ({ kind: 'sent', targetId: '1' }), find: async () => ({ kind: 'absent' }) },
});
`,
  );
  return directory;
}

describe('models test', () => {
  test('shows what the configured endpoint can do and costs, and ends with 0', async () => {
    const directory = await directoryWith(() => ({
      do: 'answer',
      calls: [{ name: 'get_state', arguments: { id: '1' } }],
    }));

    const { code, stdout } = await runCli(['models', 'test'], { directory });

    expect(stdout).toMatch(/^CHECK +STATUS +FOUND +FIX$/m);
    expect(stdout).toMatch(/^tool calls +ok +yes +-$/m);
    expect(stdout).toMatch(/^cost +ok +\$0\.\d{6} for this request/m);
    expect(code).toBe(0);
  });

  test('ends with 1 and says what is wrong with the key', async () => {
    const directory = await directoryWith(({ api }) => fault('auth', api));

    const findings = await runJson<ModelFinding[]>(['models', 'test'], { directory });

    expect(findings.find(({ status }) => status === 'fail')?.fix).toBe('wrong key: check apiKey');
  });

  test('an agent whose model has no endpoint is told so', async () => {
    const directory = emptyDirectory();
    writeFileSync(join(directory, 'turnkeeper.config.ts'), agentFile());

    const { code, stderr } = await runCli(['models', 'test'], { directory });

    expect(stderr).toContain('is no endpoint');
    expect(code).toBe(2);
  });
});
