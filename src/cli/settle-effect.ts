import { Option, type Command } from 'commander';
import type { EffectStatus } from '../contracts/index.ts';
import type { EffectAnswer } from '../store/index.ts';
import { refuseBlank } from './act.ts';
import { audited } from './audit.ts';
import { withOperator } from './connection.ts';
import { CommandError, EXIT, notFound, usageError } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { CardView } from './output.ts';
import { visible } from './visible-text.ts';

type SettleOptions = {
  applied?: boolean;
  notApplied?: boolean;
  by: string;
  evidence: string;
  dryRun?: boolean;
};
type Verdict = 'applied' | 'not_applied';

/** The JSON of `ledger settle`. */
export type SettleView = {
  operation: string;
  /** What the ledger says now. */
  status: EffectStatus;
  by: string;
  evidence: string;
  conversationId: string;
  turnId: string;
  /** It said so before. */
  already: boolean;
  dryRun: boolean;
};

export function addSettle(ledger: Command): void {
  ledger
    .command('settle')
    .description(
      'Says what became of an action nobody could tell. Nothing is sent; a note goes to the ticket.',
    )
    .argument('<operation>', 'see "turnkeeper ledger"')
    .addOption(new Option('--applied', 'it did happen').conflicts('notApplied'))
    .addOption(new Option('--not-applied', 'it did not happen'))
    .requiredOption('--by <name>', 'who says so; kept in the record')
    .requiredOption('--evidence <text>', 'how anybody can know; kept in the record')
    .option('--dry-run', 'shows what would be settled, and settles nothing')
    .action((operation: string, options: SettleOptions, command: Command) =>
      perform(command, (invocation) => settle(invocation, operation, options)),
    );
}

const VIEW: CardView<SettleView> = { id: (view) => view.operation, text: settleText };
const SETTLED = { applied: 'verified', not_applied: 'not_landed' } as const;
const OPEN: readonly EffectStatus[] = ['attempted', 'applied', 'unknown'];

/** @throws CommandError no such operation (3); settled otherwise before, or its turn is still open (5) */
async function settle(
  { settings, out }: Invocation,
  operation: string,
  options: SettleOptions,
): Promise<void> {
  refuseBlank(options, 'by', 'evidence');
  const { applied = false, notApplied = false, by, evidence, dryRun = false } = options;
  if (applied === notApplied)
    throw usageError('say what happened: either --applied or --not-applied');
  const verdict: Verdict = applied ? 'applied' : 'not_applied';
  await withOperator(settings, async (connected) => {
    const { records, operator } = connected;
    const row = await records.operation(operation);
    if (row === undefined) throw noOperation(operation);
    const { conversationId, turnId } = row;
    const where = { operation, by, evidence, conversationId, turnId };
    if (dryRun) {
      const already = !OPEN.includes(row.status);
      return out.card({ ...where, status: row.status, already, dryRun }, VIEW);
    }
    const act = { action: `ledger.settle.${verdict}`, object: operation, by, reason: evidence };
    const answer = await audited(connected, act, () =>
      operator.settleEffect(operation, verdict, { by, evidence }),
    );
    const already = answer.kind === 'already';
    out.card({ ...where, status: settledAs(answer, operation, verdict), already, dryRun }, VIEW);
  });
}

function settledAs(answer: EffectAnswer, operation: string, verdict: Verdict): EffectStatus {
  switch (answer.kind) {
    case 'not_found':
      throw noOperation(operation);
    case 'in_flight':
      throw new CommandError({
        code: 'in_flight',
        message: `Not settled: turn ${answer.turnId} is still open and may find out by itself`,
        next: `turnkeeper why ${answer.turnId}`,
        exitCode: EXIT.conflict,
      });
    case 'already':
      if (answer.status === SETTLED[verdict]) return answer.status;
      throw new CommandError({
        code: 'already_settled',
        message: `Not settled: the ledger says ${answer.status} for certain. You changed nothing`,
        next: `turnkeeper ledger --operation ${operation}`,
        exitCode: EXIT.conflict,
      });
    case 'settled':
      return answer.status;
    default:
      return answer satisfies never;
  }
}

function noOperation(operation: string): CommandError {
  return notFound('operation', operation, 'see "turnkeeper ledger --conversation <id>"');
}

function settleText({ operation, status, already, dryRun, by, turnId }: SettleView): string {
  if (dryRun) {
    const would = already ? `stays ${status}` : `is ${status} and would be settled by ${by}`;
    return visible(`operation ${operation} ${would}; nothing was settled`);
  }
  if (already) return visible(`operation ${operation} was ${status} before`);
  return [
    `operation ${operation} is ${status}, by ${by}; a note goes to the ticket`,
    `The turn it belongs to: turnkeeper why ${turnId}`,
  ]
    .map(visible)
    .join('\n');
}
