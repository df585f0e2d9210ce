import { parentPort, workerData } from 'node:worker_threads';
import { setImmediate } from 'node:timers/promises';
import { startModelServer } from '../../support/model-server/index.ts';
import { policy } from './faults.ts';
import { turnPolicy } from './turn-faults.ts';

/** The endpoint in a thread of its own, so that the event loop under test is the client's alone. */
const server = await startModelServer(workerData === 'turns' ? turnPolicy : policy);
/** Sockets take a moment to close. */
const CLOSING_MS = 2_000;
let most = 0;
parentPort?.postMessage({ origin: server.origin });
const looking = setInterval(() => void look(), 50);
parentPort?.once('message', () => void end());

async function look(): Promise<void> {
  most = Math.max(most, await server.connections());
}

/** An answer that is open a while after its call has ended was forgotten by somebody. */
async function end(): Promise<void> {
  clearInterval(looking);
  await look();
  const until = performance.now() + CLOSING_MS;
  while (server.open() > 0 && performance.now() < until) await setImmediate();
  const sockets = await server.connections();
  const requests = (server.requests.at(-1)?.number ?? -1) + 1;
  parentPort?.postMessage({ most, sockets, open: server.open(), requests });
  await server.close();
}
