import { isDeepStrictEqual } from 'node:util';
import type { FailureKind } from './judge.ts';
import type { Findings } from './findings.ts';
import type { CaseResult, RunReport } from './run.ts';

/** Which of a case's findings belong to which level. */
const LEVELS = {
  outcome: ['turns', 'texts'],
  history: ['entries', 'ledger', 'deliveries', 'effects'],
  trace: ['trace'],
} as const satisfies Record<FailureKind, readonly (keyof Findings)[]>;

export type Change = { kind: FailureKind; what: keyof Findings; a: unknown; b: unknown };
export type CaseDifference = {
  id: string;
  /** Whether each run passed it; nothing where a run does not have it. */
  a: boolean | undefined;
  b: boolean | undefined;
  changes: Change[];
  /** What `b` used more than `a`. */
  more: { rounds: number; toolCalls: number; tokens: number };
};

export type Comparison = {
  a: Pick<RunReport, 'label' | 'skills'>;
  b: Pick<RunReport, 'label' | 'skills'>;
  /** Cases that came out otherwise, in the order of `a`. */
  differences: CaseDifference[];
  same: number;
};

export function compareRuns(a: RunReport, b: RunReport): Comparison {
  const ids = new Set([...a.cases, ...b.cases].map(({ id }) => id));
  const all = [...ids].map((id) =>
    differenceOf(
      id,
      a.cases.find((one) => one.id === id),
      b.cases.find((one) => one.id === id),
    ),
  );
  const differences = all.filter(({ changes, ...ok }) => changes.length > 0 || ok.a !== ok.b);
  return {
    a: { label: a.label, skills: a.skills },
    b: { label: b.label, skills: b.skills },
    differences,
    same: all.length - differences.length,
  };
}

function differenceOf(
  id: string,
  a: CaseResult | undefined,
  b: CaseResult | undefined,
): CaseDifference {
  const kinds = Object.keys(LEVELS) as FailureKind[];
  const changes = kinds.flatMap((kind) =>
    LEVELS[kind].flatMap((what): Change[] => {
      const [one, other] = [a?.findings[what], b?.findings[what]];
      return isDeepStrictEqual(one, other) ? [] : [{ kind, what, a: one, b: other }];
    }),
  );
  const more = (what: 'rounds' | 'toolCalls' | 'tokens'): number =>
    (b?.findings[what] ?? 0) - (a?.findings[what] ?? 0);
  return {
    id,
    a: a?.ok,
    b: b?.ok,
    changes,
    more: { rounds: more('rounds'), toolCalls: more('toolCalls'), tokens: more('tokens') },
  };
}
