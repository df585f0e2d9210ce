export { modelClient } from './model-client.ts';
export { within, type CallEnd } from './outside-call.ts';
