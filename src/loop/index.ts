export { budgetLeft } from './account.ts';
export { checkCall } from './check.ts';
export { formatMoney, versionOf, type RiskPolicy, type RiskyAction } from './risk.ts';
export { callsToCheck } from './conflicts.ts';
export { originsOf, type Origin } from './provenance.ts';
export { decide, fold, type Command, type Decision } from './decide.ts';
export { IllegalTransitionError, LostClaimError } from './errors.ts';
export {
  actionHash,
  canonicalJson,
  digest,
  intentOf,
  measureOf,
  operationKey,
  sha256,
} from './identity.ts';
export * from './ports.ts';
export { runTurn, type Rest } from './runner.ts';
export {
  allCalls,
  callOf,
  currentCalls,
  deadlineOf,
  initialState,
  type CallState,
  type EffectState,
  type Round,
  type TurnState,
} from './state.ts';
export { phasesAfter, TRANSITIONS, type LoopPhase } from './transitions.ts';
export { readPlan } from './waiting.ts';
export {
  assembleView,
  shorten,
  type HistoryEntry,
  type ToolDescription,
  type View,
  type ViewResult,
  type ViewRound,
} from './view.ts';
