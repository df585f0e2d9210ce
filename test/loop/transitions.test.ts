import { describe, expect, test } from 'vitest';
import { TURN_EVENT_TYPES, type TurnEvent, type TurnEventType } from '../../src/contracts/index.ts';
import {
  decide,
  IllegalTransitionError,
  phasesAfter,
  TRANSITIONS,
  type LoopPhase,
  type TurnState,
} from '../../src/loop/index.ts';
import {
  after,
  asks,
  begun,
  broken,
  calls,
  checked,
  decided,
  failed,
  finish,
  judged,
  over,
  parked,
  read,
  rejected,
  requested,
  reread,
  rereading,
  responded,
  resumed,
  settled,
  started,
  stop,
  write,
} from '../support/turn-events.ts';

const asked = [started(), requested()];
const validating = [...asked, calls('get', 'put')];
const reading = [...asked, calls('get'), checked(read())];
const readingFirst = [...validating, checked(read('1.1'))];
const writing = [...asked, calls('put'), checked(write())];
const written = [...writing, begun(), settled('ok')];
const writtenFirst = [...validating, checked(write('1.1')), begun(), settled('ok')];
const waitingForProof = [...written, reread('pending'), parked('verification'), resumed];
const waitingFirst = [...writtenFirst, reread('pending'), parked('verification'), resumed];
const waitingForPerson = [...asked, calls('put'), checked(asks()), parked('approval'), resumed];
const backingOff = [...asked, failed('rate_limited')];

const lastRound = [started({ rounds: 1 }), requested()];

type Example = { before: TurnEvent[]; event: TurnEvent };

/** For every cell of the table and every phase it allows: how a turn gets there. */
const EXAMPLES: Record<string, Example> = {
  'queued / turn_started / requesting_model': { before: [], event: started() },
  'queued / turn_started / ended': { before: [], event: started({}, 'human') },

  'requesting_model / turn_resumed / requesting_model': { before: asked, event: resumed },
  'requesting_model / model_requested / requesting_model': {
    before: [started()],
    event: requested(),
  },
  'requesting_model / model_responded / validating_actions': { before: asked, event: calls('get') },
  'requesting_model / model_responded / ended': {
    before: asked,
    event: responded({ kind: 'escalate', rationale: 'too hard' }),
  },
  'requesting_model / model_failed / requesting_model': {
    before: asked,
    event: failed('invalid_proposal'),
  },
  'requesting_model / model_failed / backing_off': { before: asked, event: failed('rate_limited') },
  'requesting_model / model_failed / ended': { before: asked, event: failed('refusal') },

  'validating_actions / turn_resumed / validating_actions': { before: validating, event: resumed },
  'validating_actions / finish_judged / requesting_model': {
    before: [...asked, responded(finish)],
    event: judged('no evidence'),
  },
  'validating_actions / finish_judged / ended': {
    before: [...asked, responded(finish)],
    event: judged(),
  },
  'validating_actions / calls_checked / running_tools': {
    before: validating,
    event: checked(read()),
  },
  'validating_actions / calls_checked / validating_actions': {
    before: validating,
    event: checked(rejected('1.1')),
  },
  'validating_actions / calls_checked / requesting_model': {
    before: [...asked, calls('get')],
    event: checked(rejected()),
  },
  'validating_actions / calls_checked / awaiting_approval': {
    before: [...asked, calls('put')],
    event: checked(asks()),
  },
  'validating_actions / calls_checked / ended': {
    before: [started({ identicalFailures: 1 }), requested(), calls('get')],
    event: checked(rejected()),
  },

  'running_tools / turn_resumed / running_tools': { before: [...reading, begun()], event: resumed },
  'running_tools / call_started / running_tools': { before: reading, event: begun() },
  'running_tools / effect_refused / running_tools': {
    before: writing,
    event: onRecord('attempted'),
  },
  'running_tools / effect_refused / validating_actions': {
    before: [...validating, checked(write('1.1'))],
    event: onRecord('verified'),
  },
  'running_tools / effect_refused / requesting_model': {
    before: writing,
    event: onRecord('verified'),
  },
  'running_tools / effect_refused / ended': {
    before: [started({ identicalFailures: 1 }), requested(), calls('put'), checked(write())],
    event: conflict(),
  },
  'running_tools / call_settled / running_tools': {
    before: [...writing, begun()],
    event: settled('ok'),
  },
  'running_tools / call_settled / validating_actions': {
    before: [...readingFirst, begun()],
    event: settled('ok'),
  },
  'running_tools / call_settled / requesting_model': {
    before: [...reading, begun()],
    event: settled('ok'),
  },
  'running_tools / call_settled / ended': {
    before: [
      started({ identicalFailures: 1 }),
      requested(),
      calls('get'),
      checked(read()),
      begun(),
    ],
    event: settled('failed'),
  },
  'running_tools / stop_requested / running_tools': { before: written, event: stop('superseded') },
  'running_tools / verification_started / running_tools': { before: written, event: rereading },
  'running_tools / verification_read / validating_actions': {
    before: writtenFirst,
    event: reread('landed'),
  },
  'running_tools / verification_read / requesting_model': {
    before: written,
    event: reread('landed'),
  },
  'running_tools / verification_read / awaiting_verification': {
    before: written,
    event: reread('pending'),
  },
  'running_tools / verification_read / ended': { before: written, event: reread('blocked') },

  'awaiting_verification / turn_parked / awaiting_verification': {
    before: [...written, reread('pending')],
    event: parked('verification'),
  },
  'awaiting_verification / turn_resumed / awaiting_verification': {
    before: [...written, reread('pending'), parked('verification')],
    event: resumed,
  },
  'awaiting_verification / stop_requested / awaiting_verification': {
    before: waitingForProof,
    event: stop('superseded'),
  },
  'awaiting_verification / verification_started / awaiting_verification': {
    before: waitingForProof,
    event: rereading,
  },
  'awaiting_verification / verification_read / awaiting_verification': {
    before: waitingForProof,
    event: reread('pending'),
  },
  'awaiting_verification / verification_read / validating_actions': {
    before: waitingFirst,
    event: reread('landed'),
  },
  'awaiting_verification / verification_read / requesting_model': {
    before: waitingForProof,
    event: reread('landed'),
  },
  'awaiting_verification / verification_read / ended': {
    before: waitingForProof,
    event: reread('pending', { final: true }),
  },

  'awaiting_approval / turn_parked / awaiting_approval': {
    before: [...asked, calls('put'), checked(asks())],
    event: parked('approval'),
  },
  'awaiting_approval / turn_resumed / awaiting_approval': {
    before: [...asked, calls('put'), checked(asks()), parked('approval')],
    event: resumed,
  },
  'awaiting_approval / approval_decided / validating_actions': {
    before: waitingForPerson,
    event: decided('approved'),
  },
  'awaiting_approval / approval_decided / ended': {
    before: waitingForPerson,
    event: decided('rejected'),
  },

  'backing_off / turn_parked / backing_off': { before: backingOff, event: parked('back_off') },
  'backing_off / turn_resumed / requesting_model': {
    before: [...backingOff, parked('back_off')],
    event: resumed,
  },
  'ended / stop_requested / ended': {
    before: [...asked, failed('refusal')],
    event: stop('cancelled'),
  },
  'ended / finish_judged / requesting_model': {
    before: [...asked, responded({ kind: 'ask_customer', text: 'It is cancelled, is it?' })],
    event: judged('it is not'),
  },
  'ended / finish_judged / ended': {
    before: [...lastRound, responded({ kind: 'refuse', reply: 'It is cancelled.' })],
    event: judged('it is not'),
  },
  'ended / turn_ended / ended': { before: [...asked, failed('refusal')], event: over },
};

const OPEN: Record<Exclude<LoopPhase, 'ended' | 'queued'>, TurnEvent[]> = {
  requesting_model: asked,
  validating_actions: validating,
  running_tools: reading,
  awaiting_verification: waitingForProof,
  awaiting_approval: waitingForPerson,
  backing_off: backingOff,
};
for (const [phase, before] of Object.entries(OPEN)) {
  EXAMPLES[`${phase} / stop_requested / ended`] = { before, event: stop() };
  EXAMPLES[`${phase} / turn_failed / ended`] = { before, event: broken };
}

const PHASES = Object.keys(TRANSITIONS) as LoopPhase[];
const CELLS = PHASES.flatMap((phase) =>
  TURN_EVENT_TYPES.flatMap((event) =>
    phasesAfter(phase, event).map((to) => ({ phase, event, to })),
  ),
);

describe('[S3-06] [S3-07] [S3-08] [S3-10] [S3-33] [S4-51] every legal cell of the transition table', () => {
  test.each(CELLS)('$phase + $event may lead to $to', ({ phase, event, to }) => {
    const example = EXAMPLES[`${phase} / ${event} / ${to}`];
    if (example === undefined) throw new Error('this cell has no example: write one');
    const before = after(...example.before);

    const { state } = decide(before, example.event);

    expect([before.phase, example.event.type, state.phase]).toEqual([phase, event, to]);
  });

  test('no example describes a cell that does not exist', () => {
    const cells = new Set(CELLS.map(({ phase, event, to }) => `${phase} / ${event} / ${to}`));
    expect(Object.keys(EXAMPLES).filter((name) => !cells.has(name))).toEqual([]);
  });
});

describe('[S4-47] [S4-53] every illegal cell of the transition table', () => {
  const states: Record<LoopPhase, TurnState> = {
    queued: after(),
    requesting_model: after(...asked),
    validating_actions: after(...validating),
    running_tools: after(...reading),
    awaiting_verification: after(...waitingForProof),
    awaiting_approval: after(...waitingForPerson),
    backing_off: after(...backingOff),
    ended: after(...asked, failed('refusal')),
  };
  const samples: Record<TurnEventType, TurnEvent> = {
    turn_started: started(),
    turn_resumed: resumed,
    model_requested: requested(),
    model_responded: calls('get'),
    model_failed: failed('refusal'),
    finish_judged: judged(),
    calls_checked: checked(read()),
    call_started: begun(),
    effect_refused: conflict(),
    call_settled: settled('ok'),
    verification_started: rereading,
    verification_read: reread('landed'),
    turn_parked: parked('approval'),
    approval_decided: decided('approved'),
    stop_requested: stop(),
    turn_failed: broken,
    turn_ended: over,
  };
  const illegal = PHASES.flatMap((phase) =>
    TURN_EVENT_TYPES.filter((event) => phasesAfter(phase, event).length === 0).map((event) => ({
      phase,
      event,
    })),
  );

  test.each(illegal)('$event in $phase is refused and changes nothing', ({ phase, event }) => {
    const before = structuredClone(states[phase]);

    expect(() => decide(states[phase], samples[event])).toThrow(IllegalTransitionError);

    expect(states[phase]).toEqual(before);
  });

  test.each(TURN_EVENT_TYPES)('%s after an end that is on record is refused', (event) => {
    const ended = after(...asked, failed('refusal'), over);

    expect(() => decide(ended, samples[event])).toThrow(IllegalTransitionError);
  });
});

function onRecord(status: 'attempted' | 'verified'): TurnEvent {
  return {
    type: 'effect_refused',
    at: 1,
    callId: '1.1',
    refusal: { refusal: 'duplicate', earlier: { operation: 'op1', status, outcome: { id: 7 } } },
  };
}

function conflict(): TurnEvent {
  return { type: 'effect_refused', at: 1, callId: '1.1', refusal: { refusal: 'conflict' } };
}
