import { policy } from '../../examples/technova/agent/policy.ts';
import { startModelServer, type ModelRequest } from '../../test/support/model-server/index.ts';
import { overheard, saidOf } from './overheard.ts';

/**
 * The model of the demo as an own process that speaks the OpenAI API: TechNova's policy, which here knows nothing but the
 * request. Says where it listens when it is ready, and ends on SIGTERM.
 */
const server = await startModelServer((request) => {
  const said = saidOf(policy(overheard(request)));
  return { do: 'answer', ...said, usage: { input: tokens(request.body), output: tokens(said) } };
});

/** About four letters a token. */
function tokens(value: ModelRequest['body'] | object): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.once(signal, () => void server.close().then(() => process.exit(0)));
}
process.stdout.write(`${JSON.stringify({ listening: server.origin })}\n`);
