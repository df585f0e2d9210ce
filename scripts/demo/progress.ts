import { Listr } from 'listr2';
import { duration } from '../../src/cli/wording.ts';

type Say = (line: string) => void;

/** Something that takes a while. `work` says what happens, line by line, and answers what is to be read in the end. */
export type Step = { title: string; work: (say: Say) => Promise<string> };

/** Lets somebody watch steps that run side by side. Rejects with the first that fails. */
export type Progress = (steps: readonly Step[]) => Promise<void>;

/** A step whose work has a result: there once the step is done. */
export function step<T>(
  title: string,
  work: (say: Say) => Promise<T>,
  closing: (result: T) => string,
): Step & { result: Promise<T> } {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  // Whoever watches the step is told.
  result.catch(() => {});
  return {
    title,
    result,
    async work(say) {
      work(say).then(resolve, reject);
      return closing(await result);
    },
  };
}

/** The last lines of a step that are shown while it runs. */
const LINES_SHOWN = 8;

/** Live lines on a terminal. */
export const onTerminal: Progress = async (steps) => {
  const list = new Listr<object>(
    steps.map(({ title, work }) => ({
      title,
      task: async (_context, task) => {
        task.title = await work((line) => {
          task.output = line;
        });
      },
      rendererOptions: { outputBar: LINES_SHOWN },
    })),
    // Ctrl-C is answered by the demo itself, which has processes to end.
    {
      concurrent: true,
      registerSignalListeners: false,
      rendererOptions: { showErrorMessage: false },
    },
  );
  await list.run({});
};

/** One line after the other, with the time since the start, for a file or a pipe. */
export function plainLines(write: Say): Progress {
  const startedAt = Date.now();
  return async (steps) => {
    await Promise.all(
      steps.map(async ({ title, work }) => {
        const say = (line: string): void =>
          write(`${duration(Date.now() - startedAt).padStart(8)}  ${line}`);
        say(`${title} …`);
        say(await work((line) => say(`  ${line}`)));
      }),
    );
  };
}

/** For a caller who only wants the result. */
export const unseen: Progress = async (steps) => {
  await Promise.all(steps.map(({ work }) => work(() => {})));
};
