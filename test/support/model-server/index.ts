export type { Api, Behaviour, ModelRequest, Policy, Said } from './behaviour.ts';
export { fault, type FaultName } from './faults.ts';
export { startModelServer, type ModelServer } from './server.ts';
