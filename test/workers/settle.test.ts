import { expect, test } from 'vitest';
import { spread } from '../../src/workers/settle.ts';

const clock = { now: () => 1_000_000 };

test('turns that wait for one account come back over a tenth of the wait, never before it is over', () => {
  const waits = Array.from({ length: 500 }, () => spread(1_010_000, clock) - 1_010_000);

  expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(500);
});

test('a long wait is drawn out by five seconds, one that is over not at all', () => {
  const waits = Array.from({ length: 500 }, () => spread(4_600_000, clock) - 4_600_000);

  expect(Math.max(...waits)).toBeLessThanOrEqual(5_000);
  expect(spread(999_000, clock)).toBe(999_000);
});
