import type {
  CallVerdict,
  Ending,
  EventOf,
  Facts,
  Park,
  Requester,
  TurnEvent,
} from '../contracts/index.ts';
import { handsOver } from '../contracts/index.ts';
import { accountAfter, budgetLeft, exhaustedBy } from './account.ts';
import { admit } from './admission.ts';
import { answered, limitOf } from './asking.ts';
import { checkCall } from './check.ts';
import { callsToCheck } from './conflicts.ts';
import { establishedFacts, newFacts } from './facts.ts';
import { citedBy, judgeFinish, judgementOf, judgeText } from './finish.ts';
import { OpenTurn } from './open-turn.ts';
import { openTurn } from './opening.ts';
import { howAsked, howCalled, howRead, leftOpen, nameOf, UnderWay } from './under-way.ts';
import { reservationOf } from './reservation.ts';
import {
  HISTORY_SHOWN,
  principalOf,
  timeoutOf,
  type ApprovalState,
  type CallContext,
  type CallLimits,
  type ClaimedTurn,
  type Ports,
  type Reservation,
  type Signal,
} from './ports.ts';
import { currentCalls, deadlineOf, type CallState, type TurnState } from './state.ts';
import { deliveriesAtEnd, historyEntry, holdingDelivery, isNews, repetitionAt } from './voice.ts';
import { assembleView } from './view.ts';
import { approvalRequest, planPark, readPlan } from './waiting.ts';

/** Why the worker gets its hands free. */
export type Rest = {
  /** There is something to deliver, and nobody may have been told. */ deliver: boolean;
} & (
  | { kind: 'ended'; ending: Ending; waiting: number; next?: ClaimedTurn }
  | { kind: 'parked'; park: Park }
);

/**
 * Drives one claimed turn until it ends or waits: asks the model, checks and runs what it proposes, verifies what was
 * done. Every step is an event; `decide` says what follows from it. Nothing of the model or a tool is thrown past here;
 * what is thrown is a defect or a lost store, and the host's business.
 */
export async function runTurn(
  claimed: ClaimedTurn,
  ports: Ports,
  /** Asked at the end: go on with the conversation's next message? */
  takeNext: () => boolean = () => false,
): Promise<Rest> {
  const turn = new OpenTurn(claimed, ports);
  const runner = new Runner(turn, ports);
  runner.open();
  if (claimed.poisoned === true) runner.giveUp();
  for (;;) {
    const [command, ...others] = turn.commands;
    if (command === undefined) throw new Error(`phase ${turn.state.phase} leaves nothing to do`);
    switch (command.do) {
      case 'ask':
        await runner.ask();
        break;
      case 'judge':
        await runner.judge();
        break;
      case 'check':
        await runner.check();
        break;
      case 'call':
        await runner.call([command, ...others].flatMap((one) => ('call' in one ? [one.call] : [])));
        break;
      case 'verify':
        await runner.verify(command.call);
        break;
      case 'park':
      case 'end': {
        const rest =
          command.do === 'park'
            ? await runner.park(command.kind)
            : await runner.end(command.ending, takeNext());
        // Otherwise it was asked to stop just then, and goes on to do so.
        if (rest !== undefined) return rest;
        break;
      }
      default:
        command satisfies never;
    }
  }
}

class Runner {
  readonly #turn: OpenTurn;
  readonly #ports: Ports;
  readonly #underWay: UnderWay;
  #established: { state: TurnState; facts: Facts } | undefined;

  constructor(turn: OpenTurn, ports: Ports) {
    this.#turn = turn;
    this.#ports = ports;
    this.#underWay = new UnderWay(ports, leftOpen(turn.state));
  }

  /** Starts the turn, or resumes it; stops it at once where somebody or something asks for that. */
  open(): void {
    const signal = openTurn(this.#turn, this.#ports);
    if (signal !== undefined && this.#turn.state.phase !== 'ended') this.#stop(signal);
  }

  /** No worker gets anywhere with this turn: people take it from here. */
  giveUp(): void {
    if (this.#turn.state.phase === 'ended') return;
    this.#turn.apply({ type: 'turn_failed', at: this.#now(), code: 'stuck' });
  }

  async ask(): Promise<void> {
    const { model, rules, tools } = this.#ports;
    if (this.#outOfTime()) return;
    const { state, claimed } = this.#turn;
    const view = assembleView(
      state,
      claimed,
      rules,
      tools.descriptions(),
      this.#facts(),
      this.#now(),
    );
    const reserved = model.estimate(view);
    const exhausted = exhaustedBy(reserved, state, claimed, rules, this.#now());
    if (exhausted !== undefined) return this.#stop({ cause: exhausted });
    const round = state.rounds.length + 1;
    const requested: TurnEvent = { type: 'model_requested', at: this.#now(), round, reserved };
    if (this.#turn.hasSomethingToRecord) {
      if (!(await this.#mayGo([requested], undefined, model.account))) return;
    } else {
      const until = claimed.limited?.[model.account ?? ''] ?? 0;
      if (until > this.#now()) return this.#comeBack(until);
      this.#turn.apply(requested);
    }
    const startedAt = this.#now();
    const timeoutMs = Math.min(state.limits.modelTimeoutMs, deadlineOf(state) - startedAt);
    const answer = await this.#underWay.run(
      ['model'],
      () => model.ask(view, this.#limits(timeoutMs)),
      howAsked,
    );
    const at = this.#now();
    const limited = limitOf(answer);
    if (limited !== undefined && model.account !== undefined) {
      await this.#ports.store.limitAccount(model.account, limited);
    }
    this.#turn.apply(answered(answer, at, at - startedAt));
    if (this.#turn.state.ending?.outcome !== 'completed') return;
    const objection = judgeText(this.#turn.state, this.#facts(), this.#ports.rules);
    if (objection !== undefined) this.#turn.apply({ type: 'finish_judged', at, objection });
  }

  /** The account is known to be limited: the model is not asked before that is over. */
  #comeBack(retryAt: number): void {
    const failure = { kind: 'account_limited', retryAt } as const;
    this.#turn.apply({ type: 'model_failed', at: this.#now(), failure, latencyMs: 0 });
  }

  /** Holds a finish candidate against the evidence, and its citations against the documents. */
  async judge(): Promise<void> {
    const { rules, citations } = this.#ports;
    const { state, claimed } = this.#turn;
    const budget = budgetLeft(state, claimed, rules, this.#now());
    const objection = judgeFinish(state, this.#facts(), rules);
    const judged = { type: 'finish_judged', at: this.#now() } as const;
    if (objection !== undefined) return this.#turn.apply({ ...judged, objection });
    const cited = citedBy(state, claimed);
    if (citations === undefined || cited === undefined) return this.#turn.apply(judged);
    if (this.#outOfTime()) return;
    const timeoutMs = Math.min(state.limits.modelTimeoutMs, deadlineOf(state) - this.#now());
    const looked = await this.#underWay.run(
      ['citations'],
      () => citations.check(cited, { ...this.#limits(timeoutMs), budget }),
      howRead,
    );
    this.#turn.apply({ ...judged, ...judgementOf(cited, looked) });
  }

  async check(): Promise<void> {
    const { tools, rules } = this.#ports;
    const { state, claimed } = this.#turn;
    const principal = this.#principal();
    const context = { state, facts: this.#facts(), principal, rules, tools, claimed };
    const verdicts: CallVerdict[] = [];
    for (const [inBatch, { call, inRound }] of callsToCheck(currentCalls(state), tools).entries()) {
      const checked = checkCall(call, { inRound, inBatch }, context);
      verdicts.push(
        checked.kind === 'passed'
          ? await admit(call, checked, this.#turn, this.#ports, () => this.#stateFor(call))
          : checked,
      );
    }
    this.#turn.apply({ type: 'calls_checked', at: this.#now(), verdicts });
  }

  /** What a person who must agree to a call is shown of the world. */
  async #stateFor(call: CallState): Promise<ApprovalState> {
    return this.#underWay.run(
      [`state for ${nameOf(call)}`],
      () => this.#ports.tools.approvalState(call, this.#context(call)),
      howRead,
    );
  }

  /** Runs what passed: reads side by side, a write alone and only with its row in the ledger. */
  async call(calls: readonly CallState[]): Promise<void> {
    if (this.#outOfTime()) return;
    const { tools } = this.#ports;
    const planned = calls.map((call) => {
      const context = this.#context(call);
      const enforced = tools.find(call.tool)?.idempotency?.enforcesValidity === true;
      return { call, context, ...(enforced ? { validUntil: context.validUntil } : {}) };
    });
    const opening = planned.map(({ call, context: _context, ...validity }): TurnEvent => {
      return { type: 'call_started', at: this.#now(), callId: call.id, ...validity };
    });
    const write = planned.find(({ call }) => call.effect !== undefined);
    const reservation =
      write?.call.effect && reservationOf(write.call, write.call.effect, tools, write.validUntil);
    if (!(await this.#mayGo(opening, reservation))) return;
    const run = planned.map(({ call, context }) => async (): Promise<EventOf<'call_settled'>> => {
      const startedAt = this.#now();
      const result = await tools.call(call, context);
      const at = this.#now();
      return { type: 'call_settled', at, callId: call.id, result, latencyMs: at - startedAt };
    });
    const settled = await this.#underWay.run(
      calls.map(nameOf),
      () => Promise.all(run.map((start) => start())),
      (events) => howCalled(events.map(({ result }) => result)),
    );
    for (const event of settled) this.#turn.apply(event);
  }

  /** Asks the owning system whether the effect landed. Costs no round and no tool call, and never sends the effect again. */
  async verify(call: CallState): Promise<void> {
    const callId = call.id;
    if (this.#outOfTime()) return;
    if (!(await this.#mayGo([{ type: 'verification_started', at: this.#now(), callId }]))) return;
    const final = readPlan(this.#ports.tools, call).attempts <= 1;
    const read = await this.#underWay.run(
      [`re-read of ${nameOf(call)}`],
      () => this.#ports.tools.verify(call, this.#context(call)),
      howRead,
    );
    this.#turn.apply({ type: 'verification_read', at: this.#now(), callId, read, final });
  }

  /** Nothing when the turn was asked to stop meanwhile. */
  async park(kind: Park['kind']): Promise<Rest | undefined> {
    const { claimed, state } = this.#turn;
    const { rules, tools } = this.#ports;
    const at = this.#now();
    const park = planPark(kind, { at, state, claimed, tools });
    const approval = approvalRequest(park, { at, state, claimed, tools });
    const deliveries = approval === undefined ? [] : [holdingDelivery(claimed, rules)];
    const parked = await this.#turn.park(
      { type: 'turn_parked', at, park },
      {
        park,
        ...(approval === undefined ? {} : { approval }),
        deliveries,
        supersede: rules.whileWaiting === 'supersede' && state.stop === undefined,
      },
    );
    if (parked.kind === 'parked') {
      return { kind: 'parked', park, deliver: isNews(deliveries, parked.unsettled) };
    }
    this.#stop(parked.signal);
    return undefined;
  }

  /** Nothing when the turn was asked to stop before its end was committed. */
  async end(ending: Ending, takeNext: boolean): Promise<Rest | undefined> {
    const { claimed, state } = this.#turn;
    const { rules } = this.#ports;
    const at = this.#now();
    const deliveries = deliveriesAtEnd(claimed, state, ending, rules);
    const entry = historyEntry(claimed, state, ending);
    const facts = this.#facts();
    const superseded = ending.reason === 'superseded';
    const committed = await this.#turn.commit(
      { type: 'turn_ended', at, ending, ...repetitionAt(state, ending) },
      {
        ending,
        // The next turn answers them, together with what came after.
        answered: superseded ? [] : claimed.messages.map(({ id }) => id),
        history: entry,
        deliveries,
        facts: newFacts(claimed.facts, facts),
        handsOver: handsOver(ending),
        account: accountAfter(claimed, state, deliveries, at),
        ...(takeNext ? { takeNext: { burstMs: rules.burstMs } } : {}),
      },
    );
    if (committed.kind === 'stopped') {
      this.#stop(committed.signal);
      return undefined;
    }
    const { waiting, unsettled, next } = committed;
    const deliver = isNews(deliveries, unsettled);
    if (next === undefined) return { kind: 'ended', ending, waiting, deliver };
    const history = [...claimed.history, entry].slice(-HISTORY_SHOWN);
    return { kind: 'ended', ending, waiting, deliver, next: { ...next, history, facts } };
  }

  // --- parts --------------------------------------------------------------------------------------------------------

  #now(): number {
    return this.#ports.clock.now();
  }

  #principal(): Requester {
    return principalOf(this.#turn.claimed.messages);
  }

  #facts(): Facts {
    const { claimed, state } = this.#turn;
    if (this.#established?.state !== state) {
      this.#established = {
        state,
        facts: establishedFacts(claimed.facts, state, this.#ports.tools),
      };
    }
    return this.#established.facts;
  }

  #stop(signal: Signal): void {
    const { requestedAt } = signal;
    const under = requestedAt === undefined ? {} : this.#underWay.at(requestedAt);
    this.#turn.apply({ type: 'stop_requested', at: this.#now(), ...signal, ...under });
  }

  #outOfTime(): boolean {
    if (this.#now() < deadlineOf(this.#turn.state)) return false;
    this.#stop({ cause: 'deadline' });
    return true;
  }

  /** Puts what happened and what is about to happen on record; false when the turn must not go on with it. */
  async #mayGo(
    opening: readonly TurnEvent[],
    reservation?: Reservation,
    account?: string,
  ): Promise<boolean> {
    const recorded = await this.#turn.record(opening, reservation, account);
    switch (recorded.kind) {
      case 'recorded':
        return true;
      case 'stopped':
        this.#stop(recorded.signal);
        return false;
      case 'limited':
        this.#comeBack(recorded.until);
        return false;
      case 'refused': {
        const { refusal } = recorded;
        const callId = reservation?.callId ?? '';
        this.#turn.apply({ type: 'effect_refused', at: this.#now(), callId, refusal });
        return false;
      }
      default:
        return recorded satisfies never;
    }
  }

  #context(call: CallState): CallContext {
    const { state, claimed } = this.#turn;
    const { timeoutMs, ...limits } = this.#limits(timeoutOf(this.#ports.tools.find(call.tool)));
    return {
      operation: call.effect?.operation ?? '',
      validUntil: this.#now() + timeoutMs,
      principal: this.#principal(),
      budget: budgetLeft(state, claimed, this.#ports.rules, this.#now()),
      ...limits,
    };
  }

  #limits(timeoutMs: number): CallLimits {
    const { stop } = this.#ports;
    const { silenceMs } = this.#turn.state.limits;
    return { timeoutMs, silenceMs, ...(stop === undefined ? {} : { stop }) };
  }
}
