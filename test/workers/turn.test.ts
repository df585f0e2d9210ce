import { expect, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { startRig, ticket } from '../support/rig.ts';

test('a message becomes one turn and its reply goes out', async () => {
  const rig = await startRig({
    model: scriptedModel((view) => ({
      kind: 'finish_candidate',
      reply: `You said: ${view.messages[0]?.text}`,
    })),
  });
  await rig.startHost();

  await rig.accept(ticket({ text: 'Hi' }));
  await rig.target.arrived('reply', 1);

  expect(rig.target.of('reply')).toEqual(['You said: Hi']);
});
