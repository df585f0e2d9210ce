import { z } from 'zod';
import { limitOverridesSchema } from './limits.ts';

/** The built-in read by which a model gets the procedure of a skill. */
export const LOAD_SKILL = 'load_skill';

/** What `load_skill` answers. */
export const loadedSkillSchema = z.object({
  name: z.string(),
  /** Digest of its text: which version of the procedure was followed. */
  version: z.string(),
  procedure: z.string(),
  /** Accounts of a turn that follows it, where they differ. */
  limits: limitOverridesSchema.optional(),
});
export type LoadedSkill = z.infer<typeof loadedSkillSchema>;
