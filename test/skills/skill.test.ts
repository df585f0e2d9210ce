import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { loadSkill } from '../../src/skills/index.ts';
import { startRig, ticket } from '../support/rig.ts';

function skillFile(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'skill-')), 'SKILL.md');
  writeFileSync(file, text);
  return file;
}

test('[S0-28] a skill has a name, a description and a procedure', () => {
  const skill = loadSkill(
    skillFile('---\nname: refund\ndescription: When money goes back.\n---\n1. Read.\n'),
  );

  expect(skill).toEqual({
    name: 'refund',
    description: 'When money goes back.',
    procedure: '1. Read.',
    version: expect.stringMatching(/^[0-9a-f]{12}$/),
  });
});

test('a skill without a description is refused and the file is named', () => {
  const file = skillFile('---\nname: refund\n---\n1. Read.\n');

  expect(() => loadSkill(file)).toThrow(
    /description of .*SKILL\.md is "": must stand in its front matter/,
  );
});

test('[S0-29] name and description are always in view, the procedure only once it is loaded', async () => {
  const views: View[] = [];
  const rig = await startRig({
    model: scriptedModel((view) => {
      views.push(view);
      return view.rounds.length === 0
        ? {
            kind: 'tool_calls',
            calls: [{ id: 'c', tool: 'load_skill', arguments: { name: 'refund' } }],
          }
        : { kind: 'finish_candidate', reply: 'ok' };
    }),
    skills: [
      {
        name: 'refund',
        description: 'When money goes back.',
        procedure: 'STEP-ONE',
        version: 'v1',
      },
    ],
  });
  await rig.startHost();
  await rig.accept(ticket());
  await rig.target.arrived('reply', 1);

  expect(views[0]?.skills).toEqual([{ name: 'refund', description: 'When money goes back.' }]);
  expect(JSON.stringify(views[0])).not.toContain('STEP-ONE');
  expect(JSON.stringify(views[1]?.rounds)).toContain('STEP-ONE');
});
