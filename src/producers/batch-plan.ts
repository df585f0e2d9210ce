import { createHash, randomUUID } from 'node:crypto';
import {
  batchFilterSchema,
  InvalidInputError,
  type Batch,
  type BatchCase,
  type BatchFilter,
} from '../contracts/index.ts';
import { allCalls, canonicalJson } from '../loop/index.ts';
import type { Batches, EndedTurn, Records, TurnRecord } from '../store/index.ts';

/** After this many turns about the same messages a person has to look. */
const MAX_ATTEMPTS = 3;
const PAGE = 200;
const PLAN_KEPT_MS = 30 * 86_400_000;
const DEFAULT_RATE = 5;

export type PlanOptions = {
  records: Records;
  batches: Batches;
  filter: BatchFilter;
  /** Milliseconds since the epoch: turns that end later are not looked at. */
  now: number;
  /** Most cases that are planned; the oldest first. */
  cap?: number;
  /** Who plans it, what it is called, and why. */
  act?: { by?: string; name?: string; reason?: string };
  onProgress?: (looked: number) => void;
};

/**
 * Selects the turns a filter names and says of each what would happen: the selection is frozen and hashed, and nothing is
 * started. @throws InvalidInputError when the filter cannot be used
 */
export async function planBatch(options: PlanOptions): Promise<Batch> {
  const { records, batches, now, cap = Infinity, onProgress } = options;
  const filter = parseFilter(options.filter);
  const id = `b${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const sum = createHash('sha256');
  let [cases, toRun, looked] = [0, 0, 0];
  for await (const page of records.endedTurns(
    filter.endedAfter ?? 0,
    filter.endedBefore ?? now,
    PAGE,
  )) {
    const planned: BatchCase[] = [];
    for (const head of page) {
      looked += 1;
      if (cases + planned.length >= cap || !matchesHead(head, filter)) continue;
      const turn = await records.turn(head.turnId);
      if (turn === undefined || !matchesTurn(turn, filter)) continue;
      planned.push(await judge(turn, records));
    }
    for (const one of planned) sum.update(canonicalJson(one));
    cases += planned.length;
    toRun += planned.filter(({ verdict }) => verdict === 'run').length;
    await batches.append(id, planned);
    onProgress?.(looked);
  }
  const batch: Batch = {
    id,
    status: 'planned',
    filter,
    plannedAt: now,
    hash: sum.digest('hex'),
    cases,
    toRun,
    rate: DEFAULT_RATE,
    next: 0,
    started: 0,
    ...options.act,
  };
  await batches.create(batch, PLAN_KEPT_MS);
  return batch;
}

function parseFilter(filter: BatchFilter): BatchFilter {
  const parsed = batchFilterSchema.safeParse(filter, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidInputError(
    issue?.path.join('.') ?? 'filter',
    issue?.input,
    issue?.message ?? '',
  );
}

function matchesHead(head: EndedTurn, filter: BatchFilter): boolean {
  const { outcomes, reasons, sources, conversations } = filter;
  const source = head.conversationId.slice(0, head.conversationId.indexOf('/'));
  return (
    (outcomes ?? [head.outcome]).includes(head.outcome) &&
    (reasons ?? [head.reason]).includes(head.reason) &&
    (sources ?? [source]).includes(source) &&
    (conversations ?? [head.conversationId]).includes(head.conversationId)
  );
}

function matchesTurn({ state, events }: TurnRecord, filter: BatchFilter): boolean {
  const tools = allCalls(state).map(({ tool }) => tool);
  const models = events.flatMap((event) => (event.type === 'model_responded' ? [event.model] : []));
  const skills = state.skills.map(({ name }) => name);
  const meets = (wanted: readonly string[] | undefined, found: readonly string[]): boolean =>
    wanted === undefined || wanted.some((one) => found.includes(one));
  return meets(filter.tools, tools) && meets(filter.skills, skills) && meets(filter.models, models);
}

/** What would happen to a turn that is repeated now. */
async function judge(turn: TurnRecord, records: Records): Promise<BatchCase> {
  const { turnId, conversationId, state, events } = turn;
  const effects = allCalls(state).flatMap(({ tool, effect }) =>
    effect === undefined
      ? []
      : [{ operation: effect.operation, tool, resource: effect.resource, status: effect.status }],
  );
  const rows = await Promise.all(effects.map(({ operation }) => records.operation(operation)));
  const now = effects.map((effect, index) => ({
    ...effect,
    status: rows[index]?.status ?? effect.status,
  }));
  const done = now.filter(({ status }) => status === 'verified' || status === 'applied');
  const unclear = now.filter(
    ({ status }) => status === 'unknown' || status === 'attempted' || status === 'applied',
  );
  const open = now.filter(
    ({ status }) => !['verified', 'applied', 'unknown', 'attempted'].includes(status),
  );
  const base = {
    turnId,
    conversationId,
    before: { outcome: turn.outcome ?? '', reason: turn.reason ?? '' },
    done,
    open,
    costMicros: state.spent.costMicros,
    durationMs: (turn.endedAt ?? turn.startedAt) - turn.startedAt,
  };
  const refusal = await whyNot(
    turn,
    unclear.map(({ operation }) => operation),
    records,
  );
  if (events.length > 0 && refusal === undefined) return { ...base, verdict: 'run' };
  return { ...base, ...(refusal ?? { verdict: 'skip', why: 'its record is gone' }) };
}

async function whyNot(
  turn: TurnRecord,
  unclear: readonly string[],
  records: Records,
): Promise<Pick<BatchCase, 'verdict' | 'why'> | undefined> {
  const skip = (why: string) => ({ verdict: 'skip', why }) as const;
  const person = (why: string) => ({ verdict: 'person', why }) as const;
  if (turn.outcome === 'completed') return skip('completed: nothing is left to do');
  if (turn.reason === 'superseded') return skip('superseded: the next turn answered its messages');
  if (turn.reprocessedAs !== null) return skip(`reprocessed already, as ${turn.reprocessedAs}`);
  const conversation = await records.conversation(turn.conversationId);
  if (conversation === undefined) return skip('its conversation is gone');
  const { holder } = conversation;
  if (holder.takenBy !== null) return person(`${holder.takenBy} has taken the conversation over`);
  if (conversation.waiting > 0 || (conversation.acceptedAt ?? 0) > (turn.endedAt ?? 0)) {
    return skip('newer message: the customer has written again');
  }
  if (unclear.length > 0) return person(`settle first what is not certain: ${unclear.join(', ')}`);
  if (turn.attempt >= MAX_ATTEMPTS) return person(`tried ${turn.attempt} times already`);
  return undefined;
}
