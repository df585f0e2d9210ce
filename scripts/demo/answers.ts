import { z } from 'zod';
import type { TurnStory } from '../../src/cli/turn-story.ts';

/** What became of a question about a policy or a product. */
export type Answer = {
  question: string;
  channel: string | null;
  stopReason: string | null;
  /** As it was delivered, with its sources. */
  reply: string;
  /** Score of the best passage, 0 to 1; null when none was near. */
  best: number | null;
};

/** What a search says of the best passage, shown or not. */
const searchedSchema = z.union([
  z
    .object({ passages: z.array(z.object({ scores: z.object({ rerank: z.number() }) })).min(1) })
    .transform(({ passages }) => passages[0]?.scores.rerank ?? null),
  z.object({ best: z.number().nullable() }).transform(({ best }) => best),
]);

/** The turns in which documents were searched, in their order. */
export function answersOf(stories: readonly TurnStory[]): Answer[] {
  return stories.flatMap(({ turn, calls, deliveries }) => {
    const search = calls.findLast(({ tool }) => tool === 'search_knowledge');
    if (search?.result?.kind !== 'ok') return [];
    const [message] = turn.messages;
    return [
      {
        question: message?.text ?? '',
        channel: message?.channel ?? null,
        stopReason: turn.reason ?? null,
        reply: deliveries.find(({ kind }) => kind === 'reply')?.text ?? '',
        best: searchedSchema.parse(search.result.observation.data),
      },
    ];
  });
}
