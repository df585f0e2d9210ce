import EmailReplyParser from 'email-reply-parser';

/** The parser tries patterns over whole texts: on long ones made for it, it would stand still. It gets a short one. */
const WINDOW = 6_000;
const LONGEST_LINE = 250;

export type Reply = { text: string; quoted?: string; signature?: string };

/**
 * Splits a mail into what its writer says and what is quoted or signed around it. Quotes between two answers stay: the
 * answers mean nothing without them. When nothing would be left, everything stays.
 */
export function splitReply(mail: string): Reply {
  // Long lines are stood in for by this character.
  if (mail.includes('\ue000')) return { text: mail };
  const { window, rest, restore } = shortened(mail);
  const parts = new EmailReplyParser()
    .read(window)
    .getFragments()
    .map((fragment) => ({
      text: restore(fragment.getContent()),
      spoken: !fragment.isHidden() && !fragment.isEmpty(),
      signature: fragment.isSignature(),
    }));
  const first = parts.findIndex(({ spoken }) => spoken);
  if (first === -1) return { text: mail };
  const last = parts.findLastIndex(({ spoken }) => spoken);
  const around = [...parts.slice(0, first), ...parts.slice(last + 1)];
  const tail = parts.slice(last + 1).some(({ text }) => text.trim() !== '');
  const spoken = parts.slice(first, last + 1).map((part) => part.text);
  const quoted = around.filter(({ signature }) => !signature).map((part) => part.text);
  const signature = around.filter((part) => part.signature).map((part) => part.text);
  // What comes after a quote is a quote.
  (tail ? quoted : spoken).push(rest);
  return { text: spoken.join('\n'), ...kept('quoted', quoted), ...kept('signature', signature) };
}

function shortened(mail: string) {
  const lines = mail.split('\n');
  const long: string[] = [];
  const shown: string[] = [];
  let length = 0;
  let taken = 0;
  for (const line of lines) {
    const short = line.length > LONGEST_LINE ? standIn(line, long.push(line) - 1) : line;
    const blank = short.trim() === '';
    if (!blank || shown.at(-1) !== '') {
      length += short.length + 1;
      if (length > WINDOW) break;
      shown.push(blank ? '' : short);
    }
    taken += 1;
  }
  return {
    window: shown.join('\n'),
    rest: lines.slice(taken).join('\n'),
    restore: (text: string) =>
      text.replaceAll(/>* ?\ue000(\d+)/g, (_, index: string) => long[Number(index)] ?? ''),
  };
}

function standIn(line: string, index: number): string {
  return `${line.startsWith('>') ? '> ' : ''}\ue000${index}`;
}

function kept(name: 'quoted' | 'signature', texts: readonly string[]): Partial<Reply> {
  const text = texts.join('\n').trim();
  return text === '' ? {} : { [name]: text };
}
