import { existsSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** The suite lies beside the project, never in it. */
const FOLDER = new URL('../../../../shared/suites/retail/', import.meta.url);

export const SUITE_IS_HERE = existsSync(new URL('tasks.jsonl', FOLDER));
export const SUITE_IS_MISSING =
  'the retail suite is not there: put its folder at ../shared/suites/retail, seen from the project';

const actionSchema = z.object({
  name: z.string(),
  args: z.record(z.string(), z.unknown()),
  mutates: z.boolean(),
  /** `ok`, or the error the call is meant to meet. */
  expect: z.string(),
});
export type Action = z.infer<typeof actionSchema>;

const taskSchema = z.object({
  id: z.string(),
  messages: z.array(z.string()).min(1),
  userId: z.string(),
  actions: z.array(actionSchema),
  /** Each must be in the reply. */
  communicate: z.array(z.string()),
  outcome: z.enum(['change', 'transfer', 'answer', 'refuse']),
  /** SHA-256 over the whole state of the shop, before and after. */
  initialHash: z.string(),
  hash: z.string(),
});
export type Task = z.infer<typeof taskSchema>;

export function loadTasks(): Task[] {
  const lines = readFileSync(new URL('tasks.jsonl', FOLDER), 'utf8').trim().split('\n');
  return lines.map((line) => taskSchema.parse(JSON.parse(line)));
}

/** The suite's shop: it listens on a free port and answers the port. */
export type BackEnd = { server: Server; listen(): Promise<number>; close(): Promise<void> };

export function createBackEnd(seed: number): BackEnd {
  const harness = load('harness.mjs') as {
    createToolServer(domain: unknown, options: { seed: number }): BackEnd;
  };
  const retail = load('retail.mjs') as { retailDomain(): unknown };
  return harness.createToolServer(retail.retailDomain(), { seed });
}

/** By Node itself: a test runner's own loader would give the two files different copies of what they share. */
const require = createRequire(import.meta.url);
function load(file: string): unknown {
  return require(fileURLToPath(new URL(file, FOLDER)));
}
