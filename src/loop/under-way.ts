import type { CallResult, EventOf, VerificationRead } from '../contracts/index.ts';
import type { ModelAnswer, Ports } from './ports.ts';
import { currentCalls, type CallState, type TurnState } from './state.ts';

type How = NonNullable<EventOf<'stop_requested'>['how']>;
type Met = { running: string[]; how: How };

/**
 * Remembers what a turn had under way outside, so that a stop can say what it met and how that came to its end: asking
 * for a stop and stopping are two facts.
 */
export class UnderWay {
  readonly #ports: Pick<Ports, 'clock' | 'stop'>;
  /** The last thing done outside; at first what an earlier worker left open. */
  #last: { names: string[]; from: number; to: number; told: boolean; how: How } | undefined;

  constructor(ports: Pick<Ports, 'clock' | 'stop'>, left: readonly string[]) {
    this.#ports = ports;
    if (left.length > 0) {
      this.#last = { names: [...left], from: 0, to: Infinity, told: true, how: 'abandoned' };
    }
  }

  async run<T>(
    names: string[],
    call: () => Promise<T>,
    how: (value: T) => How = () => 'completed',
  ): Promise<T> {
    const { clock, stop } = this.#ports;
    const from = clock.now();
    const known = stop?.aborted === true;
    const value = await call();
    const told = !known && stop !== undefined && isAborted(stop);
    this.#last = { names, from, to: clock.now(), told, how: how(value) };
    return value;
  }

  /** What was under way when a stop was asked for. */
  at(moment: number): Met {
    const last = this.#last;
    if (last === undefined || !(last.told || (last.from <= moment && moment <= last.to))) {
      return { running: [], how: 'stopped' };
    }
    return { running: last.names, how: last.how };
  }
}

/** Read anew: it changes while a call is awaited. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** How a model call came to its end. */
export function howAsked(answer: ModelAnswer): How {
  if (answer.ok || answer.failure.kind !== 'aborted') return 'completed';
  return answer.failure.abandoned === true ? 'abandoned' : 'stopped';
}

/** How calls that ran side by side came to their end: the worst of them counts. */
export function howCalled(results: readonly CallResult[]): How {
  const cut = results.filter((result) => 'code' in result && result.code === 'stopped');
  if (cut.some((result) => 'abandoned' in result && result.abandoned === true)) return 'abandoned';
  return cut.length > 0 ? 'stopped' : 'completed';
}

/** How a re-read, or another look at the world, came to its end. */
export function howRead({ failed }: { failed?: VerificationRead['failed'] }): How {
  if (failed?.code !== 'stopped') return 'completed';
  return failed.abandoned === true ? 'abandoned' : 'stopped';
}

export function nameOf({ tool, id }: CallState): string {
  return `${tool} (${id})`;
}

/** What the record shows as started and not settled: an earlier worker was lost over it. */
export function leftOpen(state: TurnState): string[] {
  return currentCalls(state)
    .filter(({ step }) => step === 'running')
    .map(nameOf);
}
