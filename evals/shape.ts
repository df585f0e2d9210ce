import type { TurnEvent } from '../src/contracts/index.ts';
import type { Span, TurnTrace } from '../src/telemetry/index.ts';

/**
 * A trace in one word or two a span, without times and ids: `ask tool_calls`, `cancel_order ok`, `reread cancel_order
 * pending`, `wait verification`, `end completed/replied`. Checks that let something pass are left out.
 */
export function shapeOf(trace: TurnTrace, events: readonly TurnEvent[]): string[] {
  const tools = toolsIn(events);
  return trace.spans.flatMap((span) => wordsOf(span, tools) ?? []);
}

function wordsOf({ kind, name, status, attributes }: Span, tools: Map<string, string>) {
  const said = (attribute: string): string => String(attributes[attribute] ?? status);
  switch (kind) {
    case 'turn':
      return `end ${said('outcome')}/${said('stopReason')}`;
    case 'model_call':
      return `ask ${String(attributes['proposal'] ?? attributes['failure'] ?? status)}`;
    case 'tool_call':
      return `${tools.get(name)} ${said('toolSaid')}`;
    case 'verification_read':
      return `reread ${tools.get(name)} ${said('rereadSaid')}`;
    case 'wait':
      return `wait ${name}`;
    case 'check':
      return refusalIn(attributes, tools);
    default:
      return kind satisfies never;
  }
}

function refusalIn(attributes: Span['attributes'], tools: Map<string, string>): string | undefined {
  const { accepted, decision, cause, verdict, callId, code } = attributes;
  if (accepted !== undefined) return accepted === true ? undefined : 'finish sent back';
  if (decision !== undefined) return `decision ${decision}`;
  if (cause !== undefined) return `stop ${cause}`;
  if (verdict === 'admitted_read' || verdict === 'admitted_write') return undefined;
  const tool = tools.get(String(callId));
  return ['check', tool, verdict, code].filter((word) => word !== undefined).join(' ');
}

/** The name of the tool behind each call id of a turn. */
function toolsIn(events: readonly TurnEvent[]): Map<string, string> {
  const tools = new Map<string, string>();
  let round = 0;
  for (const event of events) {
    if (event.type === 'model_requested') round = event.round;
    if (event.type !== 'model_responded' || event.proposal.kind !== 'tool_calls') continue;
    for (const [index, { tool }] of event.proposal.calls.entries()) {
      tools.set(`${round}.${index + 1}`, tool);
    }
  }
  return tools;
}
