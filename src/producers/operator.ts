import { InvalidInputError, type ApprovalDecision } from '../contracts/index.ts';
import { digest, shorten, type Signal } from '../loop/index.ts';
import { externalIdOf, sourceOf } from '../store/index.ts';
import type {
  ApprovalAnswer,
  EffectAnswer,
  HumanMessage,
  ParkedTurn,
  Records,
  Store,
} from '../store/index.ts';
import { acceptMessage } from './accept-message.ts';
import type { Queues } from './queues.ts';

/** Who does it, and why: both stand in the record. */
export type Act = { by: string; reason: string };

export type CancelAnswer =
  | { kind: 'not_found' }
  /** It had ended before. */
  | { kind: 'ended'; outcome: string; reason: string }
  /** Asked for now, or before by somebody else. Whether it has stopped says the record of the turn. */
  | { kind: 'requested' | 'already'; conversationId: string; signal: Signal; running: string[] };

export type TakeoverAnswer = {
  kind: 'taken' | 'already';
  conversationId: string;
  /** The turn that was asked to stop; empty when none was open. */
  turnId: string;
  /** Its calls that were on their way then and may still arrive. */
  running: string[];
  /** Messages that wait in the mailbox; they end as handed over. */
  waiting: number;
};

/** What people may do to turns and conversations, from any process. Stores the fact first; waking is only a wake-up. */
export class Operator {
  readonly #store: Store;
  readonly #queues: Queues;
  readonly #records: Records;

  constructor({ store, queues, records }: { store: Store; queues: Queues; records: Records }) {
    this.#store = store;
    this.#queues = queues;
    this.#records = records;
  }

  /** Asks a turn to stop. @throws InvalidInputError when nobody or no reason is named */
  async cancel(turnId: string, act: Act): Promise<CancelAnswer> {
    refuseNameless(act);
    const turn = await this.#records.turn(turnId);
    if (turn === undefined) return { kind: 'not_found' };
    const { conversationId } = turn;
    const parked = await this.#parked(conversationId, turnId);
    const signal = { cause: 'cancelled', by: act.by, reason: act.reason } as const;
    const answer = await this.#store.requestStop(conversationId, turnId, signal);
    if (answer.kind === 'not_open') {
      const { outcome, reason } = (await this.#records.turn(turnId)) ?? turn;
      return { kind: 'ended', outcome: outcome ?? '', reason: reason ?? '' };
    }
    if (answer.parked && parked !== undefined) await this.#wake(parked, conversationId);
    return {
      kind: answer.kind,
      conversationId,
      signal: answer.signal,
      running: await this.#running(turnId),
    };
  }

  /** Gives a conversation to a person. @throws InvalidInputError */
  async takeOver(
    conversationId: string,
    act: Act & { message?: HumanMessage },
  ): Promise<TakeoverAnswer> {
    refuseNameless(act);
    const parked = await this.#parked(conversationId);
    const { kind, turnId, waiting, ...answer } = await this.#store.takeOver(conversationId, act);
    if (answer.parked && parked !== undefined) await this.#wake(parked, conversationId);
    const running = turnId === '' ? [] : await this.#running(turnId);
    return { kind, conversationId, turnId, waiting, running };
  }

  /** Gives a conversation back to the agent. @throws InvalidInputError */
  async release(conversationId: string, act: Act): Promise<'released' | 'already' | 'not_found'> {
    refuseNameless(act);
    return this.#store.release(conversationId, act);
  }

  /**
   * What the ticketing system says has become of a ticket. One that was deleted or merged is left to people; messages nobody
   * has begun to answer go on where the ticket went on, under their own ids, so that none is answered twice.
   */
  async ticketChanged(
    conversationId: string,
    { change, into }: { change: 'closed' | 'reopened' | 'merged' | 'deleted'; into?: string },
  ): Promise<void> {
    if (change === 'closed' || change === 'reopened') return;
    const reason =
      into === undefined ? `the ticket was ${change}` : `the ticket was ${change} into ${into}`;
    const waiting = into === undefined ? [] : await this.#records.notBegun(conversationId);
    // A repeat of the whole is known by their ids, so they go first: nothing is lost if this process ends in between.
    for (const message of waiting) {
      await acceptMessage(this.#store, this.#queues, {
        ...message,
        ...{ source: sourceOf(into ?? ''), conversationId: externalIdOf(into ?? '') },
      });
    }
    if (into !== undefined && waiting.length > 0) await this.#tellMoved(conversationId, into);
    await this.takeOver(conversationId, { by: 'ticketing system', reason });
  }

  /** Decides an approval, once; who comes second is told who was first. @throws InvalidInputError */
  async decideApproval(
    approvalId: string,
    decision: Extract<ApprovalDecision, 'approved' | 'rejected'>,
    { by, comment = '' }: { by: string; comment?: string },
  ): Promise<ApprovalAnswer> {
    refuseNameless({ by, reason: decision === 'rejected' ? comment : 'approved' });
    const answer = await this.#store.decideApproval(approvalId, decision, by, comment);
    if (answer.kind === 'decided' || answer.kind === 'already') {
      const { conversationId, turnId } = answer;
      const parked = await this.#parked(conversationId, turnId);
      if (parked?.park.approvalId === approvalId) {
        const waiting = { conversationId, turnId, park: parked.park.number };
        await this.#queues.hurry(waiting, 'approval').catch(() => {});
      }
    }
    return answer;
  }

  /**
   * Says what became of an effect nobody could tell, and why one may believe it. The ledger takes it over, a note goes to
   * the ticket, and reprocessing the case goes on from there. @throws InvalidInputError
   */
  async settleEffect(
    operation: string,
    verdict: 'applied' | 'not_applied',
    { by, evidence }: { by: string; evidence: string },
  ): Promise<EffectAnswer> {
    refuseNameless({ by, reason: evidence }, 'evidence');
    const row = await this.#records.operation(operation);
    if (row === undefined) return { kind: 'not_found' };
    const applied = verdict === 'applied';
    const text = [
      `${by} settled what was not certain: ${row.tool} on ${shorten(row.resource, 200)} ${applied ? 'did happen' : 'did not happen'}.`,
      `Evidence: ${evidence}`,
      'Reprocessing the case goes on from here; what is done will not be done again.',
    ].join('\n');
    const id = digest('settled', operation, verdict, String(row.attempts));
    const note = { id, kind: 'note', text, turnId: row.turnId } as const;
    const answer = await this.#store.settleEffect(operation, applied ? 'verified' : 'not_landed', {
      by,
      evidence,
      note,
    });
    if (answer.kind === 'settled') {
      await this.#queues.poke('deliveries', answer.conversationId).catch(() => {});
    }
    return answer;
  }

  async #tellMoved(from: string, into: string): Promise<void> {
    const id = digest('moved', from, into);
    const text = `Ticket ${externalIdOf(from)} went on as this one. What its customer wrote and nobody had begun to answer is answered here.`;
    await this.#store.addNote(into, { id, kind: 'note', text, turnId: '' });
    await this.#queues.poke('deliveries', into).catch(() => {});
  }

  async #parked(conversationId: string, turnId?: string): Promise<ParkedTurn | undefined> {
    return this.#store.parkedTurn(conversationId, turnId);
  }

  async #wake(parked: ParkedTurn, conversationId: string): Promise<void> {
    // A wake-up that fails is made up for by the reconciler.
    await this.#queues.wake(parked, conversationId).catch(() => {});
  }

  async #running(turnId: string): Promise<string[]> {
    const turn = await this.#records.turn(turnId);
    const calls = turn?.state.rounds.at(-1)?.calls ?? [];
    return calls.filter(({ step }) => step === 'running').map(({ tool, id }) => `${tool} (${id})`);
  }
}

function refuseNameless({ by, reason }: Act, field = 'reason'): void {
  if (by.trim() === '') throw new InvalidInputError('by', by, 'say who does this');
  if (reason.trim() === '') throw new InvalidInputError(field, reason, 'say why');
}
