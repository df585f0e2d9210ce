import type { CallLimits } from '../loop/index.ts';

/** How a call to another system came out. `abandoned`: it ignored its end and may still be running. */
export type CallEnd<T> =
  | { kind: 'answered'; value: T }
  | { kind: 'threw'; error: unknown }
  | { kind: 'cut'; by: 'timeout' | 'silence' | 'stop'; abandoned: boolean };

/** How long a call that was told to end may take to do so. Milliseconds. */
const GRACE_MS = 1_000;

/**
 * Waits for a call no longer than its limits allow: its time, its silence, or the turn being stopped. Then the call is
 * told to end; what it still answers within a grace counts, as it really happened. After that it is left behind.
 */
export async function within<T>(
  { timeoutMs, silenceMs, stop }: CallLimits,
  run: (call: { signal: AbortSignal; heartbeat: () => void }) => Promise<T>,
  graceMs = GRACE_MS,
): Promise<CallEnd<T>> {
  const abort = new AbortController();
  const { promise: abandoned, resolve: abandon } = Promise.withResolvers<CallEnd<T>>();
  let cut: Extract<CallEnd<T>, { kind: 'cut' }>['by'] | undefined;
  let grace: NodeJS.Timeout | undefined;
  const end = (by: NonNullable<typeof cut>): void => {
    if (cut !== undefined) return;
    cut = by;
    abort.abort(new Error(by));
    grace = setTimeout(() => abandon({ kind: 'cut', by, abandoned: true }), graceMs);
  };
  const deadline = setTimeout(() => end('timeout'), Math.max(0, timeoutMs));
  const silence = setTimeout(() => end('silence'), silenceMs);
  const stopped = (): void => end('stop');
  stop?.addEventListener('abort', stopped);
  if (stop?.aborted === true) stopped();
  const settled = run({ signal: abort.signal, heartbeat: () => silence.refresh() }).then(
    (value): CallEnd<T> => ({ kind: 'answered', value }),
    (error: unknown): CallEnd<T> =>
      cut === undefined ? { kind: 'threw', error } : { kind: 'cut', by: cut, abandoned: false },
  );
  try {
    return await Promise.race([settled, abandoned]);
  } finally {
    stop?.removeEventListener('abort', stopped);
    clearTimeout(deadline);
    clearTimeout(silence);
    clearTimeout(grace);
  }
}
