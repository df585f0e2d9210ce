export { modelClient } from './model-client.ts';
export { GRACE_MS, within, type CallEnd } from './outside-call.ts';
