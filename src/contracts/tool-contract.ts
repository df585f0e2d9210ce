import type { z } from 'zod';
import type { Assurance, Requester } from './ticket-message.ts';
import type { Verdict } from './verification.ts';

/** Why a check says no: a stable code and a text the model may read. */
export type Denial = { code: string; message: string };

/** The last authoritative observation of a resource. `at`: when it was read, milliseconds since the epoch. */
export type Fact = { data: unknown; at: number; from: string };
/** What is established in the conversation, by resource. Only tool results and verification reads enter. */
export type Facts = Readonly<Record<string, Fact>>;

/** What an action puts at stake, in minor units of the currency. */
export type Stake = { amount: number; currency: string; summary: string };

/** What a tool gets beside its arguments. */
export type ToolContext = {
  /** The operation identity of a write; send it as the idempotency key. Empty for reads. */
  operation: string;
  /** Milliseconds since the epoch; a backend that gets the call later must refuse it. */
  validUntil: number;
  /** Aborted when the call must end: out of time, silent for too long, or the turn was stopped. */
  signal: AbortSignal;
  /** Tells that the call makes progress. A tool that may be quiet for longer than the silence limit calls it. */
  heartbeat(): void;
  principal: Requester;
};

/**
 * Where the value of an argument must come from.
 * - `customer`: what the customer wrote, or an observation; check whose it is in `authorize`.
 * - `authoritative`: the whole of a field of an observation that is called like the argument (`lineId`: `id`, `lineId`).
 *   `field`: of a field with one of these names. `of`: one of these values, computed from what is established.
 * - `policy`: the schema itself says what it may be.
 * - `model`: free text without consequence.
 * A value that does not trace needs a person.
 */
export type ArgumentSource =
  | 'customer'
  | 'authoritative'
  | 'policy'
  | 'model'
  | { field: readonly string[] }
  | {
      of(
        args: Readonly<Record<string, unknown>>,
        facts: Facts,
      ): readonly (string | number | boolean)[];
    };

export type Verification<Input, Read = unknown> = {
  /** `schema`: the answer itself is checked. `reread`: the owning system is read again. `judge`: an independent verifier. */
  level: 'schema' | 'reread' | 'judge';
  /** What a judge is asked about the read, for level `judge`. */
  criterion?: string;
  /** Reads the system that owns the fact through its authoritative path. May throw: the verdict is then `unknown`. */
  read(args: Input, context: ToolContext): Promise<Read>;
  /** Judges a read. Must not look at anything but its arguments. */
  landed(read: Read, args: Input, operation: string): Exclude<Verdict, 'unknown'>;
  /** The resource the read is a fact about. Default: the first resource of the call. */
  factOf?(args: Input): string;
  /** Reads in all, the one made at once included. Default 4. */
  attempts?: number;
  /** Delay before the second read, doubled each time. Milliseconds, default 1,000. */
  backoffMs?: number;
  /** Cap of the delay. Milliseconds, default 60,000. */
  maxBackoffMs?: number;
};

export type Idempotency<Input> = {
  /** `intent`: one operation per business purpose. `resource`: one whoever asks. */
  scope: 'intent' | 'resource';
  /**
   * Tells legitimate repeats apart: an argument (an order line), or the earlier operation this one follows.
   * `null`: the tool has only one occurrence per resource.
   */
  occurrence: null | ((args: Input) => string | { after: string } | undefined);
  /**
   * The backend refuses a call that arrives after `validUntil`. Only then can a re-read say that an unanswered call
   * did not land.
   */
  enforcesValidity: boolean;
  /** Whether the receiver does a call with a known key only once. Default true. */
  deduplicated?: boolean;
};

/** Everything the runtime must know about a tool before a model may name it. */
export interface ToolContract<Input = unknown, Output = unknown> {
  name: string;
  /** For the model: when to use it, and when not. */
  description: { use: string; avoid: string };
  input: z.ZodType<Input>;
  output: z.ZodType<Output>;
  effect: 'read' | 'write';
  reversible: boolean;
  /** The concrete objects a call touches, `kind:id` with `/` for parts. The first one names the operation. */
  resource(args: Input): string[];
  provenance: Readonly<Record<string, ArgumentSource>>;
  /** Arguments that change nothing about what is asked for, such as a remark: a repeat with another one is a repeat. */
  cosmetic?: readonly string[];
  /** It sends something out of the company. If the receiver cannot tell a repeat, a person must agree. */
  external?: boolean;
  failureModes: readonly ('error_status' | 'raises' | 'times_out')[];
  /** Milliseconds. Default 15,000. */
  timeoutMs?: number;
  /** Check 2: are the values in range, given what is established? */
  range?(args: Input, facts: Facts): Denial | undefined;
  /** Check 3: may this person do this, given what is established? */
  authorize(args: Input, principal: Requester, facts: Facts): Denial | undefined;
  /** Who the result belongs to. A result that belongs to somebody else than the principal is withheld. */
  owner?(output: Output): string | undefined;
  /** Least assurance of the requester. Default: `verified` for writes, `none` for reads. */
  assurance?: Assurance;
  idempotency?: Idempotency<Input>;
  /** Check 6: what is at stake; the policy compares it with its limit. */
  approval?(args: Input, facts: Facts): Stake | 'never' | 'always';
  /** What the approver is shown of the world. Read when asking and compared when the approval comes back. */
  approvalState?(args: Input, context: ToolContext): Promise<unknown>;
  verify?: Verification<Input>;
  /**
   * Does it. Throw `ToolRefusal` when the backend says no, `ToolUnavailable` when it certainly did not happen; any
   * other error of a write leaves its effect unknown.
   */
  run(args: Input, context: ToolContext): Promise<Output>;
}
