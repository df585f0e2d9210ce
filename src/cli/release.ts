import type { Command } from 'commander';
import { actOptions, refuseBlank, type ActOptions } from './act.ts';
import { audited } from './audit.ts';
import { withOperator } from './connection.ts';
import { CommandError, notFound } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { CardView } from './output.ts';
import { visible } from './visible-text.ts';

/** The JSON of `release`. */
export type ReleaseView = {
  conversationId: string;
  status: 'released' | 'already' | 'would_release';
  by: string;
  reason: string;
  dryRun: boolean;
};

export function addRelease(program: Command): void {
  actOptions(
    program
      .command('release')
      .description('Gives a conversation back to the agent; the next message is answered by it.')
      .argument('<conversationId>', 'such as zendesk/4482'),
  ).action((conversationId: string, options: ActOptions, command: Command) =>
    perform(command, (invocation) => release(invocation, conversationId, options)),
  );
}

const VIEW: CardView<ReleaseView> = { id: (view) => view.conversationId, text: releaseText };

/** @throws CommandError no such conversation (3) */
async function release(
  { settings, out }: Invocation,
  conversationId: string,
  options: ActOptions,
): Promise<void> {
  refuseBlank(options, 'by', 'reason');
  const { by, reason, dryRun = false } = options;
  await withOperator(settings, async (connected) => {
    const { records, operator } = connected;
    const view = { conversationId, by, reason, dryRun };
    if (dryRun) {
      const conversation = await records.conversation(conversationId);
      if (conversation === undefined) throw noConversation(conversationId);
      const status = conversation.holder.owner === 'human' ? 'would_release' : 'already';
      return out.card({ ...view, status }, VIEW);
    }
    const act = { action: 'conversation.release', object: conversationId, by, reason };
    const { kind } = await audited(connected, act, async () => ({
      kind: await operator.release(conversationId, { by, reason }),
    }));
    if (kind === 'not_found') throw noConversation(conversationId);
    out.card({ ...view, status: kind }, VIEW);
  });
}

function noConversation(conversationId: string): CommandError {
  const next = 'its id is <source>/<the id the source uses>; see "turnkeeper turns list"';
  return notFound('conversation', conversationId, next);
}

function releaseText({ conversationId, status }: ReleaseView): string {
  return visible(
    {
      released: `${conversationId} is the agent's again, from the next message on`,
      already: `${conversationId} was the agent's already`,
      would_release: `${conversationId} would be the agent's again; nothing was changed`,
    }[status],
  );
}
