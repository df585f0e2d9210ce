import { STOP_REASONS } from '../src/contracts/index.ts';
import { TRANSITIONS } from '../src/loop/index.ts';

/** docs/state-machine.md, made from the transition table and the closed union of endings. */
export function stateMachineDocument(): string {
  const edges = new Map<string, Set<string>>();
  const rows: string[] = [];
  for (const [phase, row] of Object.entries(TRANSITIONS)) {
    for (const [event, phases] of Object.entries<readonly string[]>(row)) {
      rows.push(`| \`${phase}\` | \`${event}\` | ${phases.map((to) => `\`${to}\``).join(', ')} |`);
      for (const to of phases) {
        if (to === phase || event === 'stop_requested' || event === 'turn_failed') continue;
        const edge = `${phase} --> ${to}`;
        edges.set(edge, (edges.get(edge) ?? new Set()).add(event));
      }
    }
  }
  const diagram = [...edges].map(([edge, events]) => `    ${edge}: ${[...events].join(', ')}`);
  const endings = Object.entries(STOP_REASONS).map(
    ([outcome, reasons]) =>
      `| \`${outcome}\` | ${reasons.map((reason) => `\`${reason}\``).join(', ')} |`,
  );
  return [
    '# The state machine of a turn',
    '',
    'Generated from `src/loop/transitions.ts` and `src/contracts/outcome.ts` by `npm run docs:state-machine`; a test fails when',
    'this page is older than they are. `stop_requested` and `turn_failed` end a turn in every phase and are left out of the drawing.',
    '',
    '```mermaid',
    'stateDiagram-v2',
    '    [*] --> queued',
    ...diagram,
    '    ended --> [*]',
    '```',
    '',
    '## What may follow what',
    '',
    'An event without a row cannot happen in that phase: the loop refuses it with `illegal_transition`.',
    '',
    '| phase | event | phase afterwards |',
    '|---|---|---|',
    ...rows,
    '',
    '## How a turn can end',
    '',
    'Phase and reason are two fields: the phase is `ended`, the outcome and its stop reason say how.',
    '',
    '| outcome | stop reasons |',
    '|---|---|',
    ...endings,
    '',
  ].join('\n');
}
