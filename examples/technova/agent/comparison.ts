import type { TurnEvent } from '../../../src/index.ts';

/** One tool call as both runs of the comparison are told: what the tool said, and what a re-read said about it. */
export type Step = {
  tool: string;
  arguments: unknown;
  toolSaid: string;
  /** `null`: nobody looked. */
  rereadSaid: string | null;
};

/** The tool calls of a recorded turn, in the words of the comparison. */
export function stepsOf(events: readonly TurnEvent[]): Step[] {
  const proposed = new Map<string, { tool: string; arguments: unknown }>();
  const steps = new Map<string, Step>();
  let round = 0;
  for (const event of events) {
    switch (event.type) {
      case 'model_responded': {
        round += 1;
        const calls = event.proposal.kind === 'tool_calls' ? event.proposal.calls : [];
        calls.forEach((call, index) => proposed.set(`${round}.${index + 1}`, call));
        break;
      }
      case 'call_settled': {
        const call = proposed.get(event.callId);
        if (call === undefined) break;
        const { result } = event;
        const toolSaid =
          result.kind === 'ok' ? said(result.observation.data) : `${result.kind} ${result.code}`;
        steps.set(event.callId, {
          tool: call.tool,
          arguments: call.arguments,
          toolSaid,
          rereadSaid: null,
        });
        break;
      }
      case 'verification_read': {
        const step = steps.get(event.callId);
        if (step !== undefined) {
          step.rereadSaid = [...(step.rereadSaid?.split(', ') ?? []), event.read.verdict].join(
            ', ',
          );
        }
        break;
      }
      default:
    }
  }
  return [...steps.values()];
}

/** The status in an answer, or what kind of answer it was. */
export function said(answer: unknown): string {
  const status =
    statusIn(answer) ?? statusIn(Object.values(isObject(answer) ? answer : {}).find(isObject));
  return status ?? 'ok';
}

function statusIn(value: unknown): string | undefined {
  return isObject(value) && typeof value['status'] === 'string' ? value['status'] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
