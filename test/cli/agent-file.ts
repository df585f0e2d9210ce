import { fileURLToPath } from 'node:url';

const PUBLIC = fileURLToPath(new URL('../../src/index.ts', import.meta.url));

/** The text of a turnkeeper.config.ts whose agent repeats what it was told. `options` goes into defineAgent. */
export function agentFile(options = ''): string {
  return `import { defineAgent, scriptedModel } from ${JSON.stringify(PUBLIC)};
export default defineAgent({
  name: 'echo',
  instructions: 'Repeat.',
  tools: [],
  model: scriptedModel((view) => ({ kind: 'finish_candidate', reply: view.messages[0]?.text ?? '' })),
  target: {
    send: () => Promise.resolve({ kind: 'sent', targetId: '1' }),
    find: () => Promise.resolve({ kind: 'absent' }),
  },
  ${options}
});
`;
}
