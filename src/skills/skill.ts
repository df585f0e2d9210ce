import { readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  InvalidInputError,
  LOAD_SKILL,
  loadedSkillSchema,
  type LimitOverrides,
  type ToolContract,
} from '../contracts/index.ts';
import { sha256, type Finish } from '../loop/index.ts';
import { defineTool, ToolRefusal } from '../tools/index.ts';

/** A packaged procedure: its name and description are always in view, the procedure only once it is loaded. */
export type Skill = {
  name: string;
  description: string;
  procedure: string;
  /** Digest of its text. */
  version: string;
  /** Accounts of a turn that follows it, where they differ. */
  limits?: LimitOverrides;
  /** What must hold when a turn that loaded it finishes: an objection worded for the model, or nothing. */
  success?: (finish: Finish) => string | undefined;
};

const FRONT_MATTER = /^---\r?\n(?<head>[\s\S]*?)\r?\n---\r?\n(?<body>[\s\S]*)$/;

/** Reads a SKILL.md. @throws InvalidInputError when its front matter lacks name or description */
export function loadSkill(file: string | URL, more: Pick<Skill, 'limits' | 'success'> = {}): Skill {
  const text = readFileSync(file, 'utf8');
  const parts = FRONT_MATTER.exec(text)?.groups;
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
  const version = sha256(text).slice(0, 12);
  return {
    name: field('name'),
    description: field('description'),
    procedure,
    version,
    ...more,
  };
}

/** The built-in read by which a model gets a procedure. */
export function loadSkillTool(skills: readonly Skill[]): ToolContract {
  return defineTool({
    name: LOAD_SKILL,
    description: {
      use: 'Loads the procedure of a skill before following it.',
      avoid: 'skills whose procedure is already in this conversation.',
    },
    input: z.object({ name: z.string() }),
    output: loadedSkillSchema,
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
        : Promise.resolve({
            name,
            version: skill.version,
            procedure: skill.procedure,
            ...(skill.limits === undefined ? {} : { limits: skill.limits }),
          });
    },
  });
}
