import type { Command } from 'commander';
import { actOptions, refuseBlank, type ActOptions } from './act.ts';
import { audited } from './audit.ts';
import { withOperator } from './connection.ts';
import { notFound } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { CardView } from './output.ts';
import { visible } from './visible-text.ts';
import { count, day, isoOrNull, listed } from './wording.ts';

/** The JSON of `takeover`. */
export type TakeoverView = {
  conversationId: string;
  status: 'taken' | 'already' | 'would_take';
  /** Who has it: the first who took it. */
  by: string;
  /** Null where somebody else has it: theirs stands in the record. */
  reason: string | null;
  takenAt: string | null;
  /** The turn that was asked to stop. */
  turnId: string | null;
  /** Its calls that were under way and may still come to their end. */
  running: string[];
  /** Messages that wait; they end as handed over, in one turn with one note. */
  waiting: number;
  dryRun: boolean;
};

export function addTakeover(program: Command): void {
  actOptions(
    program
      .command('takeover')
      .description(
        'Gives a conversation to a person: nothing more is started in it, and no reply of the agent goes out.',
      )
      .argument('<conversationId>', 'such as zendesk/4482'),
  ).action((conversationId: string, options: ActOptions, command: Command) =>
    perform(command, (invocation) => takeover(invocation, conversationId, options)),
  );
}

const VIEW: CardView<TakeoverView> = { id: (view) => view.conversationId, text: takeoverText };

/** Taking what somebody has taken already changes nothing, and is no conflict. @throws CommandError no such conversation (3) */
async function takeover(
  { settings, out }: Invocation,
  conversationId: string,
  options: ActOptions,
): Promise<void> {
  refuseBlank(options, 'by', 'reason');
  const { by, reason, dryRun = false } = options;
  await withOperator(settings, async (connected) => {
    const { records, operator } = connected;
    const conversation = await records.conversation(conversationId);
    if (conversation === undefined) {
      const next = 'its id is <source>/<the id the source uses>; see "turnkeeper turns list"';
      throw notFound('conversation', conversationId, next);
    }
    if (dryRun) {
      const { takenBy, takenAt } = conversation.holder;
      const view: TakeoverView = {
        ...{ conversationId, status: takenBy === null ? 'would_take' : 'already' },
        ...{ by: takenBy ?? by, reason: takenBy === null ? reason : null },
        takenAt: isoOrNull(takenAt),
        ...{ turnId: conversation.openTurn, running: [], waiting: conversation.waiting },
        dryRun: true,
      };
      return out.card(view, VIEW);
    }
    const act = { action: 'conversation.takeover', object: conversationId, by, reason };
    const { kind, turnId, running, waiting } = await audited(connected, act, () =>
      operator.takeOver(conversationId, { by, reason }),
    );
    const holder = (await records.conversation(conversationId))?.holder;
    const view: TakeoverView = {
      ...{ conversationId, status: kind, by: holder?.takenBy ?? by },
      ...{ reason: kind === 'taken' ? reason : null, takenAt: isoOrNull(holder?.takenAt) },
      ...{ turnId: turnId === '' ? null : turnId, running, waiting, dryRun: false },
    };
    out.card(view, VIEW);
  });
}

function takeoverText(view: TakeoverView): string {
  const { conversationId, status, by, reason, takenAt, turnId, running, waiting, dryRun } = view;
  const when = takenAt === null ? '' : ` at ${day(Date.parse(takenAt))}`;
  const has = {
    taken: `${by} has ${conversationId} now (${reason})`,
    already: `${by} has had ${conversationId} since before${when}`,
    would_take: `${by} would get ${conversationId} (${reason}); nothing was changed`,
  }[status];
  return [
    has,
    ...(turnId === null
      ? []
      : [`Turn ${turnId} ${dryRun ? 'is open' : 'was asked to stop'}: turnkeeper why ${turnId}`]),
    ...(running.length === 0
      ? []
      : [`Under way, and possibly done all the same: ${listed(running)}`]),
    ...(waiting === 0
      ? []
      : [`${count(waiting, 'message')} of the customer to be answered by you`]),
    `Give it back: turnkeeper release ${conversationId} --by <you> --reason <why>`,
  ]
    .map(visible)
    .join('\n');
}
