export { connect, ingressConnection } from './connection.ts';
export { Batches } from './batches.ts';
export { conversationIdOf, externalIdOf, messageIdOf, sourceOf } from './conversation-id.ts';
export { LaneCountError } from './errors.ts';
export { Records, type EndedTurn, type TurnRecord } from './records.ts';
export type { Retention } from './retention.ts';
export {
  Store,
  type Accepted,
  type ApprovalAnswer,
  type ClaimReply,
  type DeliveryClaim,
  type EffectAnswer,
  type HumanMessage,
  type ParkedTurn,
  type StoreOptions,
} from './store.ts';
