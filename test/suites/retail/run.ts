import type { TurnRecord } from '../../../src/store/records.ts';
import type { Task } from './data.ts';
import type { Faults } from './front-door.ts';
import { judgeStranger, judgeTask } from './judge.ts';
import { Stage } from './stage.ts';

/**
 * Everything the shop can do to a caller: late, turned away, lost before and after the effect, left hanging, done later
 * than answered, and seen later than done. Reads are only late or lost: one that is turned away and lost by turns is no
 * progress to the runtime, and no account makes it wait longer.
 */
export const FAULTS: Faults = {
  calls: { latency_ms: 5, jitter_ms: 20, drop_before: 0.04, fail_after: 0.05, drop_after: 0.05 },
  writes: {
    rate_limit: 0.04,
    fail_before: 0.04,
    hang_after: 0.02,
    delay_effect: 0.15,
    delay_effect_ms: 300,
    stale_read_ms: 200,
  },
};

/** From the moment the last one has been replaced. Milliseconds. */
export const KILL_EVERY_MS = 300;

export type RunSettings = {
  seed: number;
  tasks: readonly Task[];
  /** Every customer of the suite; strangers are taken from them. */
  customers: readonly string[];
  faults: Faults;
  workers: number;
  /** From one replaced worker to the next kill, milliseconds. 0: none is killed. */
  killEveryMs: number;
};

export type Verdict = { name: string; complaints: readonly string[] };
export type RunResult = {
  tasks: Verdict[];
  /** Tasks with an order, asked for by somebody else. */
  strangers: Verdict[];
  /** Workers killed, and turns another worker went on with. */
  kills: number;
  resumed: number;
  /** Calls whose answer was lost, and turns that had to wait for a re-read. */
  unknown: number;
  parked: number;
  endedByThemselves: readonly string[];
  seconds: number;
};

/** Plays the tasks, those of one customer one after the other, and judges each by what the shop holds afterwards. */
export async function run(
  settings: RunSettings,
  onVerdict: (verdict: Verdict) => void = () => {},
): Promise<RunResult> {
  const startedAt = Date.now();
  const stage = await Stage.open(settings);
  try {
    await stage.door.setFaults(settings.faults, settings.seed);
    if (settings.killEveryMs > 0) stage.fleet.killEvery(settings.killEveryMs);
    const turns: TurnRecord[] = [];
    const verdicts = { own: [] as Verdict[], strangers: [] as Verdict[] };
    const lines = new Map<string, Promise<void>>();
    for (const play of planOf(settings)) {
      const { customer } = play;
      const one = async (): Promise<void> => {
        const verdict = await playOne(stage, play, turns);
        verdicts[play.kind].push(verdict);
        onVerdict(verdict);
      };
      lines.set(customer, (lines.get(customer) ?? Promise.resolve()).then(one));
    }
    await Promise.all(lines.values());
    const events = turns.flatMap((turn) => turn.events);
    return {
      tasks: verdicts.own,
      strangers: verdicts.strangers,
      kills: stage.fleet.kills,
      resumed: turns.filter(wasTakenOver).length,
      unknown: events.filter(
        (event) => event.type === 'call_settled' && event.result.kind === 'unknown',
      ).length,
      parked: turns.filter((turn) => turn.state.spent.parks > 0).length,
      endedByThemselves: stage.fleet.endedByThemselves,
      seconds: (Date.now() - startedAt) / 1_000,
    };
  } finally {
    await stage.close();
  }
}

type Play = { kind: 'own' | 'strangers'; task: Task; customer: string };

function planOf({ tasks, customers }: RunSettings): Play[] {
  const own = tasks.map((task): Play => ({ kind: 'own', task, customer: task.userId }));
  const withOrder = tasks.filter(({ actions }) => actions.some(({ args }) => 'order_id' in args));
  const foreign = withOrder.map((task, index): Play => {
    const others = customers.filter((one) => one !== task.userId);
    return { kind: 'strangers', task, customer: others[index % others.length] ?? '' };
  });
  return [...own, ...foreign];
}

async function playOne(stage: Stage, play: Play, turns: TurnRecord[]): Promise<Verdict> {
  const { kind, task, customer } = play;
  const name = kind === 'own' ? task.id : `${task.id}-as-${customer}`;
  const { door } = stage;
  door.lead(customer, name);
  try {
    const played = await stage.play(task, customer, name);
    turns.push(played.turn);
    const complaints =
      kind === 'own'
        ? await judgeTask(task, played, door, name)
        : await judgeStranger(task, customer, played, door, name);
    return { name, complaints };
  } catch (error) {
    return { name, complaints: [error instanceof Error ? error.message : String(error)] };
  }
}

/** A worker was lost with the turn in its hands: it was gone on with without having been parked. */
function wasTakenOver({ events }: TurnRecord): boolean {
  return events.some(
    (event, index) => event.type === 'turn_resumed' && events[index - 1]?.type !== 'turn_parked',
  );
}
