import { hash } from 'node:crypto';

/**
 * The trace of a turn, the same in every process and after every restart: 32 hex digits out of its id. Metrics, step
 * lines and links of a dashboard name it without asking anybody.
 */
export function traceIdOf(turnId: string): string {
  return hex('trace', turnId).slice(0, 32);
}

/** A span of a turn by its place: exporting it a second time gives the same span again. 16 hex digits. */
export function spanIdOf(turnId: string, place: string): string {
  return hex('span', turnId, place).slice(0, 16);
}

function hex(...parts: readonly string[]): string {
  return hash('sha256', parts.join('\n'), 'hex');
}
