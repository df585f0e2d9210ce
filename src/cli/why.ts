import type { Command } from 'commander';
import type { Records } from '../store/records.ts';
import { withRecords } from './connection.ts';
import { notFound } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { readStory } from './turn-story.ts';
import { visible } from './visible-text.ts';
import { notStarted, whyCard, type WhyCard } from './why-card.ts';

export function addWhy(program: Command): void {
  program
    .command('why')
    .description(
      'Why a turn stopped: the cause, what was done, whether it is safe to run again, what to do.',
    )
    .argument('<id>', 'a turn, or a conversation such as zendesk/4482: then its newest turn')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => why(invocation, id)),
    );
}

async function why({ settings, out }: Invocation, id: string): Promise<void> {
  const card = await withRecords(settings, ({ records }) => cardOf(records, id, Date.now()));
  out.card(card, {
    id: (one) => one.turnId ?? one.conversationId,
    text: (one) => cardText(one, out),
  });
}

async function cardOf(records: Records, id: string, now: number): Promise<WhyCard> {
  // Only conversation ids hold a slash.
  if (!id.includes('/')) return whyCard(await readStory(records, id), now);
  const conversation = await records.conversation(id);
  if (conversation === undefined) {
    throw notFound(
      'conversation',
      id,
      'its id is <source>/<the id the source uses>; see "turnkeeper turns list"',
    );
  }
  const { openTurn, lastTurn, waiting, oldestWaitingSince } = conversation;
  if (openTurn !== null) return whyCard(await readStory(records, openTurn), now);
  if (waiting > 0) return notStarted(id, waiting, oldestWaitingSince, now);
  if (lastTurn === null) throw notFound('turn of', id, 'it may have been dropped by the retention');
  return whyCard(await readStory(records, lastTurn), now);
}

function cardText(card: WhyCard, out: Output): string {
  const mark = card.state === 'ended' && card.outcome !== 'completed' ? 'attention' : 'good';
  const box = (title: string, lines: readonly string[]): string[] => [
    '',
    out.strong(title),
    ...(lines.length === 0 ? ['  nothing'] : lines.map((line) => `  ${visible(line)}`)),
  ];
  return [
    out.mark(mark, visible(card.sentence)),
    visible(`turn ${card.turnId ?? 'none yet'}, conversation ${card.conversationId}`),
    ...card.notes.map(visible),
    ...box('What was done', card.done),
    ...box('What was not done', card.notDone),
    ...box('Is it safe to run again', [card.safeToRunAgain.text]),
    ...box('What you can do', card.whatYouCanDo),
  ].join('\n');
}
