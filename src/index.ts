export { defineAgent, type Agent, type AgentOptions } from './config/index.ts';
export type {
  ArgumentSource,
  Assurance,
  DeliveryTarget,
  Denial,
  Ending,
  Fact,
  Facts,
  Limits,
  OutgoingMessage,
  Outcome,
  Proposal,
  ProposalInput,
  Requester,
  SendResult,
  Stake,
  StopReason,
  TicketMessage,
  ToolContext,
  ToolContract,
  TurnEvent,
  Verdict,
  Verification,
} from './contracts/index.ts';
export { InvalidInputError, TurnkeeperError } from './contracts/index.ts';
export type {
  Finish,
  Judge,
  JudgeAnswer,
  JudgeQuestion,
  Model,
  ModelAnswer,
  ModelCall,
  RiskPolicy,
  RiskyAction,
  View,
  ViewResult,
  ViewRound,
} from './loop/index.ts';
export {
  scriptedJudge,
  scriptedModel,
  scriptedSequence,
  type ScriptedAnswer,
  type ScriptedModelOptions,
} from './models/index.ts';
export {
  anthropicModel,
  EndpointBreaker,
  openaiModel,
  recording,
  replayModel,
  testModel,
  withBreaker,
  withFallback,
  type ModelFinding,
  type OpenAISettings,
  type PriceList,
  type Prices,
  type ProviderModel,
  type ProviderSettings,
} from './models/index.ts';
export {
  httpApi,
  SourceApiError,
  type HttpApiOptions,
  type Source,
  type SourceApi,
  type SourceOptions,
  type SourceType,
} from './producers/ingress/index.ts';
export {
  chatwootTarget,
  intercomTarget,
  targets,
  webhookTarget,
  zammadTarget,
  zendeskTarget,
  type ChatwootOptions,
  type IntercomOptions,
  type WebhookOptions,
  type ZammadOptions,
  type ZendeskOptions,
} from './targets/index.ts';
export { loadSkill, type Skill } from './skills/index.ts';
export { defineTool, ToolRefusal, ToolUnavailable } from './tools/index.ts';
export { createTurnkeeper, type Turnkeeper, type TurnkeeperOptions } from './turnkeeper.ts';
