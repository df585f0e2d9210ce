export { anthropicModel } from './anthropic/anthropic-model.ts';
export { openaiModel } from './openai/openai-model.ts';
export type { OpenAISettings } from './openai/settings.ts';
export { PRICE_LISTS, type PriceList, type Prices } from './prices.ts';
export { testModel, type ModelFinding } from './probe.ts';
export { askedModel, providersOf, type ProviderModel } from './provider.ts';
export type { ProviderSettings } from './provider-settings.ts';
export { recording } from './replay/recording.ts';
export { NotRecordedError, replayModel } from './replay/replay-model.ts';
export { EndpointBreaker, withBreaker, withFallback, type BreakerOptions } from './resilient.ts';
export {
  scriptedModel,
  scriptedSequence,
  UnexpectedModelCallError,
  type ScriptedAnswer,
  type ScriptedModelOptions,
} from './scripted/scripted-model.ts';
export { scriptedJudge } from './scripted/scripted-judge.ts';
