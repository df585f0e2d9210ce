import { readFileSync } from 'node:fs';
import { BOARDS } from '../../grafana/src/boards.ts';
import { DEPLOYS } from '../../grafana/src/dashboard.ts';
import { RULES } from './prometheus.ts';

/** An expression of a board or a rule, and where it stands. */
export type Expression = { where: string; expr: string };

/** Every query of every panel, with the variables of the board set to everything. */
export function panelExpressions(): Expression[] {
  const panels = BOARDS.flatMap(({ uid, rows }) =>
    rows.flatMap((row) =>
      row.panels.flatMap(({ title, queries }) =>
        queries.map(({ expr }) => ({ where: `${uid}: ${title}`, expr: filled(expr) })),
      ),
    ),
  );
  return [...panels, { where: 'annotation', expr: DEPLOYS }];
}

function filled(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '5m')
    .replaceAll('$__range', '1h')
    .replaceAll(/\$(source|lane)\b/g, '.*');
}

export type Rule = Expression & { name: string; kind: 'record' | 'alert'; text: string };

/** The rules as they are shipped. Their files are kept simple enough to be read without a YAML parser. */
export function rules(): Rule[] {
  return ['recording', 'alerts'].flatMap((file) => {
    const text = readFileSync(`${RULES}${file}.rules.yml`, 'utf8');
    return text
      .split(/\n {6}- /)
      .slice(1)
      .map((rule): Rule => {
        const [, kind = '', name = ''] = /^(record|alert): (\S+)/.exec(rule) ?? [];
        const [, inline, block] = /\n {8}expr: (?:\|\n((?: {10}.*\n?)+)|(.+))/.exec(rule) ?? [];
        const expr = (inline ?? block ?? '').replaceAll(/\s+/g, ' ').trim();
        return { where: `${file}: ${name}`, name, kind: kind as Rule['kind'], expr, text: rule };
      });
  });
}

/** Metrics and labels an expression names, without the prefix and the parts of a histogram. */
export function namesIn(expr: string): { metrics: string[]; labels: string[] } {
  const metrics = [...expr.matchAll(/\bturnkeeper_(\w+)/g)].map(([, name = '']) => name);
  const selectors = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner = '']) =>
    [...inner.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label),
  );
  const groups = [...expr.matchAll(/\b(?:by|on|group_left)\s*\(([^)]*)\)/g)].flatMap(
    ([, inner = '']) => inner.split(',').map((label) => label.trim()),
  );
  const labels = [...selectors, ...groups].filter((label) => label !== '');
  return { metrics, labels };
}
