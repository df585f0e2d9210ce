import type { CallResult, Proposal } from '../contracts/index.ts';
import type { HistoryEntry, View, ViewResult, ViewRound } from '../loop/index.ts';

export type TranscriptCall = { id: string; tool: string; arguments: unknown };

/**
 * A message for the model. Every entry with calls is followed by its results, one for each call in order; no entry is
 * empty; two entries in a row never have the same role.
 */
export type TranscriptEntry =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: readonly TranscriptCall[] }
  | { role: 'results'; results: readonly { id: string; text: string }[] };

/** What was said so far, for providers to put into their own shape. It starts and ends with somebody else than the model. */
export function transcriptOf(view: View): readonly TranscriptEntry[] {
  const writer = new Writer();
  for (const entry of view.history) writeHistory(writer, entry);
  for (const message of view.messages) writer.hear(fromCustomer(message));
  for (const round of view.rounds) writeRound(writer, round, true);
  return writer.entries;
}

class Writer {
  readonly entries: TranscriptEntry[] = [];
  #calls = 0;

  hear(line: string): void {
    const last = this.entries.at(-1);
    if (last?.role === 'user') last.text += `\n${line}`;
    else this.entries.push({ role: 'user', text: line });
  }

  say(text: string): void {
    const last = this.entries.at(-1);
    if (text.trim() === '') return;
    if (last?.role === 'assistant') last.text += `\n\n${text}`;
    else this.entries.push({ role: 'assistant', text, calls: [] });
  }

  call(text: string, calls: readonly { tool: string; arguments: unknown; result: string }[]): void {
    // Nine letters and digits, never used twice: what the pickiest provider takes as an id.
    const named = calls.map((call) => {
      this.#calls += 1;
      return { ...call, id: `call${String(this.#calls).padStart(5, '0')}` };
    });
    const said = this.entries.at(-1)?.role === 'assistant' ? this.entries.pop() : undefined;
    const before = said?.role === 'assistant' ? [said.text] : [];
    this.entries.push(
      {
        role: 'assistant',
        text: [...before, text].filter((part) => part.trim() !== '').join('\n\n'),
        calls: named.map(({ id, tool, arguments: args }) => ({ id, tool, arguments: args })),
      },
      { role: 'results', results: named.map(({ id, result }) => ({ id, text: result })) },
    );
  }
}

function writeHistory(writer: Writer, entry: HistoryEntry): void {
  if (entry.kind === 'line') return writer.hear(fromRuntime('earlier_turn', entry.line));
  if (entry.kind === 'human') return writer.hear(fromColleague(entry.text));
  for (const text of entry.customer) writer.hear(fromCustomer({ text }));
  // The last round is the reply itself.
  const isReply = (round: ViewRound, index: number): boolean =>
    index === entry.rounds.length - 1 && round.proposal?.kind !== 'tool_calls';
  entry.rounds.forEach((round, index) => {
    if (!isReply(round, index)) writeRound(writer, round, false);
  });
  if (entry.reply.trim() === '') writer.hear(fromRuntime('earlier_turn', 'No reply was needed.'));
  else writer.say(entry.reply);
}

function writeRound(writer: Writer, round: ViewRound, isCurrent: boolean): void {
  const { proposal, results, objection } = round;
  if (proposal?.kind === 'tool_calls') {
    writer.call(
      proposal.rationale ?? '',
      proposal.calls.map(({ tool, arguments: args }, index) => {
        const answer = results[index];
        return { tool, arguments: args, result: resultText(answer, isCurrent) };
      }),
    );
  } else if (proposal !== null) {
    writer.say(wordsOf(proposal));
  }
  if (objection !== undefined) writer.hear(fromRuntime('objection', objection));
}

function wordsOf(proposal: Exclude<Proposal, { kind: 'tool_calls' }>): string {
  switch (proposal.kind) {
    case 'finish_candidate':
    case 'refuse':
      return proposal.reply;
    case 'ask_customer':
      return proposal.text;
    case 'escalate':
      return '';
    default:
      return proposal satisfies never;
  }
}

const NOT_RUN: CallResult = {
  kind: 'failed',
  code: 'not_run',
  message: 'this call was not run',
  transient: false,
};

/** One line of JSON: whatever a customer writes, it cannot end its own quotation marks and speak as somebody else. */
function fromCustomer({ text, subject }: { text: string; subject?: string }): string {
  const about = subject === undefined ? {} : { subject };
  return JSON.stringify({ from: 'customer', trust: 'untrusted', ...about, text });
}

/** What a person of the company wrote to the customer. */
function fromColleague(text: string): string {
  return JSON.stringify({ from: 'colleague', text });
}

function fromRuntime(kind: 'objection' | 'earlier_turn', text: string): string {
  return JSON.stringify({ from: 'runtime', kind, text });
}

/** Only what this turn has seen may be cited, and only what it has done may be followed by more. */
function resultText(answer: ViewResult | undefined, isCurrent: boolean): string {
  const { evidence, operation, result = NOT_RUN } = answer ?? {};
  const names = isCurrent ? { evidence, operation } : {};
  if (result.kind !== 'ok') {
    const { kind, code, message } = result;
    // It may work when it is tried again.
    const again = kind === 'failed' && result.transient ? { transient: true } : {};
    return JSON.stringify({ ...names, status: kind, code, message, ...again });
  }
  const { observation, earlier } = result;
  const { trust, provenance, at, data, truncated } = observation;
  return JSON.stringify({
    ...names,
    status: 'ok',
    ...(earlier === true ? { earlier } : {}),
    from: provenance,
    at: new Date(at).toISOString(),
    ...(truncated === true ? { truncated } : {}),
    trust,
    data,
  });
}
