import { fault, type Api, type Behaviour, type Policy } from '../../support/model-server/index.ts';

/** Every fifth request meets one of these, in turn: the last two are a limit in a moment, and one for which turns park. */
const FAULTS: readonly ((api: Api) => Behaviour)[] = [
  (api) => fault('error', api),
  () => ({ do: 'hang_up' }),
  () => ({ do: 'cut' }),
  () => ({ do: 'stall' }),
  (api) => fault('concurrency', api, { 'retry-after-ms': '300' }),
  (api) => fault('rate', api, { 'retry-after-ms': '1500' }),
];

/** A turn of two rounds: a look at the order, then the reply. */
export const turnPolicy: Policy = ({ api, number, heard }) => {
  const faulty = number % 5 === 0 ? FAULTS[(number / 5) % FAULTS.length] : undefined;
  if (faulty !== undefined) return faulty(api);
  const slowly = { do: 'answer', delayMs: 20, paceMs: 2 } as const;
  return heard.some((text) => text.includes('"status":"ok"'))
    ? { ...slowly, text: 'Your order has been sent and arrives on Friday.' }
    : { ...slowly, calls: [{ name: 'get_order', arguments: { orderId: '1' } }] };
};
