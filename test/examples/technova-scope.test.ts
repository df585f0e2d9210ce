import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { technovaAgent } from '../../examples/technova/agent/agent.ts';

const agent = technovaAgent({
  orderServiceUrl: 'http://127.0.0.1:1',
  ticketDeskUrl: 'http://127.0.0.1:2',
});

test('[S1-17] the agent has one purpose and one tool domain: orders of the shop', () => {
  expect(agent.tools.map(({ name }) => name).toSorted()).toEqual([
    'cancel_order',
    'get_order',
    'get_refund',
    'issue_refund',
  ]);
  const touched = agent.tools.map((tool) => tool.resource({ orderId: '4482' })[0]);
  expect(touched.every((resource) => resource?.startsWith('order:4482'))).toBe(true);
});

test('[S0-31] the procedure was captured from a run that worked, and its evidence is kept beside it', () => {
  const folder = new URL('../../examples/technova/skills/cancel-and-refund/', import.meta.url);
  const run = readFileSync(new URL('RUN.md', folder), 'utf8');

  for (const seen of ['accepted', 'cancellation_pending', 'cancelled', 'refund']) {
    expect(run).toContain(seen);
  }
  expect(agent.skills[0]?.procedure).toMatch(/"Accepted" is not "cancelled"/);
});
