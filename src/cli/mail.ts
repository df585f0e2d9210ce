import type { Command } from 'commander';
import { loadAgent } from '../config/index.ts';
import type { Mapped, Source } from '../producers/ingress/index.ts';
import { conversationIdOf } from '../store/conversation-id.ts';
import { DeadLetters } from '../store/dead-letters.ts';
import { withQueues } from './connection.ts';
import { EXIT, usageError, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';

/** The JSON of `mail`. `why`: what kept it from being answered. */
export type MailTaken = {
  result: 'accepted' | 'known' | 'ignored' | 'dead_letter';
  source: string;
  conversationId: string | null;
  why: string | null;
};

/** Largest mail in bytes, attachments included. */
const MOST_BYTES = 25 * 1_048_576;

export function addMail(program: Command): void {
  program
    .command('mail')
    .description(
      'Hands in one mail from stdin, as a mail server pipes it. Doing it again changes nothing.',
    )
    .option('--source <name>', 'which source of type "mime"; needed when there are several')
    .addHelpText(
      'after',
      '\nIn an alias or a pipe transport: |turnkeeper mail --config /etc/turnkeeper.config.ts\n' +
        'Ends with 0 once the mail is stored, known, or left alone on purpose, and with 75 when it is to be tried again.\n' +
        'What is no mail at all is kept as a dead letter; sending it back would help nobody.',
    )
    .action((options: { source?: string }, command: Command) =>
      perform(command, (invocation) => mail(invocation, options)),
    );
}

async function mail(
  { settings, out, configFile }: Invocation,
  options: { source?: string },
): Promise<ExitCode> {
  const { agent } = await loadAgent(configFile === undefined ? {} : { file: configFile });
  const source = mailSource(agent.sources, options.source);
  const raw = await rawMail(process.stdin);
  return withQueues(settings, async (connected) => {
    const { store, queues, records } = connected;
    const { Operator } = await import('../producers/operator.ts');
    const operator = new Operator(connected);
    await store.open();
    const taken = await take(raw, source, {
      keep: async (why) => void (await new DeadLetters(store).keep(source.name, why, raw)),
      takeIn: async (mapped) => {
        const { takeIn } = await import('../producers/take-in.ts');
        const posted = (conversationId: string) => records.posted(conversationId);
        return takeIn({ store, queues, operator, posted }, source, mapped);
      },
    });
    if (taken.why !== null) out.note(`${taken.result.replace('_', ' ')}: ${taken.why}`);
    if (out.format !== 'id') {
      const { result, conversationId } = taken;
      const text = conversationId === null ? result : `${result}  ${conversationId}`;
      out.card(taken, { id: () => '', text: () => text.replace('_', ' ') });
    } else if (taken.conversationId !== null) {
      out.write(taken.conversationId);
    }
    return EXIT.ok;
  });
}

/** @throws CommandError when there is none, or none of that name */
function mailSource(sources: readonly Source[], name: string | undefined): Source {
  const all = sources.filter(({ type }) => type === 'mime');
  const fitting = name === undefined ? all : all.filter((one) => one.name === name);
  const [source] = fitting;
  if (source !== undefined && fitting.length === 1) return source;
  const names = all.map((one) => one.name).join(', ');
  throw all.length === 0
    ? usageError(
        'the configuration has no source of type "mime"',
        "add { name: 'mail', type: 'mime', secrets: […], ownAddresses: ['support@example.com'] } to `sources`",
      )
    : usageError(`--source is ${name ?? 'missing'}: must be one of ${names}`);
}

/** One byte more than may be is enough to see that it is too much; the rest is read and dropped, as pipes want it. */
async function rawMail(input: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    if (size <= MOST_BYTES) chunks.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(chunks);
}

async function take(
  raw: Buffer,
  source: Source,
  into: {
    keep: (why: string) => Promise<void>;
    takeIn: (mapped: Mapped) => Promise<{ accepted: number; bad: string[] }>;
  },
): Promise<MailTaken> {
  const dead = async (why: string): Promise<MailTaken> => {
    await into.keep(why);
    return { result: 'dead_letter', source: source.name, conversationId: null, why };
  };
  if (raw.length > MOST_BYTES) return dead(`larger than ${MOST_BYTES} bytes`);
  let mapped: Mapped;
  try {
    // Whoever may start us here needs no secret to be believed.
    const request = { method: 'POST', url: '', headers: {}, query: {}, rawBody: raw };
    mapped = await source.adapter.map({ ...request, receivedAt: Date.now() }, source);
  } catch {
    return dead('no mail');
  }
  const { accepted, bad } = await into.takeIn(mapped);
  const [problem] = bad;
  if (problem !== undefined) return dead(problem);
  const [message] = mapped.accept;
  if (message === undefined) {
    const [ignored] = mapped.ignored;
    const why = ignored?.why ?? 'no_message';
    return { result: 'ignored', source: source.name, conversationId: null, why };
  }
  return {
    result: accepted > 0 ? 'accepted' : 'known',
    source: source.name,
    conversationId: conversationIdOf(source.name, message.conversationId),
    why: null,
  };
}
