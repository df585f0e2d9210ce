import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent } from '../../src/config/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { httpApi } from '../../src/producers/ingress/index.ts';
import { targets } from '../../src/targets/index.ts';
import { DESK_KINDS, targetOf } from '../support/desks/desk-fake.ts';

/** The configuration of every process of a run: repeats what it was asked, to customers of four ticketing systems. */
const desks = z
  .array(
    z.object({
      kind: z.enum(DESK_KINDS),
      url: z.url(),
      secret: z.string(),
      ownAuthors: z.array(z.string()),
      api: z.object({
        url: z.url(),
        headers: z.record(z.string(), z.string()),
        development: z.boolean(),
      }),
    }),
  )
  .parse(JSON.parse(process.env['DESKS'] ?? ''));

/** Long enough for a process to be killed in the middle of it. Milliseconds. */
const THINKS_MS = 40;

export default defineAgent({
  name: 'desks',
  instructions: 'Repeat the question.',
  tools: [],
  model: scriptedModel(async (view) => {
    await pause(THINKS_MS);
    return { kind: 'finish_candidate', reply: `You asked: ${view.messages[0]?.text ?? ''}` };
  }),
  target: targets({
    bySource: Object.fromEntries(desks.map(({ kind, url }) => [kind, targetOf(kind, url)])),
  }),
  sources: desks.map(({ kind, secret, ownAuthors, api }) => ({
    ...{ name: kind, type: kind, secrets: [secret], ownAuthors },
    api: httpApi(api),
  })),
});
