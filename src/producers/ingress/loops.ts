import type { Mapped, Said } from './mapped.ts';

/** What we have posted in a conversation, by the ids its system gave. */
export type Posted = {
  ids: ReadonlySet<string>;
  /** A reply is being sent, or its answer is missing: one more id may be ours. */
  sending: boolean;
};

/**
 * Tells our own posts by their ids, whatever the payload says of their author; and a person who writes with our account
 * by an id we never got. While a reply is on its way such a post is taken for it.
 */
export function tellOwn(mapped: Mapped, postedIn: (conversationId: string) => Posted): Mapped {
  const isOurs = ({ conversationId, messageId }: Pick<Said, 'conversationId' | 'messageId'>) =>
    postedIn(conversationId).ids.has(messageId);
  const isPerson = (said: Said) => !postedIn(said.conversationId).sending && !isOurs(said);
  const echoes = mapped.ignored.filter(({ why }) => why === 'own_reply');
  const persons = echoes.flatMap(({ said }) =>
    said !== undefined && isPerson(said) ? [said] : [],
  );
  const ours = [...mapped.accept, ...mapped.takeovers].filter(isOurs);
  return {
    ...mapped,
    accept: mapped.accept.filter((message) => !isOurs(message)),
    takeovers: [...mapped.takeovers.filter((said) => !isOurs(said)), ...persons],
    ignored: [
      ...mapped.ignored.filter(({ said }) => said === undefined || !persons.includes(said)),
      ...ours.map(({ conversationId }) => ({ why: 'own_reply' as const, conversationId })),
    ],
  };
}
