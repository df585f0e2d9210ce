import { z } from 'zod';
import { claimSchema, type ProposalInput } from '../contracts/index.ts';
import type { ToolDescription } from '../loop/index.ts';

const LONGEST_RATIONALE = 500;

type ProposalTool = {
  use: string;
  input: z.ZodType;
  /** Undefined: the arguments do not fit. */
  read(args: unknown): ProposalInput | undefined;
};

function proposalTool<Input>(
  use: string,
  input: z.ZodType<Input>,
  propose: (args: Input) => ProposalInput,
): ProposalTool {
  return {
    use,
    input,
    read(args) {
      const given = input.safeParse(args);
      return given.success ? propose(given.data) : undefined;
    },
  };
}

/** The ways to end a turn that a model calls like tools. They run nothing: each is one kind of proposal. */
const PROPOSAL_TOOLS: Readonly<Record<string, ProposalTool>> = {
  finish: proposalTool(
    'End the turn with a reply to the customer. Use it instead of plain text when the reply states that something is ' +
      'so or was done: each statement with the evidence ids of the tool results that show it. as: replied; no_answer ' +
      'when the reply only lists what you can still do; no_reply_needed when nothing is to be sent, reply then empty.',
    z.strictObject({
      reply: z.string(),
      claims: z.array(claimSchema),
      as: z.enum(['replied', 'no_answer', 'no_reply_needed']),
    }),
    ({ reply, claims, as }) => ({ kind: 'finish_candidate', reply, claims, as }),
  ),
  ask_customer: proposalTool(
    'End the turn with a question to the customer, when you cannot go on without the answer.',
    z.strictObject({ text: z.string() }),
    ({ text }) => ({ kind: 'ask_customer', text }),
  ),
  escalate: proposalTool(
    'Hand the conversation over to a person, when you must not or cannot settle it. The customer does not see rationale.',
    z.strictObject({ rationale: z.string() }),
    ({ rationale }) => ({ kind: 'escalate', rationale: rationale.slice(0, LONGEST_RATIONALE) }),
  ),
  refuse: proposalTool(
    'End the turn by declining what the customer asks for, with the reason in reply.',
    z.strictObject({ reply: z.string() }),
    ({ reply }) => ({ kind: 'refuse', reply }),
  ),
};

/** What a model is offered beside the agent's tools. */
export const PROPOSAL_TOOL_DESCRIPTIONS: readonly ToolDescription[] = Object.entries(
  PROPOSAL_TOOLS,
).map(([name, { use, input }]) => ({
  name,
  description: use,
  parameters: z.toJSONSchema(input, { io: 'input' }),
}));

export function isProposalTool(name: string): boolean {
  return Object.hasOwn(PROPOSAL_TOOLS, name);
}

export function readProposal(name: string, args: unknown): ProposalInput | undefined {
  return Object.hasOwn(PROPOSAL_TOOLS, name) ? PROPOSAL_TOOLS[name]?.read(args) : undefined;
}
