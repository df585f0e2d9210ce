import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { stateMachineDocument } from '../../scripts/state-machine.ts';

test('docs/state-machine.md says what the transition table says', () => {
  const page = readFileSync(new URL('../../docs/state-machine.md', import.meta.url), 'utf8');

  expect(page, 'run `npm run docs:state-machine`').toBe(stateMachineDocument());
});
