import { z } from 'zod';
import { describeIssues } from '../service/input-error.ts';
import { ConversationSeed } from './model.ts';

const DeskSeed = z.object({ conversations: z.array(ConversationSeed) });

/** Checks `{conversations: [...]}`. Fails with one line that names field, value and fix. */
export function parseConversations(value: unknown): ConversationSeed[] {
  const parsed = DeskSeed.safeParse(value);
  if (parsed.success) return parsed.data.conversations;
  throw new Error(`the seed: ${describeIssues(parsed.error, value).join('; ')}`);
}
