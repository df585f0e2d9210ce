export { connect, ingressConnection } from './connection.ts';
export { conversationIdOf, messageIdOf } from './conversation-id.ts';
export { LaneCountError, UnexpectedReplyError } from './errors.ts';
export { DEFAULT_RETENTION, type Retention } from './retention.ts';
export {
  Store,
  type Accepted,
  type ApprovalAnswer,
  type ClaimReply,
  type DeliveryClaim,
  type ParkedTurn,
  type StoreOptions,
} from './store.ts';
