import type { Output } from '../../src/cli/output.ts';
import { LINE_KINDS, type TraceLine } from '../../src/cli/trace-lines.ts';
import type { Trace } from '../../src/cli/trace.ts';
import { shorten, visible } from '../../src/cli/visible-text.ts';
import { count, dollars, duration } from '../../src/cli/wording.ts';

/** Where nobody says how wide a line may be. */
const USUAL_WIDTH = 150;
/** Time and kind, before the text. */
const BEFORE_TEXT = 26;
const LEAST_TEXT = 50;
const MARKED = { tool_said: 'attention', reread_said: 'good', missing: 'bad' } as const;

/** The lines of `turnkeeper trace`, shortened to one screen line each, with the time since the message came. */
export function traceText(traced: Trace, out: Output): string[] {
  const { lines, rounds, toolCalls, tokens, costMicros, missing } = traced;
  const began = Date.parse(lines[0]?.at ?? traced.startedAt);
  const spent = [
    count(rounds, 'round'),
    count(toolCalls, 'tool call'),
    count(tokens, 'token'),
    dollars(costMicros),
  ];
  const gaps = missing.map(
    ({ text, explained }) => `${text}${explained ? ' (its worker was lost)' : ''}`,
  );
  return [
    ...lines.map((line) => lineText(line, began, out)),
    `  ${visible(traced.why)} ${spent.join(', ')}.`,
    gaps.length === 0 ? '  Record: complete, no link is missing.' : `  Record: ${gaps.join('; ')}.`,
  ];
}

function lineText({ at, kind, text, latencyMs }: TraceLine, began: number, out: Output): string {
  const since = at === null ? '' : duration(Date.parse(at) - began);
  const label = LINE_KINDS[kind].padEnd(13);
  const marked = kind in MARKED ? out.mark(MARKED[kind as keyof typeof MARKED], label) : label;
  const took = latencyMs === undefined ? '' : ` [${duration(latencyMs)}]`;
  const room = (process.stdout.columns ?? USUAL_WIDTH) - BEFORE_TEXT - took.length;
  const shown = shorten(visible(text), Math.max(LEAST_TEXT, room));
  return `  ${since.padStart(7)}  ${marked}  ${shown}${took}`;
}
