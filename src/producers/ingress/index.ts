export type { Adapter, Answer, Answers, Redelivery } from './adapter.ts';
export { httpApi, SourceApiError, type HttpApiOptions, type SourceApi } from './api.ts';
export type { Change, IgnoredWhy } from './facts.ts';
export {
  DEFAULT_REPLY_LIMITS,
  mayReply,
  tellOwn,
  type Posted,
  type ReplyCount,
  type ReplyLimits,
} from './loops.ts';
export type { Ignored, Mapped, Said } from './mapped.ts';
export { FIND_MISSED, type FindMissed, type Missed } from './missed/index.ts';
export { receive, type Reception } from './receive.ts';
export { ADAPTERS, type SourceType } from './registry.ts';
export type { WebhookRequest } from './request.ts';
export { resolveMessage, type Http, type Resolved } from './resolve.ts';
export { REPLAY_WINDOW_MS, type Refusal, type Verdict } from './signature.ts';
export { configureSource, type Source, type SourceOptions } from './source.ts';
