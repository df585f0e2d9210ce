import type { Logger } from 'pino';
import type { Source } from './ingress/index.ts';
import { Sweep } from './sweep.ts';

export type SweepTimerOptions = {
  sweep: Sweep;
  /** Those that cannot be looked through are left out. */
  sources: readonly Source[];
  logger: Logger;
  /** Between two looks at a source, by all processes together. Milliseconds. */
  everyMs: number;
};

/** Looks through the sources again and again, each by itself: one that is slow delays no other. */
export class SweepTimer {
  readonly #options: SweepTimerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: SweepTimerOptions) {
    this.#options = options;
    for (const { name } of Sweep.blind(options.sources)) {
      options.logger.warn(
        { source: name },
        'sends everything once, and cannot be looked through without an api',
      );
    }
    this.#timer = setInterval(() => this.#look(), options.everyMs);
    // What was sent while nobody was there is looked for at once.
    this.#look();
  }

  /** Ends after the conversations at hand. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#timer);
    await this.#running;
  }

  #look(): void {
    this.#running ??= this.#lookAtAll().finally(() => (this.#running = undefined));
  }

  async #lookAtAll(): Promise<void> {
    await Promise.all(Sweep.able(this.#options.sources).map((source) => this.#lookAt(source)));
  }

  async #lookAt(source: Source): Promise<void> {
    const { sweep, logger, everyMs } = this.#options;
    try {
      // A little less, so that whoever looked last is not late by a hair.
      if (!(await sweep.isDue(source, Math.ceil(everyMs * 0.9)))) return;
      const { bad, ...swept } = await sweep.run(source, { signal: this.#stop.signal });
      const isNews = swept.found + swept.takeovers + bad.length > 0;
      logger[isNews ? 'warn' : 'debug']({ ...swept, bad: bad.length }, 'source looked through');
    } catch (error) {
      logger.error({ source: source.name, err: error }, 'source could not be looked through');
    }
  }
}
