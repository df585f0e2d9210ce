import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Evaluated } from '../../src/cli/kb-eval.ts';
import type { Indexed } from '../../src/cli/kb-index.ts';
import type { DocumentDetails, DocumentRow } from '../../src/cli/kb-records.ts';
import type { Searched } from '../../src/cli/kb-search.ts';
import { agentFile } from '../cli/agent-file.ts';
import { runCli, runJson } from '../cli/run-cli.ts';
import { folder, openStore } from './support.ts';
import { embeddingServer } from './embedding-server.ts';

const RETRIEVAL = new URL('../../src/retrieval/index.ts', import.meta.url).href;
const FILES = {
  'docs/returns.md':
    '# Returns\n\n## How long\n\nUnused items can be returned within 30 days of delivery.\n',
  'docs/care.txt': 'Care\n\nWipe lamps with a dry cloth.\n',
  'docs/logo.svg': '<svg/>',
};

/** The command line in a folder, on a knowledge base of its own. */
function shop(files: Readonly<Record<string, string>> = FILES) {
  const { prefix, store, keys } = openStore();
  const directory = folder(files);
  const options = { directory, environment: { TURNKEEPER_PREFIX: prefix } };
  return {
    ...{ directory, store, keys },
    run: (...args: string[]) => runCli(['kb', ...args], options),
    json: <T>(...args: string[]) => runJson<T>(['kb', ...args], options),
  };
}

describe('kb', () => {
  test('index, list, show, search and remove: what is indexed is found and cited, what is removed is gone', async () => {
    const { run, json, keys, store } = shop();

    const indexed = await json<Indexed>('index', 'docs');
    expect(indexed).toMatchObject({
      documents: { added: 2, changed: 0, unchanged: 0 },
      ...{ chunks: 2, embedded: 2, model: 'offline/wink-sg-100d-40k' },
      ignored: [expect.stringContaining('logo.svg')],
    });
    expect(await json<Indexed>('index', 'docs')).toMatchObject({
      embedded: 0,
      documents: { unchanged: 2 },
    });

    const rows = await json<DocumentRow[]>('list');
    expect(rows.map(({ documentId, title, chunks }) => [documentId, title, chunks])).toEqual([
      ['care', 'Care', 1],
      ['returns', 'Returns', 1],
    ]);
    const shown = await json<DocumentDetails>('show', 'returns');
    const [chunk] = shown.chunks;
    expect(chunk?.evidence).toBe(`doc:returns@${shown.version}#0-${chunk?.end}`);
    expect((await store.document('returns'))?.text.slice(chunk?.start, chunk?.end)).toBe(
      chunk?.text,
    );

    const found = await json<Searched>('search', 'Until when can unused items be returned?');
    expect(found).toMatchObject({
      verdict: 'found',
      passages: [{ evidence: chunk?.evidence }, {}],
      menu: [],
    });
    const nothing = await run('search', 'Which', 'film', 'is', 'on?', '--json');
    expect(nothing.code).toBe(3);
    expect(JSON.parse(nothing.stdout)).toMatchObject({
      ...{ verdict: 'no_result', passages: [] },
      menu: [expect.any(String), expect.any(String), expect.any(String)],
    });

    expect((await run('remove', 'returns', 'care')).code).toBe(0);
    expect((await run('remove', 'returns')).code).toBe(3);
    expect((await run('list')).stdout).toMatch(/^No documents/);
    expect((await keys()).filter((key) => !key.endsWith(':revision'))).toEqual([]);
  });

  test('text for people: a table, passages with their scores, and the menu; nothing in it acts on a terminal', async () => {
    const { run } = shop({
      'evil.md':
        '# Evil \u001b[31m\n\nUnused items can be returned within 30 days \u001b]0;x\u0007.',
    });

    await run('index', 'evil.md');
    const outputs = await Promise.all([
      run('list'),
      run('show', 'evil'),
      run('search', 'Until when can unused items be returned?'),
      run('search', 'football'),
    ]);

    const texts = outputs.map(({ stdout }) => stdout);
    for (const text of texts) expect(text).not.toMatch(/[\u001b\u0007]/);
    expect(texts[0]).toMatch(/^DOCUMENT +TITLE/);
    expect(texts[2]).toMatch(/found: 1 passage of 1 candidates[\s\S]*rerank 0\.\d{4}/);
    expect(texts[3]).toMatch(/no result: the best score is 0\.\d{4}, below 0\.72/);
  });

  test('what cannot be indexed ends with 2 and names the file', async () => {
    const { run } = shop({ 'a.md': 'x', 'a.txt': 'y', 'b.pdf': '%' });

    for (const [path, problem] of [
      ['.', 'would have the id of'],
      ['b.pdf', 'must be one of'],
      ['none', 'does not exist'],
    ] as const) {
      const { code, stderr } = await run('index', path);
      expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    }
  });

  test("the agent's own embedder is used where there is a configuration, and --offline puts it aside", async () => {
    const server = await embeddingServer();
    const { json, directory } = shop();
    const options = `{ model: 'm', dimension: 8, apiKey: 'k', baseUrl: ${JSON.stringify(server.baseUrl)} }`;
    const agent = agentFile().replace('export default defineAgent', 'const agent = defineAgent');
    writeFileSync(
      join(directory, 'turnkeeper.config.ts'),
      `import { openAiEmbedder } from ${JSON.stringify(RETRIEVAL)};\n${agent}\n` +
        `export default { ...agent, knowledge: { embedder: openAiEmbedder(${options}) } };\n`,
    );

    expect(await json<Indexed>('index', 'docs')).toMatchObject({ model: 'm', embedded: 2 });
    expect(server.requests).toHaveLength(1);
    expect(await json<Indexed>('index', 'docs', '--offline')).toMatchObject({
      ...{ model: 'offline/wink-sg-100d-40k', embedded: 2 },
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe('kb eval', () => {
  const pairs = [
    ['a', 'Until when can unused items be returned?', 'returns', 'tuning'],
    ['b', 'How many days do I have to return an unused item?', 'returns', 'held'],
    ['c', 'How do I wipe a lamp?', 'care', 'tuning'],
    ['d', 'Can a lamp be wiped with a cloth?', 'care', 'held'],
  ].map(([id, question, document, split]) => JSON.stringify({ id, question, document, split }));
  const probes = ['Who won the match?', 'Is it raining?', 'What is a noun?', 'Do fish sleep?'].map(
    (text, at) => JSON.stringify({ id: `p${at}`, text, category: at < 3 ? 'X' : 'Y' }),
  );

  test('it reports recall, rank and the gate for both halves, and writes a calibration that search accepts', async () => {
    const { json, run, directory } = shop({
      ...FILES,
      'pairs.jsonl': pairs.join('\n'),
      'probes.jsonl': probes.join('\n'),
    });
    await run('index', 'docs');

    const evaluated = await json<Evaluated>(
      ...['eval', 'pairs.jsonl', '--out-of-scope', 'probes.jsonl', '--category', 'X'],
      ...['--calibrate', 'calibration.json', '--data', 'four questions'],
    );

    expect(evaluated.held).toMatchObject({
      recallAt20: { of: 2, count: 2 },
      meanReciprocalRank: 1,
    });
    const outside = evaluated.held.outOfScopePassed.of + evaluated.tuning.outOfScopePassed.of;
    expect(outside).toBe(3);
    const written = JSON.parse(
      readFileSync(join(directory, 'calibration.json'), 'utf8'),
    ) as unknown;
    expect(written).toEqual(evaluated.calibration);
    expect(written).toMatchObject({
      ...{ embedder: 'offline/wink-sg-100d-40k', reranker: 'offline/evidence' },
      ...{ data: 'four questions', date: expect.stringMatching(/^\d{4}-/) },
    });
    expect((await run('eval', 'pairs.jsonl')).stdout).toContain('held-out half');
  });
});
