import { SpanKind } from '@opentelemetry/api';
import {
  ATTR_GEN_AI_AGENT_NAME,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_TOOL_CALL_ID,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_GEN_AI_TOOL_TYPE,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
} from '@opentelemetry/semantic-conventions/incubating';
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions';
import type { Attributes, Span } from '../trace.ts';

export type AttributeValue = string | number | boolean | readonly string[];

/** What a span of a turn is called in a trace. */
export type Named = {
  name: string;
  kind: SpanKind;
  attributes: Readonly<Record<string, AttributeValue>>;
};

/** Who the spans speak of. */
export type Cast = {
  agent: string;
  conversationId: string;
  provider: string;
  /** The model that is asked; which one answered is in the answer. */
  model: string;
  /** The tool of the call a span is about. */
  tool: string;
};

const OURS = 'turnkeeper.';

/**
 * The GenAI semantic conventions for every kind of span: the only place that knows them. What they have no word for
 * stands under `turnkeeper.`.
 */
const CONVENTIONS: Record<Span['kind'], (span: Span, cast: Cast) => Named> = {
  turn: (_span, { agent, conversationId }) => ({
    name: `invoke_agent ${agent}`,
    kind: SpanKind.CONSUMER,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: 'invoke_agent',
      [ATTR_GEN_AI_AGENT_NAME]: agent,
      [ATTR_GEN_AI_CONVERSATION_ID]: conversationId,
    },
  }),
  model_call: ({ attributes }, { provider, model }) => ({
    name: `chat ${model}`,
    kind: SpanKind.CLIENT,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: 'chat',
      [ATTR_GEN_AI_PROVIDER_NAME]: provider,
      [ATTR_GEN_AI_REQUEST_MODEL]: model,
      ...renamed(attributes, {
        model: ATTR_GEN_AI_RESPONSE_MODEL,
        inputTokens: ATTR_GEN_AI_USAGE_INPUT_TOKENS,
        outputTokens: ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
        failure: ATTR_ERROR_TYPE,
      }),
      [ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: [
        String(attributes['proposal'] ?? attributes['failure'] ?? 'undetermined'),
      ],
    },
  }),
  tool_call: ({ name: callId, attributes, status }, { tool }) => ({
    name: `execute_tool ${tool}`,
    kind: SpanKind.CLIENT,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: 'execute_tool',
      [ATTR_GEN_AI_TOOL_NAME]: tool,
      [ATTR_GEN_AI_TOOL_CALL_ID]: callId,
      [ATTR_GEN_AI_TOOL_TYPE]: 'function',
      ...(status === 'error'
        ? { [ATTR_ERROR_TYPE]: String(attributes['code'] ?? attributes['toolSaid']) }
        : {}),
    },
  }),
  verification_read: ({ name: callId }, { tool }) => ({
    name: `verify ${tool}`,
    kind: SpanKind.CLIENT,
    attributes: { [ATTR_GEN_AI_TOOL_NAME]: tool, [ATTR_GEN_AI_TOOL_CALL_ID]: callId },
  }),
  check: ({ name }, { tool }) => ({
    name: tool === '' ? `check ${name}` : `check ${tool}`,
    kind: SpanKind.INTERNAL,
    attributes: tool === '' ? {} : { [ATTR_GEN_AI_TOOL_NAME]: tool },
  }),
  wait: ({ name }) => ({ name: `wait for ${name}`, kind: SpanKind.INTERNAL, attributes: {} }),
};

/** A span in the words of the conventions; what they have no word for stands under our own names. */
export function inGenAiTerms(span: Span, cast: Cast): Named {
  const named = CONVENTIONS[span.kind](span, cast);
  // Said by the conventions already.
  const { model: _model, inputTokens: _in, outputTokens: _out, ...rest } = span.attributes;
  const own = span.kind === 'model_call' ? rest : span.attributes;
  return { ...named, attributes: { ...ours(own), ...named.attributes } };
}

/** Attributes have a few dozen names, and every span has most of them. */
const NAMES = new Map<string, string>();

/** `toolSaid` becomes `turnkeeper.tool_said`. */
function ourName(name: string): string {
  const known = NAMES.get(name);
  if (known !== undefined) return known;
  const made = OURS + name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  NAMES.set(name, made);
  return made;
}

/** Attributes under our own names. */
export function ours(attributes: Attributes): Record<string, string | number | boolean> {
  const named: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(attributes)) named[ourName(name)] = value;
  return named;
}

function renamed(attributes: Attributes, names: Record<string, string>): Attributes {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, convention]) => {
      const value = attributes[name];
      return value === undefined ? [] : [[convention, value]];
    }),
  );
}
