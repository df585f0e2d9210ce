import type { EventOf, TurnEvent } from '../contracts/index.ts';
import { decide, type Command } from './decide.ts';
import type {
  ClaimedTurn,
  Commit,
  EffectMove,
  ParkWait,
  Ports,
  Recorded,
  Reservation,
  Transition,
  TurnStore,
} from './ports.ts';
import { allCalls, initialState, type TurnState } from './state.ts';

/**
 * A claimed turn in the hands of a worker: its state, what to do next, and the events that are not on record yet.
 * Events that no outside call separates go on record in one step.
 */
export class OpenTurn {
  state: TurnState;
  commands: readonly Command[] = [];
  readonly claimed: ClaimedTurn;
  readonly #ports: Ports;
  #seq: number;
  #pending: TurnEvent[] = [];
  /** The state as the record has it. */
  #recorded: TurnState;

  constructor(claimed: ClaimedTurn, ports: Ports) {
    this.claimed = claimed;
    this.#ports = ports;
    this.#seq = claimed.events.length;
    this.state = initialState(ports.rules.limits);
    for (const event of claimed.events) this.#fold(event);
    this.#recorded = this.state;
  }

  /** Takes a new fact in. It is on record after the next `record`. */
  apply(event: TurnEvent): void {
    this.#take(event);
    this.#pending.push(event);
  }

  /** What a repeat of the whole step would have to store. */
  transition(): Transition {
    return {
      seq: this.#seq,
      events: this.#pending,
      moves: effectMoves(this.#recorded, this.state),
      ...this.#heeded(),
    };
  }

  /**
   * Puts the pending events on record; done before every outside call, which also proves that the claim still holds.
   * `opening` is the event that opens the call: it is taken in only if the record says go.
   */
  async record(
    opening: readonly TurnEvent[] = [],
    reservation?: Reservation,
    account?: string,
  ): Promise<Recorded> {
    const transition = this.transition();
    const all = [...transition.events, ...opening];
    const recorded = await this.#ports.store.record(
      this.claimed.claim,
      { ...transition, events: all, ...(account === undefined ? {} : { account }) },
      reservation,
    );
    if (recorded.kind !== 'recorded') return recorded;
    for (const event of opening) this.#take(event);
    this.recorded(all.length);
    return recorded;
  }

  /** Puts the turn to rest, unless somebody has asked it to stop; then nothing of it happens. */
  async park(event: EventOf<'turn_parked'>, wait: ParkWait): ReturnType<TurnStore['park']> {
    const { seq, events, moves, ...heeded } = this.transition();
    const parked = await this.#ports.store.park(
      this.claimed.claim,
      { seq, events: [...events, event], moves, ...heeded },
      wait,
    );
    if (parked.kind === 'parked') this.apply(event);
    return parked;
  }

  /** Ends the turn, unless somebody has asked it to stop; then nothing of it happens. */
  async commit(event: EventOf<'turn_ended'>, commit: Commit): ReturnType<TurnStore['commit']> {
    const { seq, events, moves, ...heeded } = this.transition();
    const committed = await this.#ports.store.commit(
      this.claimed.claim,
      { seq, events: [...events, event], moves, ...heeded },
      commit,
    );
    if (committed.kind === 'committed') this.apply(event);
    return committed;
  }

  /** The store has taken the pending events over. */
  recorded(count: number): void {
    this.#seq += count;
    this.#pending = [];
    this.#recorded = this.state;
  }

  /** A first model call right after the claim needs no step of its own: the claim has just been proved. */
  get hasSomethingToRecord(): boolean {
    return this.#pending.some(
      (event) => event.type !== 'turn_started' && event.type !== 'model_requested',
    );
  }

  #heeded(): { heeded?: number } {
    const heeded = this.state.stop?.requestedAt;
    return heeded === undefined ? {} : { heeded };
  }

  #take(event: TurnEvent): void {
    this.#fold(event);
    this.#ports.observer.observe(event, this.state);
  }

  #fold(event: TurnEvent): void {
    const { state, commands } = decide(this.state, event);
    this.state = state;
    this.commands = commands;
  }
}

/** The ledger follows the state: every effect whose status changed moves its row. A reservation writes `attempted` itself. */
export function effectMoves(before: TurnState, after: TurnState): EffectMove[] {
  const known = new Map(allCalls(before).map((call) => [call.id, call.effect?.status]));
  const moves: EffectMove[] = [];
  for (const { id, effect, result } of allCalls(after)) {
    if (effect === undefined || effect.status === known.get(id)) continue;
    if (effect.status === 'planned' || effect.status === 'attempted') continue;
    moves.push({
      operation: effect.operation,
      status: effect.status,
      ...(result?.kind === 'ok' ? { outcome: result.observation.data } : {}),
    });
  }
  return moves;
}
