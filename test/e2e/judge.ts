import { key } from '../../src/store/keys.ts';
import type { Thread } from './customers.ts';
import type { DeskStage } from './stage.ts';

/** What is wrong after a run: empty when every promise held. Replies are judged by what the desks themselves have. */
export async function judge(stage: DeskStage, threads: readonly Thread[]): Promise<string[]> {
  return [
    ...threads.flatMap((thread) => repliesOf(thread)),
    ...threads.flatMap((thread) => peopleOf(thread)),
    ...(await turnsOf(stage, threads)),
  ];
}

/** Each message the agent was to answer has one public reply, and nothing else was said. */
function repliesOf(thread: Thread): string[] {
  const { desk, ticket, asked, beforePeople } = thread;
  const replies = desk.replies(ticket);
  const answered = asked.slice(0, beforePeople);
  const findings = answered.flatMap((question) => {
    const count = replies.filter(({ text }) => text.includes(question)).length;
    return count === 1 ? [] : [`${named(thread)}: ${count} replies to ${question}`];
  });
  const surplus = replies.length - answered.length;
  if (surplus > 0) findings.push(`${named(thread)}: ${surplus} public replies too many`);
  if (beforePeople === undefined && desk.notes(ticket).length > 0) {
    findings.push(`${named(thread)}: handed over: ${desk.notes(ticket)[0]?.text ?? ''}`);
  }
  const references = replies.map(({ reference }) => reference);
  if (new Set(references).size < references.length) {
    findings.push(`${named(thread)}: one reply was sent twice`);
  }
  return findings;
}

/** After a person has spoken nothing of the agent's reaches the customer. */
function peopleOf(thread: Thread): string[] {
  const { desk, ticket, beforePeople } = thread;
  if (beforePeople === undefined) return [];
  const { messages } = desk.ticket(ticket);
  const person = messages.findIndex(({ by }) => by === 'human');
  const after = messages.slice(person + 1).filter((one) => one.by === 'us' && one.public);
  return after.map(({ text }) => `${named(thread)}: said after a person had spoken: ${text}`);
}

/** Each message has one turn; those behind a person may share one. */
async function turnsOf(stage: DeskStage, threads: readonly Thread[]): Promise<string[]> {
  const { store, records } = stage;
  const turns = new Map<string, number[]>();
  const [tag = ''] = store.tags();
  for (const turnId of await records.turnIds({ limit: 100_000 })) {
    const [conversation, messages] = await store.redis.hmget(
      ...([key(tag, 'turn', turnId), 'conversation', 'messages'] as const),
    );
    const known = turns.get(conversation ?? '') ?? [];
    turns.set(conversation ?? '', [...known, Number(messages)]);
  }
  return threads.flatMap((thread) => {
    const counts = turns.get(named(thread)) ?? [];
    const taken = counts.reduce((sum, one) => sum + one, 0);
    const merged = thread.beforePeople === undefined && counts.some((one) => one !== 1);
    return [
      ...(taken === thread.asked.length
        ? []
        : [`${named(thread)}: ${taken} messages in turns, of ${thread.asked.length}`]),
      ...(merged ? [`${named(thread)}: one turn for several messages`] : []),
    ];
  });
}

function named({ desk, ticket }: Thread): string {
  return `${desk.kind}/${ticket}`;
}
