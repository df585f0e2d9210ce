import { setTimeout as elapse } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import type { FastifyReply } from 'fastify';
import { inTransaction, rehearse } from './database.ts';
import type { EventLog } from './event-log.ts';
import type { Fault, FaultScript } from './fault-script.ts';
import { answerOf, Problem } from './problem.ts';
import type { Answer } from './problem.ts';

/** One inbound call, as the log will name it. `subject` is the order or conversation, `null` when the call names none. */
export interface Call {
  operation: string;
  subject: string | null;
  method: string;
  path: string;
  fields: Record<string, unknown>;
}

/** What the service decided: the answer, and what the log says about it. */
export interface Outcome {
  answer: Answer;
  result: string;
  fields?: Record<string, unknown>;
}

interface CallRunnerParts {
  db: DatabaseSync;
  log: EventLog;
  faults: FaultScript;
  /** Fires when the service shuts down: calls on hold are dropped. */
  closing: AbortSignal;
}

/**
 * Runs each call as one transaction that holds both the effect and its log line, with the scripted fault around it.
 * A caller that goes away changes nothing: what had arrived is still done, as with any real service.
 */
export class CallRunner {
  readonly #parts: CallRunnerParts;

  constructor(parts: CallRunnerParts) {
    this.#parts = parts;
  }

  /** `decide` is synchronous; it throws a `Problem` to refuse, and then nothing it wrote stays. */
  async run(reply: FastifyReply, call: Call, decide: () => Outcome): Promise<FastifyReply> {
    const fault = this.#parts.faults.next(call.operation, call.subject);
    if (fault === undefined) return send(reply, this.#act(call, decide));
    this.#logFault(call, fault);
    switch (fault.kind) {
      case 'latency':
        if (!(await this.#hold(fault.ms))) return drop(reply);
        return send(reply, this.#act(call, decide));
      case 'pause_after': {
        const answer = this.#act(call, decide);
        return (await this.#hold(fault.ms)) ? send(reply, answer) : drop(reply);
      }
      case 'fail_before':
        this.#skip(call, fault);
        return send(reply, unavailable(fault));
      case 'drop_before':
        this.#skip(call, fault);
        return drop(reply);
      case 'hang_before':
        this.#skip(call, fault);
        return hang(reply);
      case 'fail_after':
        this.#act(call, decide);
        return send(reply, unavailable(fault));
      case 'drop_after':
        this.#act(call, decide);
        return drop(reply);
      case 'hang_after':
        this.#act(call, decide);
        return hang(reply);
      case 'ack_only':
        return send(reply, this.#pretend(call, decide));
      default:
        fault.kind satisfies never;
        throw new Error(`fault kind ${String(fault.kind)} has no behaviour`);
    }
  }

  #act(call: Call, decide: () => Outcome): Answer {
    return inTransaction(this.#parts.db, () => {
      const outcome = this.#decided(() => inTransaction(this.#parts.db, decide));
      this.#logRequest(call, outcome);
      return outcome.answer;
    });
  }

  #pretend(call: Call, decide: () => Outcome): Answer {
    return inTransaction(this.#parts.db, () => {
      const outcome = this.#decided(() => rehearse(this.#parts.db, decide));
      this.#logRequest(call, { ...outcome, result: 'acknowledged_only' });
      return outcome.answer;
    });
  }

  #decided(decide: () => Outcome): Outcome {
    try {
      return decide();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { answer: answerOf(error), result: 'refused', fields: { code: error.code } };
    }
  }

  #skip(call: Call, fault: Fault): void {
    this.#logRequest(call, {
      answer: unavailable(fault),
      result: 'not_processed',
      fields: { code: fault.kind },
    });
  }

  #logRequest(call: Call, outcome: Outcome): void {
    this.#parts.log.append('request', null, call, {
      method: call.method,
      path: call.path,
      ...call.fields,
      result: outcome.result,
      code: null,
      httpStatus: outcome.answer.status,
      ...outcome.fields,
    });
  }

  #logFault(call: Call, fault: Fault): void {
    const event = `fault:${call.operation}:${call.subject ?? ''}`;
    this.#parts.log.append('fault', event, call, { ...call.fields, fault: fault.kind });
  }

  async #hold(ms: number): Promise<boolean> {
    return elapse(ms, true, { signal: this.#parts.closing }).catch(() => false);
  }
}

async function send(reply: FastifyReply, answer: Answer): Promise<FastifyReply> {
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .send(answer.body);
}

/** The connection ends without an answer. */
function drop(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.socket?.destroy();
  return reply;
}

/** The connection stays open and no answer ever comes. */
function hang(reply: FastifyReply): FastifyReply {
  return reply.hijack();
}

function unavailable(fault: Fault): Answer {
  return {
    status: fault.status,
    body: {
      error: {
        code: 'unavailable',
        message: 'The service could not answer. Whether the call was done is not known.',
      },
    },
  };
}
