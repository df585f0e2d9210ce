import type { TurnEvent } from '../contracts/index.ts';
import { allCalls } from '../loop/index.ts';
import type { TurnOnRecord } from '../store/records.ts';
import { missingNeighbours, missingReads, type Neighbours } from './missing-neighbours.ts';
import type { Replay, Step } from './replay.ts';

export type MissingLink = {
  /** The gap is behind this event of the record; 0 is its beginning. */
  after: number;
  text: string;
  /** A lost worker left it, and another one went on: the record says so itself. */
  explained: boolean;
};

/**
 * Goes through a record link by link: what was asked was answered, what was called was settled and re-read, what needed
 * a person was decided, and what was done is in the ledger. Names every link that is not there.
 */
export function missingLinks(
  turn: TurnOnRecord,
  replayed: Replay,
  near: Neighbours,
): MissingLink[] {
  const scan = new Scan();
  for (const step of replayed.steps) scan.take(step);
  scan.end(turn, replayed);
  const links = [
    ...scan.links,
    ...missingReads(turn, replayed),
    ...missingNeighbours(replayed, near),
  ];
  return links.toSorted((a, b) => a.after - b.after);
}

class Scan {
  readonly links: MissingLink[] = [];
  #model: number | undefined;
  readonly #calls = new Map<string, number>();
  readonly #reads = new Map<string, number>();
  /** Writes that were sent and have not been re-read yet. */
  readonly #unverified = new Map<string, number>();
  readonly #verdicts = new Map<string, string>();
  readonly #asked = new Set<string>();
  #round = 0;
  #parks = 0;
  #stopped = false;
  #broken = false;
  #last: TurnEvent['type'] | undefined;
  /** Re-reads of the verification worker are taken in right after the turn resumes. */
  #takesStoredReads = false;

  take(step: Step): void {
    const { event, number } = step;
    const before = number - 1;
    if (event === undefined) {
      this.#broken = true;
      this.#last = undefined;
      return this.#miss(before, `line ${number} of the record cannot be read`);
    }
    if (number === 1 && event.type !== 'turn_started')
      this.#miss(0, 'the beginning: no turn_started is on record');
    const found = this.links.length;
    if (this.#last === 'turn_parked' && event.type !== 'turn_resumed') {
      this.#miss(before, `${event.type} follows a wait, and no turn_resumed is on record`);
    }
    if (event.type !== 'verification_read') this.#takesStoredReads = false;
    this.#take(event, step, before);
    this.#last = event.type;
    // A gap that has a name of its own is not named a second time, and one gap breaks everything behind it.
    if (step.broken && !this.#broken && this.links.length === found) {
      this.#miss(before, `${event.type} cannot follow here: what led to it is not on record`);
    }
    this.#broken ||= step.broken;
  }

  #take(event: TurnEvent, { number, before: state }: Step, before: number): void {
    switch (event.type) {
      case 'turn_resumed':
        if (state.waiting === 'to_park')
          this.#miss(before, 'the turn had to wait, and no turn_parked is on record');
        this.#takesStoredReads = this.#last === 'turn_parked';
        // A turn is parked only when nothing is open: what is open here was not lost with a worker.
        this.#unansweredModel(before, !this.#takesStoredReads);
        return this.#unansweredCalls(before, !this.#takesStoredReads);
      case 'model_requested':
        this.#unansweredModel(before, false);
        if (event.round > this.#round + 1)
          this.#miss(before, `round ${event.round} follows round ${this.#round}`);
        this.#round = event.round;
        this.#model = number;
        return;
      case 'model_responded':
      case 'model_failed':
        if (this.#model === undefined)
          this.#miss(before, `${event.type} without a model_requested`);
        this.#model = undefined;
        return;
      case 'calls_checked':
        for (const verdict of event.verdicts) {
          this.#verdicts.set(verdict.callId, verdict.kind);
          if (verdict.kind === 'needs_approval') this.#asked.add(verdict.approvalId);
        }
        return;
      case 'call_started': {
        const verdict = this.#verdicts.get(event.callId);
        if (verdict === undefined)
          this.#miss(before, `call ${event.callId} was sent without a check`);
        if (verdict === 'needs_approval')
          this.#miss(before, `call ${event.callId} was sent without its approval`);
        this.#calls.set(event.callId, number);
        return;
      }
      case 'call_settled':
        if (!this.#calls.delete(event.callId)) {
          this.#miss(before, `call ${event.callId} answered without a call_started`);
        }
        if (event.result.kind === 'ok' || event.result.kind === 'unknown') {
          const write =
            allCalls(state).find((call) => call.id === event.callId)?.effect !== undefined;
          if (write) this.#unverified.set(event.callId, number);
        }
        return;
      case 'verification_started':
        this.#reads.set(event.callId, number);
        return;
      case 'verification_read':
        if (!this.#reads.delete(event.callId) && !this.#takesStoredReads) {
          this.#miss(before, `${event.callId} was re-read without a verification_started`);
        }
        this.#unverified.delete(event.callId);
        return;
      case 'turn_parked':
        if (event.park.number !== this.#parks + 1) {
          this.#miss(before, `wait ${event.park.number} follows wait ${this.#parks}`);
        }
        this.#parks = event.park.number;
        return;
      case 'approval_decided':
        if (!this.#asked.has(event.approvalId)) {
          this.#miss(before, `approval ${event.approvalId} was decided, but nobody asked for it`);
        }
        return;
      case 'stop_requested':
      case 'turn_failed':
        this.#stopped = true;
        return;
      case 'turn_started':
      case 'finish_judged':
      case 'effect_refused':
      case 'turn_ended':
        return;
      default:
        event satisfies never;
    }
  }

  /** What is still open where the record ends, and whether the head agrees with the events. */
  end(turn: TurnOnRecord, { steps, state }: Replay): void {
    const last = steps.length;
    // A worker that lives may be about to write the answer: that is no gap.
    const running = turn.open && turn.park === null && turn.holder.worker === 'alive';
    const ended = steps.at(-1)?.event?.type === 'turn_ended';
    if (!running) {
      this.#unansweredModel(last, turn.open);
      this.#unansweredCalls(last, turn.open);
    }
    if (ended && !this.#stopped) {
      for (const [callId] of this.#unverified) {
        this.#miss(last, `call ${callId} was answered, and no re-read of it is on record`);
      }
    }
    if (turn.phase === 'ended' && !ended) {
      this.#miss(last, 'the end: the turn has ended, and no turn_ended is on record');
    } else if (
      !this.#broken &&
      turn.phase !== state.phase &&
      !(last === 0 && turn.phase === 'queued')
    ) {
      this.#miss(
        last,
        `the newest events: the head says ${turn.phase}, the events lead to ${state.phase}`,
      );
    }
  }

  #unansweredModel(after: number, explained: boolean): void {
    if (this.#model === undefined) return;
    this.#miss(
      after,
      `the model was asked (line ${this.#model}), and no answer is on record`,
      explained,
    );
    this.#model = undefined;
  }

  #unansweredCalls(after: number, explained: boolean): void {
    for (const [callId, line] of this.#calls) {
      this.#miss(
        after,
        `call ${callId} was sent (line ${line}), and no answer is on record`,
        explained,
      );
    }
    for (const [callId, line] of this.#reads) {
      this.#miss(
        after,
        `the re-read of ${callId} began (line ${line}), and what it said is not on record`,
        explained,
      );
    }
    this.#calls.clear();
    this.#reads.clear();
  }

  #miss(after: number, text: string, explained = false): void {
    this.links.push({ after, text, explained });
  }
}
