import type Anthropic from '@anthropic-ai/sdk';
import type { Finish } from '../wire.ts';

/** Every stop reason of the API; a new one in the SDK does not compile until it stands here. */
const STOP_REASONS = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'overflow',
  refusal: 'refusal',
  // Only tools that run at the provider pause, and we offer none.
  pause_turn: 'unknown',
} as const satisfies Record<Anthropic.StopReason, Finish>;

export function stopReason(raw: string): Finish {
  const table: Readonly<Record<string, Finish>> = STOP_REASONS;
  return Object.hasOwn(table, raw) ? (table[raw] ?? 'unknown') : 'unknown';
}
