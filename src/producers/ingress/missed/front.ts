import { z } from 'zod';
import { id, maybe, text } from '../facts.ts';
import { inOrder, pages, seconds, type FindMissed, type Missed } from './missed.ts';

const event = z.looseObject({
  type: z.string(),
  /** Seconds, with their fraction. */
  emitted_at: z.number(),
  conversation: z.object({ id }),
});
type Event = z.output<typeof event>;

const events = z.object({
  _pagination: maybe(z.object({ next: text })),
  _results: z.array(event),
});

/** Below `https://api2.frontapp.com`. Its events are what rules and applications send. */
function frontEvents(wrap: (event: Event) => unknown): FindMissed {
  return async function* (api, since) {
    const first = new URLSearchParams({ 'q[after]': String(seconds(since)), limit: '15' });
    for (const type of ['inbound', 'outbound', 'out_reply']) first.append('q[types]', type);
    const all = pages(`/events?${first.toString()}`, async (path) => {
      const { _results: items, _pagination: places } = events.parse(await api.get(path));
      return { items, next: places?.next === undefined ? undefined : pathOf(places.next) };
    });
    const byConversation = new Map<string, Missed[]>();
    for await (const one of all) {
      const missed = byConversation.get(one.conversation.id) ?? [];
      missed.push({ at: one.emitted_at * 1_000, body: wrap(one) });
      byConversation.set(one.conversation.id, missed);
    }
    for (const missed of byConversation.values()) yield inOrder(missed);
  };
}

/** The next page is named by its whole address; only ours is asked. */
function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return `${pathname}${search}`;
}

export const frontRule = frontEvents((one) => one);
export const frontApp = frontEvents((one) => ({ type: one.type, payload: one }));
