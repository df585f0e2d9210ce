import type { Signal } from '../loop/index.ts';
import { key } from '../store/keys.ts';
import type { Connected } from './connection.ts';

/** The stop somebody asked a turn for, whether it has been heeded or not. */
export async function stopAskedFor(
  { redis, store }: Pick<Connected, 'redis' | 'store'>,
  { conversationId, turnId, open }: { conversationId: string; turnId: string; open: boolean },
): Promise<Signal | undefined> {
  const tag = store.tagOf(conversationId);
  const json = open
    ? await redis.hget(key(tag, 'conv', conversationId), 'signal')
    : await redis.hget(key(tag, 'turn', turnId), 'signal');
  return json ? (JSON.parse(json) as Signal) : undefined;
}
