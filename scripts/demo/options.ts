import { parseArgs } from 'node:util';
import { usageError } from '../../src/cli/errors.ts';

export const HELP = `Usage: npm run demo [-- options]

Plays the tickets of examples/technova with everything in place and nothing to install: a Redis of its own, an order service,
a ticket desk and two workers, each its own process, and a model without a key. Shows how each ticket ended and why, the trace of
order #4482, a naive and a safe loop side by side, and one ticket that waits for a person. Ends by itself.

  --model <which>    "scripted" (default), or "local": the same policy behind a server of its own that speaks the OpenAI API,
                     asked by the real provider over HTTP
  --kill-worker      kills a worker with SIGKILL after the order service has refunded and before it has answered
  --keep             leaves everything up in the end, to look around, until Ctrl-C
  --json             one JSON object on stdout and nothing else
  --tickets <file>   other tickets than examples/technova/fixtures/tickets.jsonl; the orders stay
  --help

Ends with 0 when every ticket ended as its fixture says, else with 1 and a list of what differs; 2 for wrong usage,
130 for Ctrl-C.
`;

const MODELS = ['scripted', 'local'] as const;

export type DemoOptions = {
  model: (typeof MODELS)[number];
  killWorker: boolean;
  keep: boolean;
  json: boolean;
  help: boolean;
  tickets?: string;
};

/** @throws CommandError */
export function readOptions(args: readonly string[]): DemoOptions {
  const { tickets, model = 'scripted', ...given } = parsed(args);
  const known = MODELS.find((one) => one === model);
  if (known === undefined) {
    throw usageError(`--model is ${JSON.stringify(model)}: must be one of ${MODELS.join(', ')}`);
  }
  if (given['keep'] === true && given['json'] === true) {
    throw usageError(
      '--keep and --json do not go together: the JSON is complete when everything has ended',
    );
  }
  return {
    model: known,
    killWorker: given['kill-worker'] === true,
    keep: given['keep'] === true,
    json: given['json'] === true,
    help: given['help'] === true,
    ...(tickets === undefined ? {} : { tickets }),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'kill-worker': { type: 'boolean' },
        keep: { type: 'boolean' },
        json: { type: 'boolean' },
        tickets: { type: 'string' },
        model: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    const problem =
      error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
    throw usageError(problem, 'npm run demo -- --help');
  }
}
