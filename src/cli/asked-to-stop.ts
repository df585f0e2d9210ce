import { EXIT } from './errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Resolves with the first Ctrl-C, SIGTERM or hang-up; listens from the call on. A second one ends the process at once.
 */
export function askedToStop(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let asked = false;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (asked) process.exit(EXIT.interrupted);
      asked = true;
      resolve(signal);
    });
  }
  return promise;
}
