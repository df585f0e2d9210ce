import type { EffectStatus } from '../contracts/index.ts';
import { allCalls } from '../loop/index.ts';
import type { PlannedCase } from '../store/batches.ts';
import type { Batches, Records, TurnRecord } from '../store/index.ts';

/** After this many turns about the same messages a person has to look. */
const MAX_ATTEMPTS = 3;

const DONE: readonly string[] = ['verified', 'applied'] satisfies EffectStatus[];
const UNCLEAR: readonly string[] = ['unknown', 'attempted', 'applied'] satisfies EffectStatus[];

/** An effect of a case as the ledger has it now. `attempts`: 0 when it was only wanted. */
type KnownEffect = PlannedCase['done'][number];

type Sources = { records: Records; batches: Batches };

/** What would happen to a turn that is repeated now. */
export async function judge(turn: TurnRecord, sources: Sources): Promise<PlannedCase> {
  const { turnId, conversationId, state, events } = turn;
  const effects = await effectsOf(turn, sources.records);
  const done = effects.filter(({ status }) => DONE.includes(status));
  const unclear = effects.filter(({ status }) => UNCLEAR.includes(status));
  const open = effects.filter(({ status }) => ![...DONE, ...UNCLEAR].includes(status));
  const refusal =
    events.length === 0
      ? skip('its record is gone')
      : await whyNot(
          turn,
          unclear.map(({ operation }) => operation),
          sources,
        );
  return {
    turnId,
    conversationId,
    before: { outcome: turn.outcome ?? '', reason: turn.reason ?? '' },
    done,
    open: open.map(({ operation, tool, resource, status }) => ({
      operation,
      tool,
      resource,
      status,
    })),
    costMicros: state.spent.costMicros,
    durationMs: (turn.endedAt ?? turn.startedAt) - turn.startedAt,
    ...(refusal ?? { verdict: 'run' }),
  };
}

/** What the turn wanted, and everything that is on record for the same purpose, whichever turn did it. */
async function effectsOf(turn: TurnRecord, records: Records): Promise<KnownEffect[]> {
  const effects = new Map<string, KnownEffect>();
  const rows = await records.ledger(turn.conversationId);
  for (const { operation, tool, resource, status, attempts } of rows.filter(
    ({ intent }) => intent === turn.intent,
  )) {
    effects.set(operation, { operation, tool, resource, status, attempts });
  }
  for (const { tool, effect } of allCalls(turn.state)) {
    if (effect === undefined || effects.has(effect.operation)) continue;
    const { operation, resource } = effect;
    // One operation may belong to several conversations.
    const row = await records.operation(operation);
    const status = row?.status ?? effect.status;
    effects.set(operation, { operation, tool, resource, status, attempts: row?.attempts ?? 0 });
  }
  return [...effects.values()];
}

type Refusal = Pick<PlannedCase, 'verdict' | 'why' | 'group'>;

function skip(group: string, detail = ''): Refusal {
  return { verdict: 'skip', why: group + detail, group };
}

function person(group: string, why = group): Refusal {
  return { verdict: 'person', why, group };
}

async function whyNot(
  turn: TurnRecord,
  unclear: readonly string[],
  { records, batches }: Sources,
): Promise<Refusal | undefined> {
  if (turn.outcome === 'completed') return skip('completed: nothing is left to do');
  if (turn.reason === 'superseded') return skip('superseded: the next turn answered its messages');
  if (turn.reprocessedAs !== null) return skip('reprocessed already', `, as ${turn.reprocessedAs}`);
  const other = await batches.holds.holder(turn);
  if (other !== undefined) return skip('waits or runs in another batch', `, ${other}`);
  const conversation = await records.conversation(turn.conversationId);
  if (conversation === undefined) return skip('its conversation is gone');
  const { holder } = conversation;
  if (holder.takenBy !== null) {
    const what = 'has taken the conversation over';
    return person(`somebody ${what}`, `${holder.takenBy} ${what}`);
  }
  if (conversation.waiting > 0 || (conversation.acceptedAt ?? 0) > (turn.endedAt ?? 0)) {
    return skip('newer message: the customer has written again');
  }
  if (unclear.length > 0) {
    const group = 'settle first what is not certain';
    return person(group, `${group}: ${unclear.join(', ')}`);
  }
  if (turn.attempt >= MAX_ATTEMPTS) return person(`tried ${turn.attempt} times already`);
  return undefined;
}
