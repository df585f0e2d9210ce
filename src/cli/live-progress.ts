import type { ListrDefaultRendererLogLevels } from 'listr2';
import { wantsPlainText } from '../config/index.ts';

/** Shows on stderr how far something is: one live line at a terminal, plain lines every now and then elsewhere. */
export type LiveProgress = {
  show(line: string): void;
  /** Takes the last line and gives the terminal back. */
  end(line: string): Promise<void>;
};

/** Time between two plain lines. Milliseconds. */
const PLAIN_EVERY_MS = 5_000;

export async function liveProgress(write: (line: string) => void): Promise<LiveProgress> {
  // A terminal that tells no size cannot be written over.
  const sized = process.stderr.columns > 0 && process.stderr.rows > 0;
  const live = process.stdout.isTTY && process.stderr.isTTY && sized && !wantsPlainText();
  return live ? atTerminal() : inPlainLines(write);
}

/** Shows nothing: whoever reads our output has other means. */
export const noProgress: LiveProgress = { show: () => {}, end: () => Promise.resolve() };

function inPlainLines(write: (line: string) => void): LiveProgress {
  let [last, at] = ['', 0];
  const show = (line: string, now = false): void => {
    if (line === last || (!now && Date.now() - at < PLAIN_EVERY_MS)) return;
    [last, at] = [line, Date.now()];
    write(line);
  };
  return {
    show: (line) => show(line),
    end(line) {
      show(line, true);
      return Promise.resolve();
    },
  };
}

async function atTerminal(): Promise<LiveProgress> {
  // Whoever sees plain lines does without it and starts sooner.
  const { Listr, ListrLogger, ProcessOutput } = await import('listr2');
  const { promise: ended, resolve: finish } = Promise.withResolvers<void>();
  let shown: { title?: string } = {};
  // Data goes to stdout: the live line must not.
  const processOutput = new ProcessOutput(process.stderr, process.stderr, {
    leaveEmptyLine: false,
  });
  const list = new Listr<object>(
    [
      {
        title: '…',
        task: async (_context, task) => {
          if (shown.title !== undefined) task.title = shown.title;
          shown = task;
          await ended;
        },
      },
    ],
    {
      // Ctrl-C is answered by the command itself.
      registerSignalListeners: false,
      fallbackRendererCondition: false,
      rendererOptions: {
        logger: new ListrLogger<ListrDefaultRendererLogLevels>({ processOutput }),
      },
    },
  );
  const run = list.run({});
  return {
    show(line) {
      shown.title = line;
    },
    async end(line) {
      shown.title = line;
      finish();
      await run;
    },
  };
}

/** `[######..............]`, filled by a share from 0 to 1. */
export function bar(share: number, width = 20): string {
  const filled = Math.floor(Math.min(1, Math.max(0, share)) * width);
  return `[${'#'.repeat(filled).padEnd(width, '.')}]`;
}

/** What is left of it at the pace of the last while; nothing before there is a pace. Milliseconds. */
export class Pace {
  readonly #looks: { at: number; done: number }[] = [];

  /** How many a second, looked at over the last `windowMs`. */
  look(done: number, now: number, windowMs = 30_000): number | undefined {
    this.#looks.push({ at: now, done });
    while (this.#looks.length > 2 && now - (this.#looks[0]?.at ?? now) > windowMs) {
      this.#looks.shift();
    }
    const [first] = this.#looks;
    if (first === undefined || now - first.at < 1_000 || done <= first.done) return undefined;
    return ((done - first.done) * 1_000) / (now - first.at);
  }
}
