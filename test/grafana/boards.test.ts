import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BOARDS } from '../../grafana/src/boards.ts';
import { boardFile, boardText } from '../../grafana/src/files.ts';
import { definitionOf, LABELS, METRIC_NAMES, METRICS } from '../../src/telemetry/metrics/index.ts';
import { namesIn, panelExpressions, rules } from '../support/expressions.ts';

const runbooks = new URL('../../docs/runbooks/', import.meta.url);
const alerts = [...new Set(rules().flatMap(({ kind, name }) => (kind === 'alert' ? [name] : [])))];
const recorded = new Set(rules().flatMap(({ kind, name }) => (kind === 'record' ? [name] : [])));

/** The metric behind a name of an expression: histograms have three. */
function metricOf(name: string): string {
  return name in METRICS ? name : name.replace(/_(bucket|sum|count)$/, '');
}

describe('boards', () => {
  test.each(BOARDS.map((board) => [board.title, board] as const))(
    '%s: the committed JSON is what the sources say',
    (_title, board) => {
      expect(readFileSync(boardFile(board), 'utf8'), 'run `node grafana/src/build.ts`').toBe(
        boardText(board),
      );
    },
  );

  test('there is no JSON without a source', () => {
    const files = readdirSync(new URL('../../grafana/dashboards/', import.meta.url));

    expect(files.toSorted()).toEqual(BOARDS.map(({ uid }) => `${uid}.json`).toSorted());
  });

  test('every metric is on a board, or its definition says why not', () => {
    const shown = new Set(
      [...panelExpressions(), ...rules().filter(({ kind }) => kind === 'record')].flatMap(
        ({ expr }) => namesIn(expr).metrics.map(metricOf),
      ),
    );
    const missing = METRIC_NAMES.filter(
      (name) => !shown.has(name) && definitionOf(name).notShown === undefined,
    );

    expect(missing).toEqual([]);
  });

  test.each([...panelExpressions(), ...rules()].map(({ where, expr }) => [where, expr] as const))(
    '%s names only metrics, labels and rules there are',
    (_where, expr) => {
      const { metrics, labels } = namesIn(expr);
      const known = new Set([...Object.keys(LABELS), 'le', 'instance', 'alertname', 'queue']);

      expect(metrics.map(metricOf).filter((name) => !(name in METRICS))).toEqual([]);
      expect(labels.filter((label) => !known.has(label))).toEqual([]);
      const colons = [...expr.matchAll(/turnkeeper(?::\w+)+/g)].map(([name]) => name);
      expect(colons.filter((name) => !recorded.has(name))).toEqual([]);
      expect(metrics.length + colons.length, expr).toBeGreaterThan(0);
    },
  );

  test('a board asks for the variables it uses, and for no other', () => {
    for (const { title, variables, rows } of BOARDS) {
      const exprs = JSON.stringify(rows);
      for (const name of ['source', 'lane'] as const) {
        expect(exprs.includes(`$${name}`), `${title}: ${name}`).toBe(variables.includes(name));
      }
    }
  });

  test('the board of the one on call fits on one screen without its rows', () => {
    const fine = BOARDS.find(({ uid }) => uid === 'tk-fine');
    const panels = fine?.rows.flatMap((row) => row.panels) ?? [];

    expect(panels).toHaveLength(8);
    expect(panels.every(({ kind }) => kind === 'tile')).toBe(true);
    for (const row of fine?.rows ?? []) {
      expect(row.panels.reduce((sum, { width = 8 }) => sum + width, 0)).toBe(24);
    }
  });
});

describe('alerts', () => {
  test.each(alerts)('%s has a runbook with every section, and each link leads there', (alert) => {
    const page = readFileSync(new URL(`${alert}.md`, runbooks), 'utf8');

    for (const section of [
      'Symptom',
      'What to look at',
      'Commands',
      'When it is safe to do nothing',
      'What to do',
    ]) {
      expect(page).toMatch(new RegExp(`\n## ${section}\n\n\\S`));
    }
    for (const rule of rules().filter(({ name }) => name === alert)) {
      expect(rule.text).toContain(`/public/runbooks/${alert}.md`);
      expect(rule.text).toMatch(/summary: '.+'\n {10}impact: '.+'/);
      expect(rule.text).toMatch(/severity: (page|ticket)/);
      const [, uid = ''] = /dashboard_url: \S+\/d\/(\S+)/.exec(rule.text) ?? [];
      expect(BOARDS.map((board) => board.uid)).toContain(uid);
    }
  });

  test('there is no runbook without an alert', () => {
    const pages = readdirSync(runbooks).filter((file) => file !== 'README.md');

    expect(pages.toSorted()).toEqual(alerts.map((name) => `${name}.md`).toSorted());
    const contents = readFileSync(new URL('README.md', runbooks), 'utf8');
    for (const alert of alerts) expect(contents).toContain(`[${alert}](${alert}.md)`);
  });

  test('every alert a panel links to exists, and every alert is linked from a panel', () => {
    const linked = BOARDS.flatMap(({ rows }) =>
      rows.flatMap(({ panels }) => panels.flatMap(({ alert }) => alert ?? [])),
    );

    expect(linked.filter((name) => !existsSync(new URL(`${name}.md`, runbooks)))).toEqual([]);
    expect(alerts.filter((name) => !linked.includes(name))).toEqual([]);
  });

  test('every alert has a case in which it is quiet and one in which it fires', () => {
    const cases = readFileSync(
      new URL('../../grafana/prometheus/alerts.test.yml', import.meta.url),
      'utf8',
    );

    for (const alert of alerts) {
      expect(
        cases.match(new RegExp(`alertname="${alert}", alertstate="firing"`, 'g')),
      ).toHaveLength(2);
    }
  });
});
