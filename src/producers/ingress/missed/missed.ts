import type { SourceApi } from '../api.ts';

/**
 * A message as the API of a system has it, put into the delivery that should have brought it: what it means is read from
 * it in the same way.
 */
export type Missed = {
  /** When it was written. Milliseconds since the epoch. */
  at: number;
  /** The JSON body of the delivery. */
  body: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Other ids under which the message may have come in. */
  aliases?: readonly string[];
};

/**
 * Finds what was written since a moment, in milliseconds since the epoch: conversation by conversation, the messages of
 * each in their order. May bring older ones as well. Throws when the API cannot be read.
 */
export type FindMissed = (api: SourceApi, since: number) => AsyncIterable<readonly Missed[]>;

/** No system has so many pages; an API that turns in a circle is left. */
const MOST_PAGES = 10_000;

/** Pages of a list until one is the last. `read` answers where the next one begins, or nothing after the last. */
export async function* pages<T, Place>(
  first: Place,
  read: (place: Place) => Promise<{ items: readonly T[]; next: Place | undefined }>,
): AsyncIterable<T> {
  let place: Place | undefined = first;
  for (let count = 0; count < MOST_PAGES && place !== undefined; count += 1) {
    const { items, next }: { items: readonly T[]; next: Place | undefined } = await read(place);
    yield* items;
    place = next;
  }
}

export function inOrder(missed: readonly Missed[]): Missed[] {
  return missed.toSorted((one, other) => one.at - other.at);
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
