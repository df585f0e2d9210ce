import type { ModelFailureKind } from '../../../src/contracts/index.ts';
import { fault, type Api, type Behaviour, type Policy } from '../../support/model-server/index.ts';

/** Every fifth request meets one of these, in turn; what its call ends with. */
export const FAULTS: readonly [ModelFailureKind, (api: Api) => Behaviour][] = [
  ['server_error', (api) => fault('error', api)],
  ['network_failure', () => ({ do: 'hang_up' })],
  ['network_failure', () => ({ do: 'cut' })],
  ['silence', () => ({ do: 'stall' })],
  ['rate_limited', (api) => fault('rate', api)],
];

export const policy: Policy = ({ api, number }) => {
  const [, behave] = FAULTS[(number / 5) % FAULTS.length] ?? [];
  return (
    behave?.(api) ?? {
      ...{ do: 'answer', delayMs: 20, paceMs: 2 },
      text: 'Your order 7 has been sent and arrives on Friday.',
    }
  );
};
