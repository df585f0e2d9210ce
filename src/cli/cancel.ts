import type { Command } from 'commander';
import type { TurnRecord } from '../store/records.ts';
import { actOptions, refuseBlank, type ActOptions } from './act.ts';
import { audited } from './audit.ts';
import { withOperator } from './connection.ts';
import { CommandError, EXIT, notFound } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { CardView } from './output.ts';
import { visible } from './visible-text.ts';
import { day, isoOrNull, listed } from './wording.ts';

/** The JSON of `cancel`. That it was asked for is all it says: when it stopped stands in the record. */
export type CancelView = {
  turnId: string;
  conversationId: string;
  status: 'requested' | 'already' | 'would_request' | 'ended';
  requestedAt: string | null;
  by: string | null;
  reason: string | null;
  /** What was under way and may still come to its end. */
  running: string[];
  dryRun: boolean;
};

export function addCancel(program: Command): void {
  actOptions(
    program
      .command('cancel')
      .description(
        'Asks a turn to stop. What is under way is told to end; nothing that was done is taken back.',
      )
      .argument('<turnId>', 'see "turnkeeper turns list --open"'),
  ).action((turnId: string, options: ActOptions, command: Command) =>
    perform(command, (invocation) => cancel(invocation, turnId, options)),
  );
}

const VIEW: CardView<CancelView> = { id: (view) => view.turnId, text: cancelText };

/** @throws CommandError no such turn (3); it had ended before (5) */
async function cancel(
  { settings, out }: Invocation,
  turnId: string,
  options: ActOptions,
): Promise<void> {
  refuseBlank(options, 'by', 'reason');
  const { by, reason, dryRun = false } = options;
  await withOperator(settings, async (connected) => {
    const { records, operator } = connected;
    const turn = await records.turn(turnId);
    if (turn === undefined) throw noTurn(turnId);
    if (dryRun) return out.card(planned(turn, { by, reason }), VIEW);
    const act = { action: 'turn.cancel', object: turnId, by, reason };
    const answer = await audited(connected, act, () => operator.cancel(turnId, { by, reason }));
    switch (answer.kind) {
      case 'not_found':
        throw noTurn(turnId);
      case 'ended':
        throw tooLate(turnId, answer);
      case 'requested':
      case 'already': {
        const { kind, conversationId, signal, running } = answer;
        const asked = { by: signal.by ?? null, reason: signal.reason ?? null };
        const requestedAt = isoOrNull(signal.requestedAt);
        const view = { turnId, conversationId, status: kind, requestedAt, ...asked, running };
        return out.card({ ...view, dryRun: false }, VIEW);
      }
      default:
        return answer satisfies never;
    }
  });
}

function planned(turn: TurnRecord, asked: { by: string; reason: string }): CancelView {
  const { turnId, conversationId, phase, state } = turn;
  const ended = phase === 'ended';
  const calls = state.rounds.at(-1)?.calls ?? [];
  const running = calls.filter(({ step }) => step === 'running');
  return {
    ...{ turnId, conversationId, status: ended ? 'ended' : 'would_request', requestedAt: null },
    ...(ended ? { by: null, reason: null } : asked),
    running: running.map(({ tool, id }) => `${tool} (${id})`),
    dryRun: true,
  };
}

function cancelText(view: CancelView): string {
  const { turnId, status, by, reason, requestedAt, running } = view;
  if (status === 'ended') return visible(`turn ${turnId} has ended already; nothing was asked for`);
  if (status === 'would_request')
    return visible(`turn ${turnId} would be asked to stop by ${by}; nothing was asked for`);
  const when = requestedAt === null ? '' : ` at ${day(Date.parse(requestedAt))}`;
  const before = status === 'already' ? 'asked to stop before' : 'asked to stop';
  return [
    `turn ${turnId} was ${before} by ${by ?? 'nobody named'}${when} (${reason ?? ''})`,
    running.length === 0
      ? 'No call was under way.'
      : `Under way, and possibly done all the same: ${listed(running)}`,
    `When and how it stopped: turnkeeper why ${turnId}`,
  ]
    .map(visible)
    .join('\n');
}

function noTurn(turnId: string): CommandError {
  return notFound('turn', turnId, 'list them with "turnkeeper turns list --open"');
}

function tooLate(turnId: string, ended: { outcome: string; reason: string }): CommandError {
  return new CommandError({
    code: 'turn_ended',
    message: `Not cancelled: turn ${turnId} had ended ${ended.outcome}/${ended.reason} before. You changed nothing`,
    next: `turnkeeper why ${turnId}`,
    exitCode: EXIT.conflict,
  });
}
