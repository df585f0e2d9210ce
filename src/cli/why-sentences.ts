import type { StopReason } from '../contracts/index.ts';
import type { EndFacts } from './end-facts.ts';
import { count, dollars, duration } from './wording.ts';

/** Why a turn ended, cause first, and what would make the next one end better. */
export type Explanation = {
  sentence(facts: EndFacts): string;
  /** The first thing to do about it; undefined when there is nothing. */
  remedy?: string;
};

/** One entry per stop reason: a reason without a sentence does not compile. */
export const WHY = {
  // completed
  replied: {
    sentence: () => 'Completed: the reply passed every check and was handed over for sending.',
  },
  asked_customer: {
    sentence: () => 'Completed with a question: the agent needs something only the customer knows.',
    remedy: "Nothing to do: the customer's answer is the next turn.",
  },
  no_answer: {
    sentence: () => 'Completed without an answer: the agent said what it can do instead.',
    remedy: 'Answer in the ticket, or give the agent a tool or document that covers the question.',
  },
  declined: {
    sentence: () => 'Completed by declining: the agent told the customer that it may not do this.',
  },
  no_reply_needed: { sentence: () => 'Completed in silence: the message needed no reply.' },

  // escalated
  model_escalated: {
    sentence: ({ rationale }) =>
      `Stopped because the agent asked for a person${rationale ? `: ${rationale}` : ''}.`,
    remedy: 'Take the ticket over; its private note says what was done.',
  },
  verification_failed: {
    sentence: ({ action, reads, toolSaid }) =>
      `Stopped because ${action} was answered with ${toolSaid}, but the re-read said ${reads.last} ` +
      `after ${count(reads.count, 're-read')} (over ${duration(reads.overMs)}).`,
    remedy:
      'Look at the resource in the system that owns it; what holds the change back is decided there.',
  },
  effect_unknown: {
    sentence: ({ action, reads }) =>
      `Stopped because the answer to ${action} never came, and ${count(reads.count, 're-read')} ` +
      `could not tell whether it happened (the last said ${reads.last}).`,
    remedy:
      'Find out in the system that owns the resource whether it happened, before anybody repeats it.',
  },
  approval_rejected: {
    sentence: ({ action, decision }) =>
      `Stopped because ${decision.by} rejected ${action}${decision.comment}.`,
    remedy: 'Tell the customer why in the ticket; the action stays undone.',
  },
  approval_expired: {
    sentence: ({ action, decision }) =>
      `Stopped because nobody decided on ${action} within ${duration(decision.waitedMs)}.`,
    remedy: 'Decide it in the ticket; raise limits.approvalMs if people need longer.',
  },
  repeated_state: {
    sentence: ({ repeated, repetition }) =>
      repeated.count === 0 && repetition !== undefined
        ? `Stopped because the same was asked and heard again and again${progress(repetition)}.`
        : `Stopped because ${repeated.what} ended with the same ${repeated.code} ${count(repeated.count, 'time')}${progress(repetition)}.`,
    remedy: 'Remove what the tool stumbles over; the trace shows the call and its answer.',
  },
  consecutive_failures: {
    sentence: ({ failures, repeated, repetition }) =>
      `Stopped because ${count(failures, 'call')} in a row failed, the last one ${repeated.what} with ${repeated.code}${progress(repetition)}.`,
    remedy: 'Look at the tools the trace names; none of them got anything done.',
  },
  finish_rejected: {
    sentence: ({ objection }) => `Stopped because the reply was sent back too often${objection}.`,
    remedy: 'Answer in the ticket; the trace shows each reply and what was wrong with it.',
  },
  refused_by_policy: {
    sentence: ({ action }) => `Stopped because a policy does not allow ${action}.`,
    remedy: 'Decide it in the ticket, or change the policy.',
  },
  injection_suspected: {
    sentence: () => 'Stopped because the message or a tool result tried to give the agent orders.',
    remedy: 'Read the message as text of a stranger; act in the ticket by hand.',
  },
  human_takeover: {
    sentence: ({ by, stopped }) => `Stopped because a person has the conversation${by}${stopped}.`,
    remedy: 'Nothing to do here: the person who took it over answers.',
  },

  // budget_exhausted
  max_rounds: {
    sentence: ({ rounds, limits }) =>
      `Stopped because ${count(rounds, 'round')} of ${limits.rounds} were used up and the agent still wanted tools.`,
    remedy: 'Raise limits.rounds, or give the agent a tool that needs fewer calls.',
  },
  max_tool_calls: {
    sentence: ({ limits }) =>
      `Stopped because all ${limits.toolCalls} tool calls of the turn were used up.`,
    remedy: 'Raise limits.toolCalls, or give the agent a tool that needs fewer calls.',
  },
  token_budget: {
    sentence: ({ spent, limits }) =>
      `Stopped because the next model call would not fit: ${spent.tokens} of ${limits.tokens} tokens were used.`,
    remedy: 'Raise limits.tokens, or cap what the tools return.',
  },
  cost_budget: {
    sentence: ({ spent, limits }) =>
      `Stopped because the next model call would not fit: ${dollars(spent.costMicros)} of ${dollars(limits.costMicros)} were spent.`,
    remedy: 'Raise limits.costMicros, or use a cheaper model.',
  },
  max_replies: {
    sentence: () => 'Stopped because the agent has replied as often as it may without a person.',
    remedy: 'Answer in the ticket.',
  },
  max_parks: {
    sentence: ({ limits }) =>
      `Stopped because the turn had waited ${limits.parks} times and would have to wait again.`,
    remedy: 'Look at what it kept waiting for: the trace shows each wait.',
  },

  // timed_out
  deadline: {
    sentence: ({ limits, lastStep }) =>
      `Stopped because its ${duration(limits.deadlineMs)} were over; the last step was ${lastStep}.`,
    remedy: 'Look at what took the time; the trace shows the latency of each call.',
  },
  silence: {
    sentence: ({ modelFailures }) =>
      `Stopped because the model began to answer and fell silent, ${count(modelFailures, 'time')} in a row.`,
    remedy: 'Look at the state of the model provider.',
  },

  // failed
  model_refusal: {
    sentence: ({ modelSaid }) => `Stopped because the model refused to answer${modelSaid}.`,
    remedy: 'Answer in the ticket; the provider will refuse the same text again.',
  },
  max_tokens: {
    sentence: () => 'Stopped because the answer of the model was cut off at its length limit.',
    remedy: 'Raise the output limit of the model, or cap what the tools return.',
  },
  unknown_stop_reason: {
    sentence: ({ modelSaid }) =>
      `Stopped because the model ended in a way this version does not know${modelSaid}.`,
    remedy: 'Update turnkeeper or map the new finish reason.',
  },
  empty_reply: {
    sentence: () => 'Stopped because the model ended without a text for the customer.',
    remedy: 'Answer in the ticket.',
  },
  invalid_proposal: {
    sentence: ({ objection }) =>
      `Stopped because the answers of the model could not be read${objection}.`,
    remedy: 'Look at the instructions and the tool schemas; the trace shows what did not fit.',
  },
  model_unavailable: {
    sentence: ({ modelFailures, modelSaid }) =>
      `Stopped because the model was not available, ${count(modelFailures, 'time')} in a row${modelSaid}.`,
    remedy: 'Look at the state of the model provider.',
  },
  uncited_claim: {
    sentence: ({ objection }) =>
      `Stopped because the reply states something no source supports${objection}.`,
    remedy: 'Answer in the ticket, or add the document that is missing.',
  },
  internal: {
    sentence: ({ lastStep }) =>
      `Stopped because the runtime itself got nowhere with it; the last step on record was ${lastStep}.`,
    remedy: 'Look for "turn stuck" with this turn id in the log of the workers.',
  },

  // cancelled
  cancelled: {
    sentence: ({ by, stopped, lastStep }) =>
      `Stopped because it was cancelled${by}${stopped}; the last step was ${lastStep}.`,
    remedy:
      'Take the ticket over; its private note says what was done, and nothing was taken back.',
  },
  force_terminated: {
    sentence: ({ by, stopped, lastStep }) =>
      `Stopped because it was cancelled${by} and did not end in time; the last step, ${lastStep}, may still run${stopped}.`,
    remedy: 'Find out whether the last step went through, before anybody repeats it.',
  },
  superseded: {
    sentence: ({ stopped }) =>
      `Stopped because a newer message of the customer took its place${stopped}.`,
    remedy: 'Nothing to do: the newer message is answered.',
  },

  // conversation_full
  context_overflow: {
    sentence: () =>
      'Stopped because the conversation no longer fits into the context of the model.',
    remedy: 'Answer in the ticket; a new conversation starts with an empty context.',
  },
} as const satisfies Record<StopReason, Explanation>;

/** ` (5 rounds, 3 identical)`, or nothing. */
function progress(repetition: EndFacts['repetition']): string {
  if (repetition === undefined) return '';
  return ` (${count(repetition.rounds, 'round')}, ${repetition.identical} identical)`;
}

/** The explanation of a reason as it is stored; undefined for one this version does not know. */
export function explanationOf(reason: string | null): Explanation | undefined {
  const all: Readonly<Record<string, Explanation>> = WHY;
  return reason !== null && Object.hasOwn(WHY, reason) ? all[reason] : undefined;
}
