import { expect, test } from 'vitest';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { decodeEvent, encodeEvent } from '../../src/store/event-codec.ts';
import {
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

const EVENTS: TurnEvent[] = [
  ...[
    started({ rounds: 7 }, 'human'),
    resumed,
    requested(),
    calls('get', 'put'),
    responded(finish),
  ],
  ...[
    failed('rate_limited', { retryAt: 5 }),
    judged('no'),
    judged(),
    checked(write(), asks('1.2')),
  ],
  ...[begun('1.1', 5), settled('ok'), settled('unknown'), rereading, reread('pending')],
  ...[parked('approval'), decided('approved'), stop('cancelled'), broken, over],
];

test.each(EVENTS)('[P15] $type comes back from the store as it went in', (event) => {
  expect(decodeEvent(encodeEvent(event))).toEqual(event);
});

test('what an observation repeats of its event, and what its data tell, is not stored', () => {
  const stored = encodeEvent(settled('ok'));

  expect(stored).not.toMatch(/untrusted|"size"|"hash"/);
  expect(stored.match(/1\.1/g)).toHaveLength(1);
});
