import { createInterface } from 'node:readline/promises';
import { InvalidArgumentError } from 'commander';
import type { BatchAnswer } from '../producers/batch-run.ts';
import type { BatchView } from '../producers/reprocess.ts';
import { refuseBlank, type ActOptions } from './act.ts';
import { audited } from './audit.ts';
import { CommandError, EXIT, usageError, type ExitCode } from './errors.ts';
import type { Invocation } from './invocation.ts';
import { batchOf, noBatch, withReprocess, wrongState } from './reprocess-connection.ts';
import { planText } from './reprocess-plan.ts';
import { PROGRESS, progressOf, watchBatch } from './reprocess-watch.ts';
import { visible } from './visible-text.ts';
import { count } from './wording.ts';

export type RunOptions = ActOptions & {
  name: string;
  rate?: number;
  stopIf?: number;
  yes?: boolean;
  watch: boolean;
};

/** Reads `--rate 0.5`. @throws InvalidArgumentError */
export function readRate(text: string): number {
  const rate = Number(text);
  if (text.trim() !== '' && rate > 0 && rate <= 1_000) return rate;
  throw new InvalidArgumentError('It must be cases a second: above 0 and at most 1000.');
}

/** Reads `--stop-if 20%` or `--stop-if 0.2`. @throws InvalidArgumentError */
export function readShare(text: string): number {
  const [, percent, share] = /^(?:(\d+(?:\.\d+)?)\s?%|(0(?:\.\d+)?))$/.exec(text.trim()) ?? [];
  const value = percent === undefined ? Number(share) : Number(percent) / 100;
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a share such as 20% or 0.2.');
}

/**
 * Starts what was planned.
 *
 * @throws CommandError no such batch (3); started before, or the plan was changed (5); nobody can be asked and --yes is
 * missing, or the answer was no (2)
 */
export async function run(
  invocation: Invocation,
  id: string,
  options: RunOptions,
): Promise<ExitCode> {
  refuseBlank(options, 'by', 'name', 'reason');
  const { by, name, reason, rate, stopIf, dryRun = false, yes = false, watch } = options;
  const atTerminal = process.stdin.isTTY && process.stderr.isTTY;
  if (!dryRun && !yes && !atTerminal) {
    throw usageError('nobody can be asked here: add --yes to start it', 'see it first: --dry-run');
  }
  const { settings, out } = invocation;
  return withReprocess(settings, async (connected) => {
    const { reprocess } = connected;
    const batch = await batchOf(reprocess, id);
    if (batch.status !== 'planned') throw wrongState(id, 'started', batch.status);
    const asked = { ...batch, ...(rate === undefined ? {} : { rate }) };
    if (dryRun || batch.toRun === 0) {
      const summary = await reprocess.summary(id);
      const text = (): string => planText(asked, summary);
      out.card({ ...progressOf(asked), summary, dryRun }, { id: () => id, text });
      return EXIT.ok;
    }
    if (!yes) await confirm(asked, settings.NODE_ENV === 'production');
    const act = { action: 'reprocess.run', object: id, by, reason };
    const move = {
      ...{ by, name, reason },
      ...(rate === undefined ? {} : { rate }),
      ...(stopIf === undefined ? {} : { stopIf }),
    };
    const started = moved(await audited(connected, act, () => reprocess.move(id, 'run', move)), {
      id,
      verb: 'started',
    });
    if (watch) return watchBatch(invocation, reprocess, id);
    out.card(progressOf({ ...batch, ...started }), PROGRESS);
    return EXIT.ok;
  });
}

/** @throws CommandError the answer was no (2) */
async function confirm({ id, toRun, rate }: BatchView, production: boolean): Promise<void> {
  const ask = createInterface({ input: process.stdin, output: process.stderr });
  const wanted = production ? id : 'yes';
  try {
    const question = `Start ${count(toRun, 'case')} at ${count(rate, 'case')} a second? Type ${wanted}: `;
    const answer = await ask.question(question);
    if (answer.trim() !== wanted) throw usageError('not confirmed: nothing was started');
  } finally {
    ask.close();
  }
}

const ACTS = {
  pause: { verb: 'paused', what: 'Starts nothing more until it is resumed' },
  resume: { verb: 'resumed', what: 'Goes on' },
  abort: { verb: 'aborted', what: 'Starts nothing more, ever' },
} as const;
export type BatchAct = keyof typeof ACTS;

/** @throws CommandError no such batch (3); it is in a state in which that cannot be done (5) */
export async function act(
  { settings, out }: Invocation,
  id: string,
  name: BatchAct,
  options: ActOptions,
): Promise<void> {
  refuseBlank(options, 'by', 'reason');
  const { by, reason, dryRun = false } = options;
  const { verb, what } = ACTS[name];
  await withReprocess(settings, async (connected) => {
    const { reprocess } = connected;
    const before = await batchOf(reprocess, id);
    if (!dryRun) {
      const asked = { action: `reprocess.${name}`, object: id, by, reason };
      const answer = await audited(connected, asked, () =>
        reprocess.move(id, name, { by, reason }),
      );
      moved(answer, { id, verb });
    }
    const view = progressOf(dryRun ? before : await batchOf(reprocess, id));
    const { underWay, notStarted } = view;
    const rest =
      name === 'resume'
        ? `${count(notStarted, 'case')} left to start`
        : `${count(underWay, 'case')} under way will finish, ${notStarted.toLocaleString('en-US')} not started`;
    const text = dryRun
      ? `batch ${id} is ${view.status}; it would be ${verb}. Nothing was changed`
      : `batch ${id} ${verb} by ${by}: ${reason}\n${what}: ${rest}`;
    out.card(
      { ...view, dryRun },
      { id: () => id, text: () => text.split('\n').map(visible).join('\n') },
    );
  });
}

function moved(answer: BatchAnswer, { id, verb }: { id: string; verb: string }) {
  switch (answer.kind) {
    case 'moved':
      return answer.batch;
    case 'not_found':
      throw noBatch(id);
    case 'refused':
      throw wrongState(id, verb, answer.status);
    case 'changed':
      throw new CommandError({
        code: 'plan_changed',
        message: `Not started: the plan of batch ${id} was changed since. It had hash ${answer.planned} and now has ${answer.found}`,
        next: 'plan it again: turnkeeper reprocess plan',
        exitCode: EXIT.conflict,
      });
    default:
      return answer satisfies never;
  }
}
