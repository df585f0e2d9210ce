export { acceptMessage } from './accept-message.ts';
export { childJobId, Queues } from './queues.ts';
