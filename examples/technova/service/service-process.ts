import { readSeedFile } from './seed-file.ts';

/** A service that is up. `close` is safe to call more than once. */
export interface RunningService {
  url: string;
  close: () => Promise<void>;
}

/** What every service process reads from its environment. */
export interface ServiceEnvironment {
  host: string;
  /** 0 picks a free port. */
  port: number;
  dataFile: string;
  /** The content of SEED_FILE; left out when none is named. */
  seed?: unknown;
}

/**
 * The life of a service process: start, print `{"listening": url}` as one line, close on SIGTERM or SIGINT.
 * When it cannot start: one line on stderr, exit code 1.
 */
export async function runServiceProcess(
  name: string,
  defaultDataFile: string,
  start: (environment: ServiceEnvironment) => Promise<RunningService>,
): Promise<void> {
  try {
    const service = await start(readEnvironment(defaultDataFile));
    const stop = (): void => void service.close().then(() => process.exit(0));
    process.once('SIGTERM', stop);
    process.once('SIGINT', stop);
    process.stdout.write(`${JSON.stringify({ listening: service.url })}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${name}: ${reason.replaceAll('\n', ' ')}\n`);
    process.exit(1);
  }
}

function readEnvironment(defaultDataFile: string): ServiceEnvironment {
  const { PORT = '0', HOST = '127.0.0.1', DATA_FILE = defaultDataFile, SEED_FILE } = process.env;
  const port = Number(PORT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`PORT is "${PORT}": use a whole number from 0 to 65535 (0 picks a free port).`);
  }
  const seed = SEED_FILE === undefined || SEED_FILE === '' ? {} : { seed: readSeedFile(SEED_FILE) };
  return { host: HOST, port, dataFile: DATA_FILE, ...seed };
}
