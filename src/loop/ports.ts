import type {
  AcceptedMessage,
  Account,
  Caps,
  Claim as StatedClaim,
  Approval,
  ApprovalRequest,
  CallResult,
  Delivery,
  EffectRefusal,
  EffectStatus,
  Ending,
  Facts,
  LimitOverrides,
  Limits,
  ModelFailure,
  Park,
  ProposalInput,
  Requester,
  StopCause,
  ToolContract,
  ToolContext,
  TurnEvent,
  Usage,
  Verdict,
  VerificationRead,
} from '../contracts/index.ts';
import type { RiskPolicy } from './risk.ts';
import type { CallState, TurnState } from './state.ts';
import type { HistoryEntry, ToolDescription, View } from './view.ts';

/** Names a claim on a conversation. Compared for equality in every write; a new claim makes every older one void. */
export type Claim = {
  conversationId: string;
  turnId: string;
  /** Business purpose of the turn; goes into the identity of its effects. */
  intent: string;
  /** Epoch and a random nonce. */
  token: string;
  /** The job and the process that hold the claim. */
  jobId: string;
  workerId: string;
};

/** A turn as claim-turn hands it over: all that is needed to go on, in one answer. */
export type ClaimedTurn = {
  claim: Claim;
  epoch: number;
  intent: string;
  owner: 'agent' | 'human';
  /** The frozen messages of the turn, oldest first. */
  messages: readonly AcceptedMessage[];
  /** What is on record; empty for a new turn. */
  events: readonly TurnEvent[];
  facts: Facts;
  history: readonly HistoryEntry[];
  /** How the park the turn was in came out, if it was parked. */
  park?: Park;
  reads?: readonly { read: VerificationRead; final: boolean }[];
  approval?: Approval;
  /** Claim after claim ended without progress: the turn must be given up. */
  poisoned?: boolean;
  /** Somebody has asked the turn to stop. */
  signal?: Signal;
  /** Accounts of models that are limited, and until when. */
  limited?: Readonly<Record<string, number>>;
  /** What the conversation used up before this turn. */
  account?: Account;
};

/** A change of one ledger row, derived from the turn's own state. */
export type EffectMove = { operation: string; status: EffectStatus; outcome?: unknown };

/** The write-ahead row of a call that is about to be sent. */
export type Reservation = {
  operation: string;
  tool: string;
  resource: string;
  occurrence: string;
  after?: string;
  actionHash: string;
  callId: string;
  arguments: unknown;
  validUntil?: number;
};

export type Transition = {
  /** Number of events on record before these. */
  seq: number;
  events: readonly TurnEvent[];
  moves: readonly EffectMove[];
  /** The account a model call is about to use: it is not made while that is limited. */
  account?: string;
  /** `requestedAt` of the stop the turn knows of already: it does not stop it a second time. */
  heeded?: number;
};

/** Asks a turn to stop. `requestedAt` in milliseconds since the epoch; it also names the request. */
export type Signal = { cause: StopCause; by?: string; reason?: string; requestedAt?: number };

export type Recorded =
  | { kind: 'recorded' }
  /** The account of the model is limited until then; nothing was recorded. */
  | { kind: 'limited'; until: number }
  /** Someone asked the turn to stop; nothing was recorded. */
  | { kind: 'stopped'; signal: Signal }
  /** The ledger does not let the write run; nothing was recorded. */
  | { kind: 'refused'; refusal: EffectRefusal };

/**
 * The durable side of a turn. Every verb is one atomic step, is refused when the claim is no longer the current one
 * (LostClaimError), and answers a repeat of itself with the same result.
 */
export interface TurnStore {
  record(claim: Claim, transition: Transition, reservation?: Reservation): Promise<Recorded>;
  /** What the ledger would say to this write, without reserving anything. */
  /**
   * Books an amount on what a customer has moved today; `over` when the sum would pass `cap`. A person's yes books without
   * one. Booking an operation twice books it once.
   */
  bookStake(booking: StakeBooking): Promise<'booked' | 'over'>;
  /** Tells every worker that an account is limited. */
  limitAccount(account: string, until: number): Promise<void>;
  peekEffect(
    claim: Claim,
    reservation: Omit<Reservation, 'callId' | 'arguments'>,
  ): Promise<EffectRefusal | undefined>;
  park(
    claim: Claim,
    transition: Transition,
    wait: ParkWait,
  ): Promise<{ kind: 'parked'; unsettled: number } | { kind: 'stopped'; signal: Signal }>;
  commit(
    claim: Claim,
    transition: Transition,
    commit: Commit,
  ): Promise<Committed | { kind: 'stopped'; signal: Signal }>;
}

export type StakeBooking = {
  customer: string;
  /** `2026-12-01`, UTC. */
  day: string;
  currency: string;
  operation: string;
  amount: number;
  cap?: number;
};

export type ParkWait = {
  park: Park;
  approval?: ApprovalRequest;
  deliveries: readonly Delivery[];
  /** A further message of the same requester ends the turn; both are answered by the next one. */
  supersede?: boolean;
};

export type Commit = {
  ending: Ending;
  /** Ids of the messages of the turn. */
  answered: readonly string[];
  history: HistoryEntry;
  deliveries: readonly Delivery[];
  /** What the turn has newly established. */
  facts: Facts;
  handsOver: boolean;
  account: Account;
  /** Claim the turn of the next message in the same step, if one waits and its burst is over. */
  takeNext?: { burstMs: number };
};

/** What a commit leaves: messages that still wait, deliveries on their way, and the next turn if it was claimed. */
export type Committed = {
  kind: 'committed';
  waiting: number;
  unsettled: number;
  /** Without what the conversation remembers: the committing worker knows it. */
  next?: Omit<ClaimedTurn, 'history' | 'facts'>;
};

/** History entries a model is shown. */
export const HISTORY_SHOWN = 20;

export type ModelAnswer =
  | { ok: true; proposal: ProposalInput; usage: Usage; model: string }
  | { ok: false; failure: ModelFailure; usage?: Usage };

/** What a model call gets from the runtime. */
export type ModelCall = {
  /** Aborted when the call must end: out of time, silent for too long, or the turn was stopped. */
  signal: AbortSignal;
  /** To be called for every sign of progress, such as each chunk of a stream. */
  heartbeat(): void;
  /** Takes what is being written, piece by piece, where somebody may look on. The answer is what counts. */
  writing?(piece: string): void;
  /** What is left of the call's time, in milliseconds, for providers that want to be told. */
  timeoutMs: number;
};

/** The decision seam: anything that turns a view into one proposal. Must not throw; the runtime owns time and retries. */
export interface Model {
  /** Names the account its limits are counted on, never a secret; models that name none are limited each for itself. */
  account?: string;
  /** Upper bound of what the call will use, reserved before it is made. */
  estimate(view: View): { tokens: number; costMicros: number };
  ask(view: View, call: ModelCall): Promise<ModelAnswer>;
}

/** Limits of one outside call. */
export type CallLimits = {
  timeoutMs: number;
  silenceMs: number;
  /** Aborted when the turn is asked to stop. */
  stop?: AbortSignal;
};

/** A model whose calls end in time, whatever it does. */
export interface ModelClient {
  account?: string;
  estimate: Model['estimate'];
  ask(view: View, limits: CallLimits): Promise<ModelAnswer>;
}

/** What an independent verifier is asked: does what was read satisfy the criterion, whatever the tool said? */
export type JudgeQuestion = {
  tool: string;
  criterion: string;
  arguments: unknown;
  said: unknown;
  read: unknown;
};
export type JudgeAnswer = {
  verdict: Extract<Verdict, 'landed' | 'not_landed' | 'unknown'>;
  usage: Usage;
  model: string;
  rationale?: string;
};

/** Verifies effects that leave no clean state to re-read. Dearer than a re-read, and bounded by the same accounts. */
export interface Judge {
  estimate(question: JudgeQuestion): { tokens: number; costMicros: number };
  judge(question: JudgeQuestion, call: ModelCall): Promise<JudgeAnswer>;
}

/** The tools and the executor that settles every call of them. Must not throw. */
export interface Toolbox {
  find(name: string): ToolContract | undefined;
  descriptions(): readonly ToolDescription[];
  call(call: CallState, context: CallContext): Promise<CallResult>;
  verify(call: CallState, context: CallContext): Promise<VerificationRead>;
  /** What a person who must approve the call is shown of the world. */
  approvalState(call: CallState, context: CallContext): Promise<ApprovalState>;
}

/** What an approver is shown of the world. `failed`: why it could not be read. */
export type ApprovalState =
  | { ok: true; state: unknown; failed?: never }
  | ({ ok: false; code: string; message: string } & Pick<VerificationRead, 'failed'>);

/** What the executor needs beside the call; it makes the abort signal itself. */
export type CallContext = Omit<ToolContext, 'signal' | 'heartbeat'> &
  Omit<CallLimits, 'timeoutMs'> & {
    /** What a judge may still cost. */
    budget: { tokens: number; costMicros: number };
  };

/** Milliseconds a call of a tool may take, its re-reads alike. */
export function timeoutOf(contract: ToolContract | undefined): number {
  return contract?.timeoutMs ?? 15_000;
}

/** Milliseconds since the epoch. */
export interface Clock {
  now(): number;
}

/** Sees every event of the turn as it happens: trace, step log, metrics. Must not throw. */
export interface TurnObserver {
  observe(event: TurnEvent, state: TurnState): void;
}

/** What a company configures about its agent, as far as the loop needs it. */
export type AgentRules = {
  name: string;
  instructions: string;
  skills: readonly { name: string; description: string }[];
  limits: Limits;
  /** Accounts of turns that came in through a source, where they differ. */
  sourceLimits: Readonly<Record<string, LimitOverrides>>;
  risk: RiskPolicy;
  texts: { holding: string; handover: string };
  caps: { conversation: Caps; day: Caps };
  /** What a further message does to a turn that waits: lie behind it, or end it and be answered together with its own. */
  whileWaiting: 'buffer' | 'supersede';
  /** Messages of one person that follow each other within this time are answered by one turn. Milliseconds, 0: never. */
  burstMs: number;
  /** Objects to a text for the customer that the evidence does not support; it goes back to the model. */
  judge?(finish: Finish): string | undefined;
  /** What must hold when a turn that loaded a skill finishes, by the skill's name. */
  successOf: Readonly<Record<string, (finish: Finish) => string | undefined>>;
};

/** A finish candidate, a question or a refusal, and what may vouch for it. */
export type Finish = {
  reply: string;
  as: 'replied' | 'no_answer' | 'no_reply_needed' | 'asked_customer' | 'declined';
  claims: readonly StatedClaim[];
  facts: Facts;
  /** Every call of the turn with its result and effect. */
  calls: readonly CallState[];
};

/** Looks up what a reply cites from documents. Only agents that have documents have one. */
export interface Citations {
  /**
   * `reply`: with its citations rendered for the channel. `objection`: a claim that does not stand, worded for the model, and
   * what is left of the reply without such claims, if anything is. `failed`: it could not be looked up within the limits.
   * `usage`: what judges cost, within the budget.
   */
  check(
    finish: Pick<Finish, 'reply' | 'as' | 'claims' | 'calls'> & { channel?: string },
    limits: CallLimits & Pick<CallContext, 'budget'>,
  ): Promise<
    { usage?: Usage } & (
      | { reply: string; failed?: never }
      | ({ objection: string; without?: string } & Pick<VerificationRead, 'failed'>)
    )
  >;
}

export type Ports = {
  store: TurnStore;
  model: ModelClient;
  tools: Toolbox;
  clock: Clock;
  observer: TurnObserver;
  rules: AgentRules;
  citations?: Citations;
  /** Aborted when somebody asked the turn to stop; the record says who and why. */
  stop?: AbortSignal;
};

/** Who the turn acts for: the sender of its oldest message. */
export function principalOf(messages: readonly AcceptedMessage[]): Requester {
  return messages[0]?.requester ?? { id: 'nobody', assurance: 'none' };
}
