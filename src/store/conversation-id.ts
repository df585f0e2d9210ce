import { digest } from '../loop/index.ts';

const READABLE = /^(?!x)[A-Za-z0-9._-]{1,64}$/;

/** Our name of a thread: readable where the source's own id is safe in a key, a digest of it otherwise. */
export function conversationIdOf(source: string, externalId: string): string {
  return `${source}/${READABLE.test(externalId) ? externalId : digest(source, externalId)}`;
}

/** Names a message behind the intake. */
export function messageIdOf(source: string, externalId: string, messageId: string): string {
  return digest('message', source, externalId, messageId);
}

/** The source our name of a thread starts with. */
export function sourceOf(conversationId: string): string {
  return conversationId.slice(0, conversationId.indexOf('/'));
}

/** The source's own name of a thread, where ours is made of it. */
export function externalIdOf(conversationId: string): string {
  return conversationId.slice(conversationId.indexOf('/') + 1);
}
