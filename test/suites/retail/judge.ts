import type { CallResult } from '../../../src/contracts/index.ts';
import type { TurnRecord } from '../../../src/store/records.ts';
import type { Task } from './data.ts';
import type { FrontDoor } from './front-door.ts';
import { callsOf } from './policy.ts';
import type { Played } from './stage.ts';

const ENDINGS = {
  change: 'completed/replied',
  answer: 'completed/replied',
  refuse: 'completed/declined',
  transfer: 'escalated/model_escalated',
} as const satisfies Record<Task['outcome'], string>;

/** What is wrong with a task that its own customer asked for; nothing if all is well. */
export async function judgeTask(
  task: Task,
  { turn, replies }: Played,
  door: FrontDoor,
  world: string,
): Promise<string[]> {
  const complaints: string[] = [];
  // First: it does what was accepted and is still to come.
  const hash = await door.stateHash(world);
  if (hash !== task.hash) complaints.push('the state of the shop is another one');
  const { totals } = await door.counters(world);
  if ((totals['duplicate_applied'] ?? 0) > 0) complaints.push('an effect was applied twice');
  if (endingOf(turn) !== ENDINGS[task.outcome]) complaints.push(`it ended ${endingOf(turn)}`);
  if (replies.length !== 1) complaints.push(`${replies.length} replies were sent`);
  const missing = task.communicate.filter((text) => !replies[0]?.includes(text));
  if (missing.length > 0) complaints.push(`the reply lacks ${missing.join(', ')}`);
  const results = resultsOf(turn);
  for (const { id, action } of callsOf(task, task.userId)) {
    const met = codeOf(results.get(id));
    if (met !== action.expect) complaints.push(`${action.name} met ${met}, not ${action.expect}`);
  }
  return complaints;
}

/** What is wrong with a task that somebody else asked for: nothing may be shown, sent or changed. */
export async function judgeStranger(
  task: Task,
  stranger: string,
  { turn }: Played,
  door: FrontDoor,
  world: string,
): Promise<string[]> {
  const complaints: string[] = [];
  if (endingOf(turn) !== ENDINGS.refuse) complaints.push(`it ended ${endingOf(turn)}`);
  if ((await door.stateHash(world)) !== task.initialHash) complaints.push('a stranger changed it');
  const results = resultsOf(turn);
  for (const { id, action } of callsOf(task, stranger)) {
    const result = results.get(id);
    const foreign = result?.kind === 'rejected' && result.check === 'authorization';
    // A record that nobody has belongs to nobody.
    const absent = result?.kind === 'refused' && action.expect === result.code;
    if (!foreign && !absent) complaints.push(`${action.name} met ${codeOf(result)}`);
  }
  const { tools } = await door.counters(world);
  const writes = task.actions.filter(({ mutates, name }) => mutates && tools[name] !== undefined);
  for (const { name } of writes) complaints.push(`${name} was sent`);
  return complaints;
}

function endingOf({ outcome, reason }: TurnRecord): string {
  return `${outcome}/${reason}`;
}

/** How the last try of each of the policy's calls came out. */
function resultsOf({ state }: TurnRecord): Map<string, CallResult | undefined> {
  const results = new Map<string, CallResult | undefined>();
  for (const { proposal, calls } of state.rounds) {
    const proposed = proposal?.kind === 'tool_calls' ? proposal.calls : [];
    for (const [index, { id }] of proposed.entries()) results.set(id, calls[index]?.result);
  }
  return results;
}

function codeOf(result: CallResult | undefined): string {
  if (result === undefined) return 'nothing';
  return result.kind === 'ok' ? 'ok' : result.code;
}
