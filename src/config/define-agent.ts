import type { ZodType } from 'zod';
import {
  InvalidInputError,
  limitOverridesSchema,
  limitsSchema,
  type DeliveryTarget,
  type Caps,
  type LimitOverrides,
  type Limits,
  type ToolContract,
} from '../contracts/index.ts';
import {
  versionOf,
  type AgentRules,
  type Judge,
  type Model,
  type RiskPolicy,
} from '../loop/index.ts';
import { configureSource, type Source, type SourceOptions } from '../producers/ingress/index.ts';
import type { KnowledgeOptions } from '../retrieval/knowledge.ts';
import type { Skill } from '../skills/index.ts';

export type AgentOptions = {
  name: string;
  /** What the agent is for and how it should behave; the first thing the model sees. */
  instructions: string;
  tools: readonly ToolContract[];
  skills?: readonly Skill[];
  model: Model;
  /** Documents to answer from; `{}` for all defaults. Fill them with `turnkeeper kb index`. */
  knowledge?: KnowledgeOptions;
  /** Verifies effects of tools whose contract asks for a judge. */
  verifier?: Judge;
  /** Where replies and notes go. */
  target: DeliveryTarget;
  /** Ticketing systems and mailboxes that send messages by webhook. */
  sources?: readonly SourceOptions[];
  /** Overrides of the default accounts of a turn. */
  limits?: Partial<Limits>;
  /** Accounts of turns that come in through a source, by its name, where they differ. */
  sourceLimits?: Readonly<Record<string, LimitOverrides>>;
  /** Largest amount at stake that needs no person, by currency, in minor units. An unlisted currency always asks. */
  approvalLimits?: Readonly<Record<string, number>>;
  /** More conditions under which a person must agree; they add to `approvalLimits`. */
  risk?: Partial<Omit<RiskPolicy, 'limits'>>;
  /** The only two texts of ours a customer ever sees. */
  texts?: Partial<AgentRules['texts']>;
  /** Most a conversation may use in all, and a day (UTC). Default: 30 replies a day. */
  caps?: { conversation?: Caps; day?: Caps };
  /**
   * What a further message of the same person does to a turn that waits: lie behind it (`buffer`, the default), or end it
   * and be answered together with its message (`supersede`).
   */
  whileWaiting?: AgentRules['whileWaiting'];
  /** Messages of one person that follow each other within this time are answered by one turn. Milliseconds, default 0: never. */
  burstMs?: number;
  /** Conditions of the agent's own for ending a turn. */
  judge?: AgentRules['judge'];
};

export type Agent = {
  rules: AgentRules;
  tools: readonly ToolContract[];
  skills: readonly Skill[];
  model: Model;
  verifier?: Judge;
  knowledge?: KnowledgeOptions;
  target: DeliveryTarget;
  sources: readonly Source[];
};

/** Two robots that answer each other stop after this many. */
const DEFAULT_DAY: Caps = { replies: 30 };

const DEFAULT_TEXTS = {
  holding:
    'Thank you for your message. A colleague is looking at your request and will confirm it.',
  handover: 'Thank you for your message. A colleague is taking over and will get back to you.',
};

function riskOf({ approvalLimits = {}, risk = {} }: AgentOptions): RiskPolicy {
  const parts = { limits: approvalLimits, customerDay: {}, ...risk };
  return { ...parts, version: risk.version ?? versionOf(parts) };
}

/** @throws InvalidInputError */
function readLimits<T>(schema: ZodType<T>, limits: unknown, field: string): T {
  const read = schema.safeParse(limits, { reportInput: true });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const name = [field, ...(issue?.path ?? [])].join('.');
  throw new InvalidInputError(name, issue?.input, 'must be a positive whole number');
}

/** Anything but a whole number would be a limit that nothing ever reaches. @throws InvalidInputError */
function refuseAmounts(
  limits: Readonly<Record<string, number | undefined>>,
  field: string,
  unit: string,
): void {
  for (const [name, limit] of Object.entries(limits)) {
    if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0)) {
      throw new InvalidInputError(`${field}.${name}`, limit, `must be a whole number of ${unit}`);
    }
  }
}

/** Describes a company's agent. @throws InvalidInputError naming the field that cannot be used */
export function defineAgent(options: AgentOptions): Agent {
  const limits = readLimits(limitsSchema, options.limits ?? {}, 'limits');
  const { approvalLimits = {}, risk, caps, sourceLimits = {} } = options;
  refuseAmounts(approvalLimits, 'approvalLimits', 'minor units, 0 to ask always');
  refuseAmounts(risk?.customerDay ?? {}, 'risk.customerDay', 'minor units, 0 to ask always');
  refuseAmounts(caps?.conversation ?? {}, 'caps.conversation', 'units');
  refuseAmounts(caps?.day ?? {}, 'caps.day', 'units');
  for (const [source, own] of Object.entries(sourceLimits)) {
    readLimits(limitOverridesSchema, own, `sourceLimits.${source}`);
  }
  const skills = options.skills ?? [];
  return {
    rules: {
      name: options.name,
      instructions: options.instructions,
      skills: skills.map(({ name, description }) => ({ name, description })),
      limits,
      sourceLimits,
      risk: riskOf(options),
      successOf: Object.fromEntries(
        skills.flatMap(({ name, success }) => (success === undefined ? [] : [[name, success]])),
      ),
      texts: { ...DEFAULT_TEXTS, ...options.texts },
      caps: {
        conversation: options.caps?.conversation ?? {},
        day: { ...DEFAULT_DAY, ...options.caps?.day },
      },
      whileWaiting: options.whileWaiting ?? 'buffer',
      burstMs: options.burstMs ?? 0,
      ...(options.judge === undefined ? {} : { judge: options.judge }),
    },
    tools: options.tools,
    skills,
    model: options.model,
    ...(options.verifier === undefined ? {} : { verifier: options.verifier }),
    ...(options.knowledge === undefined ? {} : { knowledge: options.knowledge }),
    target: options.target,
    sources: (options.sources ?? []).map(configureSource),
  };
}
