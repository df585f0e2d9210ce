import { Table } from 'console-table-printer';
import type { Comparison } from './compare.ts';
import { FAILURE_KINDS, type FailureKind } from './judge.ts';
import type { RunReport } from './run.ts';

/** A run as a table, and below it what failed and where to look. */
export function describeRun({ label, skills, cases }: RunReport): string {
  const table = new Table({
    shouldDisableColors: true,
    columns: [
      { name: 'case', alignment: 'left' },
      { name: 'result', alignment: 'left' },
      { name: 'turns', alignment: 'left' },
      { name: 'effects', alignment: 'left' },
    ],
  });
  for (const { id, failures, findings } of cases) {
    table.addRow({
      case: id,
      result: failures.length === 0 ? 'ok' : kindsOf(failures).join(', '),
      turns: findings.turns.join(', '),
      effects: findings.effects.join(', '),
      rounds: findings.rounds,
      calls: findings.toolCalls,
    });
  }
  const failed = cases.flatMap(({ id, failures }) =>
    failures.map(({ kind, what, expected, got }) =>
      [
        `${id}: ${kind}, ${what}; ${FAILURE_KINDS[kind]}`,
        `  expected ${JSON.stringify(expected)}`,
        `  got      ${JSON.stringify(got)}`,
      ].join('\n'),
    ),
  );
  const passed = cases.filter(({ ok }) => ok).length;
  return [
    table.render(),
    ...failed,
    `${label} (${versions(skills)}): ${passed} of ${cases.length} cases as expected`,
  ].join('\n');
}

export function describeComparison({ a, b, differences, same }: Comparison): string {
  const table = new Table({
    shouldDisableColors: true,
    columns: [
      { name: 'case', alignment: 'left' },
      { name: 'differs in', alignment: 'left' },
      { name: a.label, alignment: 'left' },
      { name: b.label, alignment: 'left' },
    ],
  });
  for (const { id, a: one, b: other, changes, more } of differences) {
    const result = (ok: boolean | undefined): string =>
      ok === undefined ? 'not run' : ok ? 'ok' : 'failed';
    table.addRow({
      case: id,
      'differs in': kindsOf(changes).join(', '),
      [a.label]: result(one),
      [b.label]: result(other),
      'rounds ±': more.rounds,
      'calls ±': more.toolCalls,
      'tokens ±': more.tokens,
    });
  }
  const details = differences.flatMap(({ id, changes }) =>
    changes
      .filter(({ what }) => what === 'turns' || what === 'effects')
      .map((one) => `${id}: ${one.what} ${JSON.stringify(one.a)} -> ${JSON.stringify(one.b)}`),
  );
  const sides = [a, b].map(({ label, skills }) => `${label} (${versions(skills)})`).join(' and ');
  return [
    table.render(),
    ...details,
    `${sides}: ${differences.length} cases differ, ${same} are the same`,
  ].join('\n');
}

function kindsOf(found: readonly { kind: FailureKind }[]): FailureKind[] {
  return [...new Set(found.map(({ kind }) => kind))];
}

function versions(skills: Readonly<Record<string, string>>): string {
  const all = Object.entries(skills).map(([name, version]) => `${name} ${version}`);
  return all.length > 0 ? all.join(', ') : 'no skill';
}
