import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A service that runs as its own process. */
export interface LaunchedService {
  url: string;
  pid: number;
  /** Sends the signal and waits until the process is gone; answers its exit code (`null` when a signal ended it). */
  stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts `entry` (a main.ts) as an own process and waits for its ready line. Fails with what the process wrote to stderr; `cause.exitCode` tells how it ended. */
export async function launchService(
  entry: string,
  environment: Record<string, string>,
): Promise<LaunchedService> {
  const child = spawn(process.execPath, [entry], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const exited = new Promise<number | null>((resolve) =>
    child.once('close', (code) => resolve(code)),
  );

  const ready = new Promise<string>((resolve) =>
    createInterface(child.stdout).once('line', resolve),
  );
  const first = await Promise.race([ready, exited.then(() => undefined)]);
  if (first === undefined) {
    throw new Error(complaint.trim() || `${entry} ended before it was ready`, {
      cause: { exitCode: await exited },
    });
  }

  const { listening } = JSON.parse(first) as { listening: string };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  return { url: listening, pid: child.pid ?? 0, stop };
}
