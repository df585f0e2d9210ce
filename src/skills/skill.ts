import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InvalidInputError, type ToolContract } from '../contracts/index.ts';
import { defineTool, ToolRefusal } from '../tools/index.ts';

/** A packaged procedure: its name and description are always in view, the procedure only once it is loaded. */
export type Skill = { name: string; description: string; procedure: string };

const FRONT_MATTER = /^---\r?\n(?<head>[\s\S]*?)\r?\n---\r?\n(?<body>[\s\S]*)$/;

/** Reads a SKILL.md. @throws InvalidInputError when its front matter lacks name or description */
export function loadSkill(file: string | URL): Skill {
  const parts = FRONT_MATTER.exec(readFileSync(file, 'utf8'))?.groups;
  const head = parts?.['head'] ?? '';
  const field = (name: string): string => {
    const value = new RegExp(`^${name}: *(.+)$`, 'm').exec(head)?.[1]?.trim() ?? '';
    if (value === '') {
      throw new InvalidInputError(
        `${name} of ${String(file)}`,
        value,
        'must stand in its front matter',
      );
    }
    return value;
  };
  const procedure = parts?.['body']?.trim() ?? '';
  return { name: field('name'), description: field('description'), procedure };
}

/** The built-in read by which a model gets a procedure. */
export function loadSkillTool(skills: readonly Skill[]): ToolContract {
  return defineTool({
    name: 'load_skill',
    description: {
      use: 'Loads the procedure of a skill before following it.',
      avoid: 'skills whose procedure is already in this conversation.',
    },
    input: z.object({ name: z.string() }),
    output: z.object({ name: z.string(), procedure: z.string() }),
    effect: 'read',
    reversible: true,
    resource: ({ name }) => [`skill:${name}`],
    provenance: { name: 'model' },
    failureModes: ['error_status'],
    authorize: () => undefined,
    run({ name }) {
      const skill = skills.find((candidate) => candidate.name === name);
      return skill === undefined
        ? Promise.reject(new ToolRefusal('unknown_skill', `there is no skill ${name}`))
        : Promise.resolve({ name, procedure: skill.procedure });
    },
  });
}
