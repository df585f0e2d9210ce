import type { TicketMessage } from '../../contracts/index.ts';
import type { Mapped } from './mapped.ts';
import { sort } from './sort.ts';
import type { Source } from './source.ts';

/** Reads from the API of a system; knows its root and how to sign in there. */
export type Http = { get: (path: string) => Promise<unknown> };

/** `seen` is all that was read. Messages in it may be older than the ids we remember: what to take in needs a date. */
export type Resolved = { seen: Mapped } & (
  | { kind: 'found'; message: TicketMessage }
  /** One of the staff, or we ourselves: nothing to answer. */
  | { kind: 'someone_else' }
  /** Nothing fits it, as when a system keeps only a part: answer what the payload said. */
  | { kind: 'not_found' }
);

/** Fills in what the payload of a message left out. Rejects when the system cannot be read. */
export async function resolveMessage(
  source: Source,
  message: TicketMessage,
  http: Http,
): Promise<Resolved> {
  const { reread } = source.adapter;
  if (message.missing === undefined || reread === undefined) {
    throw new RangeError(`message ${message.messageId} of ${source.name} has nothing to re-read`);
  }
  const facts = reread.facts(await http.get(reread.path(message)), message);
  const seen = sort(facts, source);
  const found =
    seen.accept.find(({ messageId }) => messageId === message.messageId) ??
    (message.missing.includes('messageId') ? lastFit(message, seen.accept) : undefined);
  if (found === undefined) {
    return { kind: isByOthers(message, seen) ? 'someone_else' : 'not_found', seen };
  }
  const { deliveryId, subject, channel, requester } = message;
  const known = { deliveryId, subject, channel };
  // One message has one requester: the id its payload gave stays, if it gave one.
  const who = requester.assurance === 'none' ? found.requester : requester;
  return { kind: 'found', message: { ...known, ...found, requester: who }, seen };
}

/** The last one with the text; where the payload held none, what the customer wrote last. */
function lastFit(message: TicketMessage, read: readonly TicketMessage[]) {
  if (message.missing?.includes('text') === true) return newest(read);
  return newest(read.filter(({ text }) => bare(text) === bare(message.text)));
}

/** Systems number their messages in the order they come. */
function newest(read: readonly TicketMessage[]): TicketMessage | undefined {
  return read.toSorted((one, other) => Number(other.messageId) - Number(one.messageId))[0];
}

function isByOthers(message: TicketMessage, { takeovers, ignored }: Mapped): boolean {
  const said = [...takeovers, ...ignored.flatMap((one) => one.said ?? [])];
  return said.some(
    (one) => one.messageId === message.messageId || bare(one.text) === bare(message.text),
  );
}

/** Only letters and digits: mark-up and spaces differ between a payload and the API. */
function bare(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, '') || text;
}
