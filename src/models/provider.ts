import type { Usage } from '../contracts/index.ts';
import {
  sha256,
  type Model,
  type ModelAnswer,
  type ModelCall,
  type Toolbox,
  type View,
} from '../loop/index.ts';
import { isRecord } from './failures.ts';
import { instructionsOf, situationOf } from './instructions.ts';
import { parsed } from './line.ts';
import { meaningOf } from './normalise.ts';
import { costMicros, mostMicros, pricesOf } from './prices.ts';
import { refuseUnusable, type ProviderSettings } from './provider-settings.ts';
import { receive, type LineReport } from './receive.ts';
import { tokensOfRequest } from './request-tokens.ts';
import { tokenizer } from './sdk.ts';
import { countTokens } from './tokens.ts';
import { offeredTools, refuseUnfitTools } from './tool-schemas.ts';
import { transcriptOf } from './transcript.ts';
import type { Wire, WireAnswer, WireCall, WireRequest, WireUsage } from './wire.ts';

/** One call and what can be learnt from it about the endpoint. */
export type Exchange = LineReport & {
  answer: ModelAnswer;
  /** False: the endpoint does not tell what it used, so the estimate stands. */
  usageReported: boolean;
};

/** A model behind an HTTP endpoint. */
export interface ProviderModel extends Model {
  readonly api: string;
  readonly endpoint: string;
  readonly modelName: string;
  /** Where the prices are from. */
  readonly priceSource: string;
  exchange(view: View, call: ModelCall): Promise<Exchange>;
  /** Start-up check of the tools against this model. @throws InvalidInputError */
  checkTools(toolbox: Pick<Toolbox, 'find' | 'descriptions'>): void;
}

/** The models behind endpoints that a model consists of. */
export function providersOf(model: Model & { members?: readonly Model[] }): ProviderModel[] {
  return 'exchange' in model
    ? [model as ProviderModel]
    : (model.members ?? []).flatMap(providersOf);
}

/** Who is asked first, for metrics and traces. */
export function askedModel(model: Model): { provider: string; name: string } {
  const [first] = providersOf(model);
  return { provider: first?.api ?? 'scripted', name: first?.modelName ?? 'scripted' };
}

const DEFAULT_MAX_OUTPUT_TOKENS = 8_192;
const LONGEST_MODEL_NAME = 128;

/** Makes a model of a wire. @throws InvalidInputError naming the setting that cannot be used */
export function providerModel<S extends ProviderSettings & { baseURL: string }>(
  settings: S,
  wireOf: (settings: S) => Wire,
): ProviderModel {
  const { model, maxOutputTokens = DEFAULT_MAX_OUTPUT_TOKENS, strictSchemas = false } = settings;
  refuseUnusable(settings);
  const { prices, source } = pricesOf(model, settings.prices);
  const wire = wireOf(settings);
  tokenizer();
  const requests = new WeakMap<View, { request: WireRequest; inputTokens: number }>();

  const prepare = (view: View): { request: WireRequest; inputTokens: number } => {
    const known = requests.get(view);
    if (known !== undefined) return known;
    const request: WireRequest = {
      instructions: instructionsOf(view),
      situation: situationOf(view),
      transcript: transcriptOf(view),
      tools: offeredTools(view.tools, strictSchemas),
      maxOutputTokens,
    };
    const prepared = {
      request,
      inputTokens: Math.ceil(tokensOfRequest(request) * wire.tokenFactor),
    };
    requests.set(view, prepared);
    return prepared;
  };

  const exchange = async (view: View, call: ModelCall): Promise<Exchange> => {
    const { request, inputTokens } = prepare(view);
    const received = await receive(wire, request, call);
    if ('failure' in received) {
      const { failure, ...about } = received;
      return { ...about, answer: { ok: false, failure }, usageReported: false };
    }
    const { answer, ...about } = received;
    const used = answer.usage;
    const usageReported = used !== undefined && used.input + used.cachedInput + used.output > 0;
    const meaning = meaningOf({
      ...answer,
      calls: answer.calls.map((one) => undone(one, request)),
    });
    const usage = (wired: WireUsage): Usage => ({
      inputTokens: wired.input + wired.cachedInput + wired.cacheWrite,
      outputTokens: wired.output,
      costMicros: costMicros(prices, wired),
    });
    if (!meaning.ok) {
      const told = usageReported ? { usage: usage(used) } : {};
      return { ...about, answer: { ...meaning, ...told }, usageReported };
    }
    const spent = usageReported ? used : estimatedUsage(answer, inputTokens);
    const name = (answer.model ?? model).slice(0, LONGEST_MODEL_NAME);
    return { ...about, answer: { ...meaning, usage: usage(spent), model: name }, usageReported };
  };

  return {
    account: accountOf(wire, settings),
    api: wire.api,
    endpoint: settings.baseURL,
    modelName: model,
    priceSource: source,
    estimate(view) {
      const { inputTokens } = prepare(view);
      return {
        tokens: inputTokens + maxOutputTokens,
        costMicros: mostMicros(prices, { input: inputTokens, output: maxOutputTokens }),
      };
    },
    exchange,
    ask: async (view, call) => (await exchange(view, call)).answer,
    checkTools: (toolbox) => refuseUnfitTools(toolbox, strictSchemas),
  };
}

/** Limits are counted by key: models of one key share them, whichever of the vendor's APIs they are asked by. */
function accountOf(
  { api }: Wire,
  { baseURL, apiKey }: { baseURL: string; apiKey: string },
): string {
  const [vendor] = api.split('-', 1);
  return `${vendor}/${new URL(baseURL).host}/${sha256(apiKey).slice(0, 8)}`;
}

function undone(call: WireCall, { tools }: WireRequest): WireCall {
  const tool = tools.find(({ name }) => name === call.name);
  const args = typeof call.arguments === 'string' ? parsed(call.arguments) : call.arguments;
  return tool === undefined || !isRecord(args) ? call : { ...call, arguments: tool.read(args) };
}

/** What an endpoint that does not count has used, by our own count. */
function estimatedUsage(answer: WireAnswer, input: number): WireUsage {
  const output = countTokens(answer.text) + countTokens(JSON.stringify(answer.calls));
  return { input, cachedInput: 0, cacheWrite: 0, output };
}
