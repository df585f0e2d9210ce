import {
  InvalidInputError,
  limitsSchema,
  type DeliveryTarget,
  type Limits,
  type ToolContract,
} from '../contracts/index.ts';
import type { AgentRules, Model } from '../loop/index.ts';
import type { Skill } from '../skills/index.ts';

export type AgentOptions = {
  name: string;
  /** What the agent is for and how it should behave; the first thing the model sees. */
  instructions: string;
  tools: readonly ToolContract[];
  skills?: readonly Skill[];
  model: Model;
  /** Where replies and notes go. */
  target: DeliveryTarget;
  /** Overrides of the default accounts of a turn. */
  limits?: Partial<Limits>;
  /** Largest amount at stake that needs no person, by currency, in minor units. An unlisted currency always asks. */
  approvalLimits?: Readonly<Record<string, number>>;
  /** The only two texts of ours a customer ever sees. */
  texts?: Partial<AgentRules['texts']>;
  /** Conditions of the agent's own for ending a turn. */
  judge?: AgentRules['judge'];
};

export type Agent = {
  rules: AgentRules;
  tools: readonly ToolContract[];
  skills: readonly Skill[];
  model: Model;
  target: DeliveryTarget;
};

const DEFAULT_TEXTS = {
  holding:
    'Thank you for your message. A colleague is looking at your request and will confirm it.',
  handover: 'Thank you for your message. A colleague is taking over and will get back to you.',
};

/** Describes a company's agent. @throws InvalidInputError naming the field that cannot be used */
export function defineAgent(options: AgentOptions): Agent {
  const limits = limitsSchema.safeParse(options.limits ?? {}, { reportInput: true });
  if (!limits.success) {
    const [issue] = limits.error.issues;
    const field = `limits.${issue?.path.join('.') ?? ''}`;
    throw new InvalidInputError(field, issue?.input, 'must be a positive whole number');
  }
  for (const [currency, limit] of Object.entries(options.approvalLimits ?? {})) {
    if (!Number.isInteger(limit) || limit < 0) {
      throw new InvalidInputError(
        `approvalLimits.${currency}`,
        limit,
        'must be a whole number of minor units, 0 to ask always',
      );
    }
  }
  const skills = options.skills ?? [];
  return {
    rules: {
      name: options.name,
      instructions: options.instructions,
      skills: skills.map(({ name, description }) => ({ name, description })),
      limits: limits.data,
      approvalLimits: options.approvalLimits ?? {},
      texts: { ...DEFAULT_TEXTS, ...options.texts },
      ...(options.judge === undefined ? {} : { judge: options.judge }),
    },
    tools: options.tools,
    skills,
    model: options.model,
    target: options.target,
  };
}
