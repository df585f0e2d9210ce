import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { debianPackage, programOnPath } from '../../scripts/debian-package.ts';
import { freePort } from '../../src/store/loopback.ts';

/** The rules as they are shipped. */
export const RULES = fileURLToPath(new URL('../../grafana/prometheus/', import.meta.url));

type Programs = { prometheus: string; promtool: string } | { missing: string };

/** The installed Prometheus, or the one of Debian's package. */
export function findPrometheus(): Programs {
  const prometheus = programOnPath('prometheus');
  const promtool = programOnPath('promtool');
  if (prometheus !== undefined && promtool !== undefined) return { prometheus, promtool };
  const unpacked = debianPackage('prometheus', 'usr/bin/promtool');
  if ('missing' in unpacked) return unpacked;
  const bin = join(unpacked.root, 'usr/bin');
  return { prometheus: join(bin, 'prometheus'), promtool: join(bin, 'promtool') };
}

export function promtool(programs: Programs, ...args: string[]): { ok: boolean; output: string } {
  if ('missing' in programs) throw new Error(programs.missing);
  const { status, stdout, stderr } = spawnSync(programs.promtool, args, { encoding: 'utf8' });
  return { ok: status === 0, output: stdout + stderr };
}

export type Series = { metric: Record<string, string>; value: [number, string] };
type Answer<T> = { status: string; error?: string; data: T };

/**
 * A real Prometheus that scrapes `targets` twice a second and evaluates the shipped rules as often.
 *
 * @param options.faster every window, offset and `for` of the rules is this many times shorter; default 1
 */
export async function startPrometheus(
  programs: Programs,
  targets: readonly number[],
  { faster = 1 }: { faster?: number } = {},
) {
  if ('missing' in programs) throw new Error(programs.missing);
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-prometheus-'));
  const port = await freePort();
  const config = join(folder, 'prometheus.yml');
  for (const name of ['alerts', 'recording']) {
    const shipped = readFileSync(`${RULES}${name}.rules.yml`, 'utf8');
    writeFileSync(join(folder, `${name}.rules.yml`), shortened(shipped, faster));
  }
  writeFileSync(config, configuration(targets));
  const child = spawn(
    programs.prometheus,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<void>((resolve) => {
    child.on('close', () => resolve());
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });

  const get = async <T>(path: string, query: Record<string, string> = {}): Promise<Answer<T>> => {
    const url = `http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(query).toString()}`;
    const response = await fetch(url);
    return (await response.json()) as Answer<T>;
  };
  const query = async (expression: string): Promise<Series[]> => {
    const answer = await get<{ result: Series[] }>('query', { query: expression });
    if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`);
    return answer.data.result;
  };
  /** Prometheus tells nobody when it has scraped: it is asked again until it has. */
  const until = (expression: string): Promise<void> =>
    expect
      .poll(async () => (await query(expression).catch(() => [])).length, {
        timeout: 20_000,
        interval: 50,
        message: `${expression}\n${said}`,
      })
      .toBeGreaterThan(0);
  return { get, query, until };
}

function configuration(targets: readonly number[]): string {
  const list = targets.map((port) => `'127.0.0.1:${port}'`).join(', ');
  return [
    'global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }',
    "rule_files: ['*.rules.yml']",
    'scrape_configs:',
    '  - job_name: turnkeeper',
    `    static_configs: [{ targets: [${list}] }]`,
    '',
  ].join('\n');
}

const MILLISECONDS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Durations of rules stand in brackets, after `offset` and after `for:`, and nowhere else. */
function shortened(rules: string, faster: number): string {
  return rules.replaceAll(
    /(\[|offset |for: )(\d+)([smhd])/g,
    (_, before: string, count: string, unit: keyof typeof MILLISECONDS) =>
      `${before}${Math.ceil((Number(count) * MILLISECONDS[unit]) / faster)}ms`,
  );
}
