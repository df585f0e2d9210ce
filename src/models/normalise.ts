import type { ModelFailure, ProposalInput } from '../contracts/index.ts';
import type { WireAnswer, WireCall } from './wire.ts';
import { failureOf, isRecord } from './failures.ts';
import { parsed } from './line.ts';
import { isProposalTool, readProposal } from './proposal-tools.ts';

export type Meaning = { ok: true; proposal: ProposalInput } | { ok: false; failure: ModelFailure };

type ReadCall = { id: string; tool: string; arguments: unknown };

/**
 * What an answer means, by what is in it: complete calls count whatever the provider calls the end, text counts only
 * when nothing says that it was cut, and a call whose arguments are not whole is never run.
 */
export function meaningOf(answer: WireAnswer): Meaning {
  const { error, finish, calls } = answer;
  const text = visibleText(answer.text);
  const begun = text !== '' || calls.length > 0;
  if (error !== undefined) return { ok: false, failure: failureOf(error, { begun }) };
  if (!answer.complete) return failed('network_failure', 'the answer was cut off');
  if (answer.refused || finish === 'refusal') return failed('refusal');
  if (finish === 'filter') return failed('content_filter');
  if (finish === 'failed') return failed('server_error', nameOf(answer.rawFinish));
  if (calls.length > 0) return meaningOfCalls(answer, text);
  switch (finish) {
    case 'length':
      return failed('max_tokens');
    case 'overflow':
      return failed('overflow_mid_generation');
    case 'unknown':
      return failed('unknown_stop_reason', nameOf(answer.rawFinish));
    case 'calls':
      return text === ''
        ? failed('empty_reply')
        : failed('invalid_proposal', 'it announces tool calls and holds none');
    case 'stop':
      break;
    default:
      finish satisfies never;
  }
  if (text === '') return failed('empty_reply');
  if (TOOL_MARKUP.test(text)) {
    return failed(
      'invalid_proposal',
      'a tool call was written as text; call tools by the interface',
    );
  }
  return { ok: true, proposal: { kind: 'finish_candidate', reply: text } };
}

function meaningOfCalls({ calls, finish }: WireAnswer, text: string): Meaning {
  const cut = finish === 'length' || finish === 'overflow';
  const read: ReadCall[] = [];
  for (const [index, call] of calls.entries()) {
    // The last call of an answer that was cut has no arguments because they were not written yet.
    const args = argumentsOf(call, cut && index === calls.length - 1);
    if (args === undefined) {
      if (cut) return failed(finish === 'overflow' ? 'overflow_mid_generation' : 'max_tokens');
      return failed('invalid_proposal', `the arguments of call ${index + 1} are not JSON`);
    }
    const tool = typeof call.name === 'string' ? call.name.trim() : '';
    if (tool === '') return failed('invalid_proposal', `call ${index + 1} names no tool`);
    read.push({ id: idOf(call, index, read), tool, arguments: args.value });
  }
  return proposalOf(read, text);
}

/** A wish for a person comes first; work comes before an end that was announced without having seen its results. */
function proposalOf(calls: readonly ReadCall[], text: string): Meaning {
  const ends = calls.filter(({ tool }) => isProposalTool(tool));
  const work = calls.filter(({ tool }) => !isProposalTool(tool));
  const person = ends.find(({ tool }) => tool === 'escalate');
  if (person === undefined && work.length > 0) {
    const rationale = text.slice(0, 500);
    const spoken = rationale === '' ? {} : { rationale };
    return { ok: true, proposal: { kind: 'tool_calls', calls: work, ...spoken } };
  }
  const end = person ?? ends[0];
  if (end === undefined || (person === undefined && ends.length > 1)) {
    return failed('invalid_proposal', 'it ends the turn in more than one way');
  }
  const proposal = readProposal(end.tool, end.arguments);
  return proposal === undefined
    ? failed('invalid_proposal', `the arguments of ${end.tool} do not fit`)
    : { ok: true, proposal };
}

/** The arguments as they are, or nothing: what is not whole is not completed by us. */
function argumentsOf({ arguments: given }: WireCall, cut: boolean): { value: unknown } | undefined {
  if (isRecord(given)) return { value: given };
  if (given === undefined || given === null || (typeof given === 'string' && given.trim() === '')) {
    return cut ? undefined : { value: {} };
  }
  if (typeof given !== 'string') return undefined;
  const value = parsed(given);
  return isRecord(value) ? { value } : undefined;
}

/** Ids only tie a result to its call: one that is missing, repeated or absurd gets a name of ours. */
function idOf({ id }: WireCall, index: number, before: readonly ReadCall[]): string {
  const usable = typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id) ? id : undefined;
  const taken = new Set(before.map((call) => call.id));
  if (usable !== undefined && !taken.has(usable)) return usable;
  const base = `call_${index + 1}`;
  return taken.has(base) ? `${base}_${before.length}` : base;
}

/** Thoughts some servers leave in the text are not for customers; one that never ends leaves nothing. */
function visibleText(text: string): string {
  return text.replace(/^\s*<(think|thinking|reasoning)>[\s\S]*?(?:<\/\1>|$)/, '').trim();
}

/** How models write calls where the server does not recognise them. */
const TOOL_MARKUP =
  /<\/?(?:tool_call|function_call|function=|invoke )|<\|(?:tool|python_tag|start|channel|message)|\[TOOL_CALLS\]|<｜tool/;

function nameOf(raw: string | undefined): string {
  return (raw ?? '').replaceAll(/[^\w.: -]/g, '?').slice(0, 64);
}

function failed(kind: ModelFailure['kind'], detail = ''): Meaning {
  return { ok: false, failure: { kind, ...(detail === '' ? {} : { detail }) } };
}
